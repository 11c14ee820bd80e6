package generic

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "sequence_rearrange",
		Doc:     "Puts the elements of sequences, such as frames, into another order; elements may be left out or come again.",
		Inputs:  []op.Port{{Name: "input", Doc: "sequences of two axes or more, the first of which is F where there is a layout"}},
		Outputs: []op.Port{{Name: "output", Doc: "the sequences in the new order"}},
		Params:  []op.Parameter{{Name: "new_order", Type: op.Ints, Required: true, PerSample: true, Doc: "Index of the element at each place of the output."}},
		New: func(c *op.Config) (op.Kernel, error) {
			k := &sequenceRearrange{config: c, order: op.GetVector[int](c, "new_order")}
			if order, ok := k.order.Const(); ok && len(order) == 0 {
				return nil, c.Invalid("new_order", "an index or more", "none", "")
			}
			return k, nil
		},
	})
}

type sequenceRearrange struct {
	config *op.Config
	order  op.Vector[int]
}

func (k *sequenceRearrange) Grain() op.Grain { return op.PerSample }

func (k *sequenceRearrange) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := sequence(k.config, in[0]); err != nil {
		return nil, err
	}
	out := in[0]
	if out.Shape == nil {
		return []tensor.Spec{out}, nil
	}
	out.Shape = append(tensor.Shape{-1}, out.Shape[1:]...)
	if order, ok := k.order.Const(); ok {
		out.Shape[0] = len(order)
		if err := within(order, in[0].Shape[0]); err != nil {
			return nil, k.config.Invalid("new_order", "indices of the sequences", err.Error(), "")
		}
	}
	return []tensor.Spec{out}, nil
}

// within returns an error unless all indices are of a sequence of n elements; n
// may be unknown.
func within(order []int, n int) error {
	for _, i := range order {
		if i < 0 || n >= 0 && i >= n {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument new_order", Want: fmt.Sprintf("indices below %d", n), Got: fmt.Sprint(i)}
		}
	}
	return nil
}

func (k *sequenceRearrange) Run(b *op.Block) error {
	return b.Each(func(s int) error { return k.sample(b, s) })
}

func (k *sequenceRearrange) sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if err := sequence(k.config, in.Spec()); err != nil {
		return err
	}
	var indices, extents [8]int
	order, err := k.order.At(b, s, indices[:0])
	if err != nil {
		return err
	}
	if len(order) == 0 {
		return mismatch("an index or more", "none")
	}
	if err := within(order, in.Shape[0]); err != nil {
		return err
	}
	shape := append(append(tensor.Shape(extents[:0]), len(order)), in.Shape[1:]...)
	if err := size(shape, in.DType); err != nil {
		return err
	}
	out := b.Out(0, s, shape...)
	n := len(in.Data) / in.Shape[0]
	for to, from := range order {
		copy(out.Data[to*n:], in.Data[from*n:(from+1)*n])
	}
	return nil
}
