package exec

import (
	"math/bits"
	"sync"
	"unsafe"
)

// checkSize panics with an error before memory beyond the limit is taken. The error becomes the
// error of the samples.
func (e *Executor) checkSize(what string, n int) {
	if n >= 0 && int64(n) <= e.config.Limits.MaxBytes {
		return
	}
	if err := e.config.Limits.CheckBytes(what, int64(n)); err != nil {
		panic(err)
	}
}

// aligned returns n bytes that are aligned to 8.
func aligned(n int) []byte {
	if n == 0 {
		return nil
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// grown returns b with length n, in new memory if its capacity is less than n. The contents are
// undefined.
func grown(b []byte, n int) []byte {
	if cap(b) < n {
		return aligned(n)
	}
	return b[:n]
}

// same reports whether both slices start at the same byte.
func same(a, b []byte) bool { return unsafe.SliceData(a) == unsafe.SliceData(b) }

// arena gives memory that is taken back all at once. After the first rounds it
// is one block and gives without allocating.
type arena struct {
	block []byte
	used  int
	spill int // bytes that did not fit the block since the last reset
	most  int // bytes that the block may have; 0: any number
}

// alloc returns n bytes, aligned to 64, of undefined contents.
func (a *arena) alloc(n int) []byte {
	size := (n + 63) &^ 63
	if a.used+size > len(a.block) {
		a.spill += size
		return aligned(n)
	}
	b := a.block[a.used : a.used+n : a.used+n]
	a.used += size
	return b
}

// reset takes all memory back.
func (a *arena) reset() {
	if need := a.used + a.spill; a.spill > 0 && (a.most == 0 || need <= a.most) {
		a.block = aligned(need)
	}
	a.used, a.spill = 0, 0
}

// buffers recycles the memory that files are read into, in classes of size 2^k.
type buffers struct {
	mu   sync.Mutex
	free [64][][]byte
	kept int64 // bytes of free
	most int64 // that are kept; 0: any number
}

func (p *buffers) get(n int) []byte {
	if n == 0 {
		return nil
	}
	class := bits.Len(uint(n - 1))
	p.mu.Lock()
	if list := p.free[class]; len(list) > 0 {
		b := list[len(list)-1]
		p.free[class] = list[:len(list)-1]
		p.kept -= int64(cap(b))
		p.mu.Unlock()
		return b[:n]
	}
	p.mu.Unlock()
	return aligned(max(8, 1<<class))[:n]
}

func (p *buffers) put(b []byte) {
	if cap(b) == 0 {
		return
	}
	class := bits.Len(uint(cap(b))) - 1
	p.mu.Lock()
	if p.most == 0 || p.kept+int64(cap(b)) <= p.most {
		p.free[class] = append(p.free[class], b)
		p.kept += int64(cap(b))
	}
	p.mu.Unlock()
}
