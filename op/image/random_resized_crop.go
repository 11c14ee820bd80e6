package image

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/cropgen"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "random_resized_crop",
		Doc: "Cuts a window of random area, aspect ratio and place out of an image and resizes it to a fixed size. " +
			"Pixels outside the window but within reach of the filter take part, as in DALI.",
		Inputs:  []op.Port{{Name: "images", Doc: "images, uint8 or float32", DTypes: []tensor.DType{tensor.Uint8, tensor.Float32}, Layouts: []string{layoutHWC}}},
		Outputs: []op.Port{{Name: "resized", Doc: "images of the given size, HWC"}},
		Params: append([]op.Parameter{
			{Name: "size", Type: op.Ints, Required: true, Doc: "Height and width of the result; a single number is both."},
			{Name: "interp_type", Type: op.Interp, Default: op.InterpLinear, Doc: "Filter: INTERP_LINEAR or INTERP_TRIANGULAR."},
			{Name: "antialias", Type: op.Bool, Default: true, Doc: "Widens the filter when the image shrinks."},
			{Name: "dtype", Type: op.DType, Doc: "Output type: that of the input, the default, or float32."},
			{Name: "seed", Type: op.Int, Default: -1, Doc: "Seed of this operator; -1: that of the pipeline."},
		}, cropgen.Params()...),
		Random:    true,
		Precision: op.Tolerance,
		New:       newRandomResizedCrop,
	})
}

type randomResizedCrop struct {
	config        *op.Config
	height, width int
	crop          *cropgen.Generator
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
	k.crop, err = cropgen.New(c)
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
	window := k.crop.Draw(b.RNG(s), h, w)
	out := b.Out(0, s, k.height, k.width, c)
	plan := op.PerWorker[resampler](b)
	area := region{y: float64(window.Y), x: float64(window.X), h: float64(window.H), w: float64(window.W)}
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
