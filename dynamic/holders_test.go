package dynamic

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
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
					if h.leave() == 0 {
						freed.Add(1)
					}
				}
			})
		}
		all.Go(func() { // the owner releases the value
			if h.leave() == 0 {
				freed.Add(1)
			}
		})
		all.Wait()
		if h.retain() || freed.Load() != 1 || live.Load() != 0 {
			t.Fatalf("freed %d times", freed.Load())
		}
	}
}

// Memory that is given back serves all who ask for as much, and wastes little.
func TestClass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(smallestKept, 1<<40).Draw(t, "bytes")
		c, size := class(n)
		if size < n || size > n+n/8+1 || c < 0 || c >= numClasses {
			t.Fatalf("class %d of %d bytes for %d", c, size, n)
		}
		if again, same := class(size); again != c || same != size {
			t.Fatalf("%d bytes of class %d are taken back as %d of %d", size, c, same, again)
		}
		if less, smaller := class(n - 1); n > smallestKept && (less > c || smaller > size) {
			t.Fatalf("%d bytes are of class %d, one less of %d", n, c, less)
		}
	})
}

func TestMemoryIsAligned(t *testing.T) {
	var m memory
	for n := range 5000 {
		b := m.alloc(n)
		if len(b) != n || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 != 0 && n > 0 {
			t.Fatalf("%d bytes at %p for %d", len(b), b, n)
		}
		m.give(b)
	}
}
