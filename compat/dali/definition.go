package dali

import (
	"context"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// Definition is a checked graph with DALI's options. It is immutable; any number of pipelines can
// be made from it, and run at the same time.
type Definition struct {
	*pipeline.Definition

	options PipelineOptions
	setup   IterSetter
	videos  map[string]*pipeproto.Op // inputs that are fed videos
}

// Define calls define, which appends operators to b and returns the nodes to deliver, and checks
// the graph. It is DALI's pipeline_def. No file is touched.
func Define(o PipelineOptions, define func(b *pipeline.Builder) []pipeline.Node) (*Definition, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	d, err := pipeline.Define(o.engine(), define)
	if err != nil {
		return nil, err
	}
	return &Definition{Definition: d, options: o}, nil
}

// Of returns a definition of package pipeline with DALI's calls, such as Serialize. Its names,
// orders and random numbers stay as they are.
func Of(d *pipeline.Definition) *Definition {
	o := d.Options()
	return &Definition{Definition: d, options: PipelineOptions{Options: o, Native: o.Compat == nil}}
}

// Definer is a type that defines a graph, as a subclass of DALI's Pipeline does.
type Definer interface {
	// DefineGraph appends operators and returns the nodes to deliver, or nil after
	// Builder.SetOutputs.
	DefineGraph(b *pipeline.Builder) []pipeline.Node
}

// IterSetter is a [Definer] that is asked before each batch, to feed the graph's inputs. io.EOF
// ends the epoch.
type IterSetter interface {
	IterSetup(p *Pipeline) error
}

// DefineBy is Define with a type's own DefineGraph. Where the type is an IterSetter, the pipelines
// call it, all the same one, before they begin a batch.
func DefineBy(o PipelineOptions, d Definer) (*Definition, error) {
	def, err := Define(o, d.DefineGraph)
	if err != nil {
		return nil, err
	}
	def.setup, _ = d.(IterSetter)
	return def, nil
}

// Builder takes the operators of a graph that is put together by hand, as between DALI's Pipeline()
// and build().
type Builder struct {
	*pipeline.Builder

	options PipelineOptions
}

// NewBuilder returns a builder of a graph that works as the options say.
func NewBuilder(o PipelineOptions) (*Builder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	b, err := pipeline.NewBuilder(o.engine())
	if err != nil {
		return nil, err
	}
	return &Builder{Builder: b, options: o}, nil
}

// Definition checks the graph and returns its definition, with which the builder is done.
func (b *Builder) Definition() (*Definition, error) {
	d, err := b.Builder.Definition()
	if err != nil {
		return nil, err
	}
	return &Definition{Definition: d, options: b.options}, nil
}

// Options returns the options that were given to Define.
func (d *Definition) Options() PipelineOptions { return d.options }

// With returns the definition with options that change makes of its own. It is the way to set a
// field back to zero, which New cannot.
func (d *Definition) With(change func(o *PipelineOptions)) (*Definition, error) {
	with := *d
	change(&with.options)
	err := with.options.Validate()
	if err != nil {
		return nil, err
	}
	with.Definition, err = d.Definition.With(func(o *pipeline.Options) { *o = with.options.engine() })
	if err != nil {
		return nil, err
	}
	return &with, nil
}

// New opens the data sets and returns a pipeline at its beginning, or at
// PipelineOptions.Checkpoint. An option that is set in o replaces the option of the definition; a
// nil o replaces nothing. Close must be called.
func (d *Definition) New(ctx context.Context, o *PipelineOptions) (*Pipeline, error) {
	options := d.options.Override(o)
	if err := options.Validate(); err != nil {
		return nil, err
	}
	return newPipeline(ctx, d, options)
}

// Template is a graph that takes arguments: DALI's pipeline_def of a function with parameters.
//
//	train := dali.Template[string]{Options: o, Define: func(b *pipeline.Builder, root string) []pipeline.Node { … }}
//	pipe, err := train.New(ctx, "train", &dali.PipelineOptions{EnableCheckpointing: true})
type Template[A any] struct {
	Options PipelineOptions
	Define  func(b *pipeline.Builder, args A) []pipeline.Node
}

// New returns a pipeline for arguments. An option that is set in over replaces the option of the
// template, also while the pipeline is defined; a nil over replaces nothing.
func (t Template[A]) New(ctx context.Context, args A, over *PipelineOptions) (*Pipeline, error) {
	if t.Define == nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "dali.Template", Subject: "Define", Want: "a function",
			Got: "nil"}
	}
	d, err := Define(t.Options.Override(over), func(b *pipeline.Builder) []pipeline.Node { return t.Define(b, args) })
	if err != nil {
		return nil, err
	}
	return d.New(ctx, nil)
}
