package ocdbt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// varints appends numbers as the format writes them.
func varints(b []byte, v ...uint64) []byte {
	for _, x := range v {
		b = binary.AppendUvarint(b, x)
	}
	return b
}

func TestHostileNodes(t *testing.T) {
	const max = 1<<64 - 1
	leaf := func(files string, rest ...uint64) []byte { return varints(append([]byte{0}, files...), rest...) }
	for _, c := range []struct {
		name string
		body []byte
		keys uint64 // that the reference claims
	}{
		{"empty body", nil, 0},
		{"no entries", leaf("\x00", 0), 0},
		{"more entries than bytes", leaf("\x00", 1<<20), 1 << 20},
		{"too many entries", leaf("\x00", 1<<20+1), 1 << 20},
		{"endless number", append(leaf("\x00"), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), 1},
		{"key too long", leaf("\x00", 1, 65536), 1},
		{"value longer than the body", leaf("\x00", 1, 0, 100, 0), 1},
		{"inline value of 63 bits", leaf("\x00", 1, 0, 1<<62, 0), 1},
		{"unknown kind of value", leaf("\x00", 1, 0, 0, 2), 1},
		{"file that is not there", leaf("\x00", 1, 0, 1, 1, 0, 0), 1},
		{"offset overflows", leaf("\x01\x01\x00x", 1, 0, 1<<62, 1, 0, 1<<62), 1},
		{"prefix longer than the key", leaf("\x00", 2, 1, 0, 1, 'a', 0, 0, 0, 0), 2},
		{"keys in disorder", leaf("\x00", 2, 0, 1, 1, 'b', 'a', 0, 0, 0, 0), 2},
		{"the same key twice", leaf("\x00", 2, 0, 1, 1, 'a', 'a', 0, 0, 0, 0), 2},
		{"bytes left over", leaf("\x00", 1, 0, 0, 0, 0), 1},
		{"statistics", leaf("\x00", 1, 0, 0, 0), 2},
		{"another height", varints([]byte{1, 0}, 1, 0, 0), 1},
		{"more files than bytes", leaf("", max), 1},
		{"path that goes up", leaf("\x01\x04\x00../x", 1, 0, 1, 1, 0, 0), 1},
		{"path that starts at the root", leaf("\x01\x02\x00/x", 1, 0, 1, 1, 0, 0), 1},
		{"path with a backslash", leaf("\x01\x03\x00a\\x", 1, 0, 1, 1, 0, 0), 1},
		{"empty path", leaf("\x01\x00\x00", 1, 0, 1, 1, 0, 0), 1},
		{"base longer than the path", leaf("\x01\x01\x02x", 1, 0, 1, 1, 0, 0), 1},
		{"path shares more than there is", leaf("\x02\x05\x01\x01\x00\x00xy", 1, 0, 1, 1, 0, 0), 1},
		{"shares across bases", leaf("\x02\x02\x04\x01\x02\x03a/bcd", 1, 0, 1, 1, 0, 0), 1},
	} {
		b := sealer{}.seal(magicNode, c.body)
		ref := Node{File: File{Name: "d/n"}, Length: int64(len(b)), Stats: Stats{Keys: c.keys, TreeBytes: uint64(len(b))}}
		_, err := decodeNode(b, ref, DefaultMaxNodeBytes)
		if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "d/n at offset 0") {
			t.Errorf("%s: %v, want an error of kind corrupt with its place", c.name, err)
		}
	}
}

