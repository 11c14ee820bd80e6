// Bytes are counted here, nothing is concurrent, and pools give less back under the race detector.

//go:build !race

package ocdbt

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// made are entries that exist when they are asked for.
type made struct {
	n     int
	value []byte
}

func (m made) Len() int { return m.n }

func (m made) AppendKey(dst []byte, i int) []byte { return fmt.Appendf(dst, "leaf%07d/zarr.json", i) }

func (m made) Value(i int) Ref {
	if i%3 == 1 {
		return Ref{File: File{Name: "d/0"}, Offset: int64(i), Length: 4}
	}
	return InlineRef(m.value)
}

// allocated is how many bytes do allocates in all.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A node of many megabytes is made and read in one pass without ever being in memory.
func TestLargeLeafIsStreamed(t *testing.T) {
	entries := made{100_000, bytes.Repeat([]byte("metadata"), 64)}
	body := 2 * entries.n / 3 * len(entries.value)
	config := OrbaxConfig([16]byte{})
	var nodes []EncodedNode
	var root Node
	if got := allocated(func() {
		var err error
		if nodes, root, err = EncodeEntries(entries, config, func(int) (File, int64) { return File{Name: "d/n"}, 0 }); err != nil {
			t.Fatal(err)
		}
	}); got > uint64(body)/2 {
		t.Errorf("encoding a body of %d bytes allocated %d", body, got)
	}
	if len(nodes) != 1 {
		t.Fatalf("%d nodes, want one", len(nodes))
	}
	m, err := NewManifest(config, root, testTime).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), mem{"d/n": nodes[0].Bytes, ManifestName: m}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var x *Index
	if got := allocated(func() {
		if x, err = db.Index(t.Context()); err != nil {
			t.Fatal(err)
		}
	}); got > uint64(body) {
		t.Errorf("the index of a body of %d bytes allocated %d", body, got)
	}
	for i := range entries.n {
		key := keyOf(entries, i)
		ref, ok, err := x.Get(t.Context(), key)
		if err != nil || !ok || !sameRef(ref, entries.Value(i)) {
			t.Fatalf("%s = %+v, %v, %v, want %+v", key, ref, ok, err, entries.Value(i))
		}
	}
}

func sameRef(a, b Ref) bool {
	return a.File == b.File && a.Offset == b.Offset && a.Length == b.Length && bytes.Equal(a.Inline, b.Inline)
}

// A body that is decoded as it is read gives the entries, or the refusal, that it gives
// as a whole, also where bytes of it are changed.
func TestStreamedLeafEqualsWhole(t *testing.T) {
	seal := newSealer(OrbaxConfig([16]byte{}))
	rapid.Check(t, func(t *rapid.T) {
		entries := entryList(rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Entry {
			e := Entry{Key: rapid.StringN(0, 8, -1).Draw(t, "key"), Value: InlineRef(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "value"))}
			if rapid.Bool().Draw(t, "in a file") {
				e.Value = Ref{File: File{Name: rapid.SampledFrom([]string{"d/a", "d/b"}).Draw(t, "file")}, Offset: rapid.Int64Range(0, 1<<40).Draw(t, "offset"), Length: 3}
			}
			return e
		}), 1, 60, func(e Entry) string { return e.Key }).Draw(t, "entries"))
		slices.SortFunc(entries, func(a, b Entry) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
		body, stats := leafBody(entries, 0)
		for range rapid.IntRange(0, 2).Draw(t, "damages") {
			body[rapid.IntRange(0, len(body)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		body = body[:len(body)-rapid.SampledFrom([]int{0, 0, 0, 1, len(body) / 2}).Draw(t, "cut")]
		b := seal.seal(magicNode, body)
		stats.TreeBytes = uint64(len(b))
		ref := Node{File: File{Name: "d/n"}, Length: int64(len(b)), Stats: stats}
		whole, werr := decodeNode(b, ref, 1<<20)
		streamed, c, serr := decodeLarge(b, ref, 1<<20, 0)
		if serr == nil && c == nil {
			t.Fatal("the leaf was not streamed")
		}
		var refs []Ref
		for i := 0; serr == nil && i < streamed.len(); i++ {
			v := streamed.value(i)
			if streamed.leaf[i].file < 0 {
				v.Inline = bytes.Clone(c.bytes(int(v.Length), "value"))
			}
			refs = append(refs, v)
		}
		if serr == nil {
			serr = c.done()
		}
		if (werr == nil) != (serr == nil) || serr != nil && errs.KindOf(serr) != errs.KindOf(werr) {
			t.Fatalf("whole: %v; streamed: %v", werr, serr)
		}
		for i, ref := range refs {
			if serr == nil && (whole.keys.at(i) != streamed.keys.at(i) || !sameRef(whole.value(i), ref)) {
				t.Fatalf("entry %d differs: %q %+v, %q %+v", i, whole.keys.at(i), whole.value(i), streamed.keys.at(i), ref)
			}
		}
	})
}

// Entries that are others when they are asked for again are refused.
type moody struct{ asked *atomic.Int64 }

func (m moody) Len() int { return 10_000 }

func (m moody) AppendKey(dst []byte, i int) []byte { return fmt.Appendf(dst, "%06d", i) }

func (m moody) Value(int) Ref {
	return InlineRef(make([]byte, 200+m.asked.Add(1)%7))
}

func TestEntriesThatChangeAreRefused(t *testing.T) {
	_, _, err := EncodeEntries(moody{new(atomic.Int64)}, OrbaxConfig([16]byte{}), func(int) (File, int64) { return File{Name: "d/n"}, 0 })
	if !errors.Is(err, errs.Invalid) {
		t.Fatalf("EncodeEntries = %v, want Invalid", err)
	}
}
