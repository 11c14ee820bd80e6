package ocdbt

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"pgregory.net/rapid"
)

// Changes and removals of ranges in any order leave what they leave one after the other.
func TestBatchIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Custom(func(t *rapid.T) string { return fmt.Sprintf("%02d", rapid.IntRange(0, 30).Draw(t, "key")) })
		var b Batch
		want := map[string]string{} // "" is removed by its key
		for range rapid.IntRange(0, 40).Draw(t, "changes") {
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				r := Range{Start: key.Draw(t, "start"), End: rapid.OneOf(key, rapid.Just("")).Draw(t, "end")}
				b.DeleteRange(r)
				maps.DeleteFunc(want, func(k, _ string) bool { return r.contains(k) })
			case 1:
				k := key.Draw(t, "removed")
				b.Delete(k)
				want[k] = ""
			case 2:
				b.Files() // looks at what is left so far
			default:
				k, v := key.Draw(t, "put"), rapid.StringN(1, 3, -1).Draw(t, "value")
				b.Put(k, []byte(v))
				want[k] = v
			}
		}
		b.settle()
		got := map[string]string{}
		for k, c := range b.changes {
			got[k] = string(c.data)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// A list makes the database that its entries make one by one, alone and with other changes.
func TestPutList(t *testing.T) {
	ctx := t.Context()
	list := []Entry{
		{Key: "a", Value: InlineRef([]byte("1"))},
		{Key: "b", Value: Ref{File: File{Name: "d/x"}, Offset: 3, Length: 4}},
		{Key: "c", Value: Ref{File: File{Name: "d/y"}, Length: 4}},
	}
	others := map[string]func(b *Batch){
		"nothing":          func(*Batch) {},
		"another key":      func(b *Batch) { b.Put("bb", []byte("2")) },
		"a key again":      func(b *Batch) { b.Put("b", []byte("2")) },
		"a key removed":    func(b *Batch) { b.Delete("b") },
		"a range removed":  func(b *Batch) { b.DeleteRange(Range{Start: "b"}) },
		"nothing's range":  func(b *Batch) { b.DeleteRange(Range{Start: "b", End: "a"}) },
		"another list":     func(b *Batch) { _ = b.PutList([]Entry{{Key: "c", Value: InlineRef(nil)}}) },
		"the files before": func(b *Batch) { b.Files() },
	}
	for what, other := range others {
		for _, first := range []bool{false, true} {
			var want, got Batch
			if first {
				other(&want)
				other(&got)
			}
			for _, e := range list {
				want.PutRef(e.Key, e.Value)
			}
			if err := got.PutList(list); err != nil {
				t.Fatal(err)
			}
			if !first {
				other(&want)
				other(&got)
			}
			if w, g := want.Files(), got.Files(); !maps.Equal(w, g) {
				t.Errorf("%s: files %v, want %v", what, g, w)
			}
			db, err := New(mem{}, OrbaxConfig([16]byte{1}), Options{})
			if err != nil {
				t.Fatal(err)
			}
			o := &CommitOptions{Name: "d/n", Time: time.Unix(1, 0)}
			w, err := db.Commit(ctx, &want, o)
			if err != nil {
				t.Fatal(err)
			}
			g, err := db.Commit(ctx, &got, o)
			if err != nil {
				t.Fatal(err)
			}
			same := func(a, b NewFile) bool { return a.Name == b.Name && bytes.Equal(a.Data, b.Data) }
			if !slices.EqualFunc(w.Files, g.Files, same) || !same(w.Manifest, g.Manifest) {
				t.Errorf("%s: another database", what)
			}
		}
	}
	for _, keys := range [][2]string{{"b", "a"}, {"a", "a"}} {
		if err := new(Batch).PutList([]Entry{{Key: keys[0]}, {Key: keys[1]}}); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%q: %v", keys, err)
		}
	}
}
