package dynamic

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/thrown"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

// symbol stands for a value while the body of a loop is recorded. It has a dtype and no contents.
type symbol struct {
	recording *recording
	edge      graph.Edge
}

// recording is the graph of a loop's body, while the body is being called.
type recording struct {
	builder graph.Builder
	size    int                    // the number of samples in the batches of a step
	sized   string                 // what set size; empty: size is not set
	fixed   bool                   // a call or a constant set size: every step must have size samples
	asked   bool                   // the body has read the length of a batch
	inputs  map[string]loopInput   // by the name of their node
	known   map[*result]graph.Edge // constants
	batched map[string]bool        // nodes with one sample per sample of the step, not one for all; by name
	perStep map[string]bool        // nodes that draw once for the whole step
	draws   map[string]int         // numbers of the draws of nodes
	sources []*source
	outputs []outlet
	given   []rootInput     // the values that the body got
	sites   map[string]site // places of calls, by the name of their node
	err     error           // the first mistake
	done    bool
}

// outlet says where an output of the loop comes from.
type outlet struct {
	output   int   // index of the graph's output, unless root or constant is set
	root     int   // index of the root's value that is passed through, or -1
	constant Value // the value of every step, or nil
	same     int   // the first outlet with the same output of the graph
	batch    bool
}

// made reports whether the graph makes the output.
func (o outlet) made() bool { return o.root < 0 && o.constant == nil }

func newRecording() *recording {
	return &recording{inputs: map[string]loopInput{},
		known: map[*result]graph.Edge{}, batched: map[string]bool{},
		perStep: map[string]bool{}, draws: map[string]int{}, sites: map[string]site{}}
}

// bodyContext returns the context of a body that is recorded.
func (rec *recording) bodyContext(ctx context.Context) context.Context {
	s := scopeOf(ctx)
	s.recording = rec
	return s.in(ctx)
}

// fail keeps the first mistake, with the line of the program that made it. skip is the number of
// frames between this line and the caller.
func (rec *recording) fail(skip int, err error) error {
	var at site
	at.capture(1 + skip)
	err = &errs.Error{Op: "dynamic.Compile", Subject: "call at " + at.String(), Err: err}
	if rec.err == nil {
		rec.err = err
	}
	return err
}

// addInput appends an input of the graph.
func (rec *recording) addInput(in loopInput, name string) (graph.Edge, error) {
	n, err := rec.builder.Input(name, 1, []tensor.Spec{in.spec})
	if err != nil {
		return graph.Edge{}, err
	}
	n.Specs[0] = in.spec // known, with or without a layout
	rec.inputs[n.Name] = in
	rec.batched[n.Name] = in.batch
	return graph.Edge{Node: n}, nil
}

// rootSymbols returns symbols for the values of the root's first step.
func (rec *recording) rootSymbols(first *rootItem, specs []tensor.Spec) ([]Value, error) {
	in := make([]Value, len(first.values))
	for i, v := range first.values {
		batch := v.core().batch
		if batch {
			rec.size, rec.sized = first.size, "the root"
		}
		spec, err := commonSpec(first.samples[i])
		if err != nil {
			return nil, err
		}
		for d := range spec.Shape {
			spec.Shape[d] = -1 // it may differ in the next step
		}
		if i < len(specs) {
			spec = specs[i]
		}
		if in[i], err = rec.rootSymbol(rootInput{spec, batch}, i); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// rootInput describes a value of the root.
type rootInput struct {
	spec  tensor.Spec
	batch bool
}

// rootSymbol returns the symbol of value i of the root.
func (rec *recording) rootSymbol(of rootInput, i int) (Value, error) {
	e, err := rec.addInput(loopInput{spec: of.spec, root: i, batch: of.batch}, fmt.Sprintf("root[%d]", i))
	if err != nil {
		return nil, err
	}
	rec.given = append(rec.given, of)
	return rec.newSymbol(e, of.batch), nil
}

// recordBody calls the body and returns the graph of its calls. A panic of the body becomes an
// error.
func (rec *recording) recordBody(ctx context.Context, body Body, in []Value) (g *graph.Graph, err error) {
	var out []Value
	err = func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				rec.done = true
				err = bodyPanicked(body, p)
			}
		}()
		out = body(rec.bodyContext(ctx), in)
		return nil
	}()
	if err != nil {
		return nil, err
	}
	return rec.finish(out)
}

