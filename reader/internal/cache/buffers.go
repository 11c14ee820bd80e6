package cache

import "sync"

// Buffers lends memory for reads whose bytes are needed only until they are decoded. The zero
// Buffers is ready for use. All methods are safe for concurrent use.
type Buffers struct{ pool sync.Pool }

// largest is the size up to which a buffer is kept.
const largest = 4 << 20

// Get returns a buffer of n bytes with any contents. The caller gives it back with Put.
func (b *Buffers) Get(n int) *[]byte {
	p, ok := b.pool.Get().(*[]byte)
	if !ok {
		p = new([]byte)
	}
	if cap(*p) < n {
		*p = make([]byte, n, max(n, 4<<10))
	}
	*p = (*p)[:n]
	return p
}

// Put takes a buffer back. The caller must not use it afterwards.
func (b *Buffers) Put(p *[]byte) {
	if cap(*p) <= largest {
		b.pool.Put(p)
	}
}
