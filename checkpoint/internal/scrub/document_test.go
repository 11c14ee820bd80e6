package scrub

import (
	"bytes"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

var entries = []Entry{
	{Step: 1, Directory: "1", Manifest: [16]byte{1, 2}, At: time.Unix(1_700_000_000, 0), Bytes: 77},
	{Step: 20, Directory: "step 20", At: time.Unix(5, 0), Damages: []Damage{{"state/d/ab", "want \"x\"\ngot y"}, {"b", ""}}},
}

// What is written is read; a document with a flipped bit says nothing.
func TestDocument(t *testing.T) {
	doc := Append(nil, entries)
	got, err := Parse(doc)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(entries, got); d != "" {
		t.Error(d)
	}
	for i := range len(doc) * 8 {
		bad := bytes.Clone(doc)
		bad[i/8] ^= 1 << (i % 8)
		if _, err := Parse(bad); err == nil {
			t.Fatalf("bit %d: no error", i)
		}
	}
}

// A line that is not a record is refused, though the checksum of the document is right.
func TestLinesThatAreNoRecords(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef"
	parse := func(lines string) error {
		doc := []byte(header + lines)
		_, err := Parse(fmt.Appendf(doc, "end %08x\n", crc.Sum(doc)))
		return err
	}
	whole := "step 1 \"1\" " + hash + " 5 6\n"
	if err := parse(whole + "damage \"a\" \"b\"\n"); err != nil {
		t.Fatal(err)
	}
	for _, lines := range []string{
		"else\n",
		"damage \"a\" \"b\"\n",
		"step x \"1\" " + hash + " 5 6\n",
		"step 1 1 " + hash + " 5 6\n",
		"step 1 " + hash + " 5 6\n",
		"step 1 \"1\" " + hash[1:] + " 5 6\n",
		"step 1 \"1\" " + hash[1:] + "g 5 6\n",
		"step 1 \"1\" " + hash + " x 6\n",
		"step 1 \"1\" " + hash + " 5 x\n",
		"step 1 \"1\" " + hash + " 5\n",
		"step 1 \"1\" " + hash + " 5 6 7\n",
		whole + "damage a \"b\"\n",
		whole + "damage \"a\" b\n",
		whole + "damage \"a\"\n",
		whole + "damage \"a\" \"b\" c\n",
	} {
		if err := parse(lines); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%q: %v", lines, err)
		}
	}
}

// Forget removes one step from the document. Without a document it makes none. If it
// cannot find out whether there is a document, it returns the error.
func TestForget(t *testing.T) {
	ctx := t.Context()
	mem := vfstest.NewMem()
	st := local.New(mem, "/", nil)
	if err := Forget(ctx, st, "run", "1"); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Stat(ctx, "run/"+Name); !errors.Is(err, errs.NotFound) {
		t.Errorf("a document was made: %v", err)
	}
	var kept []Entry
	for i, dir := range []string{"1", "2"} {
		doc := []byte("manifest of " + dir)
		if err := st.Put(ctx, "run/"+dir+"/"+manifest.Name, doc, store.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, Entry{Step: int64(i + 1), Directory: dir, Manifest: manifest.HashOf(doc), At: time.Unix(9, 0),
			Damages: []Damage{{"a", "b"}}})
	}
	if err := Write(ctx, st, "run", kept); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(kept, Read(ctx, st, "run")); d != "" {
		t.Error(d)
	}
	bad := vfstest.NewFault(mem, vfstest.Plan{N: 1, Err: syscall.EIO,
		Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpStat }})
	if err := Forget(ctx, local.New(bad, "/", nil), "run", "1"); !errors.Is(err, syscall.EIO) {
		t.Errorf("on a disk that does not answer: %v", err)
	}
	if err := Forget(ctx, st, "run", "1"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(kept[1:], Read(ctx, st, "run")); d != "" {
		t.Error(d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Append(nil, entries))
	f.Add(Append(nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := Parse(b)
		if err != nil {
			if !errors.Is(err, errs.Corrupt) && !errors.Is(err, errs.Unsupported) {
				t.Fatal(err)
			}
			return
		}
		again, err := Parse(Append(nil, list))
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			list[i].Damages = list[i].Damages[:min(len(list[i].Damages), maxDamages)]
		}
		if d := cmp.Diff(list, again); d != "" && len(list) > 0 {
			t.Fatal(d)
		}
	})
}
