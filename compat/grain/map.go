package grain

import (
	"fmt"
	"math"
)

// Endless is the length of a Map without end, sys.maxsize in Grain.
const Endless = math.MaxInt64

// Map is a MapDataset: elements by index. It is immutable. Indices from Len on are
// further epochs, as in Grain, and may go up to Endless.
type Map[T any] interface {
	// Len is the number of elements in an epoch, or Endless.
	Len() int64
	// At returns an element, index >= 0; of an empty Map a zero one.
	At(index int64) T
	// String describes the map with its parameters; equal strings mean equal maps.
	String() string
}

// mapped is a Map of functions.
type mapped[T any] struct {
	n    int64
	at   func(int64) T
	name string
}

func (m mapped[T]) Len() int64     { return m.n }
func (m mapped[T]) String() string { return m.name }
func (m mapped[T]) At(index int64) (element T) {
	if m.n == 0 || index < 0 {
		return element
	}
	return m.at(index)
}

// Range is MapDataset.range: start, start+step, … before stop. step must not be 0;
// if it is, the map is empty.
func Range(start, stop, step int64) Map[int64] {
	n := int64(0)
	switch {
	case step > 0 && stop > start:
		n = int64((uint64(stop)-uint64(start)-1)/uint64(step) + 1)
	case step < 0 && stop < start:
		n = int64((uint64(start)-uint64(stop)-1)/-uint64(step) + 1)
	}
	return mapped[int64]{max(n, 0), func(i int64) int64 { return start + i%n*step }, fmt.Sprintf("range(%d, %d, %d)", start, stop, step)}
}

// Shuffle is MapDataset.shuffle: in epoch e the permutation with seed+e, modulo
// 2^32.
func Shuffle[T any](m Map[T], seed uint32) Map[T] {
	n := m.Len()
	return mapped[T]{n, func(i int64) T {
		var keys [DefaultRounds]uint32
		epoch := i / n
		p := makePermutation(n, seed+uint32(epoch), keys[:])
		return m.At(epoch*n + p.At(i%n))
	}, fmt.Sprintf("shuffle(seed=%d of %s)", seed, m)}
}

// Repeat is MapDataset.repeat: epochs of m, without end if epochs is 0. The error is
// of kind errs.Invalid if epochs is negative, m endless, or both together too long.
func Repeat[T any](m Map[T], epochs int64) (Map[T], error) {
	n := m.Len()
	if epochs < 0 || n == Endless || epochs > 0 && n > (Endless-1)/epochs {
		return nil, invalid("grain.Repeat", "epochs from 0 on, of a data set that ends", fmt.Sprintf("%d epochs of %d elements", epochs, n))
	}
	length := n * epochs
	if epochs == 0 && n > 0 {
		length = Endless
	}
	return mapped[T]{length, m.At, fmt.Sprintf("repeat(epochs=%d of %s)", epochs, m)}, nil
}

// Slice is m[start:stop:step] with a positive step; negative bounds count from the
// end, and Endless is an open stop. Where an epoch of m ends an epoch of the slice
// ends. The error is of kind errs.Invalid for other steps.
func Slice[T any](m Map[T], start, stop, step int64) (Map[T], error) {
	if step < 1 {
		return nil, invalid("grain.Slice", "a step from 1 on", fmt.Sprint(step))
	}
	parent := m.Len()
	bound := func(i int64) int64 {
		if i < 0 {
			i += parent
		}
		return min(max(i, 0), parent)
	}
	first, end := bound(start), bound(stop)
	n := int64(0)
	if end > first {
		n = (end-first-1)/step + 1
	}
	return mapped[T]{n, func(i int64) T { return m.At(first + i%n*step + i/n*parent) },
		fmt.Sprintf("slice(%d:%d:%d of %s)", first, end, step, m)}, nil
}

// Batch is MapDataset.batch. Epochs are batched by themselves: the last batch of
// one is short, or with drop left out. The error is of kind errs.Invalid for sizes
// below 1.
func Batch[T any](m Map[T], size int64, drop bool) (Map[[]T], error) {
	if size < 1 {
		return nil, invalid("grain.Batch", "a size from 1 on", fmt.Sprint(size))
	}
	parent := m.Len()
	n := parent / size
	if !drop && parent%size > 0 {
		n++
	}
	return mapped[[]T]{n, func(i int64) []T {
		first := i % n * size
		batch := make([]T, min(size, parent-first))
		for k := range batch {
			batch[k] = m.At(i/n*parent + first + int64(k))
		}
		return batch
	}, fmt.Sprintf("batch(size=%d drop=%t of %s)", size, drop, m)}, nil
}

// Order is a Map of indices as an order.Order that ends where its first epoch ends.
// It seeks in constant time.
type Order struct{ m Map[int64] }

// NewOrder returns the order of m.
func NewOrder(m Map[int64]) Order { return Order{m} }

// Fill implements order.Order.
func (o Order) Fill(pos int64, dst []int64) int {
	n := o.m.Len()
	if pos < 0 || pos >= n {
		return 0
	}
	dst = dst[:min(int64(len(dst)), n-pos)]
	for i := range dst {
		dst[i] = o.m.At(pos + int64(i))
	}
	return len(dst)
}

// Len implements order.Order.
func (o Order) Len() (n int64, ok bool) {
	if n = o.m.Len(); n == Endless {
		return 0, false
	}
	return n, true
}

// String implements order.Order.
func (o Order) String() string { return "grain-" + o.m.String() }
