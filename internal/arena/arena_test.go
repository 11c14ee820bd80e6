package arena_test

import (
	"bytes"
	"errors"
	"math"
	"sync"
	"testing"
	"unsafe"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/arena"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, size int, o arena.Options) *arena.Arena {
	t.Helper()
	a, err := arena.Open(size, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		if err := a.Close(); !errors.Is(err, errs.Closed) {
			t.Errorf("second Close: %v", err)
		}
		if _, err := a.Alloc(1, 1); !errors.Is(err, errs.Closed) {
			t.Errorf("Alloc after Close: %v", err)
		}
	})
	return a
}

func address(p []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(p))) }

func TestAlloc(t *testing.T) {
	a := open(t, 10_000, arena.Options{})
	for _, c := range []struct{ n, align int }{{1, 0}, {3, 8}, {100, 64}, {5000, 4096}, {1, 1}, {2 << 20, 512}, {0, 64}, {7, 16}} {
		p, err := a.Alloc(c.n, c.align)
		if err != nil {
			t.Fatal(err)
		}
		if len(p) != c.n || cap(p) != c.n || (c.align > 0 && c.n > 0 && address(p)%uintptr(c.align) != 0) {
			t.Errorf("%d bytes by %d: len %d cap %d at %#x", c.n, c.align, len(p), cap(p), address(p))
		}
		for i, b := range p {
			if b != 0 {
				t.Fatalf("byte %d is %d", i, b)
			}
		}
	}
	if s := a.Stats(); s.Used != 1+3+100+5000+1+2<<20+7 || s.Chunks < 2 {
		t.Errorf("%+v", s)
	}
}

func TestBadArguments(t *testing.T) {
	for _, size := range []int{-1, math.MinInt} {
		if _, err := arena.Open(size, arena.Options{}); !errors.Is(err, errs.Invalid) {
			t.Errorf("Open(%d): %v", size, err)
		}
	}
	if _, err := arena.Open(0, arena.Options{Limit: -1}); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if _, err := arena.Open(math.MaxInt, arena.Options{}); !errors.Is(err, errs.Exhausted) {
		t.Error(err)
	}
	a := open(t, 0, arena.Options{})
	for _, c := range []struct{ n, align int }{{-1, 1}, {1, -1}, {1, 3}, {1, 8192}, {1, math.MinInt}} {
		if _, err := a.Alloc(c.n, c.align); !errors.Is(err, errs.Invalid) {
			t.Errorf("Alloc(%d, %d): %v", c.n, c.align, err)
		}
	}
	for _, n := range []int{math.MaxInt, math.MaxInt - 4095, 1 << 60} {
		if _, err := a.Alloc(n, 64); !errors.Is(err, errs.Exhausted) {
			t.Errorf("Alloc(%d): %v", n, err)
		}
	}
	if s := a.Stats(); s != (arena.Stats{}) {
		t.Errorf("%+v", s)
	}
}

func TestLimit(t *testing.T) {
	a := open(t, 1<<16, arena.Options{Limit: 3 << 16})
	for range 3 {
		if _, err := a.Alloc(1<<16, 4096); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Alloc(1, 1); !errors.Is(err, errs.Exhausted) {
		t.Fatal(err)
	}
	a.Reset()
	if _, err := a.Alloc(1<<16, 4096); err != nil {
		t.Fatal(err)
	}
	if s := a.Stats(); s.Mapped > 3<<16 {
		t.Fatalf("%+v", s)
	}
	if _, err := arena.Open(2<<16, arena.Options{Limit: 1 << 16}); !errors.Is(err, errs.Exhausted) {
		t.Fatal(err)
	}
}

// TestDisjoint: no two allocations share a byte, after any number of resets.
func TestDisjoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, err := arena.Open(rapid.IntRange(0, 1<<14).Draw(t, "size"), arena.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			var parts [][]byte
			for i := range rapid.IntRange(1, 20).Draw(t, "parts") {
				p, err := a.Alloc(rapid.IntRange(0, 1<<13).Draw(t, "n"), 1<<rapid.IntRange(0, 12).Draw(t, "align"))
				if err != nil {
					t.Fatal(err)
				}
				for k := range p {
					p[k] = byte(i)
				}
				parts = append(parts, p)
			}
			for i, p := range parts {
				if n := bytes.Count(p, []byte{byte(i)}); n != len(p) {
					t.Fatalf("part %d was overwritten", i)
				}
			}
			a.Reset()
		}
	})
}

