package arith

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

const maxInputs = 64

func init() {
	op.Register(op.Schema{
		Name:    Name,
		Doc:     "Computes an expression of tensors and constants, element by element.",
		Inputs:  []op.Port{{Name: "operands", Doc: "inputs &0, &1, … of the expression; shapes are broadcast"}},
		Repeat:  maxInputs,
		Outputs: []op.Port{{Name: "result", Doc: "the values of the expression"}},
		Params: []op.Parameter{
			{Name: "expression_desc", Type: op.String, Required: true, Doc: `The expression, such as "add(&0 mul(&1 $0:int32))".`},
			{Name: "integer_constants", Type: op.Ints, Doc: "Constants of the expression whose type is an integer or bool."},
			{Name: "real_constants", Type: op.Floats, Doc: "Constants of the expression whose type is a float, with the precision of float32."},
		},
		Precision: op.Tolerance,
		New:       newArithmetic,
	})
}

// arithmetic is the kernel. The program depends on the types of inputs, which Infer learns.
type arithmetic struct {
	config   *op.Config
	tree     *expression
	integers []int
	reals    []float64
	program  *program
}

func newArithmetic(c *op.Config) (op.Kernel, error) {
	k := &arithmetic{config: c, integers: op.Get[[]int](c, "integer_constants"), reals: op.Get[[]float64](c, "real_constants")}
	var err error
	if k.tree, err = parse(op.Get[string](c, "expression_desc")); err != nil {
		return nil, errs.Wrap(c.Schema.FullName(), "node "+c.Node+", argument expression_desc", err)
	}
	return k, k.tree.each(k.check)
}

// check returns an error for inputs and constants that do not exist.
func (k *arithmetic) check(e *expression) error {
	of, n := "inputs", k.config.Inputs
	switch {
	case e.call != nil:
		return nil
	case e.constant && e.dtype.IsFloat():
		of, n = "real_constants", len(k.reals)
	case e.constant:
		of, n = "integer_constants", len(k.integers)
	}
	if e.index >= n {
		return k.config.Invalid("expression_desc", fmt.Sprintf("%s up to %d", of, n-1), fmt.Sprint(e.index), "")
	}
	if e.constant && !e.dtype.IsFloat() && !holds(e.dtype, k.integers[e.index]) {
		return k.config.Invalid("integer_constants", "a number of type "+e.dtype.String(), fmt.Sprint(k.integers[e.index]), "")
	}
	return nil
}

func (k *arithmetic) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	types := make([]tensor.DType, len(in))
	layout := ""
	var shape tensor.Shape
	for i := range in {
		types[i] = in[i].DType
		var err error
		if layout, err = mergeLayouts(layout, in[i].Layout); err != nil {
			return nil, k.wrap(err)
		}
		switch {
		case i == 0:
			shape = in[i].Shape.Clone()
		case shape == nil || in[i].Shape == nil:
			shape = nil
		default:
			if shape, err = broadcast(shape, in[i].Shape); err != nil {
				return nil, k.wrap(err)
			}
		}
	}
	if shape == nil || len(layout) != len(shape) {
		layout = ""
	}
	tree, err := k.tree.typed(types)
	if err != nil {
		return nil, k.wrap(err)
	}
	k.program = compile(tree, k.integers, k.reals)
	return []tensor.Spec{{DType: tree.dtype, Shape: shape, Layout: layout}}, nil
}

func (k *arithmetic) wrap(err error) error {
	return errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
}

// mergeLayouts returns the common layout of two operands: one layout must be the end of the other.
func mergeLayouts(a, b string) (string, error) {
	switch {
	case strings.HasSuffix(a, b):
		return a, nil
	case strings.HasSuffix(b, a):
		return b, nil
	}
	return "", &errs.Error{Kind: errs.Mismatch, Subject: "layouts of operands", Want: "equal layouts, or a layout that is the end of the other", Got: a + " and " + b}
}

// broadcast returns the common shape of two operands. A dimension of -1 is known only from the
// data.
func broadcast(a, b tensor.Shape) (tensor.Shape, error) {
	if len(a) < len(b) {
		a, b = b, a
	}
	shape := slices.Clone(a)
	return shape, broadcastTo(shape, b)
}

// broadcastTo broadcasts shape, in place, with another shape of at most as many axes.
func broadcastTo(shape, b tensor.Shape) error {
	tail := shape[len(shape)-len(b):]
	for i, n := range b {
		switch {
		case tail[i] == n || n == 1:
		case tail[i] == 1, tail[i] < 0:
			tail[i] = n
		case n >= 0:
			return &errs.Error{Kind: errs.Mismatch, Subject: "shapes of operands", Want: "axes of equal length or of length 1, counted from the last axis",
				Got: shape.String() + " and " + b.String()}
		}
	}
	return nil
}

// state is the state of a worker.
type state struct {
	machine *machine
	in      []tensor.Tensor
	shape   tensor.Shape
}

func (k *arithmetic) Run(b *op.Block) error {
	w := op.PerWorker[state](b)
	if w.machine == nil || w.machine.program != k.program {
		w.machine, w.in = newMachine(k.program), make([]tensor.Tensor, b.Inputs())
	}
	return b.Each(func(s int) error { return k.sample(b, s, w) })
}

func (k *arithmetic) sample(b *op.Block, s int, w *state) error {
	rank := 0
	for i := range w.in {
		w.in[i] = b.In(i, s)
		rank = max(rank, len(w.in[i].Shape))
	}
	w.shape = w.shape[:0]
	for range rank {
		w.shape = append(w.shape, 1)
	}
	for i := range w.in {
		if err := broadcastTo(w.shape, w.in[i].Shape); err != nil {
			return err
		}
	}
	err := w.machine.run(b.Out(0, s, w.shape...), w.in)
	clear(w.in)
	w.machine.forget()
	return err
}
