package torchdata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/bivouac-ml/bivouac/loader"
)

// shard returns the items of a worker.
func (d *tdData) shard(ctx context.Context) []int64 {
	w, n := int64(0), int64(1)
	if info, ok := loader.WorkerInfoOf(ctx); ok {
		w, n = int64(info.ID), int64(info.N)
	}
	from, to, step := int64(0), d.N, int64(1)
	switch {
	case d.Sizes != nil:
		for _, size := range d.Sizes[:w] {
			from += size
		}
		to = from + d.Sizes[w]
	case d.Shard == "none":
	case d.Shard == "block":
		per := (d.N + n - 1) / n
		from, to = w*per, min(d.N, (w+1)*per)
	default:
		from, step = w, n
	}
	var ids []int64
	for i := from; i < to; i += step {
		ids = append(ids, i)
	}
	return ids
}

// tdIterator gives the items of a worker. It has no state.
type tdIterator struct {
	d     *tdData
	ids   []int64
	i     int64
	epoch *int64 // items tell it if it is not nil
	log   []int64
}

func (d *tdData) iterate(ctx context.Context, from int64, epoch *int64) (*tdIterator, error) {
	it := &tdIterator{d: d, ids: d.shard(ctx), i: from, epoch: epoch, log: []int64{}}
	if d.FailInit {
		return nil, &tdError{"Boom", "failing in iter()"}
	}
	return it, nil
}

func (it *tdIterator) Next(ctx context.Context) (any, error) {
	if it.i >= int64(len(it.ids)) {
		return nil, io.EOF
	}
	v := it.ids[it.i]
	if err := it.d.trouble(v); err != nil {
		it.i++
		if it.d.Exc == "StopIteration" { // how an iterator of Python says that it ends
			return nil, io.EOF
		}
		return nil, err
	}
	it.d.wait(ctx, v)
	it.i++
	it.log = append(it.log, v)
	if it.epoch != nil {
		return map[string]any{"epoch": *it.epoch, "id": v}, nil
	}
	return v, nil
}

// tdGenerator is a generator of Python: an error ends it.
type tdGenerator struct {
	next  func(ctx context.Context) (any, error)
	ended bool
}

func (g *tdGenerator) Next(ctx context.Context) (any, error) {
	if g.ended {
		return nil, io.EOF
	}
	v, err := g.next(ctx)
	g.ended = err != nil
	return v, err
}

// tdStateful is the iterator of kind iter_iterator.
type tdStateful struct{ *tdIterator }

func (it tdStateful) AppendState(b []byte) ([]byte, error) {
	i := it.i
	if k := it.d.Periodic; k > 0 {
		i -= i % k
	}
	s := map[string]any{"i": i}
	if it.d.Grow {
		nest := map[string]int64{}
		for _, j := range it.log {
			nest[fmt.Sprint("k", j)] = j
		}
		s["log"], s["nest"] = it.log, nest
	}
	j, err := json.Marshal(s)
	return append(b, j...), err
}

func (it tdStateful) SetState(b []byte) error {
	var s struct {
		I   int64
		Log []int64
	}
	err := json.Unmarshal(b, &s)
	it.i, it.log = s.I, slices.Concat([]int64{}, s.Log)
	return err
}

// tdIterable is kind iter.
type tdIterable struct {
	d     *tdData
	epoch int64
}

// begin is the beginning of a pass.
func (s *tdIterable) begin(ctx context.Context, from int64) (*tdIterator, error) {
	if !s.d.Epoch {
		return s.d.iterate(ctx, from, nil)
	}
	s.epoch++
	return s.d.iterate(ctx, from, new(s.epoch))
}

func (s *tdIterable) Open(ctx context.Context) (loader.Iterator[any], error) {
	it, err := s.begin(ctx, 0)
	if err != nil {
		return nil, err
	}
	return &tdGenerator{next: it.Next}, nil
}

func (s *tdIterable) Clone(context.Context) (loader.Iterable[any], error) { return new(*s), nil }

// tdAnnounced is kind iter_len.
type tdAnnounced struct{ tdIterable }

func (s *tdAnnounced) Len() (int64, bool) { return s.d.Len, true }

