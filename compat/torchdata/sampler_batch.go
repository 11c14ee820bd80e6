package torchdata

import (
	"encoding/json"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// BatchSampler is torchdata's BatchSampler: it makes batches from the ids of a sampler. Its cursor
// is state.Stateful, with the state {samples_yielded, sampler_state, sampler_iter_state}. The last
// two are present if the sampler, or its cursor, has a state. For a sampler without a state, a
// resume skips the yielded samples.
type BatchSampler struct {
	sampler  order.Sampler
	size     int
	dropLast bool
}

// NewBatchSampler returns the sampler. The error is of kind errs.Invalid if size < 1.
func NewBatchSampler(s order.Sampler, size int, dropLast bool) (*BatchSampler, error) {
	if size < 1 {
		return nil, badBatch("torchdata.NewBatchSampler", size)
	}
	return &BatchSampler{s, size, dropLast}, nil
}

func badBatch(op string, size int) error {
	return &errs.Error{Kind: errs.Invalid, Op: op, Subject: "batch_size", Want: "at least 1", Got: fmt.Sprint(size)}
}

// Sampler returns the sampler whose ids are batched.
func (s *BatchSampler) Sampler() order.Sampler { return s.sampler }

// Len implements order.BatchSampler.
func (s *BatchSampler) Len() int64 { return batches(s.sampler, s.size, s.dropLast) }

func batches(s order.Sampler, size int, dropLast bool) int64 {
	n := s.Len()
	if n < 0 {
		return n
	}
	if !dropLast {
		n += int64(size) - 1
	}
	return n / int64(size)
}

// Open implements order.BatchSampler. The cursor is state.Stateful.
func (s *BatchSampler) Open() order.Cursor[[]int64] {
	return &batchCursor{of: s, ids: s.sampler.Open()}
}

type batchCursor struct {
	of      *BatchSampler
	ids     order.Cursor[int64]
	yielded int64
}

// Next implements order.Cursor.
func (c *batchCursor) Next() ([]int64, bool, error) {
	batch := make([]int64, 0, c.of.size)
	for len(batch) < c.of.size {
		id, ok, err := c.ids.Next()
		if err != nil {
			return nil, false, err
		}
		if !ok {
			return batch, len(batch) > 0 && !c.of.dropLast, nil
		}
		batch = append(batch, id)
		c.yielded++
	}
	return batch, true, nil
}

// batchState is the state of a cursor.
type batchState struct {
	Samples int64           `json:"samples_yielded"`
	Sampler json.RawMessage `json:"sampler_state,omitempty"`
	Cursor  json.RawMessage `json:"sampler_iter_state,omitempty"`
}

// AppendState implements state.Stateful.
func (c *batchCursor) AppendState(b []byte) ([]byte, error) {
	s := batchState{Samples: c.yielded}
	var err error
	if s.Sampler, err = stateOf(c.of.sampler); err != nil {
		return nil, err
	}
	if s.Cursor, err = stateOf(c.ids); err != nil {
		return nil, err
	}
	return appendJSON(b, s)
}

// SetState implements state.Stateful.
func (c *batchCursor) SetState(b []byte) error {
	const op = "torchdata.BatchSampler.SetState"
	var s batchState
	if err := decode(op, b, &s); err != nil {
		return err
	}
	if s.Samples < 0 {
		return badSampler(op, "samples_yielded", "at least 0", s.Samples)
	}
	if s.Sampler != nil {
		if !isStateful(c.of.sampler) {
			return unexpected(op, "sampler_state", "a sampler without state")
		}
		if err := restoreAt(c.of.sampler, s.Sampler, s.Samples); err != nil {
			return err
		}
	}
	c.yielded, c.ids = s.Samples, c.of.sampler.Open()
	if s.Cursor != nil {
		if !isStateful(c.ids) {
			return unexpected(op, "sampler_iter_state", "a sampler whose iterator has no state")
		}
		if err := restore(c.ids, s.Cursor); err != nil {
			return err
		}
	}
	if _, endless := c.of.sampler.(constant); isStateful(c.of.sampler) || isStateful(c.ids) || endless {
		return nil
	}
	for range s.Samples {
		if _, ok, err := c.ids.Next(); err != nil {
			return err
		} else if !ok {
			return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: "samples_yielded", Want: countWant(c.of.sampler.Len()),
				Got: jsonText(s.Samples)}
		}
	}
	return nil
}

// unexpected returns the error for a part of a state that this loader does not have.
func unexpected(op, subject, got string) error {
	return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: subject, Want: "a loader like the one that was saved",
		Got: got}
}

// TorchBatchSampler is the BatchSampler of torch.utils.data, which has no state.
type TorchBatchSampler struct{ BatchSampler }

// NewTorchBatchSampler works like NewBatchSampler for torch's sampler.
func NewTorchBatchSampler(s order.Sampler, size int, dropLast bool) (*TorchBatchSampler, error) {
	b, err := NewBatchSampler(s, size, dropLast)
	if err != nil {
		return nil, err
	}
	return &TorchBatchSampler{*b}, nil
}

// Open implements order.BatchSampler.
func (s *TorchBatchSampler) Open() order.Cursor[[]int64] {
	return &lazy[[]int64]{begin: func() (func() ([]int64, bool, error), error) {
		return s.BatchSampler.Open().Next, nil
	}}
}

// constant is the sampler of iterables, torch's _InfiniteConstantSampler: it only says how many
// samples are wanted.
type constant struct{}

func (constant) Open() order.Cursor[int64]  { return constant{} }
func (constant) Len() int64                 { return -1 }
func (constant) Next() (int64, bool, error) { return 0, true, nil }
