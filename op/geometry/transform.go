package geometry

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// maker makes the transform of a sample. n is the number of dimensions of the input, or 0 without
// an input. If no argument differs per sample, it is also called before the data, without a block.
type maker interface {
	make(b *op.Block, s, n int) (affine, error)
	constant() bool // no argument differs per sample
}

// transform is the kernel of all operators that make a transform. The transform is combined with
// the input transform, if there is one.
type transform struct {
	config  *op.Config
	maker   maker
	reverse bool
	lists   []list // arguments per sample that are lists of numbers
}

// list is an argument per sample that is a list of numbers.
type list struct {
	name  string
	input int // argument input
}

// registerTransform registers an operator whose maker newMaker makes, and returns its schema.
func registerTransform(name, doc string, params []op.Parameter, precision op.Precision,
	newMaker func(*op.Config) (maker, error),
) op.Schema {
	schema := op.Schema{
		Name:   name,
		Module: []string{"transforms"},
		Doc:    doc,
		Inputs: []op.Port{{Name: "input", Doc: "a transform that is applied first",
			DTypes: []tensor.DType{tensor.Float32}, Optional: true, PerFrame: true}},
		Outputs: []op.Port{{Name: "output", Doc: "the transform, a float32 matrix of n rows and n+1 columns"}},
		Params: append(params, op.Parameter{Name: "reverse_order", Type: op.Bool, Default: false,
			Doc: "Whether the input transform is applied last instead of first."}),
		Precision: precision,
		Spread:    true,
		New: func(c *op.Config) (op.Kernel, error) {
			m, err := newMaker(c)
			k := &transform{config: c, maker: m, reverse: op.Get[bool](c, "reverse_order")}
			for _, p := range params {
				if i, ok := c.ArgumentInput(p.Name); ok && p.Type == op.Floats && p.Name != "shear" { // which may be a matrix
					k.lists = append(k.lists, list{p.Name, i})
				}
			}
			return op.Each(k), err
		},
	}
	op.Register(schema)
	return schema
}

func (k *transform) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	n, given := -1, 0
	if len(in) > 0 {
		if err := isTransform(in[0]); err != nil {
			return nil, k.config.InvalidInput(0, err.(*errs.Error).Want, err.(*errs.Error).Got, "")
		}
		given = -1
		if in[0].Shape != nil && in[0].Shape[0] > 0 {
			n, given = in[0].Shape[0], in[0].Shape[0]
		}
	}
	if k.maker.constant() && given >= 0 {
		t, err := k.maker.make(nil, 0, given)
		if err != nil {
			return nil, k.config.Invalid(subject(err), "a transform", err.Error(), "")
		}
		n = t.n
		if given > 0 && n != given {
			return nil, k.config.InvalidInput(0, fmt.Sprintf("a transform of %d dimensions", n), in[0].Shape.String(), "")
		}
	}
	shape := tensor.Shape{-1, -1}
	if n > 0 {
		shape = tensor.Shape{n, n + 1}
	}
	return []tensor.Spec{{DType: tensor.Float32, Shape: shape, Layout: layoutMatrix}}, nil
}

// subject returns the name of the invalid argument in an error.
func subject(err error) string {
	if e, ok := err.(*errs.Error); ok && e.Subject != "" {
		return e.Subject
	}
	return "ndim"
}

func (k *transform) Sample(b *op.Block, s int) error {
	for _, l := range k.lists {
		if t := b.Arg(l.input, s); len(t.Shape) > 1 {
			return &errs.Error{Kind: errs.Mismatch, Subject: "argument " + l.name, Want: "one list of numbers", Got: t.String(),
				Remedy: "mark values for the frames of a sequence by per_frame"}
		}
	}
	if b.Inputs() == 0 {
		t, err := k.maker.make(b, s, 0)
		if err != nil {
			return err
		}
		return t.write(b, s)
	}
	first, err := read(b.In(0, s))
	if err != nil {
		return err
	}
	t, err := k.maker.make(b, s, first.n)
	if err != nil {
		return err
	}
	if t.n != first.n {
		return &errs.Error{Kind: errs.Mismatch, Want: fmt.Sprintf("an input of %d dimensions", t.n), Got: b.In(0, s).String()}
	}
	if k.reverse {
		t = t.then(&first)
	} else {
		t = first.then(&t)
	}
	return t.write(b, s)
}

// vector is a parameter with a value for each dimension, or one for all.
type vector struct {
	name   string
	values op.Vector[float64]
	given  bool
}

func readVector(c *op.Config, name string) vector {
	return vector{name: name, values: op.GetVector[float64](c, name), given: c.Given(name)}
}

func (v vector) constant() bool {
	_, ok := v.values.Const()
	return ok
}

// at writes the values of a sample to out and returns their number.
func (v vector) at(b *op.Block, s int, out *[mostDims * mostDims]float32) (int, error) {
	var buf [mostDims * mostDims]float64
	values, err := v.values.At(b, s, buf[:0])
	if err != nil {
		return 0, err
	}
	if len(values) > len(out) {
		return 0, v.wrong(fmt.Sprintf("at most %d values", mostDims), len(values))
	}
	for i, x := range values {
		out[i] = float32(x)
	}
	return len(values), nil
}

// each writes a value for each of n dimensions to out.
func (v vector) each(b *op.Block, s, n int, out *[mostDims * mostDims]float32) error {
	got, err := v.at(b, s, out)
	switch {
	case err != nil:
		return err
	case got == 1:
		for i := range n {
			out[i] = out[0]
		}
	case got != n:
		return v.wrong(fmt.Sprintf("1 or %d values", n), got)
	}
	return nil
}

func (v vector) wrong(want string, got int) error {
	return &errs.Error{Kind: errs.Invalid, Subject: v.name, Want: want, Got: fmt.Sprintf("%d", got)}
}

// dims returns an error unless a transform can have n dimensions.
func dims(v vector, n int) error {
	if n < 1 || n > mostDims {
		return v.wrong(fmt.Sprintf("1 to %d dimensions", mostDims), n)
	}
	return nil
}

// centerParam is the parameter center.
func centerParam() op.Parameter {
	return op.Parameter{Name: "center", Type: op.Floats, PerSample: true, PerFrame: true,
		Doc: "The point that does not move, by default the origin."}
}

// around moves t to the center of a sample, if a center was given.
func around(b *op.Block, s int, t *affine, center vector) error {
	if !center.given {
		return nil
	}
	var c [mostDims * mostDims]float32
	if err := center.each(b, s, t.n, &c); err != nil {
		return err
	}
	t.around(c[:t.n])
	return nil
}
