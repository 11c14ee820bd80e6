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
	Weight float64 // of Weighted: above 0 and finite
}

// Stop says when the epoch of several sources ends. A source counts as exhausted
// once it was asked for a value and had none.
type Stop string

// The criteria, by torchdata's names. The empty Stop is CycleUntilAll.
const (
	// CycleUntilAll begins again with exhausted sources until all were exhausted once.
	CycleUntilAll Stop = "CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED"
	// All reads each source once.
	All Stop = "ALL_DATASETS_EXHAUSTED"
	// First ends as soon as one is exhausted.
	First Stop = "FIRST_DATASET_EXHAUSTED"
	// Forever begins again with exhausted sources and never ends.
	Forever Stop = "CYCLE_FOREVER"
)

// sources reads several nodes, one of which is chosen for each value.
type sources[T any] struct {
	op        string
	all       []Source[T]
	stop      Stop
	exhausted []bool // in this epoch
	empty     []bool // without any value when it was begun anew
}

func newSources[T any](op string, all []Source[T], stop Stop, stops ...Stop) (sources[T], error) {
	if stop == "" {
		stop = CycleUntilAll
	}
	if !slices.Contains(stops, stop) {
		return sources[T]{}, invalid(op, "stop", fmt.Sprint("one of ", stops), stop)
	}
	if len(all) == 0 {
		return sources[T]{}, invalid(op, "sources", "at least one", 0)
	}
	for i, s := range all {
		if slices.ContainsFunc(all[:i], func(other Source[T]) bool { return other.Name == s.Name }) {
			return sources[T]{}, invalid(op, "sources", "names that differ", fmt.Sprintf("%q twice", s.Name))
		}
	}
	s := sources[T]{op: op, all: slices.Clone(all), stop: stop}
	s.begin()
	return s, nil
}

// begin forgets what was exhausted.
func (s *sources[T]) begin() {
	s.exhausted, s.empty = make([]bool, len(s.all)), make([]bool, len(s.all))
}

// reset begins an epoch of all of them.
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
		return !slices.Contains(s.empty, false)
	case First:
		return slices.Contains(s.exhausted, true)
	}
	return !slices.Contains(s.exhausted, false)
}

// next asks the source i. again is true where another one is to be chosen.
func (s *sources[T]) next(ctx context.Context, i int) (v T, again bool, err error) {
	if s.exhausted[i] && s.stop == All {
		return v, true, nil
	}
	node := s.all[i].Node
	if v, err = node.Next(ctx); err != io.EOF {
		return v, false, err
	}
	s.exhausted[i] = true
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
		s.empty[i] = true
		return v, true, nil
	}
	s.empty[i] = false
	return v, false, err
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
func (s *sources[T]) appendNamed(dst []byte, field string, value func(dst []byte, i int) ([]byte, error)) ([]byte, error) {
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
			d.err = &errs.Error{Kind: errs.Mismatch, Op: d.op, Subject: "state: " + field, Want: "a member for each of " + s.names(), Got: excerpt(d.fields[field])}
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
	return nil
}
