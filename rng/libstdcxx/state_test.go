package libstdcxx

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
)

type engine interface {
	Source
	fmt.Stringer
	Discard(n uint64)
	encoding.TextMarshaler
	encoding.TextUnmarshaler
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// engines makes each engine from a seed, and an empty one of the same type.
var engines = map[string]func(seed uint64) (seeded, empty engine){
	"minstd":     func(seed uint64) (engine, engine) { g := NewMinstdRand0(seed); return &g, new(MinstdRand0) },
	"mt19937":    func(seed uint64) (engine, engine) { g := NewMT19937(seed); return &g, new(MT19937) },
	"mt19937_64": func(seed uint64) (engine, engine) { g := NewMT19937x64(seed); return &g, new(MT19937x64) },
}

func TestStateLaw(t *testing.T) {
	for name, make := range engines {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			seed, n := rapid.Uint64().Draw(t, "seed"), rapid.Uint64Range(0, 2000).Draw(t, "position")
			g, _ := make(seed)
			for range n {
				g.Next()
			}
			_, text := make(0)
			_, binary := make(0)
			a, err := g.MarshalText()
			if err != nil || text.UnmarshalText(a) != nil {
				t.Fatal(err)
			}
			b, err := g.MarshalBinary()
			if err != nil || binary.UnmarshalBinary(b) != nil {
				t.Fatal(err)
			}
			discarded, _ := make(seed)
			discarded.Discard(n)
			for range 700 {
				want := g.Next()
				for how, other := range map[string]engine{"text": text, "binary": binary, "discarded": discarded} {
					if got := other.Next(); got != want {
						t.Fatalf("%s: %d, want %d", how, got, want)
					}
				}
			}
		}))
	}
}

func TestStateErrors(t *testing.T) {
	for name, make := range engines {
		g, _ := make(3)
		good, _ := g.MarshalText()
		whole, _ := g.MarshalBinary()
		for _, bad := range []string{"", "0", "x", "2147483647", string(good) + " ", string(good) + "0000000000000", " " + string(good), "-" + string(good), string(good[:len(good)/2])} {
			if name == "minstd" && bad == string(good[:len(good)/2]) {
				continue
			}
			if err := g.UnmarshalText([]byte(bad)); !errors.Is(err, errs.Invalid) || g.String() != string(good) {
				t.Errorf("%s: %.30q: %v", name, bad, err)
			}
		}
		outside := append([]byte(nil), whole...)
		for i := range 8 {
			outside[max(0, len(outside)-1-i)] = 255
		}
		for _, bad := range [][]byte{nil, whole[1:], append(whole[:len(whole):len(whole)], 0), outside} {
			if err := g.UnmarshalBinary(bad); !errors.Is(err, errs.Corrupt) || g.String() != string(good) {
				t.Errorf("%s: %d bytes: %v", name, len(bad), err)
			}
		}
	}
	// An index just behind the end and a word just above its size.
	var g MT19937
	text := []byte(NewMT19937(1).String())
	if text[len(text)-1]++; g.UnmarshalText(text) == nil {
		t.Error("index 625 is accepted")
	}
	if g.UnmarshalText(append([]byte("4294967296"), text[1:]...)) == nil {
		t.Error("a word of 33 bits is accepted")
	}
}

func FuzzEngineState(f *testing.F) {
	for name, make := range engines {
		g, _ := make(5)
		text, _ := g.MarshalText()
		binary, _ := g.MarshalBinary()
		f.Add(name, text)
		f.Add(name, binary)
	}
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		make := engines[name]
		if make == nil {
			return
		}
		g, other := make(1)
		if g.UnmarshalText(b) == nil {
			if err := other.UnmarshalText([]byte(g.String())); err != nil || g.String() != other.String() {
				t.Fatalf("%q: %v", b, err)
			}
			g.Next()
		}
		if g.UnmarshalBinary(b) == nil {
			if back, _ := g.MarshalBinary(); string(back) != string(b) {
				t.Fatalf("%x: %x", b, back)
			}
			g.Next()
		}
	})
}

func TestUniformLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"minstd", "mt19937", "mt19937_64"}).Draw(t, "engine")
		g, _ := engines[name](rapid.Uint64().Draw(t, "seed"))
		a := rapid.Int64().Draw(t, "a")
		b := rapid.Int64Min(a).Draw(t, "b")
		for _, x := range []int64{UniformInt(g, a, b), UniformIntGCC10(g, a, b)} {
			if x < a || x > b {
				t.Fatalf("%d is outside %d to %d", x, a, b)
			}
		}
	})
}

func TestDiscardIntsLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewMinstdRand0(rapid.Uint64().Draw(t, "seed"))
		b := a
		last := rapid.OneOf(rapid.Uint32Range(0, 2000), rapid.SampledFrom([]uint32{minstdModulus - 3, minstdModulus - 2, minstdModulus - 1, minstdModulus / 2}), rapid.Uint32()).Draw(t, "last")
		n := rapid.Uint64Range(0, 300).Draw(t, "n")
		for range n {
			UniformInt(&a, 0, int64(last))
		}
		if b.DiscardInts(n, last); a != b {
			t.Fatalf("%s, want %s", b, a)
		}
	})
}

// A shuffle is a permutation, by Philox as by any other engine.
func TestShuffleLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rng.NewPhilox(rapid.Uint64().Draw(t, "key"), 0, 0)
		s := make([]int, rapid.IntRange(0, 300).Draw(t, "n"))
		for i := range s {
			s[i] = i
		}
		if rapid.Bool().Draw(t, "GCC 10") {
			ShuffleGCC10(Words{&p}, s)
		} else {
			Shuffle(Words{&p}, s)
		}
		seen := make([]bool, len(s))
		for _, x := range s {
			if seen[x] {
				t.Fatalf("%d twice", x)
			}
			seen[x] = true
		}
	})
}

func TestCanonicalBound(t *testing.T) {
	if x := Canonical[float32](constant(math.MaxUint32)); x != 1-0x1p-24 {
		t.Error(x)
	}
	if x := Canonical[float64](constant(math.MaxUint32)); x != 1-0x1p-53 {
		t.Error(x)
	}
	if NewDiscrete([]float64{3}).Next(nil) != 0 {
		t.Error("one weight takes no numbers and gives 0")
	}
}

// constant is a 32-bit engine that always returns the same.
type constant uint64

func (c constant) Next() uint64          { return uint64(c) }
func (constant) Bounds() (lo, hi uint64) { return 0, math.MaxUint32 }

func BenchmarkNext(b *testing.B) {
	for name, make := range engines {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			g, _ := make(1)
			for b.Loop() {
				g.Next()
			}
		})
	}
}

func TestNoAllocation(t *testing.T) {
	g := NewMT19937(1)
	n := Normal[float32]{StdDev: 1}
	if allocs := testing.AllocsPerRun(100, func() { UniformInt(&g, 0, 9); n.Next(&g) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