// bodyPanicked returns the error for a panic of a body. The function that recovered calls it.
func bodyPanicked(body Body, p any) error {
	name := runtime.FuncForPC(reflect.ValueOf(body).Pointer()).Name()
	e := &errs.Error{Op: "dynamic.Compile", Subject: "body " + name,
		Got: "a panic" + thrown.At(), Remedy: "the body is at fault"}
	if cause, ok := p.(error); ok {
		e.Err = cause
	} else {
		e.Got += fmt.Sprintf(": %v", p)
	}
	return e
}

// newSymbol returns the symbol of an edge.
func (rec *recording) newSymbol(e graph.Edge, batch bool) Value {
	v, r := newValue(batch)
	r.n, r.symbol = 1, &symbol{recording: rec, edge: e}
	if batch {
		r.n = rec.size
	}
	return v
}

// record appends a call to the graph and returns the symbols of its outputs.
func (rec *recording) record(c *Call) []Value {
	values, err := rec.addCall(c)
	if err == nil {
		return values
	}
	err = rec.fail(1, err)
	outputs := 1
	if s, lookup := c.lookup(); lookup == nil {
		outputs = len(s.Outputs)
	}
	failed := make([]Value, outputs)
	for i := range failed {
		v, r := newValue(c.Batch > 0)
		r.n, r.err, r.refused = 1, err, true
		r.seen.Store(true)
		failed[i] = v
	}
	return failed
}

