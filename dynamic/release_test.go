package dynamic

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A count whose last holder has left stays so, however many come later and at once: exactly
// one of them is told to free the memory.
func TestCountStaysDead(t *testing.T) {
	const rounds, goroutines = 2000, 4
	for range rounds {
		var h holders
		var freed, live atomic.Int32
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {
				for range 8 {
					if !h.retain() {
						continue
					}
					if live.Add(1); freed.Load() != 0 {
						t.Error("memory that was given back is held")
					}
					live.Add(-1)
					if h.leave() {
						freed.Add(1)
					}
				}
			})
		}
		all.Go(func() { // the owner releases the value
			if h.leave() {
				freed.Add(1)
			}
		})
		all.Wait()
		if h.retain() || freed.Load() != 1 || live.Load() != 0 {
			t.Fatalf("freed %d times", freed.Load())
		}
	}
}
