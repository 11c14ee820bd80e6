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
	// NoCycle ends it for good: every further call is io.EOF.
	NoCycle Cycle = iota
	// CycleQuiet begins again at once; there is no end, unless there is no data at all.
	CycleQuiet
	// CycleRaise is io.EOF once; the next call begins again.
	CycleRaise
)

// SourceOptions say how an external source behaves. The zero SourceOptions are of one
// output that is taken as it comes.
type SourceOptions struct {
	// Outputs is the number of values that the source gives at a time; 0 means 1.
	Outputs int
	// Cycle is for sources that can begin again: SourceSeq and SourceAt.
	Cycle Cycle
	// BatchSize, when it is not 0, makes every output a Batch of that size: Tensors
	// are broadcast, and Batches must have it.
	BatchSize int
	// DTypes are what the outputs are cast to, and Layouts what their axes are called: one for
	// each output, or one for all. tensor.Invalid and "" leave an output as it is.
	DTypes  []tensor.DType
	Layouts []string
}

// ExternalSource gives what a Go function or sequence makes, a list of values at a time, each
// of them a Tensor or each a Batch. It is a root of compiled loops, and an object that
// a checkpoint can hold: where it stands is its state. Its methods are safe for concurrent use.
type ExternalSource struct {
	o    SourceOptions
	from supply

	mu    sync.Mutex
	place sourcePlace
	shown *sourcePlace // what the state is of, where another runs ahead
}

// supply is where the items of a source come from.
type supply interface {
	// item returns item i of a round; io.EOF is behind the last. Items are asked for in
	// order, except behind a rewind.
	item(ctx context.Context, i int64) ([]Value, error)
	// rewind goes to item i, which is 0 or the saved state is of. saved is what save returned there.
	rewind(ctx context.Context, i int64, saved []byte) error
	// save returns what rewind needs besides the index, or an error where it cannot go back.
	save() ([]byte, error)
	// cycles reports whether the source can begin again.
	cycles() bool
	close()
}

// SourceSeq is a source that takes one item after the other from a sequence, which can
// be walked again: to begin again, and to go to a state, for which the items before it
// are taken and dropped.
func SourceSeq(seq iter.Seq2[[]Value, error], o SourceOptions) (*ExternalSource, error) {
	return newSource(&walk{seq: seq}, o)
}

// SourceAt is a source whose items are a function of their number, from 0 on; io.EOF is
// behind the last.
func SourceAt(f func(ctx context.Context, index int64) ([]Value, error), o SourceOptions) (*ExternalSource, error) {
	return newSource(indexed(f), o)
}

// SourceFunc is a source that calls f for each item; io.EOF is the end, behind which f may
// go on. It has no state.
func SourceFunc(f func(ctx context.Context) ([]Value, error), o SourceOptions) (*ExternalSource, error) {
	return newSource(called(f), o)
}

// SourceReader makes one item after the other and has a state of its own.
type SourceReader interface {
	state.Stateful
	// Read returns the next item; io.EOF is the end, behind which it may go on.
	Read(ctx context.Context) ([]Value, error)
}

// SourceFrom is a source that reads from r, whose state is part of its own.
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
		return nil, bad("Cycle", "SourceSeq or SourceAt, which alone can begin again", "another source")
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

// Next returns the next item: SourceOptions.Outputs values. io.EOF is the end, by the rules
// of SourceOptions.Cycle. An error of the source leaves it where it is. Errors of its own are of
// kind errs.Invalid: another number of values, Tensors together with Batches, or a
// Batch of another size.
func (s *ExternalSource) Next(ctx context.Context) ([]Value, error) {
	return s.NextBatch(ctx, s.o.BatchSize)
}

// NextBatch is Next with a batch size for this item, as SourceOptions.BatchSize says.
func (s *ExternalSource) NextBatch(ctx context.Context, size int) ([]Value, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size < 0 {
		return nil, s.bad("a batch size of 0 or more", size)
	}
	if scopeOf(ctx).recording != nil { // which would see one item, once
		return nil, &errs.Error{Kind: errs.Sequence, Op: "dynamic.ExternalSource",
			Want: "a call outside of the body of a compiled loop", Got: "one in it",
			Remedy: "make the source the root of the loop, alone or in a function of dynamic.From"}
	}
	item, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	return s.convert(ctx, item, size)
}

// All returns the items up to the next end. It stops behind an error.
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

// Close ends the walk of a sequence. The source must not be used then.
func (s *ExternalSource) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from.close()
	s.place.Ended = true
	return nil
}

// take asks for the next item, by the rules of Cycle.
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

// convert makes an item what the options say.
func (s *ExternalSource) convert(ctx context.Context, item []Value, size int) ([]Value, error) {
	if len(item) != s.o.Outputs {
		return nil, s.bad(fmt.Sprintf("%d values at a time", s.o.Outputs), len(item))
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
		return nil, s.bad("Tensors alone or Batches alone", fmt.Sprintf("%d Batches of %d values", batches, len(out)))
	}
	return out, nil
}

func (s *ExternalSource) bad(want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Op: "dynamic.ExternalSource", Subject: fmt.Sprintf("item %d", s.place.Index-1),
		Want: want, Got: fmt.Sprint(got)}
}

// pick is element i of a list of one for each or one for all; the zero value of an empty one.
func pick[T any](list []T, i int) (v T) {
	switch {
	case len(list) == 1:
		return list[0]
	case i < len(list):
		return list[i]
	}
	return v
}

// output makes value i of an item what the options say.
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
