package pipeline

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// BatchInfo says which batch a source has to make.
type BatchInfo struct {
	Iteration int64 // number of the batch in its epoch, from 0 on
	EpochIdx  int64 // from 0 on
}

// SampleInfo says which sample a source has to make.
type SampleInfo struct {
	IdxInEpoch int64 // number of the sample in its epoch, over all ranks, from 0 on
	IdxInBatch int64 // its place in the batch, over all ranks
	Iteration  int64 // number of the batch in its epoch
	EpochIdx   int64
}

// Source provides the data of an external source. The zero Source is fed with [Pipeline.Feed].
// After [Pipeline.SetState], a source continues exactly if its data is a function of the index, or
// if it has a state.
//
// All pipelines of a [Definition] call the same functions.
type Source struct {
	batch   func(ctx context.Context, info BatchInfo) ([]Data, error)
	sample  func(ctx context.Context, info SampleInfo) ([]tensor.Tensor, error)
	batches iter.Seq2[[]Data, error]
	samples iter.Seq2[[]tensor.Tensor, error]
	next    func(ctx context.Context) ([]Data, error)
	state   state.Stateful
	fedBy   FedReader
	open    func() (FedReader, error) // makes fedBy
}

// BatchFunc returns a source that makes batches by their number. f returns the data of each output,
// or io.EOF at the end of the epoch. With several ranks, f returns the data of this rank.
func BatchFunc(f func(ctx context.Context, info BatchInfo) ([]Data, error)) Source {
	return Source{batch: f}
}

// SampleFunc returns a source that makes samples by their number. f returns one tensor for each
// output, or io.EOF at the end of the epoch. If io.EOF comes within a batch, the earlier samples of
// this batch are dropped.
func SampleFunc(f func(ctx context.Context, info SampleInfo) ([]tensor.Tensor, error)) Source {
	return Source{sample: f}
}

// Func returns a source that makes one batch after the other. f returns the data of each output, or
// io.EOF at the end of the epoch. The source has no position, so a state cannot restore it.
func Func(f func(ctx context.Context) ([]Data, error)) Source { return Source{next: f} }

// BatchSeq returns a source that takes one batch after the other from a sequence.
func BatchSeq(seq iter.Seq2[[]Data, error]) Source { return Source{batches: seq} }

// SampleSeq returns a source that takes one sample after the other from a sequence. A sample has
// one tensor for each output. Samples at the end that do not fill a batch are dropped.
func SampleSeq(seq iter.Seq2[[]tensor.Tensor, error]) Source { return Source{samples: seq} }

// BatchReader makes one batch after the other and has a state.
type BatchReader interface {
	state.Stateful
	// ReadBatch returns the data of each output, or io.EOF at the end of the epoch.
	ReadBatch(ctx context.Context) ([]Data, error)
}

// From returns a source that reads one batch after the other from r. The state of r is part of the
// pipeline's state.
func From(r BatchReader) Source { return Source{next: r.ReadBatch, state: r} }

// FedReader makes one batch after the other of what it is fed. A batch may need less or more than
// what was fed at once.
type FedReader interface {
	state.Stateful
	// Feed takes the samples of a call of [Pipeline.Feed].
	Feed(samples []tensor.Tensor) error
	// Has reports whether there is data for a batch. Blocks reports whether Next waits for data that
	// another goroutine feeds.
	Has() bool
	Blocks() bool
	// Next returns the samples of the next batch. They belong to the caller.
	Next(ctx context.Context) ([]tensor.Tensor, error)
}

// FromFed returns a source that [Pipeline.Feed] feeds, and whose batches r makes. The state of r is
// part of the pipeline's state. After [Pipeline.SetState] the data must be fed again from where the
// state is.
func FromFed(r FedReader) Source {
	next := func(ctx context.Context) ([]Data, error) {
		samples, err := r.Next(ctx)
		return []Data{samples}, err
	}
	return Source{next: next, state: r, fedBy: r}
}

// OpenFed returns a source like FromFed, with a reader for each pipeline. The pipeline closes it if
// it is an io.Closer.
func OpenFed(open func() (FedReader, error)) Source { return Source{open: open} }

// opened returns the source with a reader of its own.
func (s *Source) opened() (Source, error) {
	r, err := s.open()
	if err != nil {
		return Source{}, err
	}
	own := FromFed(r)
	own.open = s.open
	return own, nil
}

// close closes a reader that was opened for the pipeline.
func (s *Source) close() error {
	if c, ok := s.fedBy.(io.Closer); ok && s.open != nil {
		return c.Close()
	}
	return nil
}

