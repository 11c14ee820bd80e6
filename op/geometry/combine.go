package geometry

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// mostCombined is how many transforms can be combined.
const mostCombined = 99

func init() {
	op.Register(op.Schema{
		Name:   "combine",
		Module: []string{"transforms"},
		Doc:    "Makes one transform of several, which are applied one after the other.",
		Inputs: []op.Port{
			{Name: "first", Doc: "the transform that is applied first", DTypes: []tensor.DType{tensor.Float32}},
			{Name: "next", Doc: "the transforms that are applied to what that gives", DTypes: []tensor.DType{tensor.Float32}},
		},
		Repeat:  mostCombined - 1,
		Outputs: []op.Port{{Name: "output", Doc: "the combined transform"}},
		Params: []op.Parameter{
			{Name: "reverse_order", Type: op.Bool, Default: false, Doc: "Whether the last transform is applied first."},
		},
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			return &combine{config: c, reverse: op.Get[bool](c, "reverse_order")}, nil
		},
	})
}

type combine struct {
	config  *op.Config
	reverse bool
}

func (k *combine) Grain() op.Grain { return op.PerSample }

func (k *combine) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	shape := tensor.Shape{-1, -1}
	for i, s := range in {
		if err := isTransform(s); err != nil {
			return nil, k.config.InvalidInput(i, err.(*errs.Error).Want, err.(*errs.Error).Got, "")
		}
		if s.Shape == nil || s.Shape[0] < 0 {
			continue
		}
		if n := s.Shape[0]; shape[0] < 0 {
			shape = tensor.Shape{n, n + 1}
		} else if n != shape[0] {
			return nil, k.config.InvalidInput(i, "a transform of as many dimensions as the others, "+shape.String(), s.Shape.String(), "")
		}
	}
	return []tensor.Spec{{DType: tensor.Float32, Shape: shape, Layout: layoutMatrix}}, nil
}

func (k *combine) Run(b *op.Block) error {
	return b.Each(func(s int) error {
		t, err := read(b.In(0, s))
		if err != nil {
			return err
		}
		for i := 1; i < b.Inputs(); i++ {
			u, err := read(b.In(i, s))
			switch {
			case err != nil:
				return err
			case u.n != t.n:
				return &errs.Error{Kind: errs.Mismatch, Want: fmt.Sprintf("transforms of %d dimensions", t.n), Got: b.In(i, s).String()}
			case k.reverse:
				t = u.then(&t)
			default:
				t = t.then(&u)
			}
		}
		return t.write(b, s)
	})
}