func (rec *recording) addCall(c *Call) ([]Value, error) {
	if rec.done {
		return nil, &errs.Error{Kind: errs.Sequence, Op: c.Op,
			Want: "values with contents",
			Got:  "a value of the body of a compiled loop, which has contents only in the loop's steps"}
	}
	s, err := c.lookup()
	if err != nil {
		return nil, err
	}
	set, err := argumentsOf(c.Args)
	if err != nil {
		return nil, errs.Wrap("", c.Op, err)
	}
	batch := c.Batch > 0
	bring := func(v Value) (graph.Edge, error) {
		e, err := rec.edgeOf(v)
		batch = batch || err == nil && rec.batched[e.Node.Name]
		return e, err
	}
	edges := make([]graph.Edge, len(c.Inputs))
	for i, in := range c.Inputs {
		if edges[i], err = bring(in); err != nil {
			return nil, errs.Wrap(c.Op, fmt.Sprintf("input %d", i), err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if from, ok := set[name].From.(Value); ok {
			e, err := bring(from)
			if err != nil {
				return nil, errs.Wrap(c.Op, "argument "+name, err)
			}
			set[name] = op.Argument{From: e}
		}
	}
	if err := rec.agreeOnSize(c); err != nil {
		return nil, err
	}
	n, err := rec.builder.AddSchema(s, "", edges, set)
	if err != nil {
		return nil, err
	}
	rec.batched[n.Name] = batch
	var at site
	at.capture(2)
	rec.sites[n.Name] = at
	if err := rec.addDraw(n, c.Draw); err != nil {
		return nil, err
	}
	values := make([]Value, len(n.Specs))
	for i := range values {
		values[i] = rec.newSymbol(graph.Edge{Node: n, Output: i}, batch)
	}
	return values, nil
}

// agreeOnSize compares the size that a call asks for with the size of the step.
func (rec *recording) agreeOnSize(c *Call) error {
	if c.Batch <= 0 {
		return nil
	}
	if rec.asked && c.Batch == rec.size {
		return nil // the call means the size of the step
	}
	return rec.fixSize(c.Batch, c.Op)
}

// fixSize makes n the size of all steps.
func (rec *recording) fixSize(n int, who string) error {
	if rec.sized != "" && n != rec.size {
		return &errs.Error{Kind: errs.Mismatch, Op: who, Subject: "batch size",
			Want: fmt.Sprintf("%d, as in %s, because a loop has one batch size", rec.size, rec.sized), Got: fmt.Sprint(n)}
	}
	if rec.sized == "" {
		rec.size, rec.sized = n, who
	}
	rec.fixed = true
	return nil
}

// edgeOf returns the edge of a value. For a value from outside the loop it is the edge of an input
// with this value in every step.
func (rec *recording) edgeOf(v Value) (graph.Edge, error) {
	if absent(v) {
		return graph.Edge{}, &errs.Error{Kind: errs.Invalid, Want: "a *dynamic.Tensor or *dynamic.Batch", Got: "nil"}
	}
	r := v.core()
	if s := r.symbol; s != nil && r.view == nil {
		if s.recording != rec {
			return graph.Edge{}, &errs.Error{Kind: errs.Invalid,
				Want: "a value of this loop, or a value with contents", Got: "a value of another loop"}
		}
		return s.edge, nil
	}
	if e, ok := rec.known[r]; ok {
		return e, nil
	}
	samples, err := heldSamples(context.Background(), v)
	if err != nil {
		return graph.Edge{}, err
	}
	spec, err := commonSpec(samples)
	if err != nil {
		return graph.Edge{}, err
	}
	if r.batch {
		if err := rec.fixSize(len(samples), "a batch from outside the loop"); err != nil {
			return graph.Edge{}, err
		}
	}
	constant := loopInput{spec: spec, root: -1, constant: samples, batch: r.batch}
	e, err := rec.addInput(constant, fmt.Sprintf("constant[%d]", len(rec.known)))
	if err == nil {
		rec.known[r] = e
	}
	return e, err
}

// addDraw records which numbers of which generator a node draws.
func (rec *recording) addDraw(n *graph.Node, d Draw) error {
	if !n.Schema.Random {
		return nil
	}
	p, ok := d.(Placed)
	if !ok {
		return &errs.Error{Kind: errs.Unsupported, Op: n.Schema.FullName(), Subject: "generator",
			Want: "a generator that a loop can run ahead of, such as *random.RNG", Got: fmt.Sprintf("%T", d)}
	}
	i := slices.IndexFunc(rec.sources, func(s *source) bool { return s.rng == p })
	if i < 0 {
		i = len(rec.sources)
		rec.sources = append(rec.sources, &source{rng: p})
		rec.sources[i].begin(0)
	}
	number := len(rec.draws)
	rec.draws[n.Name] = number
	rec.sources[i].draws = append(rec.sources[i].draws, number)
	rec.perStep[n.Name] = !rec.batched[n.Name]
	return nil
}

// finish returns the graph of the body's results.
func (rec *recording) finish(outputs []Value) (*graph.Graph, error) {
	rec.done = true
	edges := rec.addOutputs(outputs)
	for _, s := range rec.sources {
		if s.moved() {
			rec.refuse(&errs.Error{Kind: errs.Invalid, Subject: "generator",
				Want:   "random numbers drawn only by operators",
				Got:    "numbers drawn in the body, which is called once for all steps",
				Remedy: "draw them with operators such as random.Uniform"})
		}
	}
	if len(edges) == 0 {
		rec.refuse(&errs.Error{Kind: errs.Invalid, Subject: "outputs",
			Want: "at least one result of an operator", Got: "no such result"})
	}
	if rec.err != nil {
		return nil, rec.err
	}
	if rec.sized == "" {
		rec.size, rec.fixed = 1, true
	}
	g, err := rec.builder.Graph(edges)
	if err != nil {
		return nil, errs.Wrap("dynamic.Compile", "", err)
	}
	if g, err = g.Merged(nil); err != nil {
		return nil, errs.Wrap("dynamic.Compile", "", err)
	}
	return g, rec.checkGrains(g)
}

// addOutputs sets the outlets of the loop, and returns the outputs of the graph.
func (rec *recording) addOutputs(outputs []Value) []graph.Edge {
	var edges []graph.Edge
	for i, v := range outputs {
		if !absent(v) && v.Err() != nil {
			rec.refuse(errs.Wrap("", fmt.Sprintf("output %d", i), v.Err()))
			continue
		}
		e, err := rec.edgeOf(v)
		if err != nil {
			rec.refuse(errs.Wrap("", fmt.Sprintf("output %d", i), err))
			continue
		}
		out := outlet{root: -1, batch: v.core().batch}
		switch in, ok := rec.inputs[e.Node.Name]; {
		case !ok:
			out.output = len(edges)
			edges = append(edges, e)
		case in.root >= 0:
			out.root = in.root
		default:
			out.constant = v
		}
		rec.outputs = append(rec.outputs, out)
	}
	return edges
}

// refuse keeps a mistake that belongs to no line.
func (rec *recording) refuse(err error) {
	if rec.err == nil {
		rec.err = errs.Wrap("dynamic.Compile", "", err)
	}
}

// checkGrains returns an error for a batch-level operator that would get the same tensor for every
// sample.
func (rec *recording) checkGrains(g *graph.Graph) error {
	for _, n := range g.Nodes {
		if n.Kernel != nil && op.IsBatched(n.Kernel) && !rec.batched[n.Name] && rec.size > 1 {
			return &errs.Error{Kind: errs.Unsupported, Op: "dynamic.Compile", Subject: n.Schema.FullName(),
				Want: "a batch", Got: "a single tensor, in a loop of batches", Remedy: "call it outside the loop"}
		}
	}
	return nil
}

// refuseContents records a mistake of the body that reads the contents of a symbol, and returns its
// error.
func (rec *recording) refuseContents() error {
	if rec.done {
		return &errs.Error{Kind: errs.Sequence, Op: "dynamic",
			Want: "a value with contents",
			Got:  "a value of the body of a compiled loop, which has contents only in the loop's steps"}
	}
	return rec.fail(2, &errs.Error{
		Kind: errs.Unsupported, Want: "only operators in the body of a compiled loop",
		Got:    "a Go value taken out of a tensor, which has no contents before the loop runs",
		Remedy: "take it from the loop's results, or compute with operators and the context of the body",
	})
}

// noteSize records that the body read the length of a batch.
func (rec *recording) noteSize() { rec.asked = true }

// describe returns dtype, number of axes and layout of a symbol.
func (rec *recording) describe(r *result) tensor.Spec {
	if r.view != nil {
		return tensor.Spec{}
	}
	return r.symbol.edge.Spec()
}

// commonSpec describes samples of one dtype. A dimension in which they differ is -1.
func commonSpec(samples []tensor.Tensor) (tensor.Spec, error) {
	if len(samples) == 0 {
		return tensor.Spec{}, &errs.Error{Kind: errs.Invalid, Want: "a batch of at least one sample", Got: "an empty batch"}
	}
	first := samples[0]
	spec := tensor.Spec{DType: first.DType, Layout: first.Layout, Shape: append(tensor.Shape{}, first.Shape...)}
	for _, s := range samples[1:] {
		if s.DType != first.DType || len(s.Shape) != len(first.Shape) {
			return spec, &errs.Error{Kind: errs.Mismatch, Subject: "samples of a batch",
				Want: first.String(), Got: s.String()}
		}
		for d, size := range s.Shape {
			if spec.Shape[d] != size {
				spec.Shape[d] = -1
			}
		}
	}
	return spec, nil
}
