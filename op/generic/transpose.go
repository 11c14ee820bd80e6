package generic

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/strided"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "transpose",
		Doc:     "Puts the axes into another order.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of any kind"}},
		Outputs: []op.Port{{Name: "output", Doc: "the data with its axes in that order"}},
		Params: []op.Parameter{
			{Name: "output_layout", Type: op.String, Doc: "Layout of the output; it overrides every other layout."},
			{Name: "perm", Type: op.Ints, Doc: "For each axis of the output, the number of the input axis. By default the order is reversed."},
			{Name: "transpose_layout", Type: op.Bool, Default: true, Doc: "Whether the letters of the layout move with their axes; otherwise the layout stays."},
		},
		New: newTranspose,
	})
}

type transpose struct {
	config    *op.Config
	perm      []int // nil: reversed
	layout    string
	keepNames bool
}

func newTranspose(c *op.Config) (op.Kernel, error) {
	k := &transpose{config: c, layout: op.Get[string](c, "output_layout"), keepNames: !op.Get[bool](c, "transpose_layout")}
	if c.Given("output_layout") && k.layout == "" {
		return nil, c.Invalid("output_layout", "a letter for each axis", `""`, "leave it out")
	}
	if !c.Given("perm") {
		return op.Each(k), nil
	}
	k.perm = append([]int{}, op.Get[[]int](c, "perm")...)
	seen := make([]bool, len(k.perm))
	for _, i := range k.perm {
		if i < 0 || i >= len(seen) || seen[i] {
			return nil, c.Invalid("perm", fmt.Sprintf("each number from 0 to %d once", len(seen)-1), fmt.Sprint(k.perm), "")
		}
		seen[i] = true
	}
	return op.Each(k), fits(c, "output_layout", k.layout, len(k.perm))
}

// from returns the input axis that becomes axis i of the output.
func (k *transpose) from(i, rank int) int {
	if k.perm == nil {
		return rank - 1 - i
	}
	return k.perm[i]
}

func (k *transpose) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := tensor.Spec{DType: in[0].DType, Layout: k.layout}
	if in[0].Shape == nil {
		if k.perm != nil {
			out.Shape = unknown(len(k.perm))
		}
		return []tensor.Spec{out}, nil
	}
	rank := len(in[0].Shape)
	if k.perm != nil && len(k.perm) != rank {
		return nil, k.config.Invalid("perm", fmt.Sprintf("%d axes, like input 0", rank), fmt.Sprint(k.perm), "")
	}
	if err := fits(k.config, "output_layout", k.layout, rank); err != nil {
		return nil, err
	}
	out.Shape = make(tensor.Shape, rank)
	names := make([]byte, 0, rank)
	for i := range rank {
		out.Shape[i] = in[0].Shape[k.from(i, rank)]
		if in[0].Layout != "" {
			names = append(names, in[0].Layout[k.from(i, rank)])
		}
	}
	switch {
	case k.layout != "":
	case k.keepNames:
		out.Layout = in[0].Layout
	default:
		out.Layout = string(names)
	}
	return []tensor.Spec{out}, nil
}

func (k *transpose) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	rank := len(in.Shape)
	if k.perm != nil && len(k.perm) != rank {
		return mismatch(fmt.Sprintf("data of %d axes", len(k.perm)), in.String())
	}
	var buf [4][8]int
	shape, steps := buf[0][:0], buf[1][:0]
	inner := strided.Contiguous(buf[2][:0], in.Shape)
	for i := range rank {
		shape, steps = append(shape, in.Shape[k.from(i, rank)]), append(steps, inner[k.from(i, rank)])
	}
	out := b.Out(0, s, shape...)
	strided.Copy(out.Data, strided.Contiguous(buf[3][:0], shape), in.Data, steps, shape, in.DType.Size())
	return nil
}
