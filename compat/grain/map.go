package grain

import (
	"fmt"
	"math"
	"strconv"
)

// Endless is the length of an endless Map, sys.maxsize in Grain.
const Endless = math.MaxInt64

// Map is a MapDataset: elements by index. It is immutable. Indices from Len on belong to later
// epochs, as in Grain, and may go up to Endless.
type Map[T any] interface {
	// Len returns the number of elements in an epoch, including those left out, or Endless.
	Len() int64
	// At returns the element at index >= 0. ok is false if a filter leaves it out, and for an empty
	// Map.
	At(index int64) (element T, ok bool)
	// Sparse reports whether elements may be left out.
	Sparse() bool
	// String describes the map with its parameters; equal strings mean equal maps.
	String() string
}

// mapped is a Map made from functions.
type mapped[T any] struct {
	n      int64
	sparse bool
	at     func(wide) (T, bool)
	name   string
	until  wide
}

func (m mapped[T]) Len() int64     { return m.n }
func (m mapped[T]) Sparse() bool   { return m.sparse }
func (m mapped[T]) String() string { return m.name }
func (m mapped[T]) At(index int64) (element T, ok bool) {
	if index < 0 {
		return element, false
	}
	return m.reach(narrow(index))
}

func (m mapped[T]) end() wide { return m.until }

func (m mapped[T]) reach(index wide) (element T, ok bool) {
	if m.n == 0 || !index.below(m.until) {
		return element, false
	}
	return m.at(index)
}

// Range is MapDataset.range: start, start+step, … before stop. step must not be 0. If it is 0, the
// map is empty.
func Range(start, stop, step int64) Map[int64] {
	n := int64(0)
	switch {
	case step > 0 && stop > start:
		n = int64((uint64(stop)-uint64(start)-1)/uint64(step) + 1)
	case step < 0 && stop < start:
		n = int64((uint64(start)-uint64(stop)-1)/-uint64(step) + 1)
	}
	return mapped[int64]{n, false, func(i wide) (int64, bool) {
		_, k := i.divide(n)
		return start + k*step, true
	}, fmt.Sprintf("range(%d, %d, %d)", start, stop, step), everywhere}
}

// Source is MapDataset.source of elements, which name describes. The map owns the slice.
func Source[T any](name string, elements []T) Map[T] {
	n := int64(len(elements))
	return mapped[T]{n, false, func(i wide) (T, bool) {
		_, k := i.divide(n)
		return elements[k], true
	}, fmt.Sprintf("source(%s, n=%d)", strconv.Quote(name), n), everywhere}
}

// Shuffle is MapDataset.shuffle: epoch e has the permutation with seed+e, modulo 2^32. The result
// is empty if m does not know all elements of an epoch. This happens after an endless Repeat of a
// map that makes one element from several: an index of ApplyIndexed may exceed 2^63.
func Shuffle[T any](m Map[T], seed uint32) Map[T] {
	n := m.Len()
	at, end := reached(m)
	if end.below(narrow(n)) {
		n = 0
	}
	return mapped[T]{n, m.Sparse(), func(i wide) (T, bool) {
		var keys [DefaultRounds]uint32
		epoch, k := i.divide(n)
		p := makePermutation(n, seed+uint32(epoch.lo), keys[:])
		return at(epoch.at(n, p.At(k)))
	}, fmt.Sprintf("shuffle(seed=%d of %s)", seed, m), epochs(end, n, n)}
}

// unreachable returns the error for a map that needs elements which another map does not know.
func unreachable(op string, end wide, of fmt.Stringer) error {
	return invalid(op, fmt.Sprintf("only elements below %d, which are known", end.short()), of.String())
}

// Repeat is MapDataset.repeat: epochs of m, without end if epochs is 0. The error is of kind
// errs.Invalid if epochs is negative, if m is endless, or if the result is too long.
func Repeat[T any](m Map[T], epochs int64) (Map[T], error) {
	n := m.Len()
	if epochs < 0 || n == Endless || epochs > 0 && n > (Endless-1)/epochs {
		return nil, invalid("grain.Repeat", "at least 0 epochs of a data set that ends",
			fmt.Sprintf("%d epochs of %d elements", epochs, n))
	}
	length := n * epochs
	if epochs == 0 && n > 0 {
		length = Endless
	}
	at, end := reached(m)
	return mapped[T]{length, m.Sparse(), at, fmt.Sprintf("repeat(epochs=%d of %s)", epochs, m), end}, nil
}