// fed reports whether the data comes from Feed.
func (s *Source) fed() bool {
	return s.batch == nil && s.sample == nil && s.batches == nil && s.samples == nil && s.next == nil && s.open == nil
}

// indexed reports whether the data is a function of the index.
func (s *Source) indexed() bool { return s.batch != nil || s.sample != nil }

// SourceOptions say how an external source behaves. The zero SourceOptions describe one output,
// about which nothing is known before the first data.
type SourceOptions struct {
	Name string // of the node; by default the name of the operator
	// Outputs is the number of outputs; 0 means 1.
	Outputs int
	// Specs declare dtype, number of dimensions and layout: one Spec for each output, or one Spec for
	// all. The first data completes what the Specs leave open. Data that disagrees is an error.
	Specs []tensor.Spec
	// Endless restarts a sequence (BatchSeq or SampleSeq) at its end, so that the stream has no
	// epochs. EachEpoch restarts the sequence with each epoch. Without both the sequence runs once,
	// and every further epoch is empty.
	Endless, EachEpoch bool
	// NoCopy uses the memory of the data in place. The memory must not change until the batch that is
	// made of it is released. By default the data is copied.
	NoCopy bool
	// RepeatLast repeats the batch that was fed last if there is no other.
	RepeatLast bool
	// Parallel calls the function of BatchFunc or SampleFunc ahead, on Options.SourceWorkers
	// goroutines at a time. Order and results do not change.
	Parallel bool
	// Prefetch is the number of batches that Parallel runs ahead of the pipeline; 0 means 1.
	Prefetch int
}

// sourceNode is an external source as it was declared.
type sourceNode struct {
	source  Source
	options SourceOptions
}

// ExternalSource appends an external source to the graph and returns its outputs.
func ExternalSource(b *Builder, src Source, o SourceOptions) []Node {
	set(&o.Outputs, 1)
	if b.err == nil {
		n, err := declare(&b.graph, src, &o)
		if err == nil {
			if b.sources == nil {
				b.sources = map[string]*sourceNode{}
			}
			b.sources[n.Name] = &sourceNode{source: src, options: o}
			return b.nodes(n)
		}
		b.fail(err)
	}
	return make([]Node, max(0, min(o.Outputs, maxOutputs)))
}

// maxOutputs is the most outputs of an external source.
const maxOutputs = 1 << 10

// declare makes the input of the graph.
func declare(g *graph.Builder, src Source, o *SourceOptions) (*graph.Node, error) {
	bad := func(field, want string, got any) error {
		return &errs.Error{Kind: errs.Invalid, Op: "external_source", Subject: "SourceOptions." + field, Want: want,
			Got: fmt.Sprint(got)}
	}
	sequence := src.batches != nil || src.samples != nil
	switch {
	case o.Outputs < 1 || o.Outputs > maxOutputs:
		return nil, bad("Outputs", fmt.Sprintf("1 to %d", maxOutputs), o.Outputs)
	case len(o.Specs) > 1 && len(o.Specs) != o.Outputs:
		return nil, bad("Specs", fmt.Sprintf("one for all, or one for each of %d outputs", o.Outputs), len(o.Specs))
	case o.Endless && o.EachEpoch:
		return nil, bad("Endless", "false when EachEpoch is set", true)
	case (o.Endless || o.EachEpoch) && !sequence:
		return nil, bad("Endless or EachEpoch", "a sequence (BatchSeq or SampleSeq), because no other source can restart",
			"another source")
	case o.RepeatLast && !src.fed():
		return nil, bad("RepeatLast", "a source that is fed", "a source that makes its data")
	case o.Parallel && !src.indexed():
		return nil, bad("Parallel", "a BatchFunc or SampleFunc, whose data is a function of the index", "another source")
	case o.Prefetch < 0 || o.Prefetch > 1<<10:
		return nil, bad("Prefetch", "0 to 1024", o.Prefetch)
	}
	set(&o.Prefetch, 1)
	specs := o.Specs
	for len(specs) > 0 && len(specs) < o.Outputs {
		specs = append(specs[:len(specs):len(specs)], specs[0])
	}
	return g.Input(o.Name, o.Outputs, specs)
}

// SourceOptions returns the options of the external source with the given name. If the definition
// has no such source, it returns the zero SourceOptions.
func (d *Definition) SourceOptions(name string) SourceOptions {
	if s, ok := d.sources[name]; ok {
		return s.options
	}
	return SourceOptions{}
}
