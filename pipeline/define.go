package pipeline

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	_ "github.com/bivouac-ml/bivouac/op/arith" // operators that every pipeline knows
	_ "github.com/bivouac-ml/bivouac/op/audio"
	_ "github.com/bivouac-ml/bivouac/op/augment"
	_ "github.com/bivouac-ml/bivouac/op/conditional"
	_ "github.com/bivouac-ml/bivouac/op/debug"
	_ "github.com/bivouac-ml/bivouac/op/decoders"
	_ "github.com/bivouac-ml/bivouac/op/detection"
	_ "github.com/bivouac-ml/bivouac/op/encoders"
	_ "github.com/bivouac-ml/bivouac/op/generic"
	_ "github.com/bivouac-ml/bivouac/op/geometry"
	_ "github.com/bivouac-ml/bivouac/op/image"
	_ "github.com/bivouac-ml/bivouac/op/random"
	_ "github.com/bivouac-ml/bivouac/op/reduce"
	_ "github.com/bivouac-ml/bivouac/op/segmentation"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/reader"
	_ "github.com/bivouac-ml/bivouac/reader/frames" // readers.sequence
	_ "github.com/bivouac-ml/bivouac/reader/video"  // experimental.readers.video
	"github.com/bivouac-ml/bivouac/tensor"
)

// Definition is a checked graph with options. It is immutable. You can make any number of pipelines
// from it, and run them at the same time.
type Definition struct {
	options Options
	whole   *graph.Graph // as it was declared
	graph   *graph.Graph // the graph that runs: equal nodes are merged
	moved   []string
	sources map[string]*sourceNode
	seen    *completions
}

// Define calls define and checks the graph. define appends operators to p and returns the nodes to
// deliver. Define touches no file.
func Define(o Options, define func(p *Builder) []Node) (*Definition, error) {
	b, err := NewBuilder(o)
	if err != nil {
		return nil, err
	}
	if define == nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "pipeline.Define", Subject: "define", Want: "a function", Got: "nil"}
	}
	b.defined(define(b))
	return b.Definition()
}

// defined makes the nodes that a function returned the outputs.
func (b *Builder) defined(nodes []Node) {
	if nodes != nil || !b.set {
		b.SetOutputs(nodes...)
	}
}

// specs returns what is known about the outputs.
func (d *Definition) specs() []tensor.Spec {
	specs := make([]tensor.Spec, len(d.graph.Outputs))
	for i, e := range d.graph.Outputs {
		specs[i] = e.Spec()
	}
	return specs
}

// Moved lists the operators that name another device and run on the CPU because of Options.Device.
func (d *Definition) Moved() []string { return slices.Clone(d.moved) }

// DotOptions say what a drawing shows.
type DotOptions = graph.DotOptions

// DOT returns the graph in the language of graphviz.
func (d *Definition) DOT(o DotOptions) []byte { return d.graph.DOT(o) }

// Options returns the options that were given to Define.
func (d *Definition) Options() Options { return d.options }

// Graph returns the graph as it was declared, for packages of this module. In the graph that runs,
// equal nodes are merged.
func (d *Definition) Graph() *graph.Graph { return d.whole }

// With returns the definition with changed options: change edits a copy of its options. Unlike New,
// With can set a field back to zero.
//
//	unseeded, err := def.With(func(o *pipeline.Options) { o.Seed = 0 })
func (d *Definition) With(change func(o *Options)) (*Definition, error) {
	with := *d
	change(&with.options)
	if err := with.options.Validate(); err != nil {
		return nil, err
	}
	if err := with.options.declared().checkSpecs(d.specs()); err != nil {
		return nil, err
	}
	return &with, nil
}

// New opens the data sets and returns a pipeline at its beginning. An option that is set in o
// replaces the option of the definition; a nil o replaces nothing. The caller must Close the
// pipeline.
func (d *Definition) New(ctx context.Context, o *Options) (*Pipeline, error) {
	options := d.options.Override(o)
	if err := options.Validate(); err != nil {
		return nil, err
	}
	if err := options.declared().checkSpecs(d.specs()); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	var sources []reader.Source
	closeAll := func() {
		for _, s := range sources {
			s.Close()
		}
	}
	for _, n := range d.graph.Readers() {
		s, err := n.Reader.Open(ctx, n.Config)
		if err != nil {
			closeAll()
			return nil, errs.Wrap("pipeline.New", "", err)
		}
		sources = append(sources, s)
	}
	p, err := newPipeline(d.graph, d.sources, d.seen, sources, options)
	if err != nil {
		closeAll()
		return nil, errs.Wrap("pipeline.New", "", err)
	}
	if p.noStates == nil {
		p.origin, _ = p.codec.AppendState(nil, p.progress()) // without an origin, SetState(nil) fails
	}
	p.tellDeprecated(d.graph.Nodes)
	return p, nil
}
