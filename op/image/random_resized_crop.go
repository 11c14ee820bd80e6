package image

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "random_resized_crop",
		Doc: "Cuts a window of random area, aspect ratio and place out of an image and resizes it to a fixed size. " +
			"Pixels outside the window but within reach of the filter take part, as in DALI.",
		Inputs:  []op.Port{{Name: "images", Doc: "images, uint8 or float32", DTypes: []tensor.DType{tensor.Uint8, tensor.Float32}, Layouts: []string{layoutHWC}}},
		Outputs: []op.Port{{Name: "resized", Doc: "images of the given size, HWC"}},
		Params: []op.Parameter{
			{Name: "size", Type: op.Ints, Required: true, Doc: "Height and width of the result; a single number is both."},
			{Name: "random_area", Type: op.Floats, Default: []float64{0.08, 1}, Doc: "Range of the window's area as a fraction of the image's."},
			{Name: "random_aspect_ratio", Type: op.Floats, Default: []float64{3. / 4, 4. / 3}, Doc: "Range of the window's width over its height."},
			{Name: "num_attempts", Type: op.Int, Default: 10, Doc: "Draws until the widest window that fits is taken."},
			{Name: "interp_type", Type: op.Interp, Default: op.InterpLinear, Doc: "Filter: INTERP_LINEAR or INTERP_TRIANGULAR."},
			{Name: "antialias", Type: op.Bool, Default: true, Doc: "Widens the filter when the image shrinks."},
			{Name: "dtype", Type: op.DType, Doc: "Output type: that of the input, the default, or float32."},
			{Name: "seed", Type: op.Int, Default: -1, Doc: "Seed of this operator; -1: that of the pipeline."},
		},
		Random:    true,
		Precision: op.Tolerance,
		New:       newRandomResizedCrop,
	})
}

type randomResizedCrop struct {
	config        *op.Config
	height, width int
	crop          randomCrop
	antialias     bool
	dtype         tensor.DType
}

func newRandomResizedCrop(c *op.Config) (op.Kernel, error) {
	size := op.Get[[]int](c, "size")
	if len(size) == 1 {
		size = []int{size[0], size[0]}
	}
	const largest = 1 << 16
	if len(size) != 2 || min(size[0], size[1]) < 1 || max(size[0], size[1]) > largest {
		return nil, c.Invalid("size", fmt.Sprintf("height and width from 1 to %d", largest), fmt.Sprint(size), "")
	}
	interp := op.Get[op.InterpType](c, "interp_type")
	if interp != op.InterpLinear && interp != op.InterpTriangular {
		return nil, c.Unsupported("interp_type", "INTERP_LINEAR or INTERP_TRIANGULAR", interp.String())
	}
	k := &randomResizedCrop{
		config: c, height: size[0], width: size[1],
		antialias: op.Get[bool](c, "antialias"), dtype: op.Get[tensor.DType](c, "dtype"),
	}
	var err error
	k.crop, err = newRandomCrop(c)
	return k, err
}

func (k *randomResizedCrop) Grain() op.Grain { return op.PerSample }

func (k *randomResizedCrop) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := inputHWC(k.config, in[0]); err != nil {
		return nil, err
	}
	dtype := in[0].DType
	if k.dtype != tensor.Invalid {
		if k.dtype != dtype && k.dtype != tensor.Float32 {
			return nil, k.config.Unsupported("dtype", dtype.String()+", the type of the input, or float32", k.dtype.String())
		}
		dtype = k.dtype
	}
	channels := -1
	if in[0].Shape != nil {
		channels = in[0].Shape[2]
	}
	return []tensor.Spec{{DType: dtype, Shape: tensor.Shape{k.height, k.width, channels}, Layout: layoutHWC}}, nil
}

func (k *randomResizedCrop) Run(b *op.Block) error {
	for s := range b.Len() {
		if err := k.sample(b, s); err != nil {
			b.Fail(s, err)
		}
	}
	return nil
}

