package grain

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// Iter is an iterator over an IterDataset, with the same states as Grain's iterators. An iterator
// that wraps another iterator owns it. It is not safe for concurrent use.
type Iter[T any] interface {
	// Next returns the next element. ok is false at the end.
	Next() (element T, ok bool)
	// State returns the state before the next element as JSON.
	State() json.RawMessage
	// SetState moves to a state, which Grain may have written. The error is of kind errs.Corrupt if
	// the state belongs to another pipeline or is out of range. After an error the position is not
	// defined.
	SetState(json.RawMessage) error
}

// decodeState reads a state that has exactly the fields of v.
func decodeState(op string, state json.RawMessage, v any) error {
	dec := json.NewDecoder(bytes.NewReader(state))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return corrupt(op, fmt.Sprintf("a state like %+v", v), string(state), err)
	}
	return nil
}

func corrupt(op, want, got string, err error) error {
	return &errs.Error{Kind: errs.Corrupt, Op: op, Want: want, Got: got, Err: err}
}

// encodeState returns the JSON of a struct of numbers and states, which cannot fail.
func encodeState(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}

// Iterate is to_iter_dataset: the elements of an epoch without those that are left out. Its state
// is {"next_index": n}.
func Iterate[T any](m Map[T]) Iter[T] { return &mapIter[T]{m: m} }

type mapIter[T any] struct {
	m    Map[T]
	next int64
}

func (it *mapIter[T]) Next() (element T, ok bool) {
	for n := known(it.m); it.next < n && !ok; {
		element, ok = it.m.At(it.next)
		it.next++
	}
	return element, ok
}

func (it *mapIter[T]) State() json.RawMessage {
	return fmt.Appendf(nil, `{"next_index": %d}`, it.next)
}

func (it *mapIter[T]) SetState(state json.RawMessage) error {
	next, err := ParseNextIndex(state, "next_index")
	if err != nil {
		return err
	}
	if n := known(it.m); next > n {
		return corrupt("grain.Iter", fmt.Sprintf("an index of at most %d", n), fmt.Sprint(next), nil)
	}
	it.next = next
	return nil
}

// FilterIter is IterDataset.filter.
func FilterIter[T any](it Iter[T], keep func(T) bool) Iter[T] { return filterIter[T]{it, keep} }

type filterIter[T any] struct {
	Iter[T]
	keep func(T) bool
}

func (it filterIter[T]) Next() (element T, ok bool) {
	for {
		if element, ok = it.Iter.Next(); !ok || it.keep(element) {
			return element, ok
		}
	}
}

// ApplyIter is IterDataset.map.
func ApplyIter[T, U any](it Iter[T], fn func(T) U) Iter[U] {
	return applyIter[T, U]{parent: it, fn: fn}
}

type applyIter[T, U any] struct {
	parent Iter[T]
	fn     func(T) U
}

func (it applyIter[T, U]) Next() (element U, ok bool) {
	if x, ok := it.parent.Next(); ok {
		return it.fn(x), true
	}
	return element, false
}

func (it applyIter[T, U]) State() json.RawMessage               { return it.parent.State() }
func (it applyIter[T, U]) SetState(state json.RawMessage) error { return it.parent.SetState(state) }

// BatchIter is IterDataset.batch. The error is of kind errs.Invalid if size < 1.
func BatchIter[T any](it Iter[T], size int64, drop bool) (Iter[[]T], error) {
	if size < 1 {
		return nil, invalid("grain.BatchIter", "a size of at least 1", fmt.Sprint(size))
	}
	return batchIter[T]{it, size, drop}, nil
}

type batchIter[T any] struct {
	parent Iter[T]
	size   int64
	drop   bool
}

func (it batchIter[T]) Next() (batch []T, ok bool) {
	for int64(len(batch)) < it.size {
		x, ok := it.parent.Next()
		if !ok {
			break
		}
		batch = append(batch, x)
	}
	if len(batch) == 0 || it.drop && int64(len(batch)) < it.size {
		return nil, false
	}
	return batch, true
}

func (it batchIter[T]) State() json.RawMessage               { return it.parent.State() }
func (it batchIter[T]) SetState(state json.RawMessage) error { return it.parent.SetState(state) }

// MixIter is IterDataset.mix: elements of iterators in turn, by weight (nil means equal weights),
// until an iterator has no element when its turn comes. The error is of kind errs.Invalid if a
// weight is not positive, or if there is not one weight for each iterator.
func MixIter[T any](parents []Iter[T], weights []float64) (Iter[T], error) {
	parts, err := proportions(weights, len(parents))
	if err != nil {
		return nil, err
	}
	return &mixIter[T]{parents: append([]Iter[T](nil), parents...), parts: parts}, nil
}

type mixIter[T any] struct {
	parents []Iter[T]
	parts   []uint64
	index   int64
	stop    bool
}

type mixState struct {
	Parents []json.RawMessage `json:"parents"`
	Index   int64             `json:"index"`
	Stop    bool              `json:"stop"`
}

func (it *mixIter[T]) Next() (element T, ok bool) {
	if it.stop {
		return element, false
	}
	source, _ := pick(it.index, it.parts)
	it.index++
	if element, ok = it.parents[source].Next(); !ok {
		it.stop = true
	}
	return element, ok
}

func (it *mixIter[T]) State() json.RawMessage {
	return encodeState(mixState{states(it.parents), it.index, it.stop})
}

func states[T any](its []Iter[T]) []json.RawMessage {
	s := make([]json.RawMessage, len(its))
	for i, it := range its {
		s[i] = it.State()
	}
	return s
}

func (it *mixIter[T]) SetState(state json.RawMessage) error {
	var s mixState
	if err := decodeState("grain.MixIter", state, &s); err != nil {
		return err
	}
	if len(s.Parents) != len(it.parents) || s.Index < 0 {
		return corrupt("grain.MixIter", fmt.Sprintf("states of %d iterators", len(it.parents)), string(state), nil)
	}
	for i, parent := range it.parents {
		if err := parent.SetState(s.Parents[i]); err != nil {
			return err
		}
	}
	it.index, it.stop = s.Index, s.Stop
	return nil
}
