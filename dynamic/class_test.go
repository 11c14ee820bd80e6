package dynamic

import (
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

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
