package manifest

import (
	"bytes"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

func sample() *Manifest {
	return &Manifest{
		Label: "step \"3\"",
		Files: []File{
			{Name: "state/_METADATA", Size: 12, CRC: 0xdeadbeef}, {Name: "_CHECKPOINT_METADATA", Size: 3, CRC: 1}, {Name: "odd \"name\"\n"},
			{Name: "state/d/00", Size: 9, CRC: 2, Hash: Hash{1, 15: 0xff}, Age: 7},
			{Name: "state/d/01", Size: 9, CRC: 2, Runs: Runs([]byte("nine byte"), 0)},
		},
		Leaves: []Leaf{
			{Item: "state", Param: "w", Size: 4096, CRC: 7, Chunks: []uint32{1, 2, 0xffffffff}},
			{Item: "state", Param: "", Size: 4, CRC: 9},
		},
		Heads: []File{{Name: "state/d/00", Size: 3, CRC: 4}},
		Nodes: []File{{Name: "state/d/00", Size: 5, CRC: 6, Hash: HashOf([]byte("nodes"))}},
	}
}

func TestRoundTrip(t *testing.T) {
	m := sample()
	b := m.Append(nil)
	got, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, got, cmpopts.IgnoreUnexported(Manifest{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if l, ok := got.Leaf("state", "w"); !ok || len(l.Chunks) != 3 {
		t.Errorf("leaf w: %v %v", l, ok)
	}
	if c, ok := got.Leaves[0].Chunk(0); !ok || c != 9 {
		t.Errorf("single chunk: %v %v", c, ok)
	}
	if _, ok := got.Leaves[1].Chunk(3); ok {
		t.Error("a chunk beyond the last")
	}
}

func TestRoundTripLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &Manifest{}
		for _, n := range rapid.SliceOfDistinct(rapid.String(), rapid.ID[string]).Draw(t, "files") {
			f := File{Name: n, Size: rapid.Int64Min(0).Draw(t, "size"), CRC: rapid.Uint32().Draw(t, "crc")}
			if rapid.Bool().Draw(t, "hashed") {
				copy(f.Hash[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "hash"))
				f.Hash[0] |= 1
				f.Age = rapid.IntRange(0, 1<<31-1).Draw(t, "age")
			}
			if rapid.Bool().Draw(t, "digested") {
				b := bytes.Repeat([]byte(n), rapid.IntRange(0, 1<<16).Draw(t, "repeat"))
				f.Size, f.Runs = int64(len(b)), Runs(b, 0, rapid.IntRange(0, len(b)).Draw(t, "part"))
			}
			m.Files = append(m.Files, f)
		}
		for _, n := range rapid.SliceOfDistinct(rapid.String(), rapid.ID[string]).Draw(t, "params") {
			l := Leaf{Item: "state", Param: n, Size: rapid.Int64Min(0).Draw(t, "size"), CRC: rapid.Uint32().Draw(t, "crc")}
			if rapid.Bool().Draw(t, "chunked") {
				l.Chunks = rapid.SliceOfN(rapid.Uint32(), 2, 9).Draw(t, "chunks")
			}
			m.Leaves = append(m.Leaves, l)
		}
		m.Label = rapid.String().Draw(t, "label")
		got, err := Parse(m.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, got, cmpopts.IgnoreUnexported(Manifest{})); d != "" {
			t.Fatalf("-want +got\n%s", d)
		}
	})
}

// Every flipped bit is noticed: the document protects itself.
func TestBitFlips(t *testing.T) {
	b := sample().Append(nil)
	for i := range b {
		for bit := 0; bit < 8; bit++ {
			b[i] ^= 1 << bit
			if _, err := Parse(b); err == nil {
				t.Fatalf("bit %d of byte %d flipped: no error", bit, i)
			} else if !errors.Is(err, errs.Corrupt) && !errors.Is(err, errs.Unsupported) {
				t.Fatalf("bit %d of byte %d flipped: %v", bit, i, err)
			}
			b[i] ^= 1 << bit
		}
	}
	for n := range b {
		if _, err := Parse(b[:n]); err == nil {
			t.Fatalf("cut to %d bytes: no error", n)
		}
	}
}

