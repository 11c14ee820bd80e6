package image

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/tone"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "clahe",
		Doc: "Equalizes the histograms of the tiles of an image, with limited contrast (CLAHE). A pixel between the centres of tiles gets the " +
			"mean of their results, weighted by distance. Colour images change their lightness only, unless luma_only is false.",
		Inputs:  []op.Port{{Name: "images", Doc: "images of one channel, or of the channels red, green and blue: uint8", Layouts: []string{"HWC"}}},
		Outputs: []op.Port{{Name: "equalized", Doc: "images of the same shape"}},
		Params: []op.Parameter{
			{Name: "bins", Type: op.Int, Default: 256, Doc: "It has no effect: histograms have 256 bins."},
			{Name: "clip_limit", Type: op.Float, Required: true,
				Doc: "Largest count of a bin, in units of the mean count. What is above is spread over all bins. 0 means no limit."},
			{Name: "luma_only", Type: op.Bool, Default: true, Doc: "Whether only the lightness of colour images changes; otherwise each channel does."},
			{Name: "tiles_x", Type: op.Int, Required: true, Doc: "Number of tiles in a row."},
			{Name: "tiles_y", Type: op.Int, Required: true, Doc: "Number of tiles in a column."},
		},
		Precision: op.Exact,
		New:       newCLAHE,
	})
}

type clahe struct {
	config *op.Config
	tiles  [2]int // in a column, in a row
	limit  float32
	luma   bool
}

// mostTiles bounds the tiles of an image, each of which has a table of 256 bytes.
const mostTiles = 1 << 16

func newCLAHE(c *op.Config) (op.Kernel, error) {
	k := &clahe{config: c, tiles: [2]int{op.Get[int](c, "tiles_y"), op.Get[int](c, "tiles_x")},
		limit: float32(op.Get[float64](c, "clip_limit")), luma: op.Get[bool](c, "luma_only")}
	for i, name := range []string{"tiles_y", "tiles_x"} {
		if n := k.tiles[i]; n < 1 || n > mostTiles || k.tiles[0]*k.tiles[1] > mostTiles {
			return nil, c.Invalid(name, fmt.Sprintf("at least 1 tile, and at most %d in all", mostTiles),
				fmt.Sprint(n), "")
		}
	}
	if math.IsNaN(float64(k.limit)) {
		return nil, c.Invalid("clip_limit", "a number", "NaN", "")
	}
	return op.Each(k), nil
}

func (k *clahe) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := inputDType(k.config, in[0], tensor.Uint8); err != nil {
		return nil, err
	}
	layout, err := layoutOf(k.config, in[0])
	if err != nil && (in[0].Shape != nil || in[0].Layout != "") {
		return nil, err
	}
	if n := len(in[0].Shape); n > 0 {
		if c := in[0].Shape[n-1]; c >= 0 && c != 1 && c != 3 {
			return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, oneOrThree(in[0].Shape))
		}
	}
	return []tensor.Spec{{DType: tensor.Uint8, Shape: in[0].Shape, Layout: layout}}, nil
}

func oneOrThree(shape tensor.Shape) error {
	return &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: "one or three channels", Got: shape.String()}
}

// claheState is a worker's state.
type claheState struct {
	tables      [][256]byte // of the tiles, row by row
	left, right []int32     // per column: the tiles whose centres are left and right of it
	near        []float32   // per column: the weight of the right tile
	light, a, b []byte      // of colour images
}

func (k *clahe) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if err := checkRank(in, layoutHWC); err != nil {
		return err
	}
	h, w, channels := in.Shape[0], in.Shape[1], in.Shape[2]
	if channels != 1 && channels != 3 {
		return oneOrThree(in.Shape)
	}
	if h == 0 || w == 0 {
		return &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: "an image with pixels", Got: in.Shape.String()}
	}
	out, st := b.Out(0, s, h, w, channels), op.PerWorker[claheState](b)
	switch {
	case channels == 1:
		k.plane(st, out.Data, in.Data, h, w, 1)
	case !k.luma:
		for c := range channels {
			k.plane(st, out.Data[c:], in.Data[c:], h, w, channels)
		}
	default:
		st.light, st.a, st.b = grow(st.light, h*w), grow(st.a, h*w), grow(st.b, h*w)
		t := kernel.NewLab()
		t.FromRGB(st.light, st.a, st.b, in.Data)
		k.plane(st, st.light, st.light, h, w, 1)
		t.ToRGB(out.Data, st.light, st.a, st.b)
	}
	return nil
}

