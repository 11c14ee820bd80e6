package augment

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

var eraseTypes = []tensor.DType{tensor.Uint8, tensor.Float32}

func init() {
	op.Register(op.Schema{
		Name: "random_erase",
		Doc: "Overwrites a window of an image whose area, ratio and place are drawn (random erasing). If no window of ten fits, " +
			"the image stays as it is.",
		Inputs:  []op.Port{{Name: "images", Doc: "images: uint8 or float32", DTypes: eraseTypes, Layouts: []string{"HWC", "CHW"}}},
		Outputs: []op.Port{{Name: "erased", Doc: "images of the same shape"}},
		Params: []op.Parameter{
			{Name: "area", Type: op.Floats, Default: []float64{0.02, 1. / 3}, Doc: "The least and the largest area of the window, as shares of the image."},
			{Name: "fill_value", Type: op.Floats, Default: []float64{0}, Doc: "Fill value: one for all channels, or one for each."},
			{Name: "noise", Type: op.String, Default: "none",
				Doc: `Normal noise in place of fill_value, for float32: "channel" draws a number for each channel, "pixel" for each element.`},
			{Name: "probability", Type: op.Float, Default: 0.5, PerSample: true, Doc: "The probability that a window is erased."},
			{Name: "ratio", Type: op.Floats, Default: []float64{0.3, 10. / 3}, Doc: "The least and the largest ratio of height to width."},
			{Name: "seed", Type: op.Int, Default: -1, Doc: "Seed of this operator; -1: the pipeline's seed."},
		},
		Random: true,
		New:    newErase,
	})
}

// noise says what a window is filled with.
type noise uint8

const (
	plain noise = iota
	perChannel
	perPixel
)

type erase struct {
	config      *op.Config
	area, ratio [2]float64 // ratio: logarithms
	fill        []float64
	noise       noise
	probability op.Scalar[float64]
}

func newErase(c *op.Config) (op.Kernel, error) {
	k := &erase{config: c, fill: op.Get[[]float64](c, "fill_value"), probability: op.GetScalar[float64](c, "probability")}
	area, ratio := op.Get[[]float64](c, "area"), op.Get[[]float64](c, "ratio")
	if len(area) != 2 || !(area[0] >= 0 && area[0] <= area[1] && area[1] <= 1) {
		return nil, c.Invalid("area", "two shares from 0 to 1 in ascending order", fmt.Sprint(area), "")
	}
	if len(ratio) != 2 || !(ratio[0] > 0 && ratio[0] <= ratio[1] && ratio[1] <= math.MaxFloat32) {
		return nil, c.Invalid("ratio", "two numbers above 0 in ascending order", fmt.Sprint(ratio), "")
	}
	k.area = [2]float64{area[0], area[1]}
	k.ratio = [2]float64{math.Log(ratio[0]), math.Log(ratio[1])}
	words := []string{"none", "channel", "pixel"}
	at := slices.Index(words, op.Get[string](c, "noise"))
	if at < 0 {
		return nil, c.Invalid("noise", `"none", "channel" or "pixel"`, fmt.Sprintf("%q", op.Get[string](c, "noise")),
			errs.DidYouMean(op.Get[string](c, "noise"), words))
	}
	k.noise = noise(at)
	if len(k.fill) == 0 {
		return nil, c.Invalid("fill_value", "at least one value", "no value", "")
	}
	if p, constant := k.probability.Const(); constant && !(p >= 0 && p <= 1) {
		return nil, c.Invalid("probability", "a number from 0 to 1", fmt.Sprint(p), "")
	}
	return op.Each(k), nil
}