func (s *tdAnnounced) Clone(context.Context) (loader.Iterable[any], error) { return new(*s), nil }

// tdIterState is kind iter_iterator.
type tdIterState struct{ tdIterable }

func (s *tdIterState) Open(ctx context.Context) (loader.Iterator[any], error) {
	it, err := s.begin(ctx, 0)
	if err != nil {
		return nil, err
	}
	return tdStateful{it}, nil
}

func (s *tdIterState) Clone(context.Context) (loader.Iterable[any], error) { return new(*s), nil }

// tdDataState is kind iter_dataset: its state is its own, its iterator a generator
// that clears it at the end.
type tdDataState struct {
	tdIterable
	i int64
}

func (s *tdDataState) Clone(context.Context) (loader.Iterable[any], error) { return new(*s), nil }

func (s *tdDataState) Open(context.Context) (loader.Iterator[any], error) {
	var it *tdIterator
	return &tdGenerator{next: func(ctx context.Context) (v any, err error) {
		if it == nil {
			if it, err = s.begin(ctx, s.i); err != nil {
				return nil, err
			}
		}
		v, err = it.Next(ctx)
		if err == nil {
			s.i = it.i
		} else if errors.Is(err, io.EOF) {
			s.i = 0
		}
		return v, err
	}}, nil
}

func (s *tdDataState) AppendState(b []byte) ([]byte, error) {
	return fmt.Appendf(b, `{"i":%d,"epoch":%d}`, s.i, s.epoch), nil
}

func (s *tdDataState) SetState(b []byte) error {
	var st struct{ I, Epoch int64 }
	err := json.Unmarshal(b, &st)
	if s.i, s.epoch = st.I, st.Epoch; s.i != 0 {
		s.epoch--
	}
	return err
}

// tdBoth is kind iter_both.
type tdBoth struct{ tdIterState }

func (s *tdBoth) Clone(context.Context) (loader.Iterable[any], error) { return new(*s), nil }

func (s *tdBoth) AppendState(b []byte) ([]byte, error) {
	return fmt.Appendf(b, `{"epoch":%d}`, s.epoch), nil
}

func (s *tdBoth) SetState(b []byte) error {
	var st struct{ Epoch int64 }
	err := json.Unmarshal(b, &st)
	if s.epoch = st.Epoch; s.d.Epoch {
		s.epoch--
	}
	return err
}

// tdSelf is kind iter_self: it is its own iterator, and goes on where it stands
// unless that is the end.
type tdSelf struct {
	d   *tdData
	ids []int64
	i   int64
}

func (s *tdSelf) Clone(context.Context) (loader.Iterable[any], error) { return new(*s), nil }

func (s *tdSelf) Open(ctx context.Context) (loader.Iterator[any], error) {
	if s.ids = s.d.shard(ctx); s.i >= int64(len(s.ids)) {
		s.i = 0
	}
	return s, nil
}

func (s *tdSelf) Next(context.Context) (any, error) {
	if s.i >= int64(len(s.ids)) {
		return nil, io.EOF
	}
	s.i++
	return s.ids[s.i-1], nil
}

func (s *tdSelf) AppendState(b []byte) ([]byte, error) { return fmt.Appendf(b, `{"i":%d}`, s.i), nil }

func (s *tdSelf) SetState(b []byte) error {
	var st struct{ I int64 }
	err := json.Unmarshal(b, &st)
	s.i = st.I
	return err
}

// iterable returns the iterable data set of a description.
func (d *tdData) iterable() (loader.Iterable[any], error) {
	plain := tdIterable{d: d, epoch: -1}
	switch d.Kind {
	case "iter":
		return &plain, nil
	case "iter_len":
		return &tdAnnounced{plain}, nil
	case "iter_iterator":
		return &tdIterState{plain}, nil
	case "iter_dataset":
		return &tdDataState{tdIterable: plain}, nil
	case "iter_both":
		return &tdBoth{tdIterState{plain}}, nil
	case "iter_self":
		return &tdSelf{d: d}, nil
	}
	return nil, fmt.Errorf("unknown data set %q", d.Kind)
}
