package numpy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

type golden struct {
	Seed           string
	Words          []string
	Advanced       []string
	PhiloxAdvanced []string `json:"philox_advanced"`
	Mixed          []string
	Permutation    string  `json:"permutation_100003"`
	ChoiceTail     string  `json:"choice_20000_500"`
	ChoiceFloyd    string  `json:"choice_20000_400"`
	ChoiceAll      []int64 `json:"choice_9_9"`
	RandomState    string  `json:"randomstate_100003"`
}

// TestGolden holds the rest against testdata/golden.json, which
// testdata/golden.py writes.
func TestGolden(t *testing.T) {
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []golden }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) < 5 {
		t.Fatalf("%d cases", len(file.Cases))
	}
	for _, c := range file.Cases {
		if d := cmp.Diff(c, compute(t, c.Seed)); d != "" {
			t.Errorf("seed %s (-NumPy +got):\n%s", c.Seed, d)
		}
	}
}

func compute(t *testing.T, text string) golden {
	t.Helper()
	var seed uint64
	if _, err := fmt.Sscan(text, &seed); err != nil {
		t.Fatal(err)
	}
	words := make([]uint32, 6)
	NewSeedSequence(uint32(seed), uint32(seed>>32), 5, 0, 9, 1).Generate32(words)
	pcg, philox := NewPCG64(seed), NewPhilox(seed)
	pcg.Advance(123456789012345678)
	times(3, philox.Uint64)
	philox.Advance(1<<40 + 3)
	g := DefaultRNG(seed)
	return golden{
		Seed:           text,
		Words:          decimals(words),
		Advanced:       decimals(times(2, pcg.Uint64)),
		PhiloxAdvanced: decimals(times(2, philox.Uint64)),
		Mixed:          decimals([]int64{g.Integers(0, 3), g.Integers(0, 1<<40), g.Integers(-5, 1<<62), g.Integers(0, 3)}),
		Permutation:    digest(DefaultRNG(seed).Permutation(100003)),
		ChoiceTail:     digest(DefaultRNG(seed).Choice(20000, 500)),
		ChoiceFloyd:    digest(DefaultRNG(seed).Choice(20000, 400)),
		ChoiceAll:      DefaultRNG(seed).Choice(9, 9),
		RandomState:    digest(NewRandomState(uint32(seed)).Permutation(100003)),
	}
}

func decimals[T any](x []T) []string {
	s := make([]string, len(x))
	for i := range x {
		s[i] = fmt.Sprint(x[i])
	}
	return s
}

func digest(x []int64) string {
	h := sha256.New()
	for _, v := range x {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(v)))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Advancing is drawing that many words, from every state.
func TestAdvance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, n := rapid.Uint64().Draw(t, "seed"), rapid.Uint64Range(0, 300).Draw(t, "n")
		a, b := NewPCG64(seed), NewPCG64(seed)
		a.Advance(n)
		times(int(n), b.Uint64)
		if a != b {
			t.Fatalf("%d words of seed %d", n, seed)
		}
		if c := MakePCG64(a.State()); c != a {
			t.Fatal("the state does not come back")
		}
		x, y := NewPhilox(seed), NewPhilox(seed)
		x.Advance(n)
		times(int(4*n), y.Uint64)
		if x.Uint64() != y.Uint64() {
			t.Fatalf("%d blocks of key %d", n, seed)
		}
	})
}

// Bounded stays within its bound, wide ones too, and Choice gives different numbers.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := DefaultRNG(rapid.Uint64().Draw(t, "seed"))
		most := rapid.Uint64().Draw(t, "most")
		if v := g.Bounded(most); v > most {
			t.Fatalf("%d > %d", v, most)
		}
		r := NewRandomState(uint32(most))
		if v := r.Interval(most); v > most {
			t.Fatalf("%d > %d", v, most)
		}
		n := rapid.Int64Range(0, 200).Draw(t, "n")
		k := rapid.Int64Range(-1, n+1).Draw(t, "k")
		chosen := g.Choice(n, k)
		if k < 0 || k > n {
			if chosen != nil {
				t.Fatalf("choice of %d of %d", k, n)
			}
			return
		}
		seen := map[int64]bool{}
		for _, v := range chosen {
			seen[v] = true
			if v < 0 || v >= n {
				t.Fatalf("%d of %d", v, n)
			}
		}
		if int64(len(seen)) != k {
			t.Fatalf("%d different of %d", len(seen), k)
		}
	})
	if got := DefaultRNG(1).Integers(3, 3); got != 3 {
		t.Fatal(got)
	}
}
