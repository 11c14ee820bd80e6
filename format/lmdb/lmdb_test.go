package lmdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

// file is a file in memory.
type file struct{ b []byte }

func (f *file) WriteAt(p []byte, off int64) (int, error) {
	if need := int(off) + len(p); need > len(f.b) {
		f.b = append(f.b, make([]byte, need-len(f.b))...)
	}
	return copy(f.b[off:], p), nil
}

type pair struct{ key, value []byte }

// written returns a file with the given entries.
func written(t interface{ Fatal(...any) }, pageSize int, entries []pair) []byte {
	f := &file{}
	w, err := NewWriter(f, pageSize)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.Add(e.key, e.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.b
}

// scanned returns all entries of a file.
func scanned(b []byte) (list []pair, err error) {
	d, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	err = d.Scan(context.Background(), func(e Entry) error {
		v, err := d.Value(e)
		list = append(list, pair{bytes.Clone(e.Key), v})
		return err
	})
	return list, err
}

// TestWrittenIsRead: what a Writer writes, a scan finds, for pages of every size.
func TestWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{512, 1024, 4096, 16384, 32768}).Draw(t, "size")
		keys := rapid.SliceOfNDistinct(rapid.StringN(1, 20, 60), 0, 300, rapid.ID).Draw(t, "keys")
		slices.Sort(keys)
		var want []pair
		for _, k := range keys {
			n := rapid.SampledFrom([]int{0, 1, 7, 100, 400, 3000, 9000}).Draw(t, "n")
			want = append(want, pair{[]byte(k), bytes.Repeat([]byte(k), n/len(k)+1)[:n]})
		}
		got, err := scanned(written(t, size, want))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d entries, want %d", len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i].key, want[i].key) || !bytes.Equal(got[i].value, want[i].value) {
				t.Fatalf("entry %d: got %q of %d bytes, want %q of %d", i, got[i].key, len(got[i].value), want[i].key,
					len(want[i].value))
			}
		}
	})
}

func numbered(n int, value func(i int) []byte) (list []pair) {
	for i := range n {
		list = append(list, pair{fmt.Appendf(nil, "%08d", i), value(i)})
	}
	return list
}

// TestManyEntries: a tree of several levels is walked in the order of its keys.
func TestManyEntries(t *testing.T) {
	want := numbered(20000, func(i int) []byte { return fmt.Appendf(nil, "value %d", i) })
	b := written(t, 512, want)
	d, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if d.depth < 3 || d.Len() != 20000 || d.PageSize() != 512 {
		t.Fatalf("depth %d, %d entries, pages of %d", d.depth, d.Len(), d.PageSize())
	}
	i := 0
	err = d.Scan(context.Background(), func(e Entry) error {
		if string(e.Key) != string(want[i].key) {
			t.Fatalf("entry %d: %q", i, e.Key)
		}
		i++
		return nil
	})
	if err != nil || i != 20000 {
		t.Fatal(i, err)
	}
	stop := errors.New("stop")
	if err := d.Scan(context.Background(), func(Entry) error { return stop }); !errors.Is(err, stop) {
		t.Fatalf("got %v, want the function's error", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := d.Scan(ctx, func(Entry) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v after the context ended", err)
	}
}

// sample is a small file with a value that has pages of its own.
func sample(t interface{ Fatal(...any) }) []byte {
	return written(t, 512, numbered(60, func(i int) []byte { return bytes.Repeat([]byte{byte(i)}, i*i) }))
}

// TestDamage: each kind of damage is refused, and the error names the page.
func TestDamage(t *testing.T) {
	root := func(b []byte) int { return int(le.Uint64(b[512+headerSize+24+recordSize+40:])) }
	for _, c := range []struct {
		name   string
		damage func(b []byte) []byte
		kind   errs.Kind
		text   string
	}{
		{"empty file", func([]byte) []byte { return nil }, errs.Corrupt, "page 0"},
		{"no magic", func(b []byte) []byte { b[16] = 0; return b }, errs.Corrupt, "page 0"},
		{"second magic", func(b []byte) []byte { b[512+16] = 0; return b }, errs.Corrupt, "page 1"},
		{"cut behind the first page", func(b []byte) []byte { return b[:600] }, errs.Corrupt, "page 1"},
		{"version", func(b []byte) []byte { b[20] = 2; return b }, errs.Unsupported, "version"},
		{"page size", func(b []byte) []byte { b[16+24] = 1; return b }, errs.Corrupt, "page size"},
		{"big-endian", func(b []byte) []byte { slices.Reverse(b[16:20]); return b }, errs.Unsupported, "big-endian"},
		{"32 bits", func(b []byte) []byte { copy(b[12:], b[16:]); return b }, errs.Unsupported, "32-bit"},
		{"several values", func(b []byte) []byte { b[512+16+24+48+4] |= severalEach; return b }, errs.Unsupported, "DUPSORT"},
		{"root outside", func(b []byte) []byte { le.PutUint64(b[512+16+24+48+40:], 1<<40); return b }, errs.Corrupt, "page 1099511627776"},
		{"depth", func(b []byte) []byte { b[512+16+24+48+6] = 1; return b }, errs.Corrupt, "flags"},
		{"depth of 60", func(b []byte) []byte { b[512+16+24+48+6] = 60; return b }, errs.Corrupt, "levels"},
		{"entries", func(b []byte) []byte { b[512+16+24+48+32]--; return b }, errs.Corrupt, "entries"},
		{"more entries", func(b []byte) []byte { b[512+16+24+48+32]++; return b }, errs.Corrupt, "entries"},
		{"too many entries", func(b []byte) []byte { b[512+16+24+48+32+6] = 1; return b }, errs.Corrupt, "entries"},
		{"cut", func(b []byte) []byte { return b[:len(b)-512] }, errs.Corrupt, "page"},
		{"number of the root", func(b []byte) []byte { b[512*root(b)]++; return b }, errs.Corrupt, fmt.Sprintf("page %d", root(sample(t)))},
		{"root points at itself", func(b []byte) []byte {
			r := root(b)
			node := 512*r + int(le.Uint16(b[512*r+headerSize:]))
			le.PutUint32(b[node:], uint32(r))
			return b
		}, errs.Corrupt, fmt.Sprintf("page %d", root(sample(t)))},
		{"free room", func(b []byte) []byte { le.PutUint16(b[512*root(b)+12:], 600); return b }, errs.Corrupt, "free room"},
		{"node outside", func(b []byte) []byte { le.PutUint16(b[512*root(b)+headerSize:], 511); return b }, errs.Corrupt, "node 0"},
		{"order of keys", func(b []byte) []byte {
			i := bytes.Index(b, []byte("00000003"))
			b[i+7] = '1'
			return b
		}, errs.Corrupt, "a key after"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := scanned(c.damage(sample(t)))
			if errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v, want kind %v and %q", err, c.kind, c.text)
			}
		})
	}
}

