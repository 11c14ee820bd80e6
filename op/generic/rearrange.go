package generic

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "copy",
		Doc:     "Returns the data unchanged.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of any kind"}},
		Outputs: []op.Port{{Name: "output", Doc: "the same data"}},
		New:     func(*op.Config) (op.Kernel, error) { return pass{}, nil },
	})
}

// pass returns its input. Samples are never written to, so it copies nothing.
type pass struct{}

func (pass) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return same(in) }

func (pass) Run(b *op.Block) error {
	for s := range b.Len() {
		b.Alias(0, s, b.In(0, s))
	}
	return nil
}

func init() {
	op.Register(op.Schema{
		Name:    "permute_batch",
		Doc:     "Reorders the samples of a batch. Samples may be left out or repeated.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of any kind"}},
		Outputs: []op.Port{{Name: "output", Doc: "the samples in the new order"}},
		Params: []op.Parameter{{Name: "indices", Type: op.Ints, Required: true, PerSample: true,
			Doc: "For each sample of the output, its index in the input batch: one list for the batch, or one number per sample."}},
		New: func(c *op.Config) (op.Kernel, error) {
			return &permuteBatch{config: c, indices: op.GetVector[int](c, "indices")}, nil
		},
	})
}

type permuteBatch struct {
	config  *op.Config
	indices op.Vector[int]
}

func (k *permuteBatch) Batched() bool { return true }

func (k *permuteBatch) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := in[0]
	if out.Shape != nil {
		out.Shape = out.Shape.Clone()
	}
	return []tensor.Spec{out}, nil
}

func (k *permuteBatch) Run(b *op.Block) error {
	constant, ok := k.indices.Const()
	if ok && len(constant) != b.Len() {
		return k.config.Invalid("indices", fmt.Sprintf("%d indices, one per sample of the batch", b.Len()), fmt.Sprint(len(constant)), "")
	}
	return b.Each(func(s int) error {
		var buf [1]int
		index, err := k.indices.At(b, s, buf[:0])
		switch {
		case err != nil:
			return err
		case ok:
			index = index[s : s+1]
		case len(index) != 1:
			return mismatch("one index per sample", tensor.Shape(index).String())
		}
		from := index[0]
		if from < 0 || from >= b.Len() {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument indices", Want: fmt.Sprintf("an index below %d, the size of the batch", b.Len()), Got: fmt.Sprint(from)}
		}
		in := b.In(0, from)
		copy(b.Out(0, s, in.Shape...).Data, in.Data)
		return nil
	})
}

// mostElements is the most outputs of element_extract.
const mostElements = 1 << 12

func init() {
	op.Register(op.Schema{
		Name:    "element_extract",
		Doc:     "Takes elements, such as frames, out of sequences. Each element is an output.",
		Inputs:  []op.Port{{Name: "input", Doc: "sequences of at least two axes; if there is a layout, the first axis is F"}},
		Outputs: []op.Port{{Name: "element", Doc: "an element of the sequence"}},
		Params:  []op.Parameter{{Name: "element_map", Type: op.Ints, Required: true, Doc: "Index of the element for each output."}},
		OutputCount: func(c *op.Config) (int, error) {
			elements, err := elementMap(c)
			return len(elements), err
		},
		New: func(c *op.Config) (op.Kernel, error) {
			elements, err := elementMap(c)
			return op.Each(&elementExtract{config: c, elements: elements}), err
		},
	})
}

// elementMap returns the checked argument element_map.
func elementMap(c *op.Config) ([]int, error) {
	elements := op.Get[[]int](c, "element_map")
	if n := len(elements); n == 0 || n > mostElements {
		return nil, c.Invalid("element_map", fmt.Sprintf("1 to %d indices", mostElements), fmt.Sprint(n), "")
	}
	for _, i := range elements {
		if i < 0 {
			return nil, c.Invalid("element_map", "indices of 0 or more", fmt.Sprint(i), "")
		}
	}
	return elements, nil
}

type elementExtract struct {
	config   *op.Config
	elements []int
}

// sequence checks that the input of an operator is a sequence of elements.
func sequence(c *op.Config, in tensor.Spec) error {
	switch {
	case in.Shape != nil && len(in.Shape) < 2:
		return c.InvalidInput(0, "a sequence with two axes or more", in.Shape.String(), "")
	case in.Layout != "" && in.Layout[0] != 'F':
		return c.InvalidInput(0, "a layout that begins with F", fmt.Sprintf("%q", in.Layout), "give the sequences their layout")
	}
	return nil
}

func (k *elementExtract) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := sequence(k.config, in[0]); err != nil {
		return nil, err
	}
	one := tensor.Spec{DType: in[0].DType}
	if in[0].Shape != nil {
		one.Shape = in[0].Shape[1:]
		for _, i := range k.elements {
			if n := in[0].Shape[0]; n >= 0 && i >= n {
				return nil, k.config.Invalid("element_map", fmt.Sprintf("indices below %d, the length of the sequences", n), fmt.Sprint(i), "")
			}
		}
	}
	if in[0].Layout != "" {
		one.Layout = in[0].Layout[1:]
	}
	out := make([]tensor.Spec, len(k.elements))
	for i := range out {
		out[i] = one
	}
	return out, nil
}

func (k *elementExtract) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if err := sequence(k.config, in.Spec()); err != nil {
		return err
	}
	for o, i := range k.elements {
		if i >= in.Shape[0] {
			return mismatch(fmt.Sprintf("a sequence of %d elements or more", i+1), in.String())
		}
		b.Alias(o, s, in.Index(i))
	}
	return nil
}

func init() {
	op.Register(op.Schema{
		Name:    "sequence_rearrange",
		Doc:     "Reorders the elements of sequences, such as frames. Elements may be left out or repeated.",
		Inputs:  []op.Port{{Name: "input", Doc: "sequences of at least two axes; if there is a layout, the first axis is F"}},
		Outputs: []op.Port{{Name: "output", Doc: "the sequences in the new order"}},
		Params:  []op.Parameter{{Name: "new_order", Type: op.Ints, Required: true, PerSample: true, Doc: "Index of the element at each place of the output."}},
		New: func(c *op.Config) (op.Kernel, error) {
			k := &sequenceRearrange{config: c, order: op.GetVector[int](c, "new_order")}
			if order, ok := k.order.Const(); ok && len(order) == 0 {
				return nil, c.Invalid("new_order", "at least one index", "no index", "")
			}
			return op.Each(k), nil
		},
	})
}

type sequenceRearrange struct {
	config *op.Config
	order  op.Vector[int]
}

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

// within returns an error unless all indices are valid for a sequence of n elements; n may be
// unknown.
func within(order []int, n int) error {
	for _, i := range order {
		if i < 0 || n >= 0 && i >= n {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument new_order", Want: fmt.Sprintf("indices below %d", n), Got: fmt.Sprint(i)}
		}
	}
	return nil
}

func (k *sequenceRearrange) Sample(b *op.Block, s int) error {
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
		return mismatch("at least one index", "no index")
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
