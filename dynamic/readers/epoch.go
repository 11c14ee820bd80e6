package readers

import (
	"context"
	"io"
	"iter"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// NextEpoch yields the batches of the next epoch of the reader's shard. If a state or a break left
// an epoch unfinished, NextEpoch yields the rest of it. The epoch begins with its first batch. A
// batch counts as delivered when it is yielded: in the body of the loop, the state is the state
// after the batch.
//
// The iteration ends after an error, which leaves the position where it was. Errors are
// errs.Sequence if the reader is used in another way or a newer iteration has begun, errs.Invalid
// for a batch size that differs from earlier calls, and errors of the data set and of samples.
func (r *Reader) NextEpoch(ctx context.Context, batchSize int) iter.Seq2[[]*dynamic.Batch, error] {
	return func(yield func([]*dynamic.Batch, error) bool) {
		for outputs, err := range r.epoch(ctx, forBatches, batchSize) {
			if !yield(batchesOf(outputs), err) {
				return
			}
		}
	}
}

// Samples works like NextEpoch and yields the samples one by one.
func (r *Reader) Samples(ctx context.Context) iter.Seq2[[]*dynamic.Tensor, error] {
	return func(yield func([]*dynamic.Tensor, error) bool) {
		for outputs, err := range r.epoch(ctx, forSamples, 1) {
			var values []*dynamic.Tensor
			for _, samples := range outputs {
				values = append(values, dynamic.TensorOf(samples[0], dynamic.Form{NoCopy: true}))
			}
			if !yield(values, err) {
				return
			}
		}
	}
}

func batchesOf(outputs [][]tensor.Tensor) []*dynamic.Batch {
	var values []*dynamic.Batch
	for _, samples := range outputs {
		values = append(values, dynamic.BatchOf(samples, dynamic.Form{NoCopy: true}))
	}
	return values
}

// epoch yields the outputs of the batches of an epoch.
func (r *Reader) epoch(ctx context.Context, u use, batch int) iter.Seq2[[][]tensor.Tensor, error] {
	return func(yield func([][]tensor.Tensor, error) bool) {
		number, err := r.beginEpoch(ctx, u, batch)
		for last := false; !last; {
			var outputs [][]tensor.Tensor
			if err == nil {
				outputs, last, err = r.nextOf(ctx, number)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(outputs, nil) {
				return
			}
		}
	}
}

// beginEpoch begins an iteration and returns its number.
func (r *Reader) beginEpoch(ctx context.Context, u use, batch int) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.start(ctx, u, batch); err != nil {
		return 0, err
	}
	if at := r.ring.Token(); at.Left > 0 && !r.fresh && r.plan.Restarts {
		at.Left = 0
		r.ring.Reset(at)
	}
	r.running++
	return r.running, nil
}

// nextOf returns the next batch of an iteration.
func (r *Reader) nextOf(ctx context.Context, number int64) ([][]tensor.Tensor, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running != number {
		return nil, false, r.fail(errs.Sequence, string(r.use), "one iteration at a time", "a newer iteration",
			"make one reader per iteration")
	}
	return r.step(ctx)
}

// Root returns the reader as the root of a compiled loop with batches of one size. The Root is a
// dynamic.Resumable: the state of the reader is the state after the last delivered step.
func (r *Reader) Root(batchSize int) *Root { return &Root{reader: r, batch: batchSize} }

// Root provides the batches of a reader to a compiled loop.
type Root struct {
	reader *Reader
	batch  int
	ended  bool // the last batch of an epoch was returned
}

// Next implements dynamic.Root. It returns io.EOF at the end of an epoch.
func (o *Root) Next(ctx context.Context) ([]dynamic.Value, error) {
	if o.ended {
		o.ended = false
		return nil, io.EOF
	}
	r := o.reader
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.start(ctx, forLoop, o.batch); err != nil {
		return nil, err
	}
	if r.shown.Load() == nil { // before the first delivery, report the present state
		at := r.ring.Token()
		r.shown.Store(&at)
	}
	outputs, last, err := r.step(ctx)
	o.ended = last && err == nil
	var values []dynamic.Value
	for _, b := range batchesOf(outputs) {
		values = append(values, b)
	}
	return values, err
}

// Here implements dynamic.Resumable.
func (o *Root) Here() any {
	r := o.reader
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ring == nil {
		return nil
	}
	return r.ring.Token()
}

// Show implements dynamic.Resumable. It does not wait for a Next that is under way.
func (o *Root) Show(place any) {
	if at, ok := place.(Place); ok {
		o.reader.shown.Store(&at)
	}
}
