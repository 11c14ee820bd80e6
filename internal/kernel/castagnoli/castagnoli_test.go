package castagnoli

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func random(n int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(p) //nolint:errcheck // it has no errors
	return p
}

// Update is hash/crc32 at each length that begins or ends a block, wherever memory begins.
func TestUpdateIsCRC32C(t *testing.T) {
	p := random(24 << 10)
	for n := 0; n <= len(p)-64; {
		for start := range 64 {
			if n > 3000 && start%7 != n%7 {
				continue
			}
			b := p[start : start+n]
			sum := uint32(n) * 0x9E3779B1
			if got, want := Update(sum, b), crc32.Update(sum, table, b); got != want {
				t.Fatalf("%d bytes from %d: %08x, want %08x", n, start, got, want)
			}
		}
		if n < 3000 {
			n++
		} else {
			n += 13
		}
	}
}

func TestUpdateOfAnyBytes(t *testing.T) {
	p := random(100 << 10)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, len(p)).Draw(t, "from")
		b := p[from:rapid.IntRange(from, len(p)).Draw(t, "to")]
		sum := rapid.Uint32().Draw(t, "sum")
		if got, want := Update(sum, b), crc32.Update(sum, table, b); got != want {
			t.Fatalf("%08x, want %08x", got, want)
		}
	})
}

func TestMultiplyByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Uint32().Draw(t, "a"), rapid.Uint32().Draw(t, "b")
		if Multiply(a, One) != a || Multiply(One, a) != a || Multiply(a, b) != Multiply(b, a) {
			t.Fatalf("%08x times 1 is %08x, times %08x %08x and %08x", a, Multiply(a, One), b, Multiply(a, b), Multiply(b, a))
		}
	})
}

// Input that is longer than one call of hash/crc32 takes is summed in parts.
func TestLongSumsInParts(t *testing.T) {
	p := random(9*fetch + 100)
	for _, n := range []int{fetch, 8*fetch - 1, 8 * fetch, 8*fetch + 1, 9 * fetch, 9*fetch + 1, len(p)} {
		want := crc32.Update(7, table, p[:n])
		if got, inGo := Update(7, p[:n]), updateGeneric(7, p[:n]); got != want || inGo != want {
			t.Errorf("%d bytes: %08x, in Go %08x, want %08x", n, got, inGo, want)
		}
	}
}

// Copy copies exactly its bytes, wherever they begin, and returns their sum.
func TestCopy(t *testing.T) {
	const most = 1<<20 + 30000
	src := random(most + 64)
	dst := make([]byte, most+256)
	for _, n := range []int{0, 1, Tile, Tile + 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 1<<20 + 4567, 1<<20 + 8000, most} {
		for _, from := range []int{0, 1, 8, 63} {
			for _, to := range []int{64, 65, 80} {
				clear(dst)
				got := Copy(9, dst[to:to+n], src[from:from+n])
				if want := crc32.Update(9, table, src[from:from+n]); got != want {
					t.Fatalf("%d bytes from %d to %d: %08x, want %08x", n, from, to, got, want)
				}
				if !bytes.Equal(dst[to:to+n], src[from:from+n]) || !bytes.Equal(dst[:to], make([]byte, to)) || !bytes.Equal(dst[to+n:to+n+64], make([]byte, 64)) {
					t.Fatalf("%d bytes from %d to %d: others", n, from, to)
				}
			}
		}
	}
}

func BenchmarkCopy(b *testing.B) {
	src, dst := random(4<<20), random(32<<20)
	for name, f := range map[string]func(sum uint32, dst, src []byte) uint32{"kernel": Copy, "tiles": copyGeneric} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			at := 0
			for b.Loop() {
				f(0, dst[at:at+len(src)], src)
				at = (at + len(src)) % len(dst)
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{512, 4 << 10, 128 << 10} {
		p := random(n)
		for name, f := range map[string]func(uint32, []byte) uint32{"kernel": Update, "hash": updateGeneric} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				for b.Loop() {
					f(0, p)
				}
			})
		}
	}
}
