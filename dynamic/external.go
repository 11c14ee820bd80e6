package dynamic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Cycle says what an external source does at the end of its data.
type Cycle uint8

const (
	// NoCycle ends the source: every further call returns io.EOF.
	NoCycle Cycle = iota
	// CycleQuiet begins again at once. The source ends only if it has no data at all.
	CycleQuiet
	// CycleRaise returns io.EOF once; the next call begins again.
	CycleRaise
)

// SourceOptions say how an external source behaves. The zero SourceOptions describe one output,
// whose values are not converted.
type SourceOptions struct {
	// Outputs is the number of values per item; 0 means 1.
	Outputs int
	// Cycle says what happens at the end of the data. Only SourceSeq and SourceAt can begin again.
	Cycle Cycle
	// BatchSize makes every output a Batch of this size, unless it is 0. Tensors are broadcast;
	// Batches must have this size.
	BatchSize int
	// DTypes are the dtypes to which the outputs are cast, and Layouts are their layouts: one for each
	// output, or one for all. tensor.Invalid and "" leave an output as it is.
	DTypes  []tensor.DType
	Layouts []string
}

// ExternalSource returns the items of a Go function or sequence. An item is a list of values: all
// of them Tensors, or all Batches. An ExternalSource can be the root of a compiled loop, and a
// checkpoint can hold it; its position is its state. Its methods are safe for concurrent use.
type ExternalSource struct {
	o    SourceOptions
	from supply

	mu    sync.Mutex
	place sourcePlace
	shown *sourcePlace // the place that the state reports, if a loop runs ahead
}

// supply provides the items of a source.
type supply interface {
	// item returns item i of a round, or io.EOF after the last item. Calls come in the order of i,
	// except after a rewind.
	item(ctx context.Context, i int64) ([]Value, error)
	// rewind goes to item i. i is 0, or save returned saved at this item.
	rewind(ctx context.Context, i int64, saved []byte) error
	// save returns what rewind needs besides the index. It returns an error if the source cannot go
	// back.
	save() ([]byte, error)
	// cycles reports whether the source can begin again.
	cycles() bool
	close()
}

// SourceSeq returns a source that takes one item after the other from a sequence. The source
// iterates over the sequence again to begin again, and to restore a state; then it drops the items
// before the state.
func SourceSeq(seq iter.Seq2[[]Value, error], o SourceOptions) (*ExternalSource, error) {
	return newSource(&walk{seq: seq}, o)
}

// SourceAt returns a source whose items are a function of their index, which counts from 0. f
// returns io.EOF after the last item.
func SourceAt(f func(ctx context.Context, index int64) ([]Value, error), o SourceOptions) (*ExternalSource, error) {
	return newSource(indexed(f), o)
}

// SourceFunc returns a source that calls f for each item. f returns io.EOF at the end; later calls
// may return further items. The source has no state.
func SourceFunc(f func(ctx context.Context) ([]Value, error), o SourceOptions) (*ExternalSource, error) {
	return newSource(called(f), o)
}

// SourceReader makes one item after the other and has a state.
type SourceReader interface {
	state.Stateful
	// Read returns the next item, or io.EOF at the end. Later calls may return further items.
	Read(ctx context.Context) ([]Value, error)
}

// SourceFrom returns a source that reads from r. The state of r is part of the source's state.
func SourceFrom(r SourceReader, o SourceOptions) (*ExternalSource, error) {
	return newSource(read{r}, o)
}

func newSource(from supply, o SourceOptions) (*ExternalSource, error) {
	bad := func(field, want string, got any) error {
		return &errs.Error{Kind: errs.Invalid, Op: "dynamic.ExternalSource", Subject: "SourceOptions." + field, Want: want,
			Got: fmt.Sprint(got)}
	}
	const most = 1 << 10
	perOutput := func(n int) bool { return n <= 1 || n == max(o.Outputs, 1) }
	switch {
	case o.Outputs < 0 || o.Outputs > most:
		return nil, bad("Outputs", fmt.Sprintf("1 to %d", most), o.Outputs)
	case o.Cycle > CycleRaise:
		return nil, bad("Cycle", "NoCycle, CycleQuiet or CycleRaise", uint8(o.Cycle))
	case o.Cycle != NoCycle && !from.cycles():
		return nil, bad("Cycle", "SourceSeq or SourceAt, because no other source can begin again", "another source")
	case o.BatchSize < 0:
		return nil, bad("BatchSize", "0 or more", o.BatchSize)
	case !perOutput(len(o.DTypes)):
		return nil, bad("DTypes", "one for all, or one for each output", len(o.DTypes))
	case !perOutput(len(o.Layouts)):
		return nil, bad("Layouts", "one for all, or one for each output", len(o.Layouts))
	}
	o.Outputs = max(o.Outputs, 1)
	return &ExternalSource{o: o, from: from}, nil
}

