package ocdbt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

var testTime = time.Unix(1_700_000_000, 123_456_789)

// leafBody encodes a leaf whose keys lack their first prefix bytes. The node's own size
// is not in the statistics.
func leafBody(entries []Entry, prefix int) ([]byte, Stats) {
	var body gathered
	p := newLeafPart(entryList(entries), 0, len(entries), prefix)
	c := columns{w: &body}
	p.write(&c)
	c.flush()
	return body.b, p.stats()
}

// build writes a database of one version and returns its files.
func build(t rapid.TB, c Config, entries []Entry, node File) (mem, []EncodedNode, Node) {
	files := mem{}
	place := func(size int) (File, int64) {
		at := len(files[node.Path()])
		files[node.Path()] = append(files[node.Path()], make([]byte, size)...)
		return node, int64(at)
	}
	nodes, root, err := EncodeTree(entries, c, place)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		copy(files[n.File.Path()][n.Offset:], n.Bytes)
	}
	b, err := NewManifest(c, root, testTime).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	files[ManifestName] = b
	return files, nodes, root
}

func drawConfig(t *rapid.T) Config {
	c := OrbaxConfig([16]byte{1, 2, 3})
	c.MaxDecodedNodeBytes = rapid.SampledFrom([]uint32{0, 1, 200, 1000, 100_000_000}).Draw(t, "node limit")
	c.Compression = Compression(rapid.IntRange(0, 1).Draw(t, "compression"))
	return c
}

// drawEntries draws sorted entries with keys that share prefixes, and files that
// hold their values.
func drawEntries(t *rapid.T) ([]Entry, mem) {
	piece := rapid.SampledFrom([]string{"", "a", "b", "layers/", "\x00", "\xff", "mlp.", "c/0/1"})
	keys := rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
	}), rapid.ID).Draw(t, "keys")
	slices.Sort(keys)
	files := mem{}
	entries := make([]Entry, len(keys))
	for i, k := range keys {
		value := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "value")
		if rapid.Bool().Draw(t, "inline") {
			entries[i] = Entry{k, InlineRef(value)}
			continue
		}
		f := File{Base: rapid.SampledFrom([]string{"", "p1/", "p10/"}).Draw(t, "base"), Name: rapid.SampledFrom([]string{"d/1", "d/12", "x"}).Draw(t, "name")}
		entries[i] = Entry{k, Ref{File: f, Offset: int64(len(files[f.Path()])), Length: int64(len(value))}}
		files[f.Path()] = append(files[f.Path()], value...)
	}
	return entries, files
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		entries, values := drawEntries(t)
		files, nodes, root := build(t, drawConfig(t), entries, File{Name: "d/nodes"})
		maps.Copy(files, values)
		db, err := Open(ctx, files, Options{CacheBytes: rapid.SampledFrom([]int64{-1, 1, 0}).Draw(t, "cache")})
		if err != nil {
			t.Fatal(err)
		}
		if db.Stats().Keys != uint64(len(entries)) || len(nodes) > 0 && db.Stats().TreeBytes < uint64(root.Length) {
			t.Fatalf("statistics %+v", db.Stats())
		}
		r := Range{}
		if len(entries) > 0 {
			key := func() string {
				return entries[rapid.IntRange(0, len(entries)-1).Draw(t, "bound")].Key + rapid.SampledFrom([]string{"", "\x00", "zz"}).Draw(t, "after")
			}
			r = rapid.SampledFrom([]Range{{}, {Start: key()}, {End: key()}, {key(), key()}, Prefix(key())}).Draw(t, "range")
		}
		var want, got []Entry
		for _, e := range entries {
			if e.Key >= r.Start && (r.End == "" || e.Key < r.End) {
				want = append(want, Entry{e.Key, Ref{Inline: e.Value.Inline, Length: e.Value.Length, Offset: e.Value.Offset, File: e.Value.File}})
			}
		}
		for e, err := range db.List(ctx, r) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("range %q (-want +got):\n%s", r, d)
		}
		present := map[string]bool{}
		for _, e := range entries {
			present[e.Key] = true
			v, err := db.Values().Get(ctx, e.Key)
			n, err2 := db.Values().Size(ctx, e.Key)
			if err != nil || err2 != nil || n != int64(len(v)) {
				t.Fatalf("%q: %v, %v", e.Key, err, err2)
			}
			stored := e.Value.Inline
			if !e.Value.IsInline() {
				stored = values[e.Value.File.Path()][e.Value.Offset : e.Value.Offset+e.Value.Length]
			}
			if !bytes.Equal(v, stored) {
				t.Fatalf("%q is % x, want % x", e.Key, v, stored)
			}
			p := make([]byte, (n+1)/2)
			if err := db.Values().ReadAt(ctx, e.Key, p, n/2); err != nil || !bytes.Equal(p, stored[n/2:]) {
				t.Fatalf("second half of %q is % x, %v", e.Key, p, err)
			}
		}
		for _, e := range entries {
			for _, k := range []string{e.Key + "\x00", e.Key + "a", e.Key[:len(e.Key)/2]} {
				if _, ok, err := db.Get(ctx, k); err != nil || ok != present[k] {
					t.Fatalf("Get(%q) = %v, %v; want %v", k, ok, err, present[k])
				}
			}
		}
	})
}

