package op

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Framed is implemented by kernels whose result for one frame depends on the other frames of its
// sequence, for example because all frames have one size.
type Framed interface {
	// Frames computes a sequence. The samples of b are its frames.
	Frames(b *Block) error
}

// Infer returns the specs of the outputs of k for inputs and argument inputs with the given specs.
func Infer(k Kernel, in, args []tensor.Spec) ([]tensor.Spec, error) {
	if k, ok := k.(*perFrame); ok {
		return k.infer(in, args)
	}
	return k.Infer(in)
}

// Kernel makes the kernel of a node. Where inputs or arguments can hold a value for each frame of a
// sequence, the kernel splits sequences: each frame is a sample of its own for the kernel that New
// makes.
func (s *Schema) Kernel(c *Config) (Kernel, error) {
	k, err := s.New(c)
	if err != nil {
		return nil, err
	}
	p := &perFrame{Kernel: k, schema: s, args: make([]bool, len(c.inputs)), single: make([]bool, len(c.inputs)),
		names: make([]string, len(c.inputs))}
	split := false
	for name, i := range c.inputs {
		param, _ := s.Param(name)
		p.args[i], p.single[i], p.names[i] = param.PerFrame, param.OneFrame, name
		split = split || param.PerFrame
	}
	for i := range c.Inputs {
		split = split || s.Input(i).PerFrame
	}
	if !split {
		return k, nil
	}
	switch k.(type) {
	case Batched, Identifier, Regional, Windowed:
		panic(fmt.Sprintf("op.Schema.Kernel: %T implements an interface of kernels that sequences hide", k))
	}
	return p, nil
}

// perFrame is the kernel that splits sequences.
type perFrame struct {
	Kernel // of frames, and of sequences without values per frame
	schema *Schema
	args   []bool   // the argument inputs that can hold a value for each frame
	single []bool   // the argument inputs of which one frame is the value for a picture
	names  []string // of the argument inputs
}

// sequence returns how many of the first axes of data are frames, or channels before frames.
func sequence(layout string) int {
	switch {
	case strings.HasPrefix(layout, "F"):
		return 1
	case strings.HasPrefix(layout, "CF"):
		return 2
	}
	return 0
}

// isSequence reports whether the first axis of a value counts frames.
func isSequence(layout string) bool { return strings.HasPrefix(layout, "F") }

// splits reports whether data is computed frame by frame. input and arg return the layouts of
// inputs and argument inputs.
func (k *perFrame) splits(inputs int, input, arg func(i int) string) bool {
	frames, values := false, false
	for i := range inputs {
		if k.schema.Input(i).PerFrame && isSequence(input(i)) {
			return true
		}
		frames = frames || sequence(input(i)) > 0
	}
	for i, can := range k.args {
		values = values || can && isSequence(arg(i))
	}
	return values && (frames || k.schema.Spread)
}

// Infer implements Kernel. Nothing is known of the arguments.
func (k *perFrame) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return k.infer(in, make([]tensor.Spec, len(k.args)))
}

// infer works like Infer. args are the specs of the argument inputs.
func (k *perFrame) infer(in, args []tensor.Spec) ([]tensor.Spec, error) {
	if !k.splits(len(in), func(i int) string { return in[i].Layout }, func(i int) string { return args[i].Layout }) {
		return k.Kernel.Infer(in)
	}
	letters, lead, one := "", tensor.Shape(nil), slices.Clone(in)
	for i, spec := range in {
		n := sequence(spec.Layout)
		if n == 0 {
			continue
		}
		one[i].Layout = spec.Layout[n:]
		if spec.Shape != nil {
			one[i].Shape = spec.Shape[n:]
		}
		if letters == "" {
			if letters = spec.Layout[:n]; spec.Shape != nil {
				lead = spec.Shape[:n]
			}
		}
	}
	if letters == "" {
		letters = "F"
	}
	out, err := k.Kernel.Infer(one)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Layout != "" {
			out[i].Layout = letters + out[i].Layout
		}
		if out[i].Shape == nil {
			continue
		}
		shape := slices.Clone(lead)
		for len(shape) < len(letters) {
			shape = append(shape, -1)
		}
		out[i].Shape = append(shape, out[i].Shape...)
	}
	return out, nil
}

