package reduce

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// quotient says how a sum becomes the result.
type quotient uint8

const (
	whole   quotient = iota // the sum is the result
	average                 // the sum is divided by the number of elements
	root                    // the square root of the average is taken
)

// summing is the kernel of sum, mean, mean_square and rms.
type summing struct {
	frame
	dtype    tensor.DType // Invalid: the operator's default
	squares  bool
	quotient quotient
	allowed  func(in, out tensor.DType) bool
	standard func(in tensor.DType) tensor.DType
}

// registerSumming registers a reduction. make is its kernel without arguments.
func registerSumming(name, doc, dtypeDoc string, make summing) {
	op.Register(op.Schema{
		Name:      name,
		Module:    []string{"reductions"},
		Doc:       doc,
		Inputs:    []op.Port{{Name: "input", Doc: foldable}},
		Outputs:   []op.Port{{Name: "output", Doc: "one number for all elements that are folded together"}},
		Params:    params(dtypeParam(dtypeDoc)),
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			k := make
			k.dtype = op.Get[tensor.DType](c, "dtype")
			var err error
			k.frame, err = newFrame(c)
			return op.Each(&k), err
		},
	})
}

func toFloat32(tensor.DType) tensor.DType { return tensor.Float32 }

func (k *summing) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	d := in[0].DType
	if !summable(d) {
		return nil, unsupportedInput(k.config, d, foldable)
	}
	out := k.dtype
	if out == tensor.Invalid {
		out = k.standard(d)
	}
	if out != k.standard(d) && !k.allowed(d, out) {
		return nil, k.config.Unsupported("dtype", "a result type for "+d.String()+", such as "+k.standard(d).String(), out.String())
	}
	return k.infer(in[0], out)
}

func (k *summing) Sample(b *op.Block, s int) error {
	axes, n, out, err := k.sample(b, s)
	if err != nil {
		return err
	}
	in := b.In(0, s)
	if n == 0 && k.quotient != whole && out.DType.IsInteger() {
		return &errs.Error{Kind: errs.Invalid, Want: "at least one element", Got: fmt.Sprintf("%s without elements", in)}
	}
	switch wide(in.DType) {
	case tensor.Int64:
		sums := op.Scratch[int64](b, out.Len())
		clear(sums)
		add(sums, in, axes, k.squares)
		finish(k, out, sums, n)
	case tensor.Uint64:
		sums := element.View[uint64](op.Scratch[uint8](b, 8*out.Len()))
		clear(sums)
		add(sums, in, axes, k.squares)
		finish(k, out, sums, n)
	default:
		sums := op.Scratch[float64](b, out.Len())
		clear(sums)
		add(sums, in, axes, k.squares)
		finish(k, out, sums, n)
	}
	return nil
}

// finish writes the results of sums of n elements each.
func finish[A total](k *summing, out tensor.Tensor, sums []A, n int) {
	write := element.Pick(out.DType, narrow[uint8, A], narrow[int8, A], narrow[uint16, A], narrow[int16, A],
		narrow[uint32, A], narrow[int32, A], narrow[uint64, A], narrow[int64, A], rounded[A], nil)
	write(k, out, sums, n)
}

// rounded writes results as float32.
func rounded[A total](k *summing, out tensor.Tensor, sums []A, n int) {
	to := element.View[float32](out.Data)
	for i, sum := range sums {
		v := float64(sum)
		if k.quotient != whole {
			v /= float64(n)
		}
		if k.quotient == root {
			v = math.Sqrt(v)
		}
		to[i] = float32(v)
	}
}

// narrow writes results as integers: the low bits of sums, and truncated quotients and roots.
func narrow[T op.Integer, A total](k *summing, out tensor.Tensor, sums []A, n int) {
	to := element.View[T](out.Data)
	for i, sum := range sums {
		v := T(sum)
		if k.quotient != whole {
			if v < 0 {
				v = T(int64(v) / int64(n))
			} else {
				v = T(uint64(v) / uint64(n))
			}
		}
		if k.quotient == root {
			v = T(math.Sqrt(math.Max(float64(v), 0)))
		}
		to[i] = v
	}
}

func init() {
	registerSumming("sum", "Adds up elements.",
		"Type of the output: by default an integer type of 64 bits for integers, float32 for float32; also the type of the input, "+
			"in which sums wrap around, and float32 for integers of up to 32 bits.",
		summing{
			standard: wide,
			allowed: func(in, out tensor.DType) bool {
				return out == in || out == tensor.Float32 && in.Bits() <= 32
			},
		})
}

func init() {
	registerSumming("mean", "Returns the mean of elements.",
		"Type of the output: by default float32; also the type of the input, in which the sum wraps around and the mean is truncated.",
		summing{
			quotient: average, standard: toFloat32,
			allowed: func(in, out tensor.DType) bool { return out == in },
		})
}

func init() {
	registerSumming("mean_square", "Returns the mean of the squares of elements.",
		"Type of the output: by default float32; also the integer type of 64 bits for integers, to which the mean is truncated.",
		summing{
			squares: true, quotient: average, standard: toFloat32,
			allowed: func(in, out tensor.DType) bool { return out == wide(in) },
		})
}

func init() {
	registerSumming("rms", "Returns the square root of the mean of the squares of elements.",
		"Type of the output: by default float32; also the type of the input, in which sums of squares wrap around and the root is truncated.",
		summing{
			squares: true, quotient: root, standard: toFloat32,
			allowed: func(in, out tensor.DType) bool { return out == in },
		})
}
