package generic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "squeeze",
		Doc:     "Removes axes of extent 1.",
		Inputs:  []op.Port{{Name: "data", Doc: "data of any kind"}},
		Outputs: []op.Port{{Name: "output", Doc: "the data without these axes"}},
		Params: []op.Parameter{
			{Name: "axes", Type: op.Ints, PerSample: true, Doc: "Axes to remove, by number; one that the data do not have is left alone, as by DALI."},
			{Name: "axis_names", Type: op.String, Doc: "Axes to remove, by the letters of the layout."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			k := &squeeze{config: c, axes: op.GetVector[int](c, "axes"), names: op.Get[string](c, "axis_names")}
			if c.Given("axes") == c.Given("axis_names") {
				return nil, c.Invalid("axes", "one of axes and axis_names", "both or none", "")
			}
			return k, nil
		},
	})
}

type squeeze struct {
	config *op.Config
	axes   op.Vector[int]
	names  string
}

func (k *squeeze) Grain() op.Grain { return op.PerSample }

// removed appends the axes to remove to axes; numbers are those of the argument.
func (k *squeeze) removed(axes, numbers []int, shape tensor.Shape, layout string) ([]int, error) {
	if k.config.Given("axis_names") {
		for _, name := range []byte(k.names) {
			i := strings.IndexByte(layout, name)
			if i < 0 {
				return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument axis_names", Want: fmt.Sprintf("axes of the layout %q", layout), Got: string(name)}
			}
			axes = append(axes, i)
		}
	}
	for _, i := range numbers {
		if i >= 0 && i < len(shape) {
			axes = append(axes, i)
		}
	}
	slices.Sort(axes)
	for j, i := range axes {
		if j > 0 && axes[j-1] == i {
			return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument axes", Want: "every axis once", Got: fmt.Sprintf("axis %d twice", i)}
		}
		if d := shape[i]; d != 1 && d >= 0 {
			return nil, mismatch(fmt.Sprintf("axis %d of extent 1", i), shape.String())
		}
	}
	return axes, nil
}

func (k *squeeze) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := tensor.Spec{DType: in[0].DType}
	numbers, ok := k.axes.Const()
	if !ok || in[0].Shape == nil {
		return []tensor.Spec{out}, nil
	}
	axes, err := k.removed(nil, numbers, in[0].Shape, in[0].Layout)
	if err != nil {
		return nil, k.config.InvalidInput(0, "axes of extent 1 to remove", err.Error(), "")
	}
	out.Shape, out.Layout = keep(tensor.Shape{}, in[0].Shape, axes), without(in[0].Layout, axes)
	return []tensor.Spec{out}, nil
}

// keep appends the extents of all but some axes to out.
func keep(out, shape tensor.Shape, removed []int) tensor.Shape {
	for i, d := range shape {
		if !slices.Contains(removed, i) {
			out = append(out, d)
		}
	}
	return out
}

func (k *squeeze) Run(b *op.Block) error {
	return b.Each(func(s int) error {
		in := b.In(0, s)
		w := op.PerWorker[workspace](b)
		numbers, err := k.axes.At(b, s, w.arguments[0])
		if err != nil {
			return err
		}
		axes, err := k.removed(w.axes[:0], numbers, in.Shape, in.Layout)
		if err != nil {
			return err
		}
		w.axes, w.shape = axes, keep(w.shape[:0], in.Shape, axes)
		out := in
		out.Shape, out.Layout = w.shape, without(in.Layout, axes)
		b.Alias(0, s, out)
		return nil
	})
}
