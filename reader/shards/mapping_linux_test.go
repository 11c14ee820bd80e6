package shards

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// mapped returns a set of one file of random bytes that is mapped, and the bytes.
func mapped(t *testing.T, size int) (*Set, []byte) {
	t.Helper()
	want := make([]byte, size)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range want {
		want[i] = byte(r.Uint32())
	}
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, want, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), "test", []string{path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if s.View(0, 1, 0, false, func([]byte) bool { return true }) {
		t.Error("a file that was never read is in memory")
	}
	b := make([]byte, 1)
	for range 2 * warmReads {
		if err := s.ReadAt(context.Background(), 0, b, 0); err != nil || b[0] != want[0] {
			t.Fatal(b, err)
		}
	}
	if !s.mapped() {
		t.Skip("the file system has no reads that never wait, or is not one that is mapped")
	}
	return s, want
}

func (s *Set) mapped() bool {
	f := s.table[0].Load().f
	return f.memory.Load() != nil && f.warm.Load() >= warmReads
}

// A mapped file gives the same bytes as before, for any place and size.
func TestMappedReads(t *testing.T) {
	ctx := context.Background()
	s, want := mapped(t, 3*quickSize+7)
	r := rand.New(rand.NewPCG(3, 4))
	for k := range 300 {
		off := r.IntN(len(want) + 1)
		n := r.IntN(min(len(want)-off, 1<<(k%21)) + 1)
		if k%10 == 0 {
			n = len(want) - off
		}
		b := make([]byte, n)
		if err := s.ReadAt(ctx, 0, b, int64(off)); err != nil || !bytes.Equal(b, want[off:off+n]) {
			t.Fatalf("%d bytes at %d: %v", n, off, err)
		}
		called := false
		seen := s.View(0, n, int64(off), k%2 == 0, func(v []byte) bool {
			called = bytes.Equal(v, want[off:off+n])
			return true
		})
		if seen != called || s.mapped() && seen != (n <= quickSize) {
			t.Fatalf("a view of %d bytes at %d: %v, %v", n, off, seen, called)
		}
	}
}

func TestView(t *testing.T) {
	s, want := mapped(t, 5000)
	yes := func([]byte) bool { return true }
	for _, c := range []struct {
		n    int
		off  int64
		use  func(b []byte) bool
		want bool
	}{
		{10, 4990, yes, true},
		{0, 5000, yes, true},
		{10, 4990, func([]byte) bool { return false }, false},
		{11, 4990, yes, false},
		{1, -1, yes, false},
		{1, 1 << 62, yes, false},
	} {
		for _, summed := range []bool{false, true} {
			if got := s.View(0, c.n, c.off, summed, c.use); got != c.want {
				t.Errorf("%d bytes at %d: %v", c.n, c.off, got)
			}
		}
	}
	// A panic of the caller's function passes through, and the file is let go.
	func() {
		defer func() {
			if r := recover(); r != "a limit" {
				t.Errorf("recovered %v", r)
			}
		}()
		s.View(0, 1, 0, false, func([]byte) bool { panic("a limit") })
	}()
	if n := s.table[0].Load().users.Load(); n != 1 {
		t.Errorf("the file has %d users, want the table alone", n)
	}
	// What is shown in place of the file is not in memory.
	closed := false
	s.Show(0, upper{string(want), &closed})
	if s.View(0, 10, 0, false, yes) {
		t.Error("a view of a file in whose place another is shown")
	}
	if err := s.Close(); err != nil || s.View(0, 10, 0, false, yes) {
		t.Errorf("after Close: %v", err)
	}
}

// A mapped file that is cut gives an error for what it lost, and the rest as before. Behind the new
// end there are zeros up to the end of the page, and then no memory at all.
func TestMappedFileIsCut(t *testing.T) {
	ctx := context.Background()
	for _, end := range []int{0, 1, 100, 4096, 5000, 8192, 19_999} {
		s, want := mapped(t, 20_000)
		if err := os.Truncate(s.Path(0), int64(end)); err != nil {
			t.Fatal(err)
		}
		for _, r := range [][2]int{{0, 1}, {0, end}, {max(0, end-10), end}, {max(0, end-10), end + 1}, {end, end + 1},
			{0, 20_000}, {19_990, 20_000}, {end / 2, end}} {
			lost := r[1] > end
			for range 2 { // the first fault ends the use of the memory
				b := make([]byte, r[1]-r[0])
				err := s.ReadAt(ctx, 0, b, int64(r[0]))
				switch {
				case lost && !errors.Is(err, errs.Mismatch):
					t.Errorf("cut at %d: bytes %v: want a mismatch, got %v", end, r, err)
				case !lost && (err != nil || !bytes.Equal(b, want[r[0]:r[1]])):
					t.Errorf("cut at %d: bytes %v: %v", end, r, err)
				}
				view := func(summed bool) bool {
					return s.View(0, len(b), int64(r[0]), summed, func(v []byte) bool {
						return copy(b, v) == len(b) && (!summed || bytes.Equal(b, want[r[0]:r[1]]))
					})
				}
				if lost && (view(false) || view(true)) {
					t.Errorf("cut at %d: a view of bytes %v", end, r)
				}
			}
		}
	}
}

// Readers of a file that is cut and written again, over and over, get errors or bytes, and go on.
func TestMappedFileIsCutMeanwhile(t *testing.T) {
	ctx := context.Background()
	s, want := mapped(t, 1<<20)
	var group sync.WaitGroup
	for g := range 3 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(5, uint64(g)))
			b := make([]byte, 50_000)
			for range 500 {
				err := s.ReadAt(ctx, 0, b, r.Int64N(int64(len(want)-len(b))))
				if err != nil && !errors.Is(err, errs.Mismatch) {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 50 {
		if err := errors.Join(os.Truncate(s.Path(0), 70_000), os.WriteFile(s.Path(0), want, 0o666)); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	b := make([]byte, 100)
	if err := s.ReadAt(ctx, 0, b, 80_000); err != nil || !bytes.Equal(b, want[80_000:80_100]) {
		t.Errorf("the file that is whole again: %v", err)
	}
}

// After a wait for a disk, or a fault, the memory is used again once many reads were in the cache,
// and each time later.
func TestMappedMemoryIsLeftAlone(t *testing.T) {
	ctx := context.Background()
	s, _ := mapped(t, 5000)
	f := s.table[0].Load().f
	b, before := make([]byte, 10), 0
	for range 3 {
		f.cool()
		n := 0
		for ; !s.mapped() && n < 1<<20; n++ {
			if err := s.ReadAt(ctx, 0, b, 0); err != nil {
				t.Fatal(err)
			}
		}
		if n <= before {
			t.Errorf("the memory was used after %d reads, and the time before after %d", n, before)
		}
		before = n
	}
	f.waits.Store(1 << 20)
	if f.cool(); f.warm.Load() != -warmReads<<mostWaits {
		t.Errorf("the memory is left alone for %d reads", -f.warm.Load())
	}
}