func TestCheckFile(t *testing.T) {
	m := &Manifest{Files: []File{{Name: "a", Size: 9, CRC: 0xe3069283}}}
	m, err := Parse(m.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.CheckFile("a", []byte("123456789")); err != nil {
		t.Error(err)
	}
	for name, b := range map[string]string{"a": "123456780", "b": "123456789"} {
		if err := m.CheckFile(name, []byte(b)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s %q: %v", name, b, err)
		}
	}
	if err := m.CheckFile("a", []byte("12345678")); !errors.Is(err, errs.Corrupt) {
		t.Errorf("short: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample().Append(nil))
	f.Add([]byte(headerPlain + "end 00000000\n"))
	f.Add(headed(headerHashed, "file 00000001 3 \"a\" 000000000000000000000000000000ff 2\n"))
	f.Add(headed(headerRuns, "file 00000001 3 \"a\" 2:"+strings.Repeat("A", 43)+" 1:"+strings.Repeat("A", 43)+"\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			return
		}
		if _, err := Parse(m.Append(nil)); err != nil {
			t.Errorf("our own spelling is refused: %v", err)
		}
	})
}

// headed is a document with a right checksum.
func headed(header, body string) []byte {
	b := []byte(header + body)
	return append(appendCRC(append(b, "end "...), crc32.Checksum(b, castagnoli)), '\n')
}

// Documents without hashes are of version 1, and hashes are read strictly.
func TestVersions(t *testing.T) {
	const file = "file 00000001 3 \"a\""
	const hash = " 000000000000000000000000000000ff"
	const nodes = "nodes 00000001 2 \"a\"" + hash
	digest := ":" + strings.Repeat("A", 43)
	for _, c := range []struct {
		header, line string
		kind         errs.Kind
	}{
		{headerPlain, file, errs.Other},
		{headerHashed, file, errs.Other},
		{headerHashed, file + hash + " 2", errs.Other},
		{headerPlain, file + hash + " 2", errs.Corrupt},
		{headerHashed, file + hash, errs.Corrupt},
		{headerHashed, file + hash[1:] + " 2", errs.Corrupt},
		{headerHashed, file + hash + " -1", errs.Corrupt},
		{headerHashed, file + hash + " 2 3", errs.Corrupt},
		{headerHashed, file + hash[:20] + " 2", errs.Corrupt},
		{headerHashed, file + " 00000000000000000000000000000000 2", errs.Corrupt},
		{headerHashed, file + " 000000000000000000000000000000fg 2", errs.Corrupt},
		{headerRuns, file, errs.Other},
		{headerRuns, file + " 3" + digest, errs.Other},
		{headerRuns, file + hash + " 2 3" + digest, errs.Other},
		{headerRuns, file + " 2" + digest + " 1" + digest, errs.Other},
		{headerHashed, file + " 3" + digest, errs.Corrupt},
		{headerRuns, file + " 4" + digest, errs.Corrupt},
		{headerRuns, file + " 2" + digest, errs.Corrupt},
		{headerRuns, file + " 3" + digest + " 0" + digest, errs.Corrupt},
		{headerRuns, file + " 4" + digest + " -1" + digest, errs.Corrupt},
		{headerRuns, file + " 3" + digest + "A", errs.Corrupt},
		{headerRuns, file + " 3:!" + digest[2:], errs.Corrupt},
		{headerRuns, file + " 3" + digest + " ", errs.Corrupt},
		{headerRuns, strings.Replace(file, " 3 ", " 300000 ", 1) + " 300000" + digest, errs.Corrupt},
		{headerRuns, "label \"a\"\n" + file, errs.Other},
		{headerHashed, "label \"a\"\n" + file, errs.Corrupt},
		{headerRuns, "label \"\"\n" + file, errs.Corrupt},
		{headerRuns, "label \"a\"\nlabel \"a\"\n" + file, errs.Corrupt},
		{headerRuns, "label \"a\" 1\n" + file, errs.Corrupt},
		{headerRuns, "label a\n" + file, errs.Corrupt},
		{headerRuns, file + "\n" + nodes, errs.Corrupt},
		{headerNodes, file + "\n" + nodes, errs.Other},
		{headerNodes, file + "\n" + nodes + "\n" + nodes, errs.Corrupt},
		{headerNodes, file + "\n" + nodes + " 1", errs.Corrupt},
		{headerNodes, file + "\n" + nodes[:40], errs.Corrupt},
		{headerNodes, file + "\n" + nodes[:len(nodes)-2] + "00", errs.Corrupt},
		{headerNodes, file + "\nnodes 00000001 2 a" + hash, errs.Corrupt},
		{headerNodes, file + "\nnodes 00000001 -2 \"a\"" + hash, errs.Corrupt},
		{headerNodes, "label \"a\"\n" + file + "\n" + nodes, errs.Other},
		{"bivouac.manifest 5\n", file, errs.Unsupported},
	} {
		m, err := Parse(headed(c.header, c.line+"\n"))
		if errs.KindOf(err) != c.kind {
			t.Errorf("%q: %v", c.header+c.line, err)
		}
		if err == nil && bytes.HasPrefix(m.Append(nil), []byte(headerPlain)) != (m.Files[0].Hash == Hash{} &&
			m.Files[0].Runs == nil && m.Label == "" && m.Nodes == nil) {
			t.Errorf("%q is written as %q", c.header+c.line, m.Append(nil))
		}
	}
}

// A part of a file that is not listed is refused, also one without bytes.
func TestPartOfNoFile(t *testing.T) {
	for name, m := range map[string]*Manifest{
		"a head":        {Heads: []File{{Name: "b"}}},
		"nodes":         {Nodes: []File{{Name: "b"}}},
		"a longer head": {Heads: []File{{Name: "a", Size: 2}}},
	} {
		m.Files = []File{{Name: "a", Size: 1}}
		if _, err := Parse(m.Append(nil)); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s: %v", name, err)
		}
	}
}