// Next returns the next item: SourceOptions.Outputs values. It returns io.EOF at the end, as
// SourceOptions.Cycle says. An error of the source does not change the position. Next fails with
// errs.Invalid for a wrong number of values, for Tensors together with Batches, and for a Batch of
// another size.
func (s *ExternalSource) Next(ctx context.Context) ([]Value, error) {
	return s.NextBatch(ctx, s.o.BatchSize)
}

// NextBatch works like Next, with size in place of SourceOptions.BatchSize for this item.
func (s *ExternalSource) NextBatch(ctx context.Context, size int) ([]Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size < 0 {
		return nil, s.bad("a batch size of 0 or more", size)
	}
	if scopeOf(ctx).recording != nil { // the body would get one item, once
		return nil, &errs.Error{Kind: errs.Sequence, Op: "dynamic.ExternalSource",
			Want: "a call outside the body of a compiled loop", Got: "a call in the body",
			Remedy: "make the source the root of the loop, directly or in a function for dynamic.From"}
	}
	item, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	return s.convert(ctx, item, size)
}

// All yields the items up to the next end. It stops after an error.
func (s *ExternalSource) All(ctx context.Context) iter.Seq2[[]Value, error] {
	return func(yield func([]Value, error) bool) {
		for {
			item, err := s.Next(ctx)
			if errors.Is(err, io.EOF) || !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// Close ends the iteration over a sequence. The source must not be used afterwards.
func (s *ExternalSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from.close()
	s.place.Ended = true
	return nil
}

// take returns the next item, as Cycle says.
func (s *ExternalSource) take(ctx context.Context) ([]Value, error) {
	if s.place.Ended {
		return nil, io.EOF
	}
	item, err := s.from.item(ctx, s.place.Index)
	if errors.Is(err, io.EOF) && s.from.cycles() {
		empty := s.place.Index == 0
		if s.o.Cycle == NoCycle {
			s.place.Ended = true
			return nil, io.EOF
		}
		if err := s.from.rewind(ctx, 0, nil); err != nil {
			return nil, err
		}
		if s.place.Index = 0; empty || s.o.Cycle == CycleRaise {
			return nil, io.EOF
		}
		item, err = s.from.item(ctx, 0)
	}
	if err != nil {
		return nil, err
	}
	s.place.Index++
	return item, nil
}

// convert converts an item as the options say.
func (s *ExternalSource) convert(ctx context.Context, item []Value, size int) ([]Value, error) {
	if len(item) != s.o.Outputs {
		return nil, s.bad(fmt.Sprintf("%d values per item", s.o.Outputs), len(item))
	}
	out, batches := make([]Value, len(item)), 0
	for i, v := range item {
		var err error
		if out[i], err = s.output(ctx, i, v, size); err != nil {
			return nil, err
		}
		if _, ok := out[i].(*Batch); ok {
			batches++
		}
	}
	if batches != 0 && batches != len(out) {
		return nil, s.bad("only Tensors or only Batches", fmt.Sprintf("%d Batches of %d values", batches, len(out)))
	}
	return out, nil
}

func (s *ExternalSource) bad(want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Op: "dynamic.ExternalSource", Subject: fmt.Sprintf("item %d", s.place.Index-1),
		Want: want, Got: fmt.Sprint(got)}
}

// pick returns the entry for i of a list that has one entry for each, or one for all. For an empty
// list it returns the zero value.
func pick[T any](list []T, i int) (v T) {
	switch {
	case len(list) == 1:
		return list[0]
	case i < len(list):
		return list[i]
	}
	return v
}

// output converts value i of an item as the options say.
func (s *ExternalSource) output(ctx context.Context, i int, v Value, size int) (Value, error) {
	if absent(v) {
		return nil, s.bad("a *Tensor or a *Batch", "nil")
	}
	if d := pick(s.o.DTypes, i); d != tensor.Invalid {
		v = Invoke(ctx, Call{Op: "cast", Args: opargs.Cast{DType: d}, Inputs: []Value{v}})[0]
	}
	if l := pick(s.o.Layouts, i); l != "" {
		v = Invoke(ctx, Call{Op: "reinterpret", Args: opargs.Reinterpret{Layout: l}, Inputs: []Value{v}})[0]
	}
	if size == 0 {
		return v, nil
	}
	switch v := v.(type) {
	case *Tensor:
		return Broadcast(v, size), nil
	case *Batch:
		if v.Len() != size {
			return nil, s.bad(fmt.Sprintf("a Batch of %d samples", size), v.Len())
		}
	}
	return v, nil
}
