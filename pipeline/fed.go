package pipeline

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
)

// feeding is what the external sources of a pipeline need.
type feeding struct {
	inputs   []*input // in the order of the graph's inputs
	calls    *flow.Pool[call]
	prepared int64 // batches before which Options.BeforeBatch was called, since the last move
}

// FeedOptions say how data is fed.
type FeedOptions struct {
	Layout string // of the samples; by default the layout of the data, or the declared one
	NoCopy bool   // uses the data in place; it must not change until its batch is released
}

// Feed queues a batch for the external source called name, which must have no function or sequence
// to take it from: data for each of its outputs. Later batches may be of other sizes, up to the
// batch size. nil options are the zero options.
//
// It is one of the calls of which one goroutine makes one at a time: a source must not call it, but
// Options.BeforeBatch may. Errors: errs.Busy beside another call, errs.NotFound for an unknown
// name, errs.Invalid and errs.Mismatch for data that does not fit.
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
	if in.gives != nil {
		return &errs.Error{Kind: errs.Invalid, Op: what, Subject: "node " + name,
			Want: "an external source that is fed", Got: "one with a source of its own"}
	}
	if o == nil {
		o = &FeedOptions{}
	}
	f := in.empty()
	defer in.drop(f)
	if err := in.fill(f, data, o.Layout, o.NoCopy || in.source.options.NoCopy); err != nil {
		return errs.Wrap(what, "", err)
	}
	if n := p.config.BatchSize; f.samples > n {
		return errs.Wrap(what, "", in.wrap(&errs.Error{Kind: errs.Invalid,
			Want: fmt.Sprintf("at most %d samples, the batch size", n), Got: fmt.Sprint(f.samples)}))
	}
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

// Unfed returns the names of the external sources that were not fed enough for the next n batches
// after the one delivered last.
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
		if in.gives == nil && !repeats && int64(len(in.window)) < at-in.base+int64(n) {
			names = append(names, in.node.Name)
		}
	}
	return names
}

// unfed is the error of a batch that lacks data of the external sources with those names.
func unfed(names []string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "external_source", Subject: "node " + strings.Join(names, ", "),
		Want: "a batch", Got: "none that was fed",
		Remedy: "feed one batch before each batch that is taken, and as many as are made ahead before the first"}
}
