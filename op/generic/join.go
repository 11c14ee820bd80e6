package generic

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/strided"
	"github.com/bivouac-ml/bivouac/tensor"
)

// mostInputs is the most inputs that can be joined.
const mostInputs = 999

// joining is the kernel of cat and stack.
type joining struct {
	config *op.Config
	axis   int
	name   string
	stack  bool // along a new axis
}

func newJoining(c *op.Config, stack bool) (op.Kernel, error) {
	k := &joining{config: c, axis: op.Get[int](c, "axis"), name: op.Get[string](c, "axis_name"), stack: stack}
	switch {
	case c.Given("axis_name") && len(k.name) != 1:
		return nil, c.Invalid("axis_name", "one letter", fmt.Sprintf("%q", k.name), "")
	case c.Given("axis_name") && c.Given("axis") && !stack:
		return nil, c.Invalid("axis_name", "axis or axis_name", "both", "leave one of them out")
	}
	return op.Each(k), nil
}

// along returns the axis along which data of the given rank and layout is joined.
func (k *joining) along(rank int, layout string) (int, error) {
	if k.name != "" && !k.stack {
		i := strings.IndexByte(layout, k.name[0])
		if i < 0 {
			return 0, k.config.Invalid("axis_name", fmt.Sprintf("an axis of the layout %q", layout), fmt.Sprintf("%q", k.name), "")
		}
		return i, nil
	}
	most := rank - 1 // DALI counts negative axes of stack from the end of the output,
	if k.stack {     // but at most as many as the input has
		most = rank
	}
	if k.axis < -rank || k.axis > most {
		return 0, k.config.Invalid("axis", fmt.Sprintf("an axis of -%d to %d", rank, most), fmt.Sprint(k.axis), "")
	}
	if k.axis < 0 {
		return k.axis + most + 1, nil
	}
	return k.axis, nil
}

func (k *joining) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	first := in[0]
	for i, s := range in[1:] {
		if s.DType != first.DType {
			return nil, k.config.InvalidInput(i+1, first.DType.String()+", like input 0", s.DType.String(), "cast it")
		}
		if first.Shape == nil {
			first.Shape = s.Shape
		}
		if s.Shape != nil && len(s.Shape) != len(first.Shape) {
			return nil, k.config.InvalidInput(i+1, fmt.Sprintf("%d axes", len(first.Shape)), s.Shape.String(), "")
		}
	}
	out := tensor.Spec{DType: first.DType}
	if first.Shape == nil {
		return []tensor.Spec{out}, nil
	}
	at, err := k.along(len(first.Shape), first.Layout)
	if err != nil {
		return nil, err
	}
	if k.stack {
		out.Layout, err = k.stackedLayout(first, at)
		out.Shape = append(append(append(tensor.Shape{}, first.Shape[:at]...), len(in)), first.Shape[at:]...)
		for i := range out.Shape {
			if i != at {
				out.Shape[i] = common(in, i-btoi(i > at))
			}
		}
		return []tensor.Spec{out}, err
	}
	out.Layout, out.Shape = first.Layout, unknown(len(first.Shape))
	if len(in) == 1 {
		out.Shape = first.Shape
	}
	return []tensor.Spec{out}, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// common returns the extent of an axis if it is known and equal for all inputs.
func common(in []tensor.Spec, axis int) int {
	d := -1
	for i, s := range in {
		if s.Shape == nil || i > 0 && s.Shape[axis] != d {
			return -1
		}
		d = s.Shape[axis]
	}
	return d
}

func (k *joining) stackedLayout(first tensor.Spec, at int) (string, error) {
	switch {
	case k.name == "":
		return "", nil
	case first.Layout == "" && len(first.Shape) > 0:
		return "", k.config.Invalid("axis_name", "inputs with a layout", "inputs without a layout", "give them a layout")
	}
	return first.Layout[:at] + k.name + first.Layout[at:], nil
}

