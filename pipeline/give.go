package pipeline

import (
	"context"
	"io"
	"iter"

	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/tensor"
)

// newGiver returns the giver of an input that is not fed. If the input is parallel and there is a
// pool, the giver calls the function ahead on the pool.
func newGiver(in *input, calls *flow.Pool[call]) giver {
	src, o := &in.source.source, &in.source.options
	switch {
	case src.fed():
		return nil
	case o.Parallel && calls != nil:
		return newParallel(in, calls)
	case src.sample != nil:
		return callSamples{in}
	case src.batch != nil:
		return callBatch{in}
	case src.fedBy != nil:
		return callFed{callNext{in}}
	case src.next != nil:
		return callNext{in}
	case src.batches != nil:
		return &takeBatches{in: in, seq: sequence[[]Data]{all: src.batches, endless: o.Endless,
			again: o.Endless || o.EachEpoch}}
	}
	return &takeSamples{in: in, seq: sequence[[]tensor.Tensor]{all: src.samples, endless: o.Endless,
		again: o.Endless || o.EachEpoch}}
}

// callBatch gets batches by their number.
type callBatch struct{ in *input }

func (g callBatch) give(ctx context.Context, info BatchInfo, _ span, f *feed, _ bool) error {
	data, err := g.in.source.source.batch(ctx, info)
	if err != nil {
		return err
	}
	return g.in.fill(f, data, "", g.in.source.options.NoCopy)
}

func (callBatch) restart() error { return nil }
func (callBatch) stop()          {}

// callSamples gets samples by their number.
type callSamples struct{ in *input }

func (g callSamples) give(ctx context.Context, info BatchInfo, samples span, f *feed, _ bool) error {
	f.begin()
	for s := range samples.n {
		t, err := g.in.source.source.sample(ctx, samples.info(info, s))
		if err == nil {
			err = g.in.append(f, t)
		}
		if err != nil {
			return err
		}
	}
	return g.in.finish(f)
}

func (callSamples) restart() error { return nil }
func (callSamples) stop()          {}

// info describes sample s of the span.
func (x span) info(b BatchInfo, s int) SampleInfo {
	return SampleInfo{IdxInEpoch: x.first + int64(s), IdxInBatch: int64(x.slot + s), Iteration: b.Iteration,
		EpochIdx: b.EpochIdx}
}

// callNext gets one batch after the other.
type callNext struct{ in *input }

func (g callNext) give(ctx context.Context, _ BatchInfo, _ span, f *feed, _ bool) error {
	data, err := g.in.source.source.next(ctx)
	if err != nil {
		return err
	}
	if err := g.in.fill(f, data, "", g.in.source.options.NoCopy); err != nil {
		return err
	}
	return g.in.keepState(f)
}

func (callNext) restart() error { return nil }
func (callNext) stop()          {}

// callFed gets batches from a reader that is fed. Without data the batch comes later.
type callFed struct{ callNext }

func (g callFed) give(ctx context.Context, _ BatchInfo, _ span, f *feed, wait bool) error {
	if r := g.in.source.source.fedBy; !r.Has() && !(wait && r.Blocks()) {
		return errLater
	}
	data, err := g.in.source.source.next(ctx)
	if err == nil {
		err = g.in.fill(f, data, "", true) // the samples belong to the pipeline
	}
	if err != nil {
		return err
	}
	return g.in.keepState(f)
}

// takeBatches takes batches from a sequence.
type takeBatches struct {
	in  *input
	seq sequence[[]Data]
}

func (g *takeBatches) give(_ context.Context, _ BatchInfo, _ span, f *feed, _ bool) error {
	data, err := g.seq.take()
	if err != nil {
		return err
	}
	return g.in.fill(f, data, "", g.in.source.options.NoCopy)
}

func (g *takeBatches) restart() error { g.seq.restart(); return nil }
func (g *takeBatches) stop()          { g.seq.end() }

// takeSamples takes samples from a sequence.
type takeSamples struct {
	in  *input
	seq sequence[[]tensor.Tensor]
}

func (g *takeSamples) give(_ context.Context, _ BatchInfo, samples span, f *feed, _ bool) error {
	f.begin()
	for range samples.n {
		t, err := g.seq.take()
		if err == nil {
			err = g.in.append(f, t)
		}
		if err != nil {
			return err
		}
	}
	return g.in.finish(f)
}

func (g *takeSamples) restart() error { g.seq.restart(); return nil }
func (g *takeSamples) stop()          { g.seq.end() }

// sequence pulls values from an iterator. It can begin again at the end.
type sequence[T any] struct {
	all     iter.Seq2[T, error]
	endless bool // begins again at its end
	again   bool // begins again with each epoch
	next    func() (T, error, bool)
	stop    func()
	ended   bool
}

// take returns the next value, or io.EOF at the end.
func (q *sequence[T]) take() (T, error) {
	var none T
	for fresh := false; !q.ended; fresh = true {
		if q.next == nil {
			q.next, q.stop = iter.Pull2(q.all)
		}
		if v, err, ok := q.next(); ok {
			return v, err
		}
		q.end()
		q.ended = !q.endless || fresh // an empty sequence ends even if it is endless
	}
	return none, io.EOF
}

// restart begins another epoch.
func (q *sequence[T]) restart() {
	q.end()
	q.ended = q.ended && !q.again
}

// end stops the running sequence.
func (q *sequence[T]) end() {
	if q.stop != nil {
		q.stop()
		q.next, q.stop = nil, nil
	}
}

// begin empties a batch that is made sample by sample.
func (f *feed) begin() {
	for i := range f.outputs {
		f.outputs[i].begin()
	}
}

// append adds a sample to f: a tensor for each output.
func (in *input) append(f *feed, sample []tensor.Tensor) error {
	if len(sample) != len(f.outputs) {
		return in.outputs(len(sample))
	}
	for i := range f.outputs {
		if err := f.outputs[i].append(sample[i], in.source.options.NoCopy); err != nil {
			return in.wrap(err)
		}
	}
	return nil
}

// finish completes a batch that was made sample by sample.
func (in *input) finish(f *feed) error {
	for i := range f.outputs {
		if err := f.outputs[i].finish("", in.source.options.NoCopy); err != nil {
			return in.wrap(err)
		}
	}
	return in.check(f)
}

// keepState notes the state of the source after f.
func (in *input) keepState(f *feed) (err error) {
	s := in.source.source.state
	if s == nil {
		return nil
	}
	if f.state, err = s.AppendState(f.state[:0]); err != nil {
		return in.wrap(err)
	}
	return nil
}