// plane equalizes one channel, whose pixels are step bytes apart. dst may be src.
func (k *clahe) plane(st *claheState, dst, src []byte, h, w, step int) {
	// If the tiles do not divide the image, it is extended at the right and at the bottom, by a whole
	// tile's share at the most. The extension mirrors the image.
	th, tw := h, w
	if h%k.tiles[0] != 0 || w%k.tiles[1] != 0 {
		th, tw = h+k.tiles[0]-h%k.tiles[0], w+k.tiles[1]-w%k.tiles[1]
	}
	th, tw = th/k.tiles[0], tw/k.tiles[1]
	st.tables = grow(st.tables, k.tiles[0]*k.tiles[1])
	for ty := range k.tiles[0] {
		for tx := range k.tiles[1] {
			var counts [256]int32
			for y := ty * th; y < (ty+1)*th; y++ {
				row := src[tone.Reflect(y, h)*w*step:]
				x, end := tx*tw, (tx+1)*tw
				for ; x < min(end, w); x++ {
					counts[row[x*step]]++
				}
				for ; x < end; x++ {
					counts[row[tone.Reflect(x, w)*step]]++
				}
			}
			k.table(&st.tables[ty*k.tiles[1]+tx], &counts, th*tw)
		}
	}
	st.columns(w, tw, k.tiles[1])
	scale := 1 / float32(th)
	for y := range h {
		at := float32(float32(y)*scale) - 0.5
		above := int(math.Floor(float64(at)))
		low := at - float32(above)
		up := 1 - low
		first, second := st.tables[max(above, 0)*k.tiles[1]:], st.tables[min(above+1, k.tiles[0]-1)*k.tiles[1]:]
		d, row := dst[y*w*step:], src[y*w*step:]
		left, right, near := st.left[:w], st.right[:w], st.near[:w]
		for x := range left {
			v, l, r, b := row[x*step], left[x], right[x], near[x]
			a := 1 - b
			upper := float32(float32(first[l][v])*a) + float32(float32(first[r][v])*b)
			lower := float32(float32(second[l][v])*a) + float32(float32(second[r][v])*b)
			d[x*step] = byte(evenFloat(float32(upper*up) + float32(lower*low)))
		}
	}
}

// evenFloat rounds a float from 0 to 255 half to even.
func evenFloat(v float32) int32 {
	const shift = 1 << 23
	return int32(float32(v+shift) - shift)
}

// columns computes the tiles and weights of the columns.
func (st *claheState) columns(w, tw, tiles int) {
	st.left, st.right, st.near = grow(st.left, w), grow(st.right, w), grow(st.near, w)
	scale := 1 / float32(tw)
	for x := range w {
		at := float32(float32(x)*scale) - 0.5
		left := int(math.Floor(float64(at)))
		st.near[x] = at - float32(left)
		st.left[x], st.right[x] = int32(max(left, 0)), int32(min(left+1, tiles-1))
	}
}

// table computes the new values of a tile of n pixels.
func (k *clahe) table(table *[256]byte, counts *[256]int32, n int) {
	if k.limit > 0 {
		limit := int32(min(max(float64(k.limit)*float64(n)/256, 1), math.MaxInt32))
		cut := int32(0)
		for i, v := range counts {
			if v > limit {
				cut += v - limit
				counts[i] = limit
			}
		}
		each, rest := cut/256, int(cut%256)
		for i := range counts {
			counts[i] += each
		}
		if rest > 0 {
			step := max(256/rest, 1)
			for i := 0; i < 256 && rest > 0; i += step {
				counts[i]++
				rest--
			}
		}
	}
	scale, sum := 255/float32(n), int32(0)
	for i, v := range counts {
		sum += v
		table[i] = byte(min(evenFloat(float32(sum)*scale), 255))
	}
}
