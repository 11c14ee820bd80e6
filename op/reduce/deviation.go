package reduce

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// deviating is the kernel of variance and std_dev.
type deviating struct {
	frame
	ddof int
	root bool
}

// registerDeviation registers variance or std_dev.
func registerDeviation(name, doc string, root bool) {
	op.Register(op.Schema{
		Name:   name,
		Module: []string{"reductions"},
		Doc:    doc,
		Inputs: []op.Port{
			{Name: "data", Doc: foldable},
			{Name: "mean", Doc: "float32 means: one for each element of the output, or one for all"},
		},
		Outputs: []op.Port{{Name: "output", Doc: "one float32 for all elements that are folded together"}},
		Params: params(op.Parameter{Name: "ddof", Type: op.Int, Default: 0,
			Doc: "Number that is subtracted from the number of elements before the division."}),
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			f, err := newFrame(c)
			return op.Each(&deviating{frame: f, ddof: op.Get[int](c, "ddof"), root: root}), err
		},
	})
}

func (k *deviating) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if !summable(in[0].DType) {
		return nil, unsupportedInput(k.config, in[0].DType, foldable)
	}
	if in[1].DType != tensor.Float32 {
		return nil, k.config.InvalidInput(1, "float32 means", in[1].DType.String(), "cast them")
	}
	out, err := k.infer(in[0], tensor.Float32)
	if err == nil && op.Static(out[0]) && op.Static(in[1]) && in[1].Shape.Len() != 1 && in[1].Shape.Len() != out[0].Shape.Len() {
		return nil, k.config.InvalidInput(1, fmt.Sprintf("1 or %d means", out[0].Shape.Len()), in[1].Shape.String(), "fold the same axes for the mean")
	}
	return out, err
}

func (k *deviating) Sample(b *op.Block, s int) error {
	axes, n, out, err := k.sample(b, s)
	if err != nil {
		return err
	}
	means, err := tensor.Of[float32](b.In(1, s))
	if err != nil {
		return err
	}
	if len(means) == 1 && out.Len() != 1 {
		mean := means[0]
		means = op.Scratch[float32](b, out.Len())
		for i := range means {
			means[i] = mean
		}
	}
	if len(means) != out.Len() {
		return &errs.Error{Kind: errs.Mismatch, Subject: "input 1", Want: fmt.Sprintf("1 or %d means", out.Len()), Got: b.In(1, s).String()}
	}
	sums := op.Scratch[float64](b, out.Len())
	clear(sums)
	addDeviations(sums, b.In(0, s), axes, means)
	to := element.View[float32](out.Data)
	for i, sum := range sums {
		if sum /= float64(n - k.ddof); k.root {
			sum = math.Sqrt(sum)
		}
		to[i] = float32(sum)
	}
	return nil
}

func init() {
	registerDeviation("variance", "Returns the variance: the mean of the squared distances of elements from a mean.", false)
}

func init() {
	registerDeviation("std_dev", "Returns the standard deviation: the square root of the mean of the squared distances of elements from a mean.", true)
}
