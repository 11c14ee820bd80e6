package layout

import (
	"slices"
	"sync"
)

// budget bounds the memory that a read uses beyond its targets. A larger piece of memory is still
// given, to one worker at a time.
const budget = 32 << 20

// pool lends memory to the workers of a read, within the budget, and reuses it.
type pool struct {
	most   int  // the budget
	spares bool // memory of earlier pools is taken

	mu   sync.Mutex
	free sync.Cond // signalled when lent shrinks
	lent int       // bytes lent and promised
	idle [][]byte  // at most half of the budget, and with lent at most the budget
}

func newPool(most int) *pool {
	p := &pool{most: most}
	p.free.L = &p.mu
	return p
}

// spareRoom has memory of pools that are done, for the next ones: who verifies many checkpoints
// would clear new memory for each of them.
var spareRoom sync.Pool // of *[]byte

// spareBytes is the size up to which memory is kept for another pool.
const spareBytes = slabBytes + 64<<10

// reuse lets the pool take memory of earlier pools. The pool must be new.
func (p *pool) reuse() { p.spares = true }

// spare leaves memory to later pools. Nothing may be lent.
func (p *pool) spare() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.idle {
		if cap(b) <= spareBytes {
			spareRoom.Put(&b)
		}
	}
	p.idle = nil
}

// fits reports whether memory is large enough for n bytes, and not much too large.
func fits(b []byte, n int) bool { return cap(b) >= n && cap(b) <= 2*n+64<<10 }

// admit waits until the budget allows n bytes and promises them. A caller that already holds memory
// must not call it: all callers might wait for each other.
func (p *pool) admit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.lent > 0 && p.lent+n > p.most {
		p.free.Wait()
	}
	p.lent += n
}

// get lends n bytes of any content and returns promised bytes to the budget.
func (p *pool) get(n, promised int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent -= promised
	for i, b := range p.idle {
		if fits(b, n) {
			p.idle = slices.Delete(p.idle, i, i+1)
			p.lent += cap(b)
			return b[:n]
		}
	}
	if p.spares {
		if b, ok := spareRoom.Get().(*[]byte); ok && fits(*b, n) {
			p.lent += cap(*b)
			p.trim()
			return (*b)[:n]
		} else if ok {
			spareRoom.Put(b)
		}
	}
	p.lent += n
	p.trim()
	return make([]byte, n)
}

// put takes back memory that get lent.
func (p *pool) put(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent -= cap(b)
	p.idle = append(p.idle, b)
	p.trim()
	p.free.Broadcast()
}

// trim forgets idle memory that does not fit into the budget.
func (p *pool) trim() {
	kept := p.lent
	for _, b := range p.idle {
		kept += cap(b)
	}
	for len(p.idle) > 0 && kept > p.most && kept-p.lent > p.most/2 {
		kept -= cap(p.idle[0])
		p.idle = p.idle[1:]
	}
}

// forgo returns promised bytes that were not used.
func (p *pool) forgo(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent -= n
	p.free.Broadcast()
}

// worker is one goroutine of a read, with memory that it reuses from part to part.
type worker struct {
	pool    *pool
	held    int    // number of pieces of memory
	promise int    // bytes that the pool reserves for the second piece
	encoded []byte // of the part that is being decoded
	whole   []byte // the sub-chunk or region to copy from
	shared  []byte // a region from which several boxes are copied

	handed   handover // the checksum of memory that is being read
	cover    *cover   // counts the bytes read for a check; else nil
	sumsOnly bool     // nobody wants the elements, only their checksums
}

// take returns n bytes in *b, one of the pieces of the worker. The previous content is lost.
func (w *worker) take(b *[]byte, n int) []byte {
	if cap(*b) < n {
		w.giveBack(b)
		if w.held == 0 {
			w.forgo()
			w.pool.admit(2 * n) // a second piece may be as large
			w.promise = 2 * n
		}
		used := min(n, w.promise)
		*b = w.pool.get(n, used)
		w.promise -= used
		w.held++
	}
	return (*b)[:n]
}

func (w *worker) giveBack(b *[]byte) {
	if cap(*b) > 0 {
		w.pool.put(*b)
		w.held--
		*b = nil
	}
}

func (w *worker) forgo() {
	w.pool.forgo(w.promise)
	w.promise = 0
}

// release returns all memory to the pool.
func (w *worker) release() {
	w.forgo()
	w.giveBack(&w.encoded)
	w.giveBack(&w.whole)
	w.giveBack(&w.shared)
}
