package readers

import (
	"context"
	"io"
	"iter"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// NextEpoch yields the batches of an epoch, which begins with the first of them: the
// next epoch of the reader's shard, or what is left of one that a state or a break has
// left unfinished. A batch is delivered when it is yielded, so that the state asked for
// in the body of the loop is behind it.
//
// The iteration ends after an error, which keeps the position. Errors are: errs.Sequence for a
// reader that is used in another way, or by another iteration that has begun since; errs.Invalid
// for another batch size than before; errors of the data set and of samples.
func (r *Reader) NextEpoch(ctx context.Context, batchSize int) iter.Seq2[[]*dynamic.Batch, error] {
	return func(yield func([]*dynamic.Batch, error) bool) {
		for outputs, err := range r.epoch(ctx, forBatches, batchSize) {
			if !yield(batchesOf(outputs), err) {
				return
			}
		}
	}
}

// Samples yields the samples of an epoch one by one, as NextEpoch does batches.
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
		return nil, false, r.fail(errs.Sequence, string(r.use), "one iteration at a time", "another that has begun since",
			"make a reader for each")
	}
	return r.step(ctx)
}

// Root returns the reader as the beginning of each step of a compiled loop, which is made
// of batches of one size. It is a dynamic.Resumable: the state of the reader stands after the step
// delivered last.
func (r *Reader) Root(batchSize int) *Root { return &Root{reader: r, batch: batchSize} }

// Root gives a compiled loop the batches of a reader.
type Root struct {
	reader *Reader
	batch  int
	ended  bool // the last batch of an epoch was given
}

// Next implements dynamic.Root: io.EOF is the end of an epoch.
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
	if r.shown.Load() == nil { // until the first step is delivered, the state is that before it
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