// Nodes that share their children stand for any number of keys; a list ends.
func TestSharedNodes(t *testing.T) {
	files := mem{}
	at := File{Name: "d/n"}
	put := func(b []byte) int64 {
		offset := int64(len(files["d/n"]))
		files["d/n"] = append(files["d/n"], b...)
		return offset
	}
	body, stats := leafBody([]Entry{{"", InlineRef(nil)}}, 0)
	b := reseal(magicNode, body)
	stats.TreeBytes += uint64(len(b))
	ref := Node{File: at, Offset: put(b), Length: int64(len(b)), Stats: stats}
	for height := 1; height < 60; height++ { // one child, under two prefixes
		body, stats := innerBody([]innerEntry{{"a", 1, ref}, {"b", 1, ref}}, 0, height)
		b := reseal(magicNode, body)
		stats.TreeBytes = saturate(stats.TreeBytes, uint64(len(b)))
		ref = Node{File: at, Offset: put(b), Length: int64(len(b)), Height: height, Stats: stats}
	}
	m, err := NewManifest(OrbaxConfig([16]byte{}), ref, testTime).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	files[ManifestName] = m
	db, err := Open(t.Context(), files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(t.Context(), db, nil); !errors.Is(err, errs.Corrupt) {
		t.Errorf("compact: %v, want corrupt", err)
	}
	if err := new(Batch).Embed(t.Context(), db, "x/"); !errors.Is(err, errs.Corrupt) {
		t.Errorf("embed: %v, want corrupt", err)
	}
	if r, err := Check(t.Context(), files, nil); err != nil || r.Nodes != 60 {
		t.Errorf("check: %+v, %v", r, err)
	}
}

// Prefix compression and zstd turn few bytes into many; the budget holds.
func TestBombsCostNothing(t *testing.T) {
	const n = 60_000
	body := varints([]byte{0, 0}, n)
	body = varints(body, 1) // shares of the keys: each one byte more than the last
	for i := 1; i < n-1; i++ {
		body = varints(body, uint64(i+1))
	}
	for range n {
		body = varints(body, 1)
	}
	body = append(body, strings.Repeat("a", n)...)
	body = append(body, make([]byte, 2*n)...) // empty inline values
	zeros := make([]byte, 256<<20)
	c := OrbaxConfig([16]byte{})
	for name, b := range map[string][]byte{
		"keys": sealer{}.seal(magicNode, body),
		"zstd": newSealer(c).seal(magicNode, zeros),
	} {
		ref := Node{File: File{Name: "d/n"}, Length: int64(len(b)), Stats: Stats{Keys: n, TreeBytes: uint64(len(b))}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decodeNode(b, ref, 64<<20)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, errs.Exhausted) {
			t.Errorf("%s: %v, want exhausted", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%s: %d bytes allocated", name, used)
		}
	}
}

// A node that is its own child, at every height that a manifest can claim.
func TestCyclesEnd(t *testing.T) {
	children := []innerEntry{{key: "a", node: Node{File: File{Name: "d/n"}, Length: 100, Stats: Stats{Keys: 1, TreeBytes: 1}}}}
	body, _ := innerBody(children, 0, 200)
	n := int64(len(sealer{}.seal(magicNode, body)))
	children[0].node.Length = n
	body, stats := innerBody(children, 0, 200)
	b := sealer{}.seal(magicNode, body)
	stats.TreeBytes += uint64(n)
	c := OrbaxConfig([16]byte{})
	m, err := NewManifest(c, Node{File: File{Name: "d/n"}, Length: n, Height: 200, Stats: stats}, testTime).Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), mem{ManifestName: m, "d/n": b}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Get(t.Context(), "a"); !errors.Is(err, errs.Corrupt) {
		t.Errorf("Get: %v, want corrupt", err)
	}
}

// Children that do not keep what their parent promises.
func TestBoundsOfChildren(t *testing.T) {
	for _, c := range []struct {
		name   string
		bounds [2]string // keys of the parent
		keys   [2]string // of the two leaves
		ok     bool
	}{
		{"sound", [2]string{"a", "m"}, [2]string{"b", "n"}, true},
		{"below its bound", [2]string{"a", "m"}, [2]string{"b", "c"}, false},
		{"in the place of the next", [2]string{"a", "m"}, [2]string{"m", "n"}, false},
	} {
		files := mem{}
		var children []innerEntry
		for i, k := range c.keys {
			body, stats := leafBody([]Entry{{k, InlineRef([]byte("v"))}}, 0)
			b := sealer{}.seal(magicNode, body)
			f := File{Name: fmt.Sprintf("d/%d", i)}
			files[f.Path()] = b
			stats.TreeBytes = uint64(len(b))
			children = append(children, innerEntry{key: c.bounds[i], node: Node{File: f, Length: int64(len(b)), Stats: stats}})
		}
		body, stats := innerBody(children, 0, 1)
		b := sealer{}.seal(magicNode, body)
		files["d/root"] = b
		stats.TreeBytes = saturate(stats.TreeBytes, uint64(len(b)))
		m, err := NewManifest(OrbaxConfig([16]byte{}), Node{File: File{Name: "d/root"}, Length: int64(len(b)), Height: 1, Stats: stats}, testTime).Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		files[ManifestName] = m
		db, err := Open(t.Context(), files, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, err = range db.List(t.Context(), Range{}) {
			if err != nil {
				break
			}
		}
		if c.ok && err != nil || !c.ok && !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestMissingAndShortFiles(t *testing.T) {
	entries := []Entry{{"a", Ref{File: File{Name: "d/v"}, Offset: 4, Length: 8}}}
	files, _, _ := build(t, OrbaxConfig([16]byte{}), entries, File{Name: "d/n"})
	open := func() (*DB, error) { return Open(t.Context(), files, Options{}) }
	db, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Values().Get(t.Context(), "a"); !errors.Is(err, errs.Corrupt) {
		t.Errorf("value file missing: %v, want corrupt", err)
	}
	files["d/v"] = make([]byte, 11)
	if _, err := db.Values().Get(t.Context(), "a"); !errors.Is(err, errs.Corrupt) {
		t.Errorf("value file short: %v, want corrupt", err)
	}
	if err := db.Values().ReadAt(t.Context(), "a", make([]byte, 4), 5); !errors.Is(err, errs.Invalid) {
		t.Errorf("beyond the value: %v, want invalid", err)
	}
	if _, err := db.Values().Get(t.Context(), "b"); !errors.Is(err, errs.NotFound) {
		t.Errorf("no such key: %v, want not found", err)
	}
	files["d/n"] = files["d/n"][:len(files["d/n"])-1]
	db, err = open()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Get(t.Context(), "a"); !errors.Is(err, errs.Corrupt) {
		t.Errorf("node cut short: %v, want corrupt", err)
	}
	for _, n := range []int{0, 4, 15, len(files[ManifestName]) - 1} {
		whole := files[ManifestName]
		files[ManifestName] = whole[:n]
		if _, err := open(); !errors.Is(err, errs.Corrupt) {
			t.Errorf("manifest of %d bytes: %v, want corrupt", n, err)
		}
		files[ManifestName] = whole
	}
	delete(files, ManifestName)
	if _, err := open(); !errors.Is(err, errs.NotFound) {
		t.Errorf("no manifest: %v, want not found", err)
	}
}

func TestVersionsThatAreNotThere(t *testing.T) {
	files := loadDir(t, "testdata/vectors/ocdbt-versions-a4/checkpoint")
	for _, o := range []Options{{Generation: 1 << 40}, {Time: testTime.AddDate(-60, 0, 0)}} {
		if _, err := Open(t.Context(), files, o); !errors.Is(err, errs.NotFound) {
			t.Errorf("%+v: %v, want not found", o, err)
		}
	}
	// A version between two manifests that does not exist in a numbered database.
	numbered := loadDir(t, "testdata/vectors/ocdbt-numbered/checkpoint")
	delete(numbered, "manifest.0000000000000009")
	db, err := Open(t.Context(), numbered, Options{})
	if err != nil || db.Version().Generation != 8 {
		t.Errorf("newest of the numbered manifests: %v, %v", db, err)
	}
	numbered["manifest.0000000000000007"], numbered["manifest.0000000000000008"] = nil, numbered["manifest.0000000000000007"]
	if _, err := Open(t.Context(), numbered, Options{}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("manifest under another number: %v, want corrupt", err)
	}
}

// Older versions of which the list is damaged are not to be had, and no commit
// extends it; the newest one is.
func TestDamagedVersionNodes(t *testing.T) {
	config := OrbaxConfig([16]byte{})
	config.VersionTreeArityLog2 = 1
	refused := 0
	for commits := 4; commits < 12; commits++ {
		files := mem{}
		db, err := New(files, config, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for g := range commits {
			var b Batch
			b.Put("k", []byte{byte(g)})
			c, err := db.Commit(t.Context(), &b, nil)
			if err != nil {
				t.Fatal(err)
			}
			files.write(t, c)
			if db, err = Open(t.Context(), files, Options{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range db.Manifest().Older {
			files[n.File.Path()][n.Offset+n.Length/2] ^= 1
		}
		if _, err := Open(t.Context(), files, Options{Generation: 1}); !errors.Is(err, errs.Corrupt) {
			t.Errorf("the first of %d versions: %v, want corrupt", commits, err)
		}
		if db, err = Open(t.Context(), files, Options{}); err != nil {
			t.Fatal(err)
		}
		var b Batch
		b.Put("k", nil)
		switch _, err := db.Commit(t.Context(), &b, nil); {
		case errors.Is(err, errs.Corrupt):
			refused++
		case err != nil:
			t.Errorf("commit after %d: %v, want corrupt", commits, err)
		}
	}
	if refused == 0 {
		t.Error("no commit extended a list")
	}
}
