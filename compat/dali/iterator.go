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
	// ReaderName is the reader whose shards make an epoch. It must be in every pipeline.
	ReaderName string
	// Size is the number of samples of an epoch, over all pipelines, instead of a reader's.
	// Without both, an epoch ends where the only pipeline returns io.EOF.
	Size int64
	// LastBatch is last_batch_policy: what the last batch of an epoch has when samples do not fill
	// it. FILL is order.Span: it is filled with what the reader gives, the last sample repeated or
	// samples of the next epoch. PARTIAL is order.Short: it has only samples of the epoch. DROP is
	// order.Drop: it is left out.
	LastBatch order.Tail
	// LastBatchPadded says that the last batch is padded, where no ReaderName tells.
	LastBatchPadded bool
	// AutoReset begins the next epoch at the end of one.
	AutoReset bool
	// Lazy begins no batch before the first is asked for.
	Lazy bool
}

// Iterator goes through epochs of one or several pipelines, one for each shard of a data
// set, as the iterators of DALI do: it counts samples, and cuts the last batches of an epoch.
// The pipelines must give full batches, as pipelines of compat/dali do, and must not run in another
// way at the same time. An Iterator is for one goroutine at a time.
//
// With Bivouac's own order there are no shards of different sizes, and
// Pipeline.Batches needs no Iterator.
type Iterator struct {
	pipes    []*Pipeline
	options  IteratorOptions
	count    epochCount
	first    []*pipeline.Batch        // made ahead by NewIterator
	ended    bool                     // NewIterator found the epoch at its end, which Next tells
	begun    bool                     // batches were scheduled
	consumed bool                     // a batch was asked for
	initial  func() ([][]byte, error) // states of the pipelines before the first batch
	out      []*pipeline.Batch
}

// NewIterator returns an iterator over pipelines, at their beginning or where states that
// Checkpoints gave have brought them.
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

// Next returns the next batch of every pipeline, which are the caller's until the next call. At the
// end of an epoch it returns io.EOF, again and again until Reset, or once with AutoReset.
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

// Epoch yields the rest of the epoch; after its end, the next one.
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

// share takes the batches that are next, in place of those before, unless the epoch is over.
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

// checkFull refuses batches that are not full where samples are counted.
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

// end is the end of an epoch.
func (it *Iterator) end(ctx context.Context) error {
	if it.options.AutoReset {
		if err := it.Reset(ctx); err != nil {
			return err
		}
	}
	return io.EOF
}

// trim cuts what is not of the epoch from the batches.
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

// Reset begins the next epoch at the end of one; before that it does nothing, but with Drop when
// only the samples that are dropped are left.
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

// Size returns the number of samples of the epoch, of each pipeline when a reader tells and else of
// all together; -1 when only its end tells.
func (it *Iterator) Size() int64 { return it.count.size }

// Len returns the number of batches of the epoch, 0 when only its end tells.
func (it *Iterator) Len() int64 { return it.count.length() }

// State returns the counters of the iterator as DALI writes them, JSON.
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

// resume takes the counters that came with the states of the pipelines.
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

// text returns the counters in the spelling of Python.
func (c *epochCount) text() string {
	return string(stateproto.Iterator{Counter: c.counter, CounterPerGPU: c.ahead, ShardSizePerGPU: c.sizes,
		ShardsID: c.ids, Size: c.size}.Append(nil))
}

// parse takes counters that text wrote.
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