// A database that embeds the entries of others in its sub-directories, and even
// the nodes of one, reads as their union.
func TestMerge(t *testing.T) {
	c := OrbaxConfig([16]byte{})
	var lists [][]Entry
	files := mem{}
	for p := range 3 {
		dir := fmt.Sprintf("ocdbt.process_%d/", p)
		data := File{Name: "d/values"}
		entries := []Entry{
			{fmt.Sprintf("a%d", p), Ref{File: data, Offset: 1, Length: 2}},
			{"shared", InlineRef([]byte{byte(p)})},
		}
		child, _, _ := build(t, c, entries, File{Name: "d/nodes"})
		child["d/values"] = []byte{0, byte(p), byte(p)}
		for name, b := range child {
			files[dir+name] = b
		}
		for i := range entries {
			entries[i] = entries[i].Below(dir)
		}
		lists = append(lists, entries)
	}
	merged, _, _ := build(t, c, MergeEntries(lists...), File{Name: "d/merged"})
	maps.Copy(files, merged)
	db, err := Open(t.Context(), files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{}
	for e, err := range db.List(t.Context(), Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got[e.Key], err = db.ReadValue(t.Context(), e.Value, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(map[string][]byte{"a0": {0, 0}, "a1": {1, 1}, "a2": {2, 2}, "shared": {2}}, got); d != "" {
		t.Error(d)
	}

	// The root of process 1 as our own: its table speaks of files below its base.
	child, err := DecodeManifest(files["ocdbt.process_1/"+ManifestName], "child")
	if err != nil {
		t.Fatal(err)
	}
	root := child.Versions[0].Root
	root.File.Base = "ocdbt.process_1/"
	if files[ManifestName], err = NewManifest(c, root, testTime).Append(nil); err != nil {
		t.Fatal(err)
	}
	if db, err = Open(t.Context(), files, Options{}); err != nil {
		t.Fatal(err)
	}
	if v, err := db.Values().Get(t.Context(), "a1"); err != nil || !bytes.Equal(v, []byte{1, 1}) {
		t.Errorf("through an embedded node: % x, %v", v, err)
	}
}

// Readers share a database whose cache holds one node.
func TestConcurrentReaders(t *testing.T) {
	c := OrbaxConfig([16]byte{})
	c.MaxDecodedNodeBytes = 500
	var entries []Entry
	for i := range 200 {
		entries = append(entries, Entry{fmt.Sprintf("k%03d", i), InlineRef([]byte{byte(i)})})
	}
	files, _, _ := build(t, c, entries, File{Name: "d/n"})
	db, err := Open(t.Context(), files, Options{CacheBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := g; i < len(entries); i += 3 {
				if v, err := db.Values().Get(t.Context(), entries[i].Key); err != nil || v[0] != byte(i) {
					t.Errorf("%s is %v, %v", entries[i].Key, v, err)
				}
			}
		})
	}
	group.Wait()
}

// Every flipped bit of a manifest or node is an error.
func TestBitFlips(t *testing.T) {
	for _, method := range []Compression{CompressionNone, CompressionZstd} {
		c := OrbaxConfig([16]byte{9})
		c.Compression, c.MaxDecodedNodeBytes = method, 200
		var entries []Entry
		for i := range 12 {
			entries = append(entries, Entry{fmt.Sprintf("layer/%02d/w", i), InlineRef([]byte("value"))})
		}
		files, nodes, root := build(t, c, entries, File{Name: "d/n"})
		if root.Height == 0 || len(nodes) < 3 {
			t.Fatalf("a tree of height %d and %d nodes tests too little", root.Height, len(nodes))
		}
		read := func() error {
			db, err := Open(t.Context(), files, Options{})
			if err != nil {
				return err
			}
			for _, err := range db.List(t.Context(), Range{}) {
				if err != nil {
					return err
				}
			}
			return nil
		}
		if err := read(); err != nil {
			t.Fatal(err)
		}
		for name, b := range files {
			for bit := range 8 * len(b) {
				b[bit/8] ^= 1 << (bit % 8)
				if err := read(); !errors.Is(err, errs.Corrupt) {
					t.Errorf("%s: bit %d flipped: %v, want an error of kind corrupt", name, bit, err)
				}
				b[bit/8] ^= 1 << (bit % 8)
			}
		}
	}
}

func TestEncodeTreeRefuses(t *testing.T) {
	f := File{Name: "d/x"}
	for name, entries := range map[string][]Entry{
		"order":        {{"b", InlineRef(nil)}, {"a", InlineRef(nil)}},
		"duplicate":    {{"a", InlineRef(nil)}, {"a", InlineRef(nil)}},
		"long key":     {{strings.Repeat("k", MaxKeyLength+1), InlineRef(nil)}},
		"long value":   {{"a", InlineRef(make([]byte, MaxInlineValue+1))}},
		"wrong length": {{"a", Ref{Inline: []byte{1}, Length: 2}}},
		"negative":     {{"a", Ref{File: f, Offset: -1}}},
		"overflow":     {{"a", Ref{File: f, Offset: 1 << 62, Length: 1 << 62}}},
		"no file":      {{"a", Ref{Length: 1}}},
		"escaping":     {{"a", Ref{File: File{Base: "../", Name: "x"}, Length: 1}}},
		"absolute":     {{"a", Ref{File: File{Name: "/etc/passwd"}, Length: 1}}},
	} {
		if _, _, err := EncodeTree(entries, OrbaxConfig([16]byte{}), func(int) (File, int64) { return f, 0 }); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	one := []Entry{{"a", InlineRef(nil)}}
	if _, _, err := EncodeTree(one, Config{}, nil); !errors.Is(err, errs.Invalid) {
		t.Errorf("zero config: %v, want invalid", err)
	}
	if _, _, err := EncodeTree(one, OrbaxConfig([16]byte{}), func(int) (File, int64) { return File{Name: ".."}, 0 }); !errors.Is(err, errs.Invalid) {
		t.Errorf("node outside: %v, want invalid", err)
	}
}

// The worked example of a manifest that Orbax wrote.
func TestManifestExample(t *testing.T) {
	uuid := [16]byte{0x02, 0x33, 0x29, 0x70, 0xf7, 0xc8, 0x5c, 0x9b, 0x53, 0x73, 0x1e, 0x74, 0x0d, 0x63, 0x5f, 0x15}
	m := NewManifest(OrbaxConfig(uuid), Node{File: File{Name: "d/9f51d9b77c0c771353c577b65dc7bba5"}, Length: 240,
		Stats: Stats{Keys: 4, TreeBytes: 240}}, time.Unix(0, 1778718340771198958))
	body, err := m.body()
	if err != nil {
		t.Fatal(err)
	}
	want := string(uuid[:]) + "\x00\x80\x08\x80\xc2\xd7\x2f\x04\x01\x00\x00\x00\x00\x01\x22\x00" +
		"d/9f51d9b77c0c771353c577b65dc7bba5" + "\x01\x01\x00\x00\x00\xf0\x01\x04\xf0\x01\x00\xee\xb7\x23\x29\xe8\x46\xaf\x18\x00"
	if string(body) != want {
		t.Errorf("% x\nwant\n% x", body, want)
	}
}

// The worked example of a file table with base paths.
func TestFileTableExample(t *testing.T) {
	a, b := strings.Repeat("a", 32), strings.Repeat("b", 32)
	set := newFileSet(slices.Values([]File{{"ocdbt.process_1/", "d/" + b}, {"ocdbt.process_0/", "d/" + a}}))
	want := "\x02\x0e\x32\x24\x10\x10ocdbt.process_0/d/" + a + "1/d/" + b
	got := set.append(nil)
	if string(got) != want {
		t.Errorf("% x\nwant\n% x", got, want)
	}
	c := &cursor{b: got}
	table := readFileTable(c, "up/", 1<<20)
	if d := cmp.Diff(fileTable{{"up/ocdbt.process_0/", "d/" + a}, {"up/ocdbt.process_1/", "d/" + b}}, table); d != "" || c.done() != nil {
		t.Errorf("%v: %s", c.err, d)
	}
}