// Slice is m[start:stop:step] as in Python. Negative bounds count from the end. Endless and
// -Endless are open bounds. An epoch of the slice ends where an epoch of m ends. The error is of
// kind errs.Invalid if step is 0.
func Slice[T any](m Map[T], start, stop, step int64) (Map[T], error) {
	if step == 0 || step == math.MinInt64 {
		return nil, invalid("grain.Slice", "a step that is not 0", fmt.Sprint(step))
	}
	parent := m.Len()
	first, last, n := bounds(parent, start, stop, step)
	at, end := reached(m)
	if narrow(parent).below(end) || narrow(parent) == end || n == 0 {
		end = epochs(end, parent, n)
	} else { // not even one whole epoch is known
		if !narrow(first).below(end) || step < 0 {
			return nil, unreachable("grain.Slice", end, m)
		}
		end = narrow(min(n, (end.short()-first-1)/step+1))
	}
	return mapped[T]{n, m.Sparse(), func(i wide) (T, bool) {
		epoch, k := i.divide(n)
		return at(epoch.at(parent, first+k*step))
	}, fmt.Sprintf("slice(%d:%d:%d of %s)", first, last, step, m), end}, nil
}

// bounds returns Python's slice.indices for n elements, and how many elements they select.
func bounds(n, start, stop, step int64) (first, end, count int64) {
	least, most := int64(0), n
	if step < 0 {
		least, most = -1, n-1
	}
	clamp := func(i int64) int64 {
		if i <= -Endless {
			return least // an open bound, also for an endless map
		}
		if i < 0 {
			i += n
		}
		return min(max(i, least), most)
	}
	first, end = clamp(start), clamp(stop)
	switch {
	case step > 0 && end > first:
		count = (end-first-1)/step + 1
	case step < 0 && end < first:
		count = (first-end-1)/-step + 1
	}
	return first, end, count
}

// Batch is MapDataset.batch. Each epoch is batched by itself. Its last batch is short, or left out
// with drop. The error is of kind errs.Invalid if size < 1, and for maps that leave elements out,
// which only iterators can batch.
func Batch[T any](m Map[T], size int64, drop bool) (Map[[]T], error) {
	if size < 1 {
		return nil, invalid("grain.Batch", "a size of at least 1", fmt.Sprint(size))
	}
	if m.Sparse() {
		return nil, invalid("grain.Batch", "a map that leaves no elements out", m.String())
	}
	parent := m.Len()
	n := parent / size
	if !drop && parent%size > 0 {
		n++
	}
	at, end := reached(m)
	if narrow(parent).below(end) || narrow(parent) == end {
		end = epochs(end, parent, n)
	} else {
		end, _ = end.divide(size)
	}
	return mapped[[]T]{n, false, func(i wide) ([]T, bool) {
		epoch, k := i.divide(n)
		first := k * size
		batch := make([]T, min(size, parent-first))
		for k := range batch {
			batch[k], _ = at(epoch.at(parent, first+int64(k)))
		}
		return batch, true
	}, fmt.Sprintf("batch(size=%d drop=%t of %s)", size, drop, m), end}, nil
}

// Order makes a Map of indices an order.Order that ends after its first epoch. It seeks in constant
// time.
type Order struct{ m Map[int64] }

// NewOrder returns the order of m. The error is of kind errs.Invalid if m leaves elements out: its
// positions would not match the delivered elements.
func NewOrder(m Map[int64]) (Order, error) {
	if m.Sparse() {
		return Order{}, invalid("grain.NewOrder", "a map that leaves no elements out", m.String())
	}
	return Order{m}, nil
}

// Fill implements order.Order.
func (o Order) Fill(pos int64, dst []int64) int {
	n := known(o.m)
	if pos < 0 || pos >= n {
		return 0
	}
	dst = dst[:min(int64(len(dst)), n-pos)]
	for i := range dst {
		dst[i], _ = o.m.At(pos + int64(i))
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