// frameState is a worker's state.
type frameState struct {
	block Block
	local any // of the kernel
	split frameMemory
}

// Run implements Kernel.
func (k *perFrame) Run(b *Block) error {
	st := PerWorker[frameState](b)
	whole := func(s int) bool {
		return !k.splits(b.Inputs(), func(i int) string { return b.In(i, s).Layout },
			func(i int) string { return b.Arg(i, s).Layout })
	}
	if b.Len() == 0 || whole(0) {
		if err := k.unsplit(b); err != nil {
			return err
		}
		outer := b.x.Local
		b.x.Local = &st.local
		defer func() { b.x.Local = outer }()
		return k.Kernel.Run(b)
	}
	return b.Each(func(s int) error {
		if whole(s) {
			return &errs.Error{Kind: errs.Mismatch, Want: "values per frame for all samples of a batch, or for none",
				Got: "a sample without them"}
		}
		lead, err := k.lead(b, s)
		if err != nil {
			return err
		}
		return k.run(b, st, s, lead)
	})
}

// unsplit returns an error if an argument has values per frame although there are no frames. One
// number is a value for the sample.
func (k *perFrame) unsplit(b *Block) error {
	for i, can := range k.args {
		for s := 0; can && s < b.Len(); s++ {
			t := b.Arg(i, s)
			one := t.Shape.Len() == 1 || k.single[i] && len(t.Shape) > 0 && t.Shape[0] == 1
			if isSequence(t.Layout) && !one {
				return &errs.Error{Kind: errs.Mismatch, Subject: "argument " + k.names[i],
					Want: "a value for the sample, because no input is a sequence", Got: "values per frame, " + t.String(),
					Remedy: "give the input a layout that begins with F: see per_frame"}
			}
		}
	}
	return nil
}

// lead returns the extents of the first axes of sample s: the frames, or channels and frames.
// Inputs must agree. An argument may have one value for all frames.
func (k *perFrame) lead(b *Block, s int) (tensor.Shape, error) {
	var lead tensor.Shape
	first := ""
	check := func(name string, t tensor.Tensor, axes int, one bool) error {
		if axes == 0 || axes > len(t.Shape) {
			return nil
		}
		switch n := t.Shape[axes-1]; {
		case t.Shape[:axes].Len() == 0:
			return &errs.Error{Kind: errs.Invalid, Subject: name, Want: "at least one frame", Got: t.String()}
		case lead == nil:
			lead, first = t.Shape[:axes], name
		case n != lead[len(lead)-1] && !(one && n == 1):
			return &errs.Error{Kind: errs.Mismatch, Subject: name, Got: fmt.Sprint(n),
				Want: fmt.Sprintf("%d frames, as in %s", lead[len(lead)-1], first), Remedy: "give one value for each frame"}
		}
		return nil
	}
	for i := range b.Inputs() {
		t := b.In(i, s)
		if err := check(fmt.Sprintf("input %d", i), t, sequence(t.Layout), false); err != nil {
			return nil, err
		}
	}
	for i, can := range k.args {
		if t := b.Arg(i, s); can && isSequence(t.Layout) {
			if err := check("argument "+k.names[i], t, 1, true); err != nil {
				return nil, err
			}
		}
	}
	return lead, nil
}

