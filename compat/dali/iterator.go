package dali

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// IteratorOptions say where the epochs of an Iterator end.
type IteratorOptions struct {
	// ReaderName is the reader whose shards make up an epoch. Every pipeline must have it.
	ReaderName string
	// Size is the number of samples of an epoch over all pipelines, if no reader tells it. Without
	// Size and ReaderName, an epoch ends when the only pipeline returns io.EOF.
	Size int64
	// LastBatch is last_batch_policy: what the last batch of an epoch contains if the samples do not
	// fill it. FILL is order.Span: the reader fills it, with the last sample repeated or with samples
	// of the next epoch. PARTIAL is order.Short: it has only samples of the epoch. DROP is order.Drop:
	// it is left out.
	LastBatch order.Tail
	// LastBatchPadded says that the last batch is padded, if there is no ReaderName.
	LastBatchPadded bool
	// AutoReset begins the next epoch when an epoch ends.
	AutoReset bool
	// Lazy begins no batch before the first one is requested.
	Lazy bool
}

// Iterator iterates over epochs of one or several pipelines, one for each shard of a data set, like
// the iterators of DALI: it counts samples, and cuts the last batches of an epoch. The pipelines
// must deliver full batches, as pipelines of compat/dali do, and no other code may run them at the
// same time. An Iterator is for one goroutine at a time.
//
// In Bivouac's own order all shards have the same size, and Pipeline.Batches needs no Iterator.
type Iterator struct {
	pipes    []*Pipeline
	options  IteratorOptions
	count    epochCount
	first    []*pipeline.Batch        // made ahead by NewIterator
	ended    bool                     // NewIterator found the end of the epoch, which Next returns
	begun    bool                     // batches were scheduled
	consumed bool                     // a batch was requested
	initial  func() ([][]byte, error) // states of the pipelines before the first batch
	out      []*pipeline.Batch
}

// NewIterator returns an iterator over pipelines at their beginning, or at the states that
// Checkpoints returned.
func NewIterator(ctx context.Context, pipes []*Pipeline, o IteratorOptions) (*Iterator, error) {
	const what = "dali.NewIterator"
	bad := func(subject, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: what, Subject: subject, Want: want, Got: got}
	}
	if len(pipes) == 0 {
		return nil, bad("pipelines", "at least one", "none")
	}
	batch := pipes[0].Options().BatchSize
	for _, p := range pipes {
		if p.Options().BatchSize != batch {
			return nil, bad("pipelines", fmt.Sprintf("a batch size of %d, as of the first", batch),
				fmt.Sprint(p.Options().BatchSize))
		}
	}
	switch {
	case o.LastBatch > order.Drop:
		return nil, bad("IteratorOptions.LastBatch", "order.Short, order.Drop or order.Span", o.LastBatch.String())
	case o.Size < 0:
		return nil, bad("IteratorOptions.Size", "0 or more", fmt.Sprint(o.Size))
	case o.ReaderName != "" && o.Size > 0:
		return nil, bad("IteratorOptions.Size", "0 when ReaderName is set", fmt.Sprint(o.Size))
	case o.ReaderName != "" && o.LastBatchPadded:
		return nil, bad("IteratorOptions.LastBatchPadded", "false when ReaderName is set: the reader tells", "true")
	case o.ReaderName == "" && o.Size == 0 && len(pipes) > 1:
		return nil, bad("IteratorOptions.Size", "a size or a ReaderName for several pipelines", "neither")
	}
	it := &Iterator{pipes: pipes, options: o}
	it.count = epochCount{batch: int64(batch), pipes: int64(len(pipes)), last: o.LastBatch,
		padded: o.LastBatchPadded, size: o.Size}
	if o.Size == 0 {
		it.count.size = -1
	}
	if o.ReaderName != "" {
		if err := it.count.shard(pipes, o.ReaderName); err != nil {
			return nil, errs.Wrap(what, "", err)
		}
	} else if o.Size == 0 {
		it.count.last, it.count.padded = order.Span, false
	}
	resumed, err := it.resume()
	states, noStates := it.states()
	it.initial = func() ([][]byte, error) { return states, noStates }
	if err == nil && !o.Lazy {
		it.first, err = it.next(ctx)
		if errors.Is(err, io.EOF) {
			it.ended, err = true, nil
			if !resumed {
				err = bad("pipelines", "data for a batch", "none: with order.Drop, no batch of a shard is full")
			}
		}
	}
	return it, errs.Wrap(what, "", err)
}

