package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

// input is an external source of a running pipeline. It holds the batches that were fed, or made by
// the source's function, and are not yet delivered.
//
//	delivered │ base                          base+len(window)
//	──────────┼────────┬─────────┬─────────┬─────────
//	          │ taken  │ taken   │ waiting │  to come
//
// Data that a batch in the making has taken stays in the window until the batch is delivered, so
// that a second try finds the same data.
type input struct {
	node   *graph.Node
	source *sourceNode // how it was declared
	gives  giver       // nil if it is fed by Feed
	specs  []tensor.Spec
	window []*feed
	base   int64 // number of window[0] among all batches since the last move
	free   []*feed
	last   *feed  // the batch that was fed last, for RepeatLast
	taken  bool   // something was taken from the source
	state  []byte // of a stateful source, after the batch delivered last
}

// giver makes the batches of an external source with a callback.
type giver interface {
	// give fills f with the batch that info and samples describe. io.EOF ends the epoch. If wait is
	// false and the batch is not ready, give returns errLater and the work continues.
	give(ctx context.Context, info BatchInfo, samples span, f *feed, wait bool) error
	// restart begins another epoch.
	restart() error
	// stop drops the batches that were begun ahead, and waits until their calls have returned.
	stop()
}

// span describes the samples of a batch that this rank delivers.
type span struct {
	n     int   // number of samples
	whole int   // number of samples of the batch, over all ranks
	slot  int   // place of the first sample in the batch
	first int64 // number of the first sample in the epoch
}

// errLater says that a batch is still in the making.
var errLater = errors.New("later")

// at returns the batch with the given number. There is no batch if the source is starved or ended.
func (in *input) at(
	ctx context.Context, number int64, info BatchInfo, samples span, wait bool,
) (*feed, flow.Outcome, error) {
	if i := number - in.base; i < int64(len(in.window)) {
		f := in.window[i]
		if f.gone {
			return nil, flow.Started, in.wrap(&errs.Error{Kind: errs.Closed, Subject: "data that was fed",
				Want: "data of the pipeline", Got: "data that was detached with its batch"})
		}
		return f, flow.Started, nil
	}
	if in.gives == nil {
		if in.last == nil || !in.source.options.RepeatLast {
			return nil, flow.Starved, nil
		}
		in.push(in.last)
		return in.last, flow.Started, nil
	}
	f := in.empty()
	in.taken = true
	switch err := in.gives.give(ctx, info, samples, f, wait); {
	case errors.Is(err, io.EOF):
		in.drop(f)
		return nil, flow.Ended, nil
	case errors.Is(err, errLater), err != nil && ctx.Err() != nil:
		in.drop(f)
		return nil, flow.Starved, nil
	case err != nil:
		in.drop(f)
		return nil, flow.Started, in.wrap(err)
	}
	in.push(f)
	in.drop(f)
	return f, flow.Started, nil
}

// empty returns an empty batch with one use.
func (in *input) empty() *feed {
	if n := len(in.free); n > 0 {
		f := in.free[n-1]
		in.free = in.free[:n-1]
		f.uses = 1
		return f
	}
	return &feed{outputs: make([]fedOutput, len(in.node.Specs)), uses: 1}
}

// drop ends a use of f.
func (in *input) drop(f *feed) {
	if f.uses--; f.uses == 0 {
		f.over()
		in.free = append(in.free, f)
	}
}

// push appends f to the window.
func (in *input) push(f *feed) {
	f.uses++
	in.window = append(in.window, f)
}

// fill sets f to data, which has one entry for each output.
func (in *input) fill(f *feed, data []Data, layout string, keep bool) error {
	if len(data) != len(f.outputs) {
		return in.outputs(len(data))
	}
	for i := range f.outputs {
		if err := f.outputs[i].take(data[i], layout, keep); err != nil {
			return in.wrap(err)
		}
	}
	return in.check(f)
}

// check adds the declared layouts to f. It returns an error if f disagrees with the declaration, if
// its outputs disagree, or if it disagrees with earlier batches.
func (in *input) check(f *feed) error {
	f.samples = len(f.outputs[0].samples)
	for i := range f.outputs {
		o := &f.outputs[i]
		if n := len(o.samples); n != f.samples {
			return in.wrap(&errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("output %d", i),
				Want: fmt.Sprintf("%d samples, as in the first output", f.samples), Got: fmt.Sprint(n)})
		}
		o.describe(in.node.Declared()[i].Layout)
		if err := o.fits(in.spec(i, o)); err != nil {
			return in.wrap(err)
		}
	}
	if in.specs == nil {
		specs := make([]tensor.Spec, len(f.outputs))
		for i := range f.outputs {
			specs[i] = in.spec(i, &f.outputs[i])
		}
		in.specs = specs // only now, because spec reads it
	}
	return nil
}

// spec describes the batches of output i. It is taken from earlier batches, or from the declaration
// and the first batch.
func (in *input) spec(i int, first *fedOutput) tensor.Spec {
	if in.specs != nil {
		return in.specs[i]
	}
	return first.spec(in.node.Declared()[i])
}

// delivered removes the batch with the given number, and all batches before it, from the window.
func (in *input) delivered(number int64) {
	for in.base <= number && len(in.window) > 0 {
		f := in.window[0]
		in.window = in.window[:copy(in.window, in.window[1:])]
		in.base++
		in.state = append(in.state[:0], f.state...)
		in.drop(f)
	}
}

// clear drops all batches; the next one has number 0.
func (in *input) clear() {
	for _, f := range in.window {
		in.drop(f)
	}
	if in.last != nil {
		in.drop(in.last)
	}
	in.window, in.base, in.last = in.window[:0], 0, nil
}

// outputs returns the error for data with a wrong number of outputs.
func (in *input) outputs(got int) error {
	return in.wrap(&errs.Error{Kind: errs.Invalid, Want: fmt.Sprintf("data for %d outputs", len(in.node.Specs)),
		Got: fmt.Sprint(got)})
}

// wrap adds the name of the node to an error.
func (in *input) wrap(err error) error {
	return errs.Wrap(in.node.Schema.FullName(), "node "+in.node.Name, err)
}
