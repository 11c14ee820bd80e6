package geometry

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "grid_mask",
		Doc: "Makes the squares of a grid black, in every image of a sequence and every plane of a volume. " +
			"Erased numbers are multiplied by 0: NaN stays NaN, and infinities become NaN.",
		Inputs:  []op.Port{{Name: "images", Doc: "pictures, sequences or volumes", Layouts: []string{"HWC", "FHWC", "DHWC"}}},
		Outputs: []op.Port{{Name: "output", Doc: "the pictures with black squares"}},
		Params: []op.Parameter{
			{Name: "angle", Type: op.Float, Default: 0.0, PerSample: true, Doc: "The angle of the grid in radians."},
			{Name: "ratio", Type: op.Float, Default: 0.5, PerSample: true, Doc: "The side of a black square, as a fraction of the tile."},
			{Name: "shift_x", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Number of pixels that the grid moves to the right."},
			{Name: "shift_y", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Number of pixels that the grid moves down."},
			{Name: "tile", Type: op.Int, Default: 100, PerSample: true, Doc: "The side of a tile in pixels."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			k := &gridMask{config: c, tile: op.GetScalar[int](c, "tile"), angle: op.GetScalar[float64](c, "angle"), ratio: op.GetScalar[float64](c, "ratio"),
				shiftX: op.GetScalar[float64](c, "shift_x"), shiftY: op.GetScalar[float64](c, "shift_y")}
			if tile, ok := k.tile.Const(); ok && tile <= 0 {
				return nil, c.Invalid("tile", "a side of 1 or more", fmt.Sprint(tile), "")
			}
			return op.Each(k), nil
		},
	})
}

type gridMask struct {
	config                       *op.Config
	tile                         op.Scalar[int]
	angle, ratio, shiftX, shiftY op.Scalar[float64]
}

func (k *gridMask) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if !slices.Contains(warpTypes(), in[0].DType) {
		return nil, k.config.InvalidInput(0, fmt.Sprint(warpTypes()), in[0].DType.String(), "cast it")
	}
	rank := len(in[0].Shape)
	if in[0].Shape != nil && rank != 3 && rank != 4 || in[0].Layout != "" && !strings.HasSuffix(in[0].Layout, "HWC") {
		return nil, k.config.InvalidInput(0, "pictures of layout HWC, FHWC or DHWC", fmt.Sprintf("%s, layout %q", in[0].Shape, in[0].Layout), "")
	}
	return in[:1:1], nil
}

func (k *gridMask) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	rank := len(in.Shape)
	if rank != 3 && rank != 4 {
		return &errs.Error{Kind: errs.Mismatch, Want: "an image of layout HWC, or a sequence of images", Got: in.String()}
	}
	g, err := k.grid(b, s)
	if err != nil {
		return err
	}
	out := b.Out(0, s, in.Shape...)
	copy(out.Data, in.Data)
	h, w, n := in.Shape[rank-3], in.Shape[rank-2], in.Shape[rank-1]*in.DType.Size()
	frame := h * w * n
	for y := range h {
		for x := range w {
			if !g.black(x, y) {
				continue
			}
			for at := (y*w + x) * n; at < len(out.Data); at += frame {
				blacken(in.DType, out.Data[at:at+n])
			}
		}
	}
	return nil
}

// blacken multiplies elements by 0.
func blacken(dtype tensor.DType, pixel []byte) {
	if dtype != tensor.Float32 {
		clear(pixel)
		return
	}
	for v := element.View[float32](pixel); len(v) > 0; v = v[1:] {
		v[0] *= 0
	}
}

// grid maps pixels to tiles, in float32.
type grid struct{ cos, sin, x, y, ratio float32 }

func (k *gridMask) grid(b *op.Block, s int) (grid, error) {
	tile, err := k.tile.At(b, s)
	if err == nil && tile <= 0 {
		err = &errs.Error{Kind: errs.Invalid, Subject: "argument tile", Want: "a side of 1 or more", Got: fmt.Sprint(tile)}
	}
	var v [4]float64
	for i, p := range []op.Scalar[float64]{k.angle, k.ratio, k.shiftX, k.shiftY} {
		if err == nil {
			v[i], err = p.At(b, s)
		}
	}
	sin, cos := math.Sincos(float64(float32(v[0])))
	side := float32(tile)
	return grid{cos: float32(cos) / side, sin: float32(sin) / side, ratio: float32(v[1]), x: float32(v[2]) / side, y: float32(v[3]) / side}, err
}

// black reports whether a pixel lies in a black square.
func (g *grid) black(x, y int) bool {
	u := float32(float32(x)*g.cos) - float32(float32(y)*g.sin) - g.x
	v := float32(float32(x)*g.sin) + float32(float32(y)*g.cos) - g.y
	return u-float32(math.Floor(float64(u))) < g.ratio && v-float32(math.Floor(float64(v))) < g.ratio
}
