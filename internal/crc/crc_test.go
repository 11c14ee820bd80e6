package crc

import (
	"bytes"
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"
)

func TestCheckValue(t *testing.T) {
	if got := Sum([]byte("123456789")); got != 0xe3069283 {
		t.Fatalf("Sum(123456789) = %#x, want 0xe3069283", got)
	}
	if got := Sum(nil); got != 0 {
		t.Fatalf("Sum of nothing = %#x, want 0", got)
	}
}

// Copy works in tiles. Around the bounds of tiles its sum equals the sum of hash/crc32.
func TestUpdateInParts(t *testing.T) {
	p := make([]byte, 3*Tile+100)
	for i := range p {
		p[i] = byte(i*i>>3 + i)
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, n := range []int{0, 1, Tile - 1, Tile, Tile + 1, 2 * Tile, len(p)} {
		for _, start := range []int{0, 1, 63} {
			b := p[start:max(start, n)]
			if got, want := Update(7, b), crc32.Update(7, table, b); got != want {
				t.Errorf("%d bytes from %d: %08x, want %08x", len(b), start, got, want)
			}
		}
	}
}

func TestCombineIsConcatenation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOf(rapid.Byte()).Draw(t, "a")
		b := rapid.SliceOf(rapid.Byte()).Draw(t, "b")
		ab := append(bytes.Clone(a), b...)
		if got, want := Combine(Sum(a), Sum(b), int64(len(b))), Sum(ab); got != want {
			t.Fatalf("Combine = %#x, want %#x", got, want)
		}
		if got, want := Update(Sum(a), b), Sum(ab); got != want {
			t.Fatalf("Update = %#x, want %#x", got, want)
		}
	})
}

// Associativity holds for lengths that no test could hold in memory.
func TestCombineIsAssociative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := rapid.Uint32().Draw(t, "a"), rapid.Uint32().Draw(t, "b"), rapid.Uint32().Draw(t, "c")
		lb := rapid.Int64Range(0, 1<<61).Draw(t, "lb")
		lc := rapid.Int64Range(0, 1<<61).Draw(t, "lc")
		left := Combine(Combine(a, b, lb), c, lc)
		right := Combine(a, Combine(b, c, lc), lb+lc)
		if left != right {
			t.Fatalf("(ab)c = %#x, a(bc) = %#x", left, right)
		}
	})
}

func TestZeros(t *testing.T) {
	for _, n := range []int{0, 1, 3, 4, 7, 4096, 1<<20 + 5} {
		if got, want := Zeros(int64(n)), Sum(make([]byte, n)); got != want {
			t.Errorf("Zeros(%d) = %#x, want %#x", n, got, want)
		}
	}
}

func TestCopy(t *testing.T) {
	for _, n := range []int{0, 1, Tile - 1, Tile, Tile + 1, 3*Tile + 17} {
		src := make([]byte, n)
		for i := range src {
			src[i] = byte(i*7 + i>>8)
		}
		dst := make([]byte, n+3)
		sum := Copy(dst, src)
		if !bytes.Equal(dst[:n], src) || dst[n] != 0 {
			t.Errorf("Copy of %d bytes: wrong bytes", n)
		}
		if want := crc32.Checksum(src, crc32.MakeTable(crc32.Castagnoli)); sum != want || Sum(src) != want {
			t.Errorf("Copy of %d bytes = %#x, Sum = %#x, want %#x", n, sum, Sum(src), want)
		}
	}
}

func TestCopyAllocatesNothing(t *testing.T) {
	src, dst := make([]byte, 3*Tile), make([]byte, 3*Tile)
	if n := testing.AllocsPerRun(10, func() { Combine(Copy(dst, src), Zeros(99), 99) }); n != 0 {
		t.Fatalf("%v allocations, want 0", n)
	}
}

func BenchmarkCopy(b *testing.B) {
	src, dst := make([]byte, 64<<20), make([]byte, 64<<20)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		Copy(dst, src)
	}
}

func BenchmarkMemmove(b *testing.B) {
	src, dst := make([]byte, 64<<20), make([]byte, 64<<20)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		copy(dst, src)
	}
}

func BenchmarkCombine(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Combine(0x12345678, 0x9abcdef0, 1<<30+12345)
	}
}
