package grain

import (
	"encoding/json"
	"fmt"
)

// LimitIter is LimitIterDataset: the first count elements. The error is of kind errs.Invalid if
// count < 1.
func LimitIter[T any](it Iter[T], count int64) (Iter[T], error) {
	if count < 1 {
		return nil, invalid("grain.LimitIter", "a count of at least 1", fmt.Sprint(count))
	}
	return &limitIter[T]{parent: it, count: count}, nil
}

type limitIter[T any] struct {
	parent      Iter[T]
	count, read int64
}

type limitState struct {
	Parent json.RawMessage `json:"parent"`
	Read   int64           `json:"count_elements_read"`
}

func (it *limitIter[T]) Next() (element T, ok bool) {
	if it.read >= it.count {
		return element, false
	}
	if element, ok = it.parent.Next(); ok {
		it.read++
	}
	return element, ok
}

func (it *limitIter[T]) State() json.RawMessage {
	return encodeState(limitState{it.parent.State(), it.read})
}

func (it *limitIter[T]) SetState(state json.RawMessage) error {
	var s limitState
	if err := decodeState("grain.LimitIter", state, &s); err != nil {
		return err
	}
	if s.Read < 0 || s.Read > it.count {
		return corrupt("grain.LimitIter", fmt.Sprintf("at most %d elements read", it.count), fmt.Sprint(s.Read), nil)
	}
	it.read = s.Read
	return it.parent.SetState(s.Parent)
}

// RepeatIter is RepeatIterDataset: the same epoch again and again, without end if epochs is 0. It
// ends if the iterator has no elements. The error is of kind errs.Invalid for negative epochs.
func RepeatIter[T any](it Iter[T], epochs int64) (Iter[T], error) {
	if epochs < 0 {
		return nil, invalid("grain.RepeatIter", "at least 0 epochs", fmt.Sprint(epochs))
	}
	return &repeatIter[T]{parent: it, epochs: epochs, start: it.State()}, nil
}

type repeatIter[T any] struct {
	parent        Iter[T]
	epochs, epoch int64
	start         json.RawMessage
}

type repeatState struct {
	Parent json.RawMessage `json:"parent"`
	Epoch  int64           `json:"epoch"`
}

func (it *repeatIter[T]) Next() (element T, ok bool) {
	for fresh := false; it.epochs == 0 || it.epoch < it.epochs; fresh = true {
		if element, ok = it.parent.Next(); ok || fresh {
			return element, ok
		}
		if it.epoch++; it.epoch != it.epochs && it.parent.SetState(it.start) != nil {
			break // the iterator has no elements
		}
	}
	return element, false
}

func (it *repeatIter[T]) State() json.RawMessage {
	return encodeState(repeatState{it.parent.State(), it.epoch})
}

func (it *repeatIter[T]) SetState(state json.RawMessage) error {
	var s repeatState
	if err := decodeState("grain.RepeatIter", state, &s); err != nil {
		return err
	}
	if s.Epoch < 0 || it.epochs > 0 && s.Epoch > it.epochs {
		return corrupt("grain.RepeatIter", fmt.Sprintf("an epoch of at most %d", it.epochs), fmt.Sprint(s.Epoch), nil)
	}
	it.epoch = s.Epoch
	return it.parent.SetState(s.Parent)
}

// ShuffleWindowsIter is WindowShuffleIterDataset. A window has the given number of elements; the
// last window has the rest. Each window is shuffled with the seed of the window before plus one,
// modulo 2^32; Grain stops with an error if the seed overflows. The error is of kind errs.Invalid
// if window < 1.
func ShuffleWindowsIter[T any](it Iter[T], window int64, seed uint32) (Iter[T], error) {
	if window < 1 {
		return nil, invalid("grain.ShuffleWindowsIter", "a window of at least 1", fmt.Sprint(window))
	}
	return &windowIter[T]{parent: it, size: window, seed: seed, start: it.State()}, nil
}

type windowIter[T any] struct {
	parent        Iter[T]
	size          int64
	seed          uint32
	index, taken  int64 // number of the window, and elements taken from it
	left          []T
	start         json.RawMessage
	parentHasMore bool
	filled        bool
}

type windowState struct {
	Start json.RawMessage `json:"parent_window_start_state"`
	Index int64           `json:"window_index"`
	Taken int64           `json:"pos_in_window"`
}

// fill reads a window and shuffles it. Elements are taken from its end.
func (it *windowIter[T]) fill() {
	var window []T
	it.parentHasMore, it.filled = true, true
	for int64(len(window)) < it.size && it.parentHasMore {
		x, ok := it.parent.Next()
		if ok {
			window = append(window, x)
		}
		it.parentHasMore = ok
	}
	it.left = make([]T, len(window))
	if len(window) == 0 {
		return
	}
	var keys [DefaultRounds]uint32
	p := makePermutation(int64(len(window)), it.seed+uint32(it.index), keys[:])
	for i := range window {
		it.left[i] = window[p.At(int64(i))]
	}
}

func (it *windowIter[T]) Next() (element T, ok bool) {
	if len(it.left) == 0 {
		if it.filled && !it.parentHasMore {
			return element, false
		}
		it.start = it.parent.State()
		it.fill()
		it.taken = 0
	}
	last := len(it.left) - 1
	if last < 0 {
		return element, false
	}
	element, it.left = it.left[last], it.left[:last]
	it.taken++
	if last == 0 {
		it.index++
	}
	return element, true
}

func (it *windowIter[T]) State() json.RawMessage {
	return encodeState(windowState{it.start, it.index, it.taken})
}

func (it *windowIter[T]) SetState(state json.RawMessage) error {
	var s windowState
	if err := decodeState("grain.ShuffleWindowsIter", state, &s); err != nil {
		return err
	}
	if s.Index < 0 || s.Taken < 0 || s.Taken > it.size {
		return corrupt("grain.ShuffleWindowsIter", fmt.Sprintf("a window and at most %d elements of it", it.size),
			string(state), nil)
	}
	if err := it.parent.SetState(s.Start); err != nil {
		return err
	}
	it.start, it.index, it.taken = s.Start, s.Index, s.Taken
	it.fill()
	it.left = it.left[:max(int64(len(it.left))-s.Taken, 0)]
	return nil
}
