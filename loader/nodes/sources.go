package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// Source is one of several nodes that are read in turn.
type Source[T any] struct {
	Name   string // unique
	Node   Node[T]
	Weight float64 // used by Weighted: above 0 and finite
}

// Stop says when the epoch of several sources ends. A source counts as exhausted after it was asked
// for a value and had none.
type Stop string

// The criteria, under torchdata's names. The empty Stop is CycleUntilAll.
const (
	// CycleUntilAll begins again with exhausted sources until each was exhausted once.
	CycleUntilAll Stop = "CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED"
	// All reads each source once.
	All Stop = "ALL_DATASETS_EXHAUSTED"
	// First ends as soon as one source is exhausted.
	First Stop = "FIRST_DATASET_EXHAUSTED"
	// Forever begins again with exhausted sources and never ends.
	Forever Stop = "CYCLE_FOREVER"
)

// sources reads several nodes. For each value one node is chosen.
type sources[T any] struct {
	op        string
	all       []Source[T]
	stop      Stop
	exhausted []bool // sources exhausted in this epoch
	empty     []bool // sources that had no value when they began again
	ended     int    // how many sources are exhausted
	empties   int    // how many sources are empty

	// Fields for sketches.
	above   *book  // where versions go; nil if states are written out
	states  *shelf // states at the last version; nil after all sources changed
	height  int    // height of states
	changed []int  // sources that may have changed since
	marked  []bool // sources that are in changed
}

func newSources[T any](op string, all []Source[T], stop Stop, stops ...Stop) (sources[T], error) {
	if stop == "" {
		stop = CycleUntilAll
	}
	if !slices.Contains(stops, stop) {
		return sources[T]{}, invalid(op, "stop", fmt.Sprint("one of ", stops), stop)
	}
	if len(all) == 0 {
		return sources[T]{}, invalid(op, "sources", "at least one source", 0)
	}
	names := make(map[string]bool, len(all))
	for _, s := range all {
		if names[s.Name] {
			return sources[T]{}, invalid(op, "sources", "different names", fmt.Sprintf("%q twice", s.Name))
		}
		names[s.Name] = true
	}
	s := sources[T]{op: op, all: slices.Clone(all), stop: stop}
	s.begin()
	return s, nil
}

// begin clears which sources are exhausted.
func (s *sources[T]) begin() {
	s.exhausted, s.empty, s.marked = make([]bool, len(s.all)), make([]bool, len(s.all)), make([]bool, len(s.all))
	s.ended, s.empties = 0, 0
	s.states, s.changed = nil, s.changed[:0]
}

func (s *sources[T]) sketch(b *book) {
	if s.above != b {
		s.above, s.states = b, nil
	}
}

// change records that a source may have changed.
func (s *sources[T]) change(i int) {
	if !s.marked[i] {
		s.marked[i] = true
		s.changed = append(s.changed, i)
	}
}

// shelve returns the states of all sources. It calls AppendState only for sources that may have
// changed.
func (s *sources[T]) shelve() (*shelf, error) {
	state := func(i int) (sourceState, error) {
		text, err := s.all[i].Node.AppendState(nil)
		return sourceState{text, s.exhausted[i]}, err
	}
	if s.states == nil || s.above == nil {
		states := make([]sourceState, len(s.all))
		for i := range states {
			var err error
			if states[i], err = state(i); err != nil {
				return nil, err
			}
		}
		s.states = newShelf(states)
		s.height = s.states.height()
	} else {
		for _, i := range s.changed {
			one, err := state(i)
			if err != nil {
				return nil, err
			}
			s.states = s.states.put(i, s.height, one)
		}
	}
	for _, i := range s.changed {
		s.marked[i] = false
	}
	s.changed = s.changed[:0]
	return s.states, nil
}

// reset begins an epoch of all sources.
func (s *sources[T]) reset(ctx context.Context) error {
	s.begin()
	for i := range s.all {
		if err := s.resetOne(ctx, i, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *sources[T]) resetOne(ctx context.Context, i int, state []byte) error {
	return errs.Wrap("nodes."+s.op, "source "+s.all[i].Name, s.all[i].Node.Reset(ctx, state))
}

// over reports whether the epoch has ended.
func (s *sources[T]) over() bool {
	switch s.stop {
	case Forever:
		return s.empties == len(s.all)
	case First:
		return s.ended > 0
	}
	return s.ended == len(s.all)
}

// next reads a value of source i. again is true if another source must be chosen.
func (s *sources[T]) next(ctx context.Context, i int) (v T, again bool, err error) {
	if s.exhausted[i] && s.stop == All {
		return v, true, nil
	}
	s.change(i)
	node := s.all[i].Node
	if v, err = node.Next(ctx); err != io.EOF {
		return v, false, err
	}
	if !s.exhausted[i] {
		s.exhausted[i] = true
		s.ended++
	}
	if s.over() {
		return v, false, io.EOF
	}
	if s.stop == All {
		return v, true, nil
	}
	if err := s.resetOne(ctx, i, nil); err != nil {
		return v, false, err
	}
	if v, err = node.Next(ctx); err == io.EOF {
		s.setEmpty(i, true)
		return v, true, nil
	}
	s.setEmpty(i, false)
	return v, false, err
}

func (s *sources[T]) setEmpty(i int, empty bool) {
	switch {
	case empty && !s.empty[i]:
		s.empties++
	case !empty && s.empty[i]:
		s.empties--
	}
	s.empty[i] = empty
}

func (s *sources[T]) close() (err error) {
	for i := range s.all {
		if e := s.all[i].Node.Close(); err == nil {
			err = e
		}
	}
	return err
}

// appendNamed appends an object with a member for each source.
func (s *sources[T]) appendNamed(dst []byte, field string,
	value func(dst []byte, i int) ([]byte, error)) ([]byte, error) {
	dst = append(appendKey(dst, field), '{')
	for i, source := range s.all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, source.Name), ':')
		var err error
		if dst, err = value(dst, i); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// named reads an object with a member for each source, in their order.
func named[V, T any](s *sources[T], d *document, field string) []V {
	members := read[map[string]V](d, field, "an object", nil)
	if d.err != nil {
		return nil
	}
	values := make([]V, len(s.all))
	for i, source := range s.all {
		v, ok := members[source.Name]
		if !ok || len(members) != len(s.all) {
			d.err = &errs.Error{Kind: errs.Mismatch, Op: d.op, Subject: "state: " + field,
				Want: "a member for each of " + s.names(), Got: excerpt(d.fields[field])}
			return nil
		}
		values[i] = v
	}
	return values
}

func (s *sources[T]) names() string {
	names := make([]string, len(s.all))
	for i, source := range s.all {
		names[i] = source.Name
	}
	return list(names)
}

// resume moves all sources to their states.
func (s *sources[T]) resume(ctx context.Context, states []json.RawMessage, exhausted []bool) error {
	s.begin()
	for i := range s.all {
		if err := s.resetOne(ctx, i, states[i]); err != nil {
			return err
		}
	}
	copy(s.exhausted, exhausted)
	for _, e := range s.exhausted {
		if e {
			s.ended++
		}
	}
	return nil
}