func (k *joining) Sample(b *op.Block, s int) error {
	first := b.In(0, s)
	at, err := k.along(len(first.Shape), first.Layout)
	if err != nil {
		return err
	}
	var buf [8]int
	shape, err := k.shapeOf(b, s, at, buf[:0])
	if err != nil {
		return err
	}
	if err := size(shape, first.DType); err != nil {
		return err
	}
	out := b.Out(0, s, shape...)
	pieces := shape[:at].Len() // number of pieces from each input
	step := 0
	if pieces > 0 {
		step = len(out.Data) / pieces
	}
	place := out.Data
	for i := range b.Inputs() {
		if len(place) == 0 {
			break
		}
		in := b.In(i, s)
		if len(in.Data) == 0 {
			continue
		}
		n := len(in.Data) / pieces
		strided.Copy(place, []int{step, 1}, in.Data, []int{n, 1}, []int{pieces, n}, 1)
		place = place[n:]
	}
	return nil
}

// shapeOf appends the shape of a joined sample to buf.
func (k *joining) shapeOf(b *op.Block, s, at int, buf []int) (tensor.Shape, error) {
	ref := -1 // the first input that is not ignored: cat ignores empty inputs
	total := 0
	for i := range b.Inputs() {
		in := b.In(i, s)
		if len(in.Shape) != len(b.In(0, s).Shape) {
			return nil, mismatch(fmt.Sprintf("%d axes, like input 0", len(b.In(0, s).Shape)), fmt.Sprintf("input %d of shape %s", i, in.Shape))
		}
		if !k.stack && in.Len() == 0 {
			continue
		}
		if ref < 0 {
			ref = i
		}
		for j, d := range b.In(ref, s).Shape {
			if in.Shape[j] != d && (k.stack || j != at) {
				return nil, mismatch(fmt.Sprintf("a shape that fits the shape of input %d, %s", ref, b.In(ref, s).Shape), fmt.Sprintf("input %d of shape %s", i, in.Shape))
			}
		}
		if !k.stack {
			total += in.Shape[at]
		}
	}
	if ref < 0 { // all are empty
		return append(buf, b.In(0, s).Shape...), nil
	}
	shape := b.In(ref, s).Shape
	buf = append(buf, shape[:at]...)
	if k.stack {
		return append(append(buf, b.Inputs()), shape[at:]...), nil
	}
	return append(append(buf, total), shape[at+1:]...), nil
}

// joiningParams are the parameters of cat and stack.
func joiningParams(axisDoc, nameDoc string) []op.Parameter {
	return []op.Parameter{
		{Name: "axis", Type: op.Int, Default: 0, Doc: axisDoc},
		{Name: "axis_name", Type: op.String, Doc: nameDoc},
	}
}

func init() {
	op.Register(op.Schema{
		Name: "cat",
		Doc: "Joins data along an existing axis. Samples without elements are ignored, whatever their shape is. " +
			"The output has the layout of the first input.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of one type; shapes may differ only in this axis"}},
		Repeat:  mostInputs,
		Outputs: []op.Port{{Name: "output", Doc: "the joined data"}},
		Params:  joiningParams("Axis along which to join; a negative number counts from the end.", "Axis along which to join, by its letter in the layout of the first input."),
		New:     func(c *op.Config) (op.Kernel, error) { return newJoining(c, false) },
	})
}

func init() {
	op.Register(op.Schema{
		Name:    "stack",
		Doc:     "Joins data along a new axis.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of one type and shape"}},
		Repeat:  mostInputs,
		Outputs: []op.Port{{Name: "output", Doc: "the stacked data"}},
		Params:  joiningParams("Number of the new axis; a negative number counts from the end of the output.", "Letter of the new axis in the layout; without it there is no layout."),
		New:     func(c *op.Config) (op.Kernel, error) { return newJoining(c, true) },
	})
}
