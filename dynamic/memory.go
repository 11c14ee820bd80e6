package dynamic

import (
	"math/bits"
	"sync"
	"unsafe"
)

// memory keeps released memory for the next calls. The garbage collector frees what no call takes,
// and the memory of values that are not released.
type memory struct {
	free [numClasses]sync.Pool // of *byte, by class
}

const (
	smallestKept = 4096
	classBits    = 3 // classes of 2^k (1 + i/8): at most an eighth of the memory is not used
	numClasses   = 64 << classBits
)

// class returns the class of buffers that n bytes fit in, and their size.
func class(n int) (c, size int) {
	k := bits.Len(uint(n-1)) - 1 - classBits // in steps of 2^k
	steps := (n + 1<<k - 1) >> k
	return k<<classBits + steps, steps << k
}

// alloc returns n bytes at an address aligned to 8. Their contents are undefined.
func (m *memory) alloc(n int) []byte {
	if n < smallestKept {
		return words(n)
	}
	c, size := class(n)
	if p, ok := m.free[c].Get().(*byte); ok {
		return unsafe.Slice(p, size)[:n]
	}
	return words(size)[:n]
}

// give takes back what alloc returned.
func (m *memory) give(b []byte) {
	if cap(b) < smallestKept {
		return
	}
	if c, size := class(cap(b)); size == cap(b) {
		m.free[c].Put(unsafe.SliceData(b))
	}
}

// words returns n bytes of new memory, aligned to 8.
func words(n int) []byte {
	w := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 8*len(w))[:n:n]
}