// run computes sample s, a sequence.
func (k *perFrame) run(b *Block, st *frameState, s int, lead tensor.Shape) error {
	x, o, frames := &st.block.x, &b.x, lead.Len()
	st.split = frameMemory{outer: b, inner: &st.block, sample: s, lead: lead, first: make([]tensor.Shape, len(o.Specs))}
	x.In = splitPorts(x.In, o.In, s, lead, sequence)
	x.Args = splitPorts(x.Args, o.Args, s, lead, func(layout string) int { return min(sequence(layout), 1) })
	for i, can := range k.args {
		for f := 0; f < frames && !can; f++ {
			x.Args[i][f] = o.Args[i][s]
		}
	}
	x.Specs = append(x.Specs[:0], o.Specs...)
	for i := range x.Specs {
		x.Specs[i].Layout = x.Specs[i].Layout[min(len(lead), len(x.Specs[i].Layout)):]
	}
	x.Out = resize(x.Out, len(o.Specs))
	for i := range x.Out {
		x.Out[i] = resize(x.Out[i], frames)
		for f := range x.Out[i] {
			x.Out[i][f].Data = nil
		}
	}
	x.Positions, x.Slots = resize(x.Positions, frames), resize(x.Slots, frames)
	for f := range frames {
		x.Positions[f], x.Slots[f] = o.Positions[s], o.Slots[s]
	}
	x.Memory, x.Local, x.Limits, x.Deadline = &st.split, &st.local, o.Limits, o.Deadline
	x.Keyer, x.Key, x.Call = o.Keyer, o.Key, o.Call
	x.Source = func(i, _ int) string { return b.Source(i, s) }
	clear(x.Errors)
	var err error
	if framed, ok := k.Kernel.(Framed); ok {
		err = framed.Frames(&st.block)
	} else {
		err = k.Kernel.Run(&st.block)
	}
	for f := 0; f < frames && err == nil; f++ {
		if x.Errors[f] != nil {
			err = errs.Wrap("", fmt.Sprintf("frame %d", f), x.Errors[f])
		}
	}
	if err != nil {
		return err
	}
	return st.split.finish()
}

// splitPorts returns the frames of sample s of each port. axes returns how many axes count frames.
// Data that has no frames, or one value for all frames, is the same for each.
func splitPorts(to, from [][]tensor.Tensor, s int, lead tensor.Shape, axes func(layout string) int) [][]tensor.Tensor {
	to = resize(to, len(from))
	for i, port := range from {
		to[i] = resize(to[i], lead.Len())
		t := port[s]
		n := min(axes(t.Layout), len(t.Shape))
		for f := range to[i] {
			if to[i][f] = t; n == 0 {
				continue
			}
			count := t.Shape[:n].Len()
			at := f % lead[len(lead)-1] % count
			if n == len(lead) {
				at = f % count
			}
			size := len(t.Data) / count
			to[i][f] = tensor.Tensor{DType: t.DType, Layout: t.Layout[n:], Shape: t.Shape[n:],
				Data: t.Data[at*size : (at+1)*size : (at+1)*size]}
		}
	}
	return to
}

func resize[T any](s []T, n int) []T {
	for cap(s) < n {
		s = append(s[:cap(s)], *new(T))
	}
	return s[:n]
}

// frameMemory puts the outputs of frames where the sequence has them. A frame begins at a multiple
// of the size of its elements.
type frameMemory struct {
	outer, inner *Block
	sample       int
	lead         tensor.Shape
	first        []tensor.Shape // of each output, once it has memory
}

// place returns the memory of a frame, whose shape the inner block has.
func (m *frameMemory) place(i, frame int) []byte {
	shape := m.inner.x.Out[i][frame].Shape
	if m.first[i] == nil {
		m.first[i] = append(tensor.Shape{}, shape...)
		m.outer.Out(i, m.sample, append(slices.Clone(m.lead), shape...)...)
	}
	if !slices.Equal(m.first[i], shape) {
		panic(&errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("frame %d of output %d", frame, i),
			Want: "the shape of the other frames, " + m.first[i].String(), Got: shape.String(),
			Remedy: "give all frames values that make outputs of one shape"})
	}
	data := m.outer.x.Out[i][m.sample].Data
	n := len(data) / m.lead.Len()
	return data[frame*n : (frame+1)*n : (frame+1)*n]
}

// Output implements Memory.
func (m *frameMemory) Output(i, frame, _ int) []byte { return m.place(i, frame) }

// Scratch implements Memory.
func (m *frameMemory) Scratch(size int) []byte { return m.outer.x.Memory.Scratch(size) }

// finish copies the frames that are views of an input.
func (m *frameMemory) finish() error {
	for i, out := range m.inner.x.Out {
		for f, t := range out {
			if to := m.place(i, f); len(to) > 0 && &to[0] != &t.Data[0] {
				copy(to, t.Data)
			}
		}
	}
	return nil
}