// TestManyPaths walks a tree in which each page has the same child 20 times. There are 20^30 ways
// to its empty leaf, and the meta page claims more pages than the file has. The walk must end soon.
func TestManyPaths(t *testing.T) {
	const size, depth = 512, 31
	b := written(t, size, nil)
	db := b[size+headerSize+24+recordSize:]
	le.PutUint16(db[6:], depth)
	le.PutUint64(db[40:], 2)             // the root
	le.PutUint64(db[recordSize:], 1<<40) // the last page
	for level := range uint64(depth) {
		page := make([]byte, size)
		nodes := 20
		le.PutUint16(page[10:], pageBranch)
		if level == depth-1 {
			nodes = 0
			le.PutUint16(page[10:], pageLeaf)
		}
		le.PutUint64(page, 2+level)
		le.PutUint16(page[12:], uint16(headerSize+2*nodes))
		le.PutUint16(page[14:], uint16(size-nodeSize*nodes))
		for i := range nodes {
			at := size - nodeSize*(i+1)
			le.PutUint16(page[headerSize+2*i:], uint16(at))
			le.PutUint32(page[at:], uint32(3+level))
		}
		b = append(b, page...)
	}
	if _, err := scanned(b); errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "a tree of at most") {
		t.Fatalf("got %v", err)
	}
}

// TestDamagedOverflow: the pages of a long value are checked when it is read, and Scan checks that
// they lie in the file.
func TestDamagedOverflow(t *testing.T) {
	b := written(t, 512, numbered(3, func(int) []byte { return make([]byte, 3000) }))
	at := bytes.Index(b, []byte{pageOverflow, 0, 6, 0}) // flags and number of pages
	if at < 0 {
		t.Fatal("no page of a long value")
	}
	b[at] = pageLeaf
	page := at / 512
	if _, err := scanned(b); errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), fmt.Sprintf("page %d",
		page)) {
		t.Fatalf("got %v, want an error of page %d", err, page)
	}
	b[at], b[at+2] = pageOverflow, 5
	if _, err := scanned(b); errs.KindOf(err) != errs.Corrupt {
		t.Fatalf("got %v for a value on too few pages", err)
	}
}

// TestDatabasesWithin: a database within the main one, and a key with several values, are refused
// by name.
func TestDatabasesWithin(t *testing.T) {
	for flags, want := range map[uint16]string{nodeDatabase: `database named "00000001"`,
		nodeDuplicates: `several for "00000001"`} {
		b := written(t, 512, numbered(3, func(int) []byte { return make([]byte, recordSize) }))
		key := bytes.Index(b, []byte("00000001"))
		le.PutUint16(b[key-4:], flags)
		if _, err := scanned(b); errs.KindOf(err) != errs.Unsupported || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestNoCrash: no byte of a file, and no cut of it, makes a scan fail in another way than by an
// error.
func TestNoCrash(t *testing.T) {
	whole := sample(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		b := bytes.Clone(whole)
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] ^= byte(1 << r.IntN(8))
		}
		scanned(b[:len(b)-r.IntN(2)*r.IntN(len(b))]) //nolint:errcheck // some damage is not seen: values have no checksum
	}
}

func TestWriterRefuses(t *testing.T) {
	if _, err := NewWriter(&file{}, 1000); errs.KindOf(err) != errs.Invalid {
		t.Fatalf("got %v for pages of 1000 bytes", err)
	}
	w, err := NewWriter(&file{}, 4096)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", strings.Repeat("x", 512)} {
		if err := w.Add([]byte(key), nil); errs.KindOf(err) != errs.Invalid {
			t.Fatalf("got %v for a key of %d bytes", err, len(key))
		}
	}
	if err := w.Add([]byte("b"), nil); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"b", "a"} {
		if err := w.Add([]byte(key), nil); errs.KindOf(err) != errs.Invalid {
			t.Fatalf("got %v for %q after b", err, key)
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add(sample(f))
	f.Add(written(f, 512, nil))
	f.Add(written(f, 1024, numbered(5, func(i int) []byte { return []byte{byte(i)} })))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := scanned(b)
		if err != nil {
			return
		}
		for i := 1; i < len(list); i++ {
			if bytes.Equal(list[i-1].key, list[i].key) {
				t.Fatalf("key %q twice", list[i].key)
			}
		}
	})
}
