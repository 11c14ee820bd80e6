// Package generic holds the operators that work on data of any meaning.
package generic

import (
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// castable are the types between which cast converts.
var castable = []tensor.DType{
	tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64,
	tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Float32, tensor.Float64,
}

func init() {
	op.Register(op.Schema{
		Name: "cast",
		Doc: "Converts elements to another type: floats to integers are rounded half away from zero and saturated, " +
			"integers to narrower ones saturated.",
		Inputs:  []op.Port{{Name: "input", Doc: "integers or floats of any shape", DTypes: castable}},
		Outputs: []op.Port{{Name: "output", Doc: "the same shape in the other type"}},
		Params: []op.Parameter{
			{Name: "dtype", Type: op.DType, Required: true, Doc: "Type of the output."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			k := &cast{dtype: op.Get[tensor.DType](c, "dtype")}
			if !isCastable(k.dtype) {
				return nil, c.Unsupported("dtype", "an integer type of 8 bits or more, float32 or float64", k.dtype.String())
			}
			return k, nil
		},
	})
}

func isCastable(d tensor.DType) bool {
	for _, c := range castable {
		if c == d {
			return true
		}
	}
	return false
}

type cast struct{ dtype tensor.DType }

func (k *cast) Grain() op.Grain { return op.PerSample }

func (k *cast) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := in[0]
	out.DType = k.dtype
	return []tensor.Spec{out}, nil
}

func (k *cast) Run(b *op.Block) error {
	for s := range b.Len() {
		in := b.In(0, s)
		if in.DType == k.dtype {
			b.Alias(0, s, in)
			continue
		}
		if err := castFrom(b.Out(0, s, in.Shape...), in); err != nil {
			b.Fail(s, err)
		}
	}
	return nil
}

func castFrom(out, in tensor.Tensor) error {
	switch in.DType {
	case tensor.Uint8:
		return fromInteger[uint8](out, in)
	case tensor.Uint16:
		return fromInteger[uint16](out, in)
	case tensor.Uint32:
		return fromInteger[uint32](out, in)
	case tensor.Uint64:
		return fromInteger[uint64](out, in)
	case tensor.Int8:
		return fromInteger[int8](out, in)
	case tensor.Int16:
		return fromInteger[int16](out, in)
	case tensor.Int32:
		return fromInteger[int32](out, in)
	case tensor.Int64:
		return fromInteger[int64](out, in)
	case tensor.Float32:
		return fromFloat[float32](out, in)
	case tensor.Float64:
		return fromFloat[float64](out, in)
	}
	return unsupported(in.DType)
}

func unsupported(d tensor.DType) error {
	return &errs.Error{Kind: errs.Unsupported, Want: "a type that cast converts", Got: d.String()}
}

func fromInteger[S op.Integer](out, in tensor.Tensor) error {
	switch out.DType {
	case tensor.Uint8:
		return convert(out, in, op.Saturate[uint8, S])
	case tensor.Uint16:
		return convert(out, in, op.Saturate[uint16, S])
	case tensor.Uint32:
		return convert(out, in, op.Saturate[uint32, S])
	case tensor.Uint64:
		return convert(out, in, op.Saturate[uint64, S])
	case tensor.Int8:
		return convert(out, in, op.Saturate[int8, S])
	case tensor.Int16:
		return convert(out, in, op.Saturate[int16, S])
	case tensor.Int32:
		return convert(out, in, op.Saturate[int32, S])
	case tensor.Int64:
		return convert(out, in, op.Saturate[int64, S])
	case tensor.Float32:
		return convert(out, in, func(v S) float32 { return float32(v) })
	case tensor.Float64:
		return convert(out, in, func(v S) float64 { return float64(v) })
	}
	return unsupported(out.DType)
}

func fromFloat[S float32 | float64](out, in tensor.Tensor) error {
	switch out.DType {
	case tensor.Uint8:
		return convert(out, in, round[uint8, S])
	case tensor.Uint16:
		return convert(out, in, round[uint16, S])
	case tensor.Uint32:
		return convert(out, in, round[uint32, S])
	case tensor.Uint64:
		return convert(out, in, round[uint64, S])
	case tensor.Int8:
		return convert(out, in, round[int8, S])
	case tensor.Int16:
		return convert(out, in, round[int16, S])
	case tensor.Int32:
		return convert(out, in, round[int32, S])
	case tensor.Int64:
		return convert(out, in, round[int64, S])
	case tensor.Float32:
		return convert(out, in, func(v S) float32 { return float32(v) })
	case tensor.Float64:
		return convert(out, in, func(v S) float64 { return float64(v) })
	}
	return unsupported(out.DType)
}

func round[T op.Integer, S float32 | float64](v S) T { return op.Round[T](float64(v)) }

func convert[T, S tensor.Element](out, in tensor.Tensor, one func(S) T) error {
	src, err := tensor.Of[S](in)
	if err != nil {
		return err
	}
	dst, err := tensor.Of[T](out)
	if err != nil {
		return err
	}
	for i, v := range src {
		dst[i] = one(v)
	}
	return nil
}
