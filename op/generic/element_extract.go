package generic

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// mostElements is how many outputs element_extract can have.
const mostElements = 1 << 12

func init() {
	op.Register(op.Schema{
		Name:    "element_extract",
		Doc:     "Takes elements, such as frames, out of sequences. There is one output for each.",
		Inputs:  []op.Port{{Name: "input", Doc: "sequences of two axes or more, the first of which is F where there is a layout"}},
		Outputs: []op.Port{{Name: "element", Doc: "an element of the sequence"}},
		Params:  []op.Parameter{{Name: "element_map", Type: op.Ints, Required: true, Doc: "Index of the element for each output."}},
		OutputCount: func(c *op.Config) (int, error) {
			elements, err := elementMap(c)
			return len(elements), err
		},
		New: func(c *op.Config) (op.Kernel, error) {
			elements, err := elementMap(c)
			return &elementExtract{config: c, elements: elements}, err
		},
	})
}

// elementMap returns the argument of that name, checked.
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
		return c.InvalidInput(0, "a sequence: two axes or more", in.Shape.String(), "")
	case in.Layout != "" && in.Layout[0] != 'F':
		return c.InvalidInput(0, "a layout that begins with F", fmt.Sprintf("%q", in.Layout), "give the sequences their layout")
	}
	return nil
}

func (k *elementExtract) Grain() op.Grain { return op.PerSample }

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

func (k *elementExtract) Run(b *op.Block) error {
	return b.Each(func(s int) error {
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
	})
}
