package arith

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// maxSubscripts is the most axes that can have a subscript.
const maxSubscripts = 32

func init() {
	op.Register(op.Schema{
		Name:    "_tensor_subscript",
		Doc:     "Takes a part of a tensor, like x[at, lo:hi:step] in Python. An index removes its axis.",
		Inputs:  []op.Port{{Name: "data", Doc: "any tensor"}},
		Outputs: []op.Port{{Name: "part", Doc: "elements of the input, without the axes that have an index"}},
		Params:  subscriptParams(),
		New:     newSubscript,
	})
}

func subscriptParams() []op.Parameter {
	var params []op.Parameter
	for axis := range maxSubscripts {
		for _, p := range [...]struct{ name, doc string }{
			{"at", "Index at axis %d; negative: from the end."},
			{"lo", "Beginning of the range of axis %d; negative: from the end."},
			{"hi", "End of the range of axis %d, not included; negative: from the end."},
			{"step", "Step of the range of axis %d; negative: backwards."},
		} {
			params = append(params, op.Parameter{Name: fmt.Sprintf("%s_%d", p.name, axis), Type: op.Int, PerSample: true, Doc: fmt.Sprintf(p.doc, axis)})
		}
	}
	return append(params, op.Parameter{Name: "num_subscripts", Type: op.Int, Doc: "Number of axes that have a subscript, including axes that are taken whole."})
}

// bound is one number of a subscript, if it was given.
type bound struct {
	op.Scalar[int]
	given bool
}

// at returns the number for a sample, or the default. A per-sample number is a scalar.
func (p *bound) at(b *op.Block, s, def int) (int, error) {
	if !p.given {
		return def, nil
	}
	if t, ok := p.Tensor(b, s); ok && len(t.Shape) != 0 {
		return 0, &errs.Error{Kind: errs.Mismatch, Subject: "subscript", Want: "a scalar", Got: t.String()}
	}
	return p.At(b, s)
}

// constant returns the number, or the default. ok is false if the number differs per sample.
func (p *bound) constant(def int) (v int, ok bool) {
	if !p.given {
		return def, true
	}
	return p.Const()
}

type axisSubscript struct{ index, lo, hi, step bound }

func (a *axisSubscript) whole() bool {
	return !a.index.given && !a.lo.given && !a.hi.given && !a.step.given
}

type subscript struct {
	config *op.Config
	axes   []axisSubscript // of the leading axes
	layout string          // of the part; set by Infer
}

func newSubscript(c *op.Config) (op.Kernel, error) {
	k := &subscript{config: c}
	count := op.Get[int](c, "num_subscripts")
	if count < 0 || count > maxSubscripts {
		return nil, c.Invalid("num_subscripts", fmt.Sprintf("0 to %d", maxSubscripts), fmt.Sprint(count), "")
	}
	k.axes = make([]axisSubscript, maxSubscripts)
	for i := range k.axes {
		get := func(kind int) bound {
			name := subscriptName(kind, i)
			return bound{op.GetScalar[int](c, name), c.Has(name)}
		}
		a := axisSubscript{index: get(indexAt), lo: get(rangeLo), hi: get(rangeHi), step: get(rangeStep)}
		if a.index.given && (a.lo.given || a.hi.given || a.step.given) {
			return nil, c.Invalid(fmt.Sprintf("at_%d", i), "an index or a range", "both", "")
		}
		if step, constant := a.step.constant(1); constant && step == 0 {
			return nil, c.Invalid(fmt.Sprintf("step_%d", i), "a step other than 0", "0", "")
		}
		if k.axes[i] = a; !a.whole() {
			count = max(count, i+1)
		}
	}
	k.axes = k.axes[:count]
	return k, nil
}

func (k *subscript) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := tensor.Spec{DType: in[0].DType}
	rank := len(in[0].Shape)
	if in[0].Shape == nil {
		if rank = len(in[0].Layout); rank == 0 {
			return []tensor.Spec{out}, nil
		}
	}
	if err := checkSubscripts(k.config, len(k.axes), rank); err != nil {
		return nil, err
	}
	out.Shape = tensor.Shape{}
	for axis := range rank {
		length := -1
		if in[0].Shape != nil {
			length = in[0].Shape[axis]
		}
		if axis < len(k.axes) {
			a := &k.axes[axis]
			if a.index.given {
				if at, constant := a.index.Const(); constant && length >= 0 {
					if _, err := place(at, length, axis); err != nil {
						return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
					}
				}
				continue
			}
			if length >= 0 {
				length = a.constantLength(length)
			}
		}
		out.Shape = append(out.Shape, length)
		if in[0].Layout != "" {
			out.Layout += in[0].Layout[axis : axis+1]
		}
	}
	k.layout = out.Layout
	return []tensor.Spec{out}, nil
}

// checkSubscripts returns an error if there are more subscripts than axes.
func checkSubscripts(c *op.Config, count, rank int) error {
	if count <= rank {
		return nil
	}
	return &errs.Error{Kind: errs.Mismatch, Op: c.Schema.FullName(), Subject: "node " + c.Node,
		Want: fmt.Sprintf("at least %d axes for %d subscripts", count, count), Got: fmt.Sprint(rank)}
}

