package flow

import "sync"

// Budget bounds a number of bytes that several goroutines hold together.
type Budget struct {
	mu       sync.Mutex
	returned sync.Cond
	limit    int64
	used     int64
	peak     int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget {
	b := &Budget{limit: limit}
	b.returned.L = &b.mu
	return b
}

// Acquire takes n bytes and waits until they are free. A request for more than the whole budget is
// granted when nothing else is taken. Acquire takes nothing and returns false once stop returns
// true. The goroutine that makes stop true must call Wake.
func (b *Budget) Acquire(n int64, stop func() bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.used > 0 && b.used+n > b.limit {
		if stop() {
			return false
		}
		b.returned.Wait()
	}
	if stop() {
		return false
	}
	b.used += n
	b.peak = max(b.peak, b.used)
	return true
}

// Release gives n bytes back.
func (b *Budget) Release(n int64) {
	b.mu.Lock()
	b.used -= n
	b.mu.Unlock()
	b.returned.Broadcast()
}

// Wake makes all goroutines that wait in Acquire call stop again. The caller makes the condition
// true before it calls Wake, so that no waiting goroutine misses it.
func (b *Budget) Wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.returned.Broadcast()
}

// Used returns the bytes that are taken now, and the most that were ever taken at once.
func (b *Budget) Used() (now, peak int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.peak
}