// Next returns the next batch of every pipeline. The batches belong to the caller until the next
// call. At the end of an epoch Next returns io.EOF at each call until Reset, or once with
// AutoReset.
func (it *Iterator) Next(ctx context.Context) ([]*pipeline.Batch, error) {
	it.consumed = true
	if b := it.first; b != nil {
		it.first = nil
		return b, nil
	}
	if it.ended {
		it.ended = false
		return nil, io.EOF
	}
	return it.next(ctx)
}

// Epoch yields the rest of the epoch, or the next epoch if this one has ended.
func (it *Iterator) Epoch(ctx context.Context) iter.Seq2[[]*pipeline.Batch, error] {
	return func(yield func([]*pipeline.Batch, error) bool) {
		if it.count.counter != 0 && it.consumed {
			if err := it.Reset(ctx); err != nil {
				yield(nil, err)
				return
			}
		}
		for {
			b, err := it.Next(ctx)
			if errors.Is(err, io.EOF) || !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// next makes the next batches.
func (it *Iterator) next(ctx context.Context) ([]*pipeline.Batch, error) {
	if err := it.share(ctx); err != nil {
		return nil, err
	}
	if err := it.schedule(ctx); err != nil {
		return nil, err
	}
	if it.count.advance() {
		return nil, it.end(ctx)
	}
	it.trim()
	return it.out, nil
}

// share takes the next batches in place of the previous ones, unless the epoch has ended.
func (it *Iterator) share(ctx context.Context) error {
	if !it.begun {
		if err := it.schedule(ctx); err != nil {
			return err
		}
	}
	if it.count.over() {
		return it.end(ctx)
	}
	it.out = it.out[:0]
	for _, p := range it.pipes {
		if err := p.releaseOutputs(byIterator); err != nil {
			return err
		}
		b, err := p.shareOutputs(ctx, byIterator)
		if errors.Is(err, io.EOF) && it.count.size < 0 && it.options.AutoReset {
			if err := it.Reset(ctx); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
		it.out = append(it.out, b)
	}
	return it.checkFull()
}

// checkFull returns an error for batches that are not full if samples are counted.
func (it *Iterator) checkFull() error {
	for _, b := range it.out {
		for _, o := range b.Outputs {
			if n := int64(o.NumSamples()); n != it.count.batch && it.count.size > 0 {
				return &errs.Error{Kind: errs.Invalid, Op: "dali.Iterator",
					Want: fmt.Sprintf("full batches of %d samples", it.count.batch), Got: fmt.Sprint(n),
					Remedy: "make the pipelines with Mode or with Tail order.Span, or go without ReaderName and Size"}
			}
		}
	}
	return nil
}

// schedule begins a batch in every pipeline.
func (it *Iterator) schedule(ctx context.Context) error {
	it.begun = true
	for _, p := range it.pipes {
		if err := p.scheduleRun(ctx, byIterator); err != nil {
			return err
		}
	}
	return nil
}

// end ends an epoch.
func (it *Iterator) end(ctx context.Context) error {
	if it.options.AutoReset {
		if err := it.Reset(ctx); err != nil {
			return err
		}
	}
	return io.EOF
}

// trim cuts samples that do not belong to the epoch from the batches.
func (it *Iterator) trim() {
	for i, n := range it.count.kept() {
		b := it.out[i]
		if n >= int64(b.Outputs[0].NumSamples()) {
			continue
		}
		cut := *b
		cut.Outputs = make([]*tensor.Batch, len(b.Outputs))
		for k, o := range b.Outputs {
			c := *o
			c.Offsets, c.Dims = o.Offsets[:n+1], o.Dims[:int(n)*o.NDim]
			cut.Outputs[k] = &c
		}
		cut.IDs = b.IDs[:min(int(n), len(b.IDs))]
		it.out[i] = &cut
	}
	it.out = slices.DeleteFunc(it.out, func(b *pipeline.Batch) bool {
		return it.options.ReaderName == "" &&
			b.Outputs[0].NumSamples() == 0
	})
}

// Reset begins the next epoch at the end of an epoch. Before the end it does nothing, except with
// Drop if only samples are left that are dropped.
func (it *Iterator) Reset(ctx context.Context) error {
	if it.count.dropsNext() && !it.count.over() {
		if err := it.share(ctx); err != nil {
			return err
		}
		if err := it.schedule(ctx); err != nil {
			return err
		}
		it.count.advance()
	}
	if it.count.size > 0 && !it.count.over() {
		return nil
	}
	it.count.reset()
	for _, p := range it.pipes {
		if err := p.Reset(); err != nil {
			return err
		}
		if p.Empty() {
			if err := p.scheduleRun(ctx, byIterator); err != nil {
				return err
			}
		}
	}
	return nil
}

// Size returns the number of samples of the epoch: of each pipeline if a reader tells it, else of
// all pipelines together. It is -1 if the size is not known before the end.
func (it *Iterator) Size() int64 { return it.count.size }

// Len returns the number of batches of the epoch, or 0 if it is not known before the end.
func (it *Iterator) Len() int64 { return it.count.length() }

// State returns the counters of the iterator as JSON, as DALI writes them.
func (it *Iterator) State() string { return it.count.text() }

// Checkpoints returns a state of each pipeline that holds the iterator's counters as well.
func (it *Iterator) Checkpoints() ([][]byte, error) {
	if !it.consumed {
		return it.initial()
	}
	return it.states()
}

func (it *Iterator) states() ([][]byte, error) {
	states := make([][]byte, len(it.pipes))
	for i, p := range it.pipes {
		var err error
		if states[i], err = p.AppendStateWith(nil, []byte(it.count.text())); err != nil {
			return nil, errs.Wrap("dali.Iterator", "", err)
		}
	}
	return states, nil
}

// resume restores the counters in the states of the pipelines.
func (it *Iterator) resume() (bool, error) {
	text := it.pipes[0].Consumer()
	for _, p := range it.pipes {
		if !slices.Equal(text, p.Consumer()) {
			return false, &errs.Error{Kind: errs.Mismatch, Subject: "counters in the states of the pipelines",
				Want: string(text), Got: string(p.Consumer())}
		}
	}
	if len(text) == 0 {
		return false, nil
	}
	return true, it.count.parse(text)
}

// text returns the counters in Python's spelling.
func (c *epochCount) text() string {
	return string(stateproto.Iterator{Counter: c.counter, CounterPerGPU: c.ahead, ShardSizePerGPU: c.sizes,
		ShardsID: c.ids, Size: c.size}.Append(nil))
}

// parse reads counters that text wrote.
func (c *epochCount) parse(text []byte) error {
	var t stateproto.Iterator
	if err := json.Unmarshal(text, &t); err != nil {
		return &errs.Error{Kind: errs.Corrupt, Subject: "counters of the iterator", Err: err}
	}
	outside := func(i int64) bool { return i < 0 || i >= int64(len(c.sizes)) }
	if len(t.CounterPerGPU) != len(c.ahead) || len(t.ShardSizePerGPU) != len(c.sizes) || len(t.ShardsID) != len(c.ids) ||
		t.Counter < 0 || t.Size == 0 ||
		slices.ContainsFunc(t.ShardsID, outside) {
		return &errs.Error{Kind: errs.Mismatch, Subject: "counters of the iterator", Want: c.text(), Got: string(text)}
	}
	c.counter, c.ahead, c.sizes, c.ids, c.size = t.Counter, t.CounterPerGPU, t.ShardSizePerGPU, t.ShardsID, t.Size
	return nil
}
