package shards

import (
	"math"
	"runtime/debug"
	"sync"
	"testing"
	"unsafe"
)

// Goroutines that count the reads to leave out at the same time never count too many: a file with
// less than none would count as one whose file system knows no such reads.
func TestPausesThatAreCountedTogether(t *testing.T) {
	s, _ := mapped(t, 5000)
	f := s.table[0].Load().f
	for range 5000 {
		f.skip.Store(200)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				for b := make([]byte, 10); f.skip.Load() > 0; {
					f.quick(b, 0)
				}
			})
		}
		group.Wait()
		if n := f.skip.Load(); n < 0 {
			t.Fatalf("%d reads are to be left out", n)
		}
	}
}

// A wait that several goroutines see at the same time counts once.
func TestCoolTogether(t *testing.T) {
	s, _ := mapped(t, 5000)
	f := s.table[0].Load().f
	for range 8 {
		f.cool()
	}
	if n, warm := f.waits.Load(), f.warm.Load(); n != 1 || warm != -2*warmReads {
		t.Errorf("%d waits, %d reads", n, warm)
	}
}

// A fault in other memory than the file's is no fault of the file: it passes through.
func TestFaultElsewhere(t *testing.T) {
	s, _ := mapped(t, 5000)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	far := uintptr(math.MaxInt32)
	far <<= 12 // nothing lies there
	defer func() {
		if recover() == nil || !s.mapped() {
			t.Errorf("the fault is hidden, or the file is left alone")
		}
	}()
	s.View(0, 10, 0, false, func(b []byte) bool { return **(**byte)(unsafe.Pointer(&far)) == b[0] })
}
