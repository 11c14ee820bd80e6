package segmentation

import (
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
	"github.com/bivouac-ml/bivouac/tensor"
)

// pixelTypes are the dtypes of masks of which pixels are drawn.
var pixelTypes = []tensor.DType{tensor.Uint8, tensor.Int8, tensor.Uint16, tensor.Int16, tensor.Uint32, tensor.Int32,
	tensor.Uint64, tensor.Int64, tensor.Float32, tensor.Bool}

func init() {
	op.Register(op.Schema{
		Name: "random_mask_pixel", Module: module,
		Doc:     "Draws a pixel of a mask: any pixel, or one of the foreground. All candidates are equally likely.",
		Inputs:  []op.Port{{Name: "mask", Doc: "a mask of any number of axes", DTypes: pixelTypes}},
		Outputs: []op.Port{{Name: "position", Doc: "the index of the pixel along every axis, int64"}},
		Params: []op.Parameter{
			{Name: "foreground", Type: op.Int, Default: 0, PerSample: true, Doc: "Whether only pixels of the foreground are candidates; 0 means no. A mask without foreground has all pixels as candidates."},
			{Name: "threshold", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Pixels above it are the foreground."},
			{Name: "value", Type: op.Int, PerSample: true, Doc: "Pixels of this value are the foreground. Not together with threshold."},
			seedParam,
		},
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			if c.Given("value") && c.Given("threshold") {
				return nil, c.Invalid("value", "value or threshold", "both", "leave one of them out")
			}
			return &maskPixel{config: c, foreground: op.GetScalar[int](c, "foreground"), threshold: op.GetScalar[float64](c, "threshold"),
				value: op.GetScalar[int](c, "value"), byValue: c.Has("value")}, nil
		},
	})
}

type maskPixel struct {
	config     *op.Config
	foreground op.Scalar[int]
	threshold  op.Scalar[float64]
	value      op.Scalar[int]
	byValue    bool
}

func (k *maskPixel) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if !slices.Contains(pixelTypes, in[0].DType) {
		return nil, k.config.InvalidInput(0, "a mask of integers, bools or float32", in[0].DType.String(), "cast it")
	}
	return []tensor.Spec{{DType: tensor.Int64, Shape: tensor.Shape{rank(in[0])}}}, nil
}

// drawer is a worker's state.
type drawer struct {
	philox rng.Philox
	source libstdcxx.Source // of the words of philox
	counts []int32          // of the candidates in each chunk
}

func (d *drawer) begin(b *op.Block, s int) {
	if d.philox = b.RNG(s); d.source == nil {
		d.source = libstdcxx.Words{Philox: &d.philox}
	}
}

func (k *maskPixel) Run(b *op.Block) error {
	d := op.PerWorker[drawer](b)
	return b.Each(func(s int) error { return k.sample(b, s, d) })
}

func (k *maskPixel) sample(b *op.Block, s int, d *drawer) error {
	mask := b.In(0, s)
	n := mask.Len()
	if n == 0 {
		return &errs.Error{Kind: errs.Invalid, Subject: "input mask", Want: "at least one pixel", Got: mask.String()}
	}
	foreground, err := k.foreground.At(b, s)
	if err != nil {
		return err
	}
	out, err := tensor.Of[int64](b.Out(0, s, len(mask.Shape)))
	if err != nil {
		return err
	}
	d.begin(b, s)
	if foreground != 0 {
		f, ok, err := k.foregroundOf(b, s, mask.DType)
		if err != nil {
			return err
		}
		at := -1
		if ok {
			at = d.draw(mask, f, func(n int) int { return int(libstdcxx.UniformInt(d.source, 0, int64(n-1))) })
		}
		if at >= 0 {
			for axis := len(out) - 1; axis >= 0; axis-- {
				out[axis] = int64(at % mask.Shape[axis])
				at /= mask.Shape[axis]
			}
			return nil
		}
	}
	for axis, extent := range mask.Shape {
		out[axis] = libstdcxx.UniformInt(d.source, 0, int64(extent-1))
	}
	return nil
}