func (k *randomResizedCrop) sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if err := checkImage(in); err != nil {
		return err
	}
	if in.Shape.Len() == 0 {
		return &errs.Error{Kind: errs.Invalid, Want: "an image with pixels", Got: in.String()}
	}
	h, w, c := in.Shape[0], in.Shape[1], in.Shape[2]
	r := b.RNG(s)
	window := k.crop.draw(&r, h, w)
	out := b.Out(0, s, k.height, k.width, c)
	plan := op.PerWorker[resampler](b)
	area := region{y: float64(window.y), x: float64(window.x), h: float64(window.h), w: float64(window.w)}
	if in.DType == tensor.Uint8 {
		src := source[uint8]{pixels: in.Data, height: h, width: w, channels: c, region: area}
		if out.DType == tensor.Uint8 {
			run(plan, out.Data, k.height, k.width, src, k.antialias)
			return nil
		}
		dst, err := floats(out)
		if err == nil {
			run(plan, dst, k.height, k.width, src, k.antialias)
		}
		return err
	}
	pixels, err := floats(in)
	if err != nil {
		return err
	}
	dst, err := floats(out)
	if err == nil {
		run(plan, dst, k.height, k.width, source[float32]{pixels: pixels, height: h, width: w, channels: c, region: area}, k.antialias)
	}
	return err
}

// randomCrop draws windows as DALI's RandomCropGenerator does (dali.md §7.2),
// from numbers of its own stream.
type randomCrop struct {
	area, ratio [2]float64
	attempts    int
}

func newRandomCrop(c *op.Config) (randomCrop, error) {
	area, ratio := op.Get[[]float64](c, "random_area"), op.Get[[]float64](c, "random_aspect_ratio")
	if len(area) != 2 || !(area[0] > 0 && area[0] <= area[1] && area[1] <= 1) {
		return randomCrop{}, c.Invalid("random_area", "a range within (0, 1]", fmt.Sprint(area), "")
	}
	if len(ratio) != 2 || !(ratio[0] > 0 && ratio[0] <= ratio[1] && ratio[1] < math.Inf(1)) {
		return randomCrop{}, c.Invalid("random_aspect_ratio", "a range of positive numbers", fmt.Sprint(ratio), "")
	}
	attempts := op.Get[int](c, "num_attempts")
	if attempts < 1 {
		return randomCrop{}, c.Invalid("num_attempts", "1 or more", fmt.Sprint(attempts), "")
	}
	return randomCrop{area: [2]float64{area[0], area[1]}, ratio: [2]float64{ratio[0], ratio[1]}, attempts: attempts}, nil
}

// draw returns a window within an image of h x w.
func (g *randomCrop) draw(r *rng.Philox, h, w int) rect {
	size := g.size(r, h, w)
	size.y = r.Intn(h - size.h + 1)
	size.x = r.Intn(w - size.w + 1)
	return size
}

func (g *randomCrop) size(r *rng.Philox, h, w int) rect {
	total := float64(h) * float64(w)
	tallest := rect{h: h, w: min(w, max(1, int(float64(h)*g.ratio[1])))}
	widest := rect{h: min(h, max(1, int(float64(w)/g.ratio[0]))), w: w}
	if float64(tallest.h)*float64(tallest.w) < g.area[0]*total {
		return tallest
	}
	if float64(widest.h)*float64(widest.w) < g.area[0]*total {
		return widest
	}
	logLow, logHigh := math.Log(g.ratio[0]), math.Log(g.ratio[1])
	for range g.attempts {
		area := total * (g.area[0] + (g.area[1]-g.area[0])*r.Float64())
		ratio := math.Exp(logLow + (logHigh-logLow)*r.Float64())
		size := rect{h: max(1, int(math.Round(math.Sqrt(area/ratio)))), w: max(1, int(math.Round(math.Sqrt(area*ratio))))}
		if size.h <= h && size.w <= w {
			if real := float64(size.w) / float64(size.h); real >= g.ratio[0] && real <= g.ratio[1] {
				return size
			}
		}
	}
	size := rect{h: h, w: w}
	if real := float64(w) / float64(h); real > g.ratio[1] {
		size = tallest
	} else if real < g.ratio[0] {
		size = widest
	}
	if shrink := math.Sqrt(g.area[1] * total / (float64(size.h) * float64(size.w))); shrink < 1 {
		size.h, size.w = max(1, int(float64(size.h)*shrink)), max(1, int(float64(size.w)*shrink))
	}
	return size
}
