package state

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// Hashes stand in stored documents: they may not change. These were checked
// against a second implementation, in Python.
func TestGoldenHashes(t *testing.T) {
	h := NewHasher("test")
	h.String("a")
	h.Bytes([]byte("a"))
	h.Int(-1)
	if got := h.Sum(); got != "1bdeacfe8d18c1ffe6393fe16aee12ac" {
		t.Error(got)
	}
	if got := HashFields(map[string]string{"seed": "7", "batch_size": "64"}); got != "dbcf21249db29c8dce770cf5f01af346" {
		t.Error(got)
	}
	var d Digest
	if d.Sum() != strings.Repeat("0", 32) {
		t.Error(d.Sum())
	}
	d.Add(0)
	if got := d.Sum(); got != "9f8703589a25e06791db0f84e1ee2c54" {
		t.Error(got)
	}
	d.Add(1, 2, 1796, 1<<40)
	if got := d.Sum(); got != "e52a3c5a1744fc105f9dae206fe96f2c" {
		t.Error(got)
	}
}

func TestHasherFrames(t *testing.T) {
	sums := map[string]string{}
	for name, add := range map[string]func(*Hasher){
		"nothing": func(*Hasher) {},
		"empty":   func(h *Hasher) { h.String("") },
		"ab c":    func(h *Hasher) { h.String("ab"); h.String("c") },
		"a bc":    func(h *Hasher) { h.String("a"); h.String("bc") },
		"bytes":   func(h *Hasher) { h.Bytes([]byte("ab")); h.Bytes([]byte("c")) },
		"0":       func(h *Hasher) { h.Int(0) },
		"00":      func(h *Hasher) { h.Int(0); h.Int(0) },
	} {
		h := NewHasher("d")
		add(h)
		sum := h.Sum()
		if other, twice := sums[sum]; twice || len(sum) != 32 || sum != h.Sum() {
			t.Errorf("%s and %s: %s", name, other, sum)
		}
		sums[sum] = name
	}
	if NewHasher("a").Sum() == NewHasher("b").Sum() {
		t.Error("domains do not differ")
	}
	if HashFields(map[string]string{"a": "bc"}) == HashFields(map[string]string{"ab": "c"}) {
		t.Error("fields are not framed")
	}
}

func TestDigestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.Int64Range(0, 5), 0, 30).Draw(t, "ids")
		var whole, parts Digest
		whole.Add(ids...)
		cut := rapid.IntRange(0, len(ids)).Draw(t, "cut")
		parts.Add(ids[:cut]...)
		parts, err := ParseDigest(parts.Sum())
		if err != nil {
			t.Fatal(err)
		}
		parts.Add(ids[cut:]...)
		if whole != parts || whole.Sum() != parts.Sum() {
			t.Fatalf("%s in one, %s in two", whole.Sum(), parts.Sum())
		}
		// Another id, order or length is another digest.
		var other Digest
		for i, id := range ids {
			if i == cut {
				id++
			}
			other.Add(id)
		}
		if cut == len(ids) {
			other.Add(0)
		}
		if other == whole {
			t.Fatal("other ids, same digest")
		}
		if cut > 0 && cut < len(ids) && ids[cut] != ids[cut-1] {
			ids[cut], ids[cut-1] = ids[cut-1], ids[cut]
			var swapped Digest
			swapped.Add(ids...)
			if swapped == whole {
				t.Fatal("another order, same digest")
			}
		}
	})
	seen := map[Digest]bool{}
	var d Digest
	for range 1 << 16 {
		d.Add(0)
		if seen[d] {
			t.Fatal("a cycle")
		}
		seen[d] = true
	}
	for _, bad := range []string{"0", "zz", strings.Repeat("0", 31) + "g", strings.Repeat("0", 34)} {
		if _, err := ParseDigest(bad); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if d, err := ParseDigest(""); d != (Digest{}) || err != nil {
		t.Error(err)
	}
	ids := make([]int64, 64)
	if allocs := testing.AllocsPerRun(100, func() { d.Add(ids...) }); allocs != 0 {
		t.Errorf("Add: %v allocations", allocs)
	}
}

func BenchmarkDigest(b *testing.B) {
	b.ReportAllocs()
	ids := make([]int64, 64)
	var d Digest
	for b.Loop() {
		d.Add(ids...)
	}
}

func BenchmarkMarshal(b *testing.B) {
	b.ReportAllocs()
	d := sample()
	for b.Loop() {
		if _, err := d.Marshal(); err != nil {
			b.Fatal(err)
		}
	}
}
