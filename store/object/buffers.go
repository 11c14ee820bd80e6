package object

import "sync"

// buffers keeps memory of one size for later use: a process with a large heap would else hold as
// much again in buffers that the garbage collector has not found yet.
type buffers struct {
	size  int64 // of the buffers that are kept
	least int64 // up to which memory is made anew

	mu   sync.Mutex
	free [][]byte
}

// mostFree is how many buffers are kept.
const mostFree = 16

// take returns memory of n bytes, of any content.
func (b *buffers) take(n int64) []byte {
	if n > b.size || n <= b.least {
		return make([]byte, n)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := len(b.free) - 1; last >= 0 {
		p := b.free[last]
		b.free = b.free[:last]
		return p[:n]
	}
	return make([]byte, n, b.size)
}

// give takes memory back. Nobody may use it any more.
func (b *buffers) give(p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if int64(cap(p)) == b.size && len(b.free) < mostFree {
		b.free = append(b.free, p)
	}
}