// constantLength returns the length of the range of an axis, or -1 if it differs per sample.
func (a *axisSubscript) constantLength(length int) int {
	step, ok := a.step.constant(1)
	if !ok {
		return -1
	}
	first, last := ends(length, step)
	lo, loOK := a.lo.constant(first)
	hi, hiOK := a.hi.constant(last)
	if !loOK || !hiOK {
		return -1
	}
	_, n := a.span(lo, hi, step, length)
	return n
}

// ends returns the first and last index of a range without bounds.
func ends(length, step int) (first, last int) {
	if step < 0 {
		return length - 1, -1
	}
	return 0, length
}

// span returns the first index of a range and the number of its indices, by the rules of Python
// slices.
func (a *axisSubscript) span(lo, hi, step, length int) (first, n int) {
	least, most := 0, length
	if step < 0 {
		least, most = -1, length-1
	}
	if a.lo.given && lo < 0 {
		lo += length
	}
	if a.hi.given && hi < 0 {
		hi += length
	}
	lo, hi = min(max(lo, least), most), min(max(hi, least), most)
	if step < 0 {
		lo, hi, step = -lo, -hi, -step
		first = -lo
	} else {
		first = lo
	}
	if hi <= lo {
		return first, 0
	}
	return first, (hi-lo-1)/step + 1
}

// place returns the index of an element. A negative at counts from the end.
func place(at, length, axis int) (int, error) {
	i := at
	if i < 0 {
		i += length
	}
	if i < 0 || i >= length {
		return 0, &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("index of axis %d", axis),
			Want: fmt.Sprintf("an index into %d elements", length), Got: fmt.Sprint(at)}
	}
	return i, nil
}

// part is the state of a worker: it describes where the part lies in a sample.
type part struct {
	lengths []int        // memory of shape
	shape   tensor.Shape // of the part
	axes    []axis       // the innermost first
}

func (k *subscript) Run(b *op.Block) error {
	p := op.PerWorker[part](b)
	return b.Each(func(s int) error { return k.sample(b, s, p) })
}

func (k *subscript) sample(b *op.Block, s int, p *part) error {
	in := b.In(0, s)
	if err := checkSubscripts(k.config, len(k.axes), len(in.Shape)); err != nil {
		return err
	}
	from, err := k.find(b, s, in.Shape, p)
	if err != nil {
		return err
	}
	size, n := in.DType.Size(), p.shape.Len()
	if n == 0 {
		b.Out(0, s, p.shape...)
		return nil
	}
	if len(p.axes) == 0 || len(p.axes) == 1 && p.axes[0].stride == 1 {
		view := in
		view.Shape, view.Data = p.shape, in.Data[from*size:(from+n)*size]
		view.Layout = k.layout
		b.Alias(0, s, view)
		return nil
	}
	gather(b.Out(0, s, p.shape...).Data, in.Data, p.axes, from, 0, size)
	return nil
}

// find sets the shape and axes of the part and returns its first element.
func (k *subscript) find(b *op.Block, s int, shape tensor.Shape, p *part) (from int, err error) {
	p.lengths, p.axes = append(p.lengths[:0], shape...), p.axes[:0]
	kept, stride := len(shape), 1
	for axis := len(shape) - 1; axis >= 0; axis-- {
		length, first, step := shape[axis], 0, 1
		n := length
		if axis < len(k.axes) && !k.axes[axis].whole() {
			a := &k.axes[axis]
			if first, step, n, err = a.resolve(b, s, length, axis); err != nil {
				return 0, err
			}
		}
		from += first * stride
		p.axes = appendAxis(p.axes, n, step*stride)
		if axis >= len(k.axes) || !k.axes[axis].index.given {
			kept--
			p.lengths[kept] = n
		}
		stride *= length
	}
	p.shape = p.lengths[kept:]
	return from, nil
}

// resolve returns the first element, the step and the number of elements of an index or range for a
// sample.
func (a *axisSubscript) resolve(b *op.Block, s, length, axis int) (first, step, n int, err error) {
	if a.index.given {
		at, err := a.index.at(b, s, 0)
		if err != nil {
			return 0, 0, 0, err
		}
		first, err := place(at, length, axis)
		return first, 1, 1, err
	}
	if step, err = a.step.at(b, s, 1); err != nil {
		return 0, 0, 0, err
	}
	if step == 0 {
		return 0, 0, 0, &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("step of axis %d", axis), Want: "a step other than 0", Got: "0"}
	}
	begin, end := ends(length, step)
	lo, err := a.lo.at(b, s, begin)
	if err != nil {
		return 0, 0, 0, err
	}
	hi, err := a.hi.at(b, s, end)
	if err != nil {
		return 0, 0, 0, err
	}
	first, n = a.span(lo, hi, step, length)
	return first, step, n, nil
}
