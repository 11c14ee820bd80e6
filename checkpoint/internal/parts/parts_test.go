package parts

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tree"
)

// Names of parts sort by time and are recognised; the guard comes first, for readers that sort by
// name, and is not a part.
func TestNames(t *testing.T) {
	p := NewPart("run/c", time.Unix(1700000000, 5), [16]byte{0xab, 1})
	if want := "run/c.partial_save/c.partial_save.pending_1700000000000000005_ab010000000000000000000000000000"; p.Dir != want {
		t.Fatalf("%s, want %s", p.Dir, want)
	}
	base := p.Dir[len("run/c.partial_save/"):]
	got, ok := parsePending(store.Info{Name: base, Dir: true})
	if !ok || got.Time != p.Time || got.ID != p.ID {
		t.Fatal(got, ok)
	}
	for _, n := range []string{base + "0", base[:len(base)-1], "c.partial_save.pending_" + guard, "c",
		base + ".orbax-checkpoint-tmp", "c.partial_save.pending_x_" + p.ID} {
		if _, ok := parsePending(store.Info{Name: n, Dir: true}); ok {
			t.Errorf("%s is taken for a part", n)
		}
	}
	if g := "c.partial_save.pending_" + guard; !isGuard(g) || g >= base {
		t.Error("the guard does not come first")
	}
	for name, want := range map[string]bool{"c.partial_save": true, "a/c.partial_save": true, ".partial_save": false,
		"a/.partial_save": false, "c": false} {
		if IsSession(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func entry(v any, keys ...string) tree.Entry {
	e := tree.Entry{Node: tree.NewLeaf(v)}
	if v == "empty" {
		e.Node = tree.NewDict()
	}
	for _, k := range keys {
		e.Path = append(e.Path, tree.Key{Name: k})
	}
	return e
}

// Leaves clash with themselves, with what is above and with what is below; names
// that only look alike do not.
func TestClash(t *testing.T) {
	old := orbax.Tree{Entries: []orbax.Entry{
		{Path: entry(1, "a", "b").Path, ValueType: orbax.TypeNumpy}, {Path: entry(1, "e").Path, ValueType: orbax.TypeDict}, {Path: entry(1, "x.y").Path, ValueType: orbax.TypeScalar},
	}}
	for _, c := range []struct {
		added tree.Entry
		want  [][]string
	}{
		{entry(1, "a", "b"), [][]string{{"a", "b"}}},
		{entry(1, "a"), [][]string{{"a"}}},
		{entry(1, "a", "b", "c"), [][]string{{"a", "b"}}},
		{entry(1, "a", "c"), nil},
		{entry(1, "e"), nil},
		{entry(1, "e", "f"), nil},
		{entry("empty", "a"), nil},
		{entry(1, "a.b"), nil},
		{entry(1, "x", "y"), nil},
		{entry(1, "x.y"), [][]string{{"x.y"}}},
		{entry(1), [][]string{{}}},
	} {
		if d := cmp.Diff(c.want, Clash(old, []tree.Entry{c.added})); d != "" {
			t.Errorf("%s: %s", c.added.Path, d)
		}
	}
}

// A removal reads back as it was written.
func FuzzRemoval(f *testing.F) {
	f.Add(Removal{"state": {{"a", "b"}, {}}}.Append(nil))
	f.Add([]byte(`{"remove": 3}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		r, err := ParseRemoval(doc)
		if err != nil {
			return
		}
		again, err := ParseRemoval(r.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if len(r) != len(again) {
			t.Fatalf("%v, then %v", r, again)
		}
	})
}
