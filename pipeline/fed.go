package pipeline

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
)

// feeding is the state of a pipeline's external sources.
type feeding struct {
	inputs   []*input // in the order of the graph's inputs
	calls    *flow.Pool[call]
	prepared int64 // calls of Options.BeforeBatch since the last move
}

// FeedOptions are the options of Feed.
type FeedOptions struct {
	Layout string // of the samples; by default the layout of the data, or the declared one
	NoCopy bool   // uses the data in place; it must not change until its batch is released

	// Release lends the memory of the data to the pipeline, which uses it in place. The pipeline
	// calls it once, when it does not need the memory any more: in a later call of a method, or in
	// Feed itself. Then others may have the memory. It is not called if Feed fails, if the memory was
	// given away by Batch.Detach, and for what a pipeline still has when it is closed.
	Release func()
}

// Feed queues a batch for the external source called name: one Data for each of its outputs. The
// source must be a zero Source, without a function or sequence, or be made by FromFed. Later
// batches may have other sizes, up to the batch size. nil options mean the zero options.
//
// Only one goroutine at a time may call Feed or move the stream. Options.BeforeBatch may call Feed;
// a source must not. Feed fails with errs.Busy during another call, with errs.NotFound for an
// unknown name, and with errs.Invalid or errs.Mismatch for data that does not fit.
func (p *Pipeline) Feed(name string, data []Data, o *FeedOptions) error {
	const what = "pipeline.Feed"
	if err := p.turn.Enter(what); err != nil {
		return err
	}
	defer p.turn.Leave()
	in, err := p.input(what, name)
	if err != nil {
		return err
	}
	if o == nil {
		o = &FeedOptions{}
	}
	if r := in.source.source.fedBy; r != nil {
		return errs.Wrap(what, "", in.feedReader(r, data, o))
	}
	if in.gives != nil {
		return &errs.Error{Kind: errs.Invalid, Op: what, Subject: "node " + name,
			Want: "an external source that is fed", Got: "an external source with a function or sequence"}
	}
	f := in.empty()
	defer in.drop(f)
	if err := in.fill(f, data, o.Layout, o.Release != nil || o.NoCopy || in.source.options.NoCopy); err != nil {
		return errs.Wrap(what, "", err)
	}
	if n := p.config.BatchSize; f.samples > n {
		return errs.Wrap(what, "", in.wrap(&errs.Error{Kind: errs.Invalid,
			Want: fmt.Sprintf("at most %d samples, the batch size", n), Got: fmt.Sprint(f.samples)}))
	}
	f.release = o.Release
	in.push(f)
	if in.source.options.RepeatLast {
		if in.last != nil {
			in.drop(in.last)
		}
		f.uses++
		in.last = f
	}
	return nil
}

// feedReader gives data to a reader that makes batches of it.
func (in *input) feedReader(r FedReader, data []Data, o *FeedOptions) error {
	if len(data) != 1 {
		return in.wrap(&errs.Error{Kind: errs.Invalid, Want: "data for 1 input", Got: fmt.Sprint(len(data))})
	}
	var all fedOutput // its memory becomes the reader's
	err := all.take(data[0], o.Layout, o.Release == nil && (o.NoCopy || in.source.options.NoCopy))
	if err == nil {
		err = r.Feed(all.samples)
	}
	if err != nil {
		return in.wrap(err)
	}
	if o.Release != nil { // the data was copied
		o.Release()
	}
	return nil
}

// input returns the external source called name.
func (p *Pipeline) input(what, name string) (*input, error) {
	names := make([]string, len(p.inputs))
	for i, in := range p.inputs {
		if in.node.Name == name {
			return in, nil
		}
		names[i] = in.node.Name
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: what, Subject: "node " + name,
		Want: "an external source: " + strings.Join(names, ", ")}
}

// Unfed returns the names of the external sources that have too little data for the next n batches
// after the last delivered batch.
func (p *Pipeline) Unfed(n int) ([]string, error) {
	if err := p.turn.Take("pipeline.Unfed"); err != nil {
		return nil, err
	}
	defer p.turn.Leave()
	return p.lacking(n), nil
}

func (p *Pipeline) lacking(n int) []string {
	var names []string
	at := p.ring.Token().number
	for _, in := range p.inputs {
		repeats := in.last != nil && in.source.options.RepeatLast
		if r := in.source.source.fedBy; r != nil && !r.Has() && int64(len(in.window)) < at-in.base+int64(n) {
			names = append(names, in.node.Name)
		}
		if in.gives == nil && !repeats && int64(len(in.window)) < at-in.base+int64(n) {
			names = append(names, in.node.Name)
		}
	}
	return names
}

// unfed returns the error of a batch for which the named external sources have no data.
func unfed(names []string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "external_source", Subject: "node " + strings.Join(names, ", "),
		Want: "a batch that was fed", Got: "no batch",
		Remedy: "feed one batch before each batch that is taken, and before the first also one for each prefetched batch"}
}
