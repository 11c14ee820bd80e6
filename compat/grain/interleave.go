package grain

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// Interleave is InterleaveIterDataset: it yields elements of cycle iterators in turn. If one ends,
// the next iterator of the list takes its place. The error is of kind errs.Invalid if cycle < 1.
//
// mp_prefetch yields the elements of its workers in this way: the iterators over every n-th element
// of the map, with a cycle of n.
//
// Grain writes a wrong state in every epoch of a repeated data set except the first. The state says
// that an iterator in use has ended, and continuing from it leaves out the rest of that iterator.
// SetState returns an error of kind errs.Corrupt for such a state; see InterleaveMended.
func Interleave[T any](its []Iter[T], cycle int64) (Iter[T], error) {
	return interleave(its, cycle, false)
}

// InterleaveMended works like Interleave, but accepts Grain's wrong states. It continues from them
// as Grain would have continued without a stop: nothing is left out.
func InterleaveMended[T any](its []Iter[T], cycle int64) (Iter[T], error) {
	return interleave(its, cycle, true)
}

func interleave[T any](its []Iter[T], cycle int64, mend bool) (Iter[T], error) {
	if cycle < 1 {
		return nil, invalid("grain.Interleave", "a cycle of at least 1", fmt.Sprint(cycle))
	}
	cycle = min(cycle, int64(len(its)))
	it := &interleaveIter[T]{its: slices.Clone(its), starts: states(its), slots: make([]slot, cycle), mend: mend}
	for i := range it.slots {
		it.slots[i].source = i
	}
	return it, nil
}

// slot is one place of the cycle. Its iterator is open or has ended.
type slot struct {
	source int
	open   bool
	ended  bool
	// state is the state of the iterator after its last element, or nil before it was opened. Grain
	// takes the state with each element, because a thread reads ahead. So the state of an iterator
	// that has ended does not cover elements that are left out after the last one.
	state json.RawMessage
}

type interleaveIter[T any] struct {
	its    []Iter[T]
	starts []json.RawMessage
	slots  []slot
	turn   int // turn of a slot
	next   int // the first iterator that had no place yet
	mend   bool
}

type interleaveState struct {
	Turn    int                        `json:"next_index_in_cycle"`
	Next    int                        `json:"next_index_in_datasets"`
	Sources []int                      `json:"iterators_in_use_indices"`
	States  []json.RawMessage          `json:"iterators_in_use_states"`
	Ended   []int                      `json:"exhausted"`
	Future  map[string]json.RawMessage `json:"future_states"`
}

func (it *interleaveIter[T]) Next() (element T, ok bool) {
	for idle := 0; idle <= len(it.slots) && len(it.slots) > 0; {
		s := &it.slots[it.turn]
		switch {
		case s.open:
			element, ok = it.its[s.source].Next()
			it.turn = (it.turn + 1) % len(it.slots)
			if ok {
				s.state = it.its[s.source].State()
				return element, true
			}
			s.open, s.ended = false, true
			idle = 0
		case it.next < len(it.its):
			it.open(s)
		default:
			it.turn = (it.turn + 1) % len(it.slots)
			idle++
		}
	}
	return element, false
}

// open puts the next iterator into a slot.
func (it *interleaveIter[T]) open(s *slot) {
	*s = slot{source: it.next, open: true, state: it.its[it.next].State()}
	it.next++
}

// State opens the iterators of the first cycle, as Grain does.
func (it *interleaveIter[T]) State() json.RawMessage {
	s := interleaveState{Turn: it.turn, Future: map[string]json.RawMessage{}}
	for i := range it.slots {
		p := &it.slots[i]
		if !p.open && !p.ended && it.next < len(it.its) {
			it.open(p)
		}
		ended := 0
		if p.ended {
			ended = 1
		}
		s.Sources, s.States, s.Ended = append(s.Sources, p.source), append(s.States, p.state), append(s.Ended, ended)
	}
	s.Next = it.next
	return encodeState(s)
}

func (it *interleaveIter[T]) SetState(state json.RawMessage) error {
	const op = "grain.Interleave"
	var s interleaveState
	if err := decodeState(op, state, &s); err != nil {
		return err
	}
	n := len(it.slots)
	if len(s.Sources) != n || len(s.States) != n || len(s.Ended) != n || s.Turn < 0 || s.Turn > max(n-1, 0) || s.Next < 0 || s.Next > len(it.its) || len(s.Future) > 0 {
		return corrupt(op, fmt.Sprintf("the states of %d iterators with a cycle of %d", len(it.its), n), string(state), nil)
	}
	for i, start := range it.starts {
		if err := it.its[i].SetState(start); err != nil {
			return err
		}
	}
	for i, source := range s.Sources {
		if source < 0 || source >= len(it.its) {
			return corrupt(op, fmt.Sprintf("an iterator below %d", len(it.its)), fmt.Sprint(source), nil)
		}
		it.slots[i] = slot{source: source}
		if s.States[i] == nil || string(s.States[i]) == "null" {
			continue
		}
		if err := it.its[source].SetState(s.States[i]); err != nil {
			return err
		}
		if s.Ended[i] != 0 {
			if _, more := it.its[source].Next(); !more {
				it.slots[i].ended, it.slots[i].state = true, s.States[i]
				continue
			}
			if !it.mend {
				return &errs.Error{Kind: errs.Corrupt, Op: op, Subject: fmt.Sprintf("iterator %d", source),
					Want:   "no more elements, because the state says that the iterator has ended",
					Got:    "more elements (Grain writes a wrong state in later epochs of a repeated data set, and leaves them out)",
					Remedy: "make the iterator with grain.InterleaveMended, which continues with them"}
			}
			if err := it.its[source].SetState(s.States[i]); err != nil {
				return err
			}
		}
		it.slots[i].open, it.slots[i].state = true, it.its[source].State()
	}
	it.turn, it.next = s.Turn, s.Next
	return nil
}
