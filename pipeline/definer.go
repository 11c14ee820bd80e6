package pipeline

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
)

// Definer is a type that defines a graph, as a subclass of DALI's Pipeline does.
type Definer interface {
	// DefineGraph appends operators and returns the nodes to deliver, or nil after
	// Builder.SetOutputs.
	DefineGraph(b *Builder) []Node
}

// IterSetter is a [Definer] that is asked before each batch, to feed the graph's
// inputs. io.EOF ends the epoch.
type IterSetter interface {
	IterSetup(p *Pipeline) error
}

// DefineBy is Define with a type's own DefineGraph. Where the type is an
// IterSetter, the pipelines call it, all the same one, before they begin a batch.
func DefineBy(o Options, d Definer) (*Definition, error) {
	def, err := Define(o, d.DefineGraph)
	if err != nil {
		return nil, err
	}
	def.setup, _ = d.(IterSetter)
	return def, nil
}

// Template is a graph that takes arguments: DALI's pipeline_def of a function
// with parameters.
//
//	train := pipeline.Template[string]{Options: o, Define: func(b *pipeline.Builder, root string) []pipeline.Node { … }}
//	pipe, err := train.New(ctx, "train", &pipeline.Options{BatchSize: 32})
type Template[A any] struct {
	Options Options
	Define  func(b *Builder, args A) []Node
}

// New returns a pipeline for arguments. Options that are set in over replace
// those of the template, while it is defined as well; nil changes none.
func (t Template[A]) New(ctx context.Context, args A, over *Options) (*Pipeline, error) {
	if t.Define == nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "pipeline.Template", Subject: "Define", Want: "a function", Got: "nil"}
	}
	d, err := Define(t.Options.Override(over), func(b *Builder) []Node { return t.Define(b, args) })
	if err != nil {
		return nil, err
	}
	return d.New(ctx, nil)
}