func (k *erase) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	s := in[0]
	if !slices.Contains(eraseTypes, s.DType) {
		return nil, k.config.InvalidInput(0, "uint8 or float32", s.DType.String(), "cast it")
	}
	if k.noise != plain && s.DType != tensor.Float32 {
		return nil, k.config.Invalid("noise", "float32 images, to which normal noise belongs", s.DType.String(),
			"normalize the images first, or set fill_value")
	}
	if s.Layout == "" {
		s.Layout = "HWC"
	}
	if s.Shape != nil && len(s.Shape) != 3 || s.Layout != "HWC" && s.Layout != "CHW" {
		return nil, k.config.InvalidInput(0, "images of layout HWC or CHW", s.Shape.String()+" "+s.Layout, "")
	}
	return []tensor.Spec{s}, nil
}

// window is the part of an image that is erased.
type window struct{ y, x, h, w int }

// extents returns the extents of a window. ok is false if it does not fit into the image.
func extents(height, width int, area, ratio float64) (h, w int, ok bool) {
	size := float64(height*width) * area
	h, w = int(math.RoundToEven(math.Sqrt(size*ratio))), int(math.RoundToEven(math.Sqrt(size/ratio)))
	return h, w, h < height && w < width
}

// attempts is how often a window is drawn that may not fit.
const attempts = 10

// window draws a window. ok is false if none fits.
func (k *erase) window(g *rng.Philox, height, width int) (r window, ok bool) {
	for range attempts {
		area := g.Uniform(k.area[0], k.area[1])
		ratio := math.Exp(g.Uniform(k.ratio[0], k.ratio[1]))
		if r.h, r.w, ok = extents(height, width, area, ratio); ok {
			r.y, r.x = g.Intn(height-r.h+1), g.Intn(width-r.w+1)
			return r, true
		}
	}
	return r, false
}

func (k *erase) Sample(b *op.Block, s int) error {
	in, spec := b.In(0, s), b.Binding().Specs[0]
	if len(in.Shape) != 3 {
		return &errs.Error{Kind: errs.Mismatch, Subject: "input images", Want: "images of 3 axes", Got: in.String()}
	}
	in.Layout = spec.Layout
	p, err := k.probability.At(b, s)
	if err == nil && !(p >= 0 && p <= 1) {
		err = badDraw("probability", "a number from 0 to 1", p)
	}
	if err != nil {
		return err
	}
	planar := spec.Layout == "CHW"
	height, width, c := in.Shape[0], in.Shape[1], in.Shape[2]
	if planar {
		c, height, width = in.Shape[0], in.Shape[1], in.Shape[2]
	}
	if len(k.fill) != 1 && len(k.fill) != c && k.noise == plain {
		return badDraw("fill_value", fmt.Sprintf("one number, or %d", c), k.fill)
	}
	g := b.RNG(s)
	run := g.Float64() < p
	r, ok := window{}, false
	if run {
		r, ok = k.window(&g, height, width)
	}
	if !ok {
		b.Alias(0, s, in)
		return nil
	}
	out := b.Out(0, s, in.Shape...)
	copy(out.Data, in.Data)
	for channel := range c {
		at, pixel, row := channel, c, width*c
		if planar {
			at, pixel, row = channel*height*width, 1, width
		}
		at += r.y*row + r.x*pixel
		if out.DType == tensor.Uint8 {
			fillWindow(out.Data, at, pixel, row, r, func() uint8 { return op.Round[uint8](k.fill[channel%len(k.fill)]) })
			continue
		}
		values, err := tensor.Of[float32](out)
		if err != nil {
			return err
		}
		v := float32(k.fill[channel%len(k.fill)])
		if k.noise == perChannel {
			v = float32(g.Normal())
		}
		fillWindow(values, at, pixel, row, r, func() float32 {
			if k.noise == perPixel {
				return float32(g.Normal())
			}
			return v
		})
	}
	return nil
}

// fillWindow writes a window of one channel, whose first element is at.
func fillWindow[T uint8 | float32](data []T, at, pixel, row int, r window, value func() T) {
	for y := range r.h {
		for x := range r.w {
			data[at+y*row+x*pixel] = value()
		}
	}
}
