package generic

import (
	"cmp"
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
			{Name: "axes", Type: op.Ints, PerSample: true, Doc: "Axes to remove, by number. An axis that does not exist is ignored, as in DALI."},
			{Name: "axis_names", Type: op.String, Doc: "Axes to remove, by the letters of the layout."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			k := &squeeze{config: c, axes: op.GetVector[int](c, "axes"), names: op.Get[string](c, "axis_names")}
			if c.Given("axes") == c.Given("axis_names") {
				return nil, c.Invalid("axes", "one of axes and axis_names", "both or neither", "")
			}
			return op.Each(k), nil
		},
	})
}

type squeeze struct {
	config *op.Config
	axes   op.Vector[int]
	names  string
}

// removed appends the axes to remove to axes; numbers are the values of the argument.
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
			return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument axes", Want: "each axis at most once", Got: fmt.Sprintf("axis %d twice", i)}
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

// keep appends the extents of all axes except the removed ones to out.
func keep(out, shape tensor.Shape, removed []int) tensor.Shape {
	for i, d := range shape {
		if !slices.Contains(removed, i) {
			out = append(out, d)
		}
	}
	return out
}

func (k *squeeze) Sample(b *op.Block, s int) error {
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
}

func init() {
	op.Register(op.Schema{
		Name:    "expand_dims",
		Doc:     "Inserts axes of extent 1 between the axes of the data.",
		Inputs:  []op.Port{{Name: "data", Doc: "data of any kind"}},
		Outputs: []op.Port{{Name: "output", Doc: "the data with the new axes"}},
		Params: []op.Parameter{
			{Name: "axes", Type: op.Ints, Required: true, Doc: "Numbers of the new axes in the output."},
			{Name: "new_axis_names", Type: op.String, Default: "", Doc: "A letter for each new axis; without them the output has no layout."},
		},
		New: newExpandDims,
	})
}

type expandDims struct {
	config *op.Config
	axes   []int  // sorted
	names  string // in the order of axes
}

func newExpandDims(c *op.Config) (op.Kernel, error) {
	axes, names := op.Get[[]int](c, "axes"), op.Get[string](c, "new_axis_names")
	if names != "" && len(names) != len(axes) {
		return nil, c.Invalid("new_axis_names", fmt.Sprintf("%d letters, one for each axis", len(axes)), fmt.Sprintf("%q", names), "")
	}
	order := make([]int, len(axes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(axes[a], axes[b]) })
	k := &expandDims{config: c}
	for n, i := range order {
		if axes[i] < 0 || n > 0 && axes[order[n-1]] == axes[i] {
			return nil, c.Invalid("axes", "different axes of 0 or more", fmt.Sprint(axes), "")
		}
		k.axes = append(k.axes, axes[i])
		if names != "" {
			k.names += names[i : i+1]
		}
	}
	return op.Each(k), nil
}

func (k *expandDims) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := tensor.Spec{DType: in[0].DType}
	if in[0].Shape == nil {
		return []tensor.Spec{out}, nil
	}
	if err := k.fits(in[0].Shape, in[0].Layout); err != nil {
		return nil, err
	}
	out.Shape, out.Layout = k.expand(tensor.Shape{}, in[0].Shape), k.layout(in[0].Layout)
	return []tensor.Spec{out}, nil
}

// fits returns an error unless the axes can be added to data of the given shape and layout.
func (k *expandDims) fits(shape tensor.Shape, layout string) error {
	rank := len(shape) + len(k.axes)
	if len(k.axes) > 0 && k.axes[len(k.axes)-1] >= rank {
		return k.config.Invalid("axes", fmt.Sprintf("axes below %d, the rank of the output", rank), fmt.Sprint(k.axes), "")
	}
	if k.names != "" && layout == "" && len(shape) > 0 {
		return k.config.Invalid("new_axis_names", "an input with a layout", "an input without a layout",
			"give the input a layout")
	}
	return nil
}

// expand appends the new shape to out.
func (k *expandDims) expand(out, shape tensor.Shape) tensor.Shape {
	for _, axis := range k.axes {
		n := axis - len(out)
		out = append(append(out, shape[:n]...), 1)
		shape = shape[n:]
	}
	return append(out, shape...)
}

// layout returns the layout of the output.
func (k *expandDims) layout(layout string) string {
	if k.names == "" {
		return ""
	}
	out := ""
	for i, axis := range k.axes {
		n := axis - len(out)
		out += layout[:n] + k.names[i:i+1]
		layout = layout[n:]
	}
	return out + layout
}

func (k *expandDims) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if err := k.fits(in.Shape, in.Layout); err != nil {
		return err
	}
	w := op.PerWorker[workspace](b)
	w.shape = k.expand(w.shape[:0], in.Shape)
	out := in
	out.Shape, out.Layout = w.shape, k.layout(in.Layout)
	b.Alias(0, s, out)
	return nil
}