// TestReuse: the same work after Reset maps and allocates nothing.
func TestReuse(t *testing.T) {
	a := open(t, 1<<16, arena.Options{})
	fill := func() {
		a.Reset()
		for i := range 100 {
			if _, err := a.Alloc(1000+17*i, 64); err != nil {
				t.Error(err)
			}
		}
	}
	fill()
	before := a.Stats()
	if n := testing.AllocsPerRun(100, fill); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
	if after := a.Stats(); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
}

// TestGrowth: an arena whose needs grow with every round holds what one round
// needs, not the sum.
func TestGrowth(t *testing.T) {
	for _, limit := range []int{0, 8 << 20} {
		a := open(t, 0, arena.Options{Limit: limit})
		for n := 1 << 20; n <= 5<<20; n += 1 << 18 {
			a.Reset()
			for _, size := range []int{n, 1 << 20, 1 << 20} {
				if _, err := a.Alloc(size, 4096); err != nil {
					t.Fatal(err)
				}
			}
			if s := a.Stats(); s.Mapped > n+(3<<20) {
				t.Fatalf("%d bytes wanted: %+v", n+2<<20, s)
			}
		}
	}
}

func TestTouch(t *testing.T) {
	a := open(t, 40<<20, arena.Options{Touch: true})
	p, err := a.Alloc(40<<20, 4096)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(p); i += 4096 { // while the touching goes on
		p[i] = 7
	}
	a.Wait()
	for i := 0; i < len(p); i += 4096 {
		if p[i] != 7 {
			t.Fatalf("byte %d is %d", i, p[i])
		}
	}
}

func TestConcurrent(t *testing.T) {
	a := open(t, 0, arena.Options{})
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 200 {
				p, err := a.Alloc(3000, 64)
				if err != nil {
					t.Error(err)
					return
				}
				for k := range p {
					p[k] = byte(i)
				}
				if bytes.Count(p, []byte{byte(i)}) != len(p) {
					t.Error("overwritten")
				}
			}
		})
	}
	wg.Wait()
	if s := a.Stats(); s.Used != 4*200*3000 {
		t.Errorf("%+v", s)
	}
}

func BenchmarkAlloc(b *testing.B) {
	a := open(b, 1<<20, arena.Options{})
	b.ReportAllocs()
	for i := range b.N {
		if i%256 == 0 {
			a.Reset()
		}
		if _, err := a.Alloc(4000, 64); err != nil {
			b.Fatal(err)
		}
	}
}

// Advise takes memory of any place and size, and changes none of it.
func TestAdvise(t *testing.T) {
	mem := bytes.Repeat([]byte{7}, 9<<20)
	for _, part := range [][]byte{nil, mem[:0], mem[:1], mem[:1<<20], mem[3:], mem[4096 : 5<<20], mem} {
		arena.Advise(part)
	}
	if at := bytes.IndexFunc(mem, func(r rune) bool { return r != 7 }); at >= 0 {
		t.Errorf("byte %d is another", at)
	}
}

func TestLock(t *testing.T) {
	a, err := arena.Open(0, arena.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	mem, err := a.Alloc(100, arena.MaxAlign)
	if err != nil {
		t.Fatal(err)
	}
	if err := arena.Lock(nil); err != nil {
		t.Errorf("of nothing: %v", err)
	}
	if err := arena.Lock(mem); err != nil {
		t.Logf("the system lets nothing be locked: %v", err)
	}
	mem[99] = 1
}
