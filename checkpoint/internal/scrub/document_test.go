package scrub

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
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
