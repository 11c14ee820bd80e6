package crew

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// drawnReport is any report.
func drawnReport(t *rapid.T) report {
	text := rapid.StringMatching(`(layer|norm)_[0-9]{1,3}/c?/?[0-9]?`)
	r := report{leaves: leaves{}, entries: map[string]entries{}}
	for range rapid.IntRange(0, 5).Draw(t, "leaves") {
		l := leafSums{leafName: leafName{"state", text.Draw(t, "param")}, crc: rapid.Uint32().Draw(t, "crc")}
		l.size = rapid.Int64Range(0, 1<<50).Draw(t, "size")
		l.chunks = rapid.IntRange(0, 9).Draw(t, "chunks")
		l.sums = []chunkSum{}
		for at := range l.chunks {
			if rapid.Bool().Draw(t, "has") {
				l.sums = append(l.sums, chunkSum{at, rapid.Uint32().Draw(t, "sum")})
			}
		}
		r.leaves = append(r.leaves, l)
	}
	for _, item := range []string{"state", "other"} {
		list := entries{}
		for range rapid.IntRange(0, 6).Draw(t, "entries") {
			e := ocdbt.Entry{Key: text.Draw(t, "key")}
			if rapid.Bool().Draw(t, "inline") {
				e.Value = ocdbt.InlineRef([]byte(rapid.SampledFrom([]string{"", "{}", "values"}).Draw(t, "value")))
			} else {
				e.Value = ocdbt.Ref{File: ocdbt.File{Name: rapid.SampledFrom([]string{"d/1", "d/2"}).Draw(t, "file")},
					Offset: rapid.Int64Range(0, 1<<60).Draw(t, "offset"), Length: rapid.Int64Range(0, 1<<40).Draw(t, "length")}
			}
			list = append(list, e)
		}
		r.entries[item] = list
	}
	return r
}

// A report is read as it was packed, without the entries that the primary has.
func TestReportsArePacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawnReport(t)
		tail := want.pack()
		got := report{Leaves: want.Leaves, Entries: want.Entries}
		if err := got.unpack(tail); err != nil {
			t.Fatal(err)
		}
		known := map[string]map[string][]byte{"state": {}}
		for _, e := range want.entries["state"] {
			if e.Value.IsInline() && rapid.Bool().Draw(t, "known") {
				if _, twice := known["state"][e.Key]; !twice {
					known["state"][e.Key] = e.Value.Inline
				}
			}
		}
		err := got.parse(known)
		left := entries{}
		for _, e := range want.entries["state"] {
			b, ok := known["state"][e.Key]
			switch {
			case !ok || !e.Value.IsInline():
				left = append(left, e)
			case string(b) != string(e.Value.Inline):
				if errs.KindOf(err) != errs.Mismatch {
					t.Fatalf("another value of %s: %v", e.Key, err)
				}
				return
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		want.entries["state"] = left
		inside := cmp.AllowUnexported(leafSums{}, chunkSum{}, leafName{})
		if d := cmp.Diff(want.leaves, got.leaves, inside, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
		if d := cmp.Diff(want.entries, got.entries, cmpopts.EquateEmpty()); d != "" {
			t.Fatal(d)
		}
	})
}

// Damaged bytes after a message are an error, or other values, and never more memory or a panic.
func TestDamagedTails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawnReport(t)
		tail := want.pack()
		damaged := slices.Clone(tail)
		switch n := rapid.IntRange(0, len(damaged)-1).Draw(t, "at"); rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			damaged = damaged[:n]
		case 1:
			damaged = append(damaged, 0)
		default:
			damaged[n] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		got := report{Leaves: want.Leaves, Entries: want.Entries}
		err := got.unpack(damaged)
		if err == nil {
			err = got.parse(nil)
		}
		if err != nil && errs.KindOf(err) != errs.Corrupt {
			t.Fatal(err)
		}
		if err == nil && len(damaged) != len(tail) {
			t.Fatal("another length is no error")
		}
	})
}

// rollsOf returns the rolls of processes as they are read by process 0.
func rollsOf(t *testing.T, trees ...*tree.Node) (map[int]roll, []writer.Item) {
	t.Helper()
	items := []writer.Item{{Name: "state", Tree: trees[0]}}
	own, err := rollOf(items, nil)
	if err != nil {
		t.Fatal(err)
	}
	rolls := map[int]roll{0: own}
	for p, n := range trees[1:] {
		r, err := rollOf([]writer.Item{{Name: "state", Tree: n}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		tail := r.pack()
		r.Items[0].leaves, r.Items[0].packed, r.Items[0].places = nil, nil, places{}
		if err := r.unpack(tail, own); err != nil {
			t.Fatal(err)
		}
		rolls[p+1] = r
	}
	return rolls, items
}

// part is a leaf of n elements of which a process has those from at on, count of them.
func part(n, at, count int) *tree.Node {
	p := writer.Parts{DType: tensor.Uint8, Shape: tensor.Shape{n}}
	if count > 0 {
		p.Parts = []writer.Part{{Origin: []int{at}, Data: tensor.New(tensor.Uint8, count)}}
	}
	return &tree.Node{Value: p}
}

func dict(pairs ...any) *tree.Node {
	d := tree.NewDict()
	for i := 0; i < len(pairs); i += 2 {
		d.Set(pairs[i].(string), pairs[i+1].(*tree.Node))
	}
	return d
}

// Processes may list the leaves in another order, and the lowest of those that have a shard writes
// it.
func TestLeavesInAnotherOrder(t *testing.T) {
	second, third := dict("b", part(6, 0, 3), "a", part(4, 2, 2)), dict("a", part(4, 2, 2), "b", part(6, 3, 3))
	rolls, items := rollsOf(t, dict("a", part(4, 0, 2), "b", part(6, 0, 0)), second, third)
	for self, want := range []map[string]int{{"a": 2}, {"a": 2, "b": 3}, {"b": 3}} {
		g := Group{Self: self, Active: []int{0, 1, 2}}
		r := rolls[self]
		if self > 0 { // it has its own parts
			var err error
			items = []writer.Item{{Name: "state", Tree: []*tree.Node{nil, second, third}[self]}}
			if r, err = rollOf(items, nil); err != nil {
				t.Fatal(err)
			}
		}
		all := map[int]roll{0: rolls[0], 1: rolls[1], 2: rolls[2]}
		all[self] = r
		if _, err := g.settle(items, all); err != nil {
			t.Fatal(err)
		}
		shares, err := g.sharesOf("state", all)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for path, s := range shares {
			for _, p := range s.parts {
				got[path] += p.Data.Len()
			}
		}
		if !cmp.Equal(got, want) {
			t.Errorf("process %d writes %v, want %v", self, got, want)
		}
	}
}

// A roll whose places are damaged, or belong to other leaves, is an error.
func TestDamagedPlaces(t *testing.T) {
	state := dict("a", part(4, 0, 2), "b", part(6, 0, 3))
	own, err := rollOf([]writer.Item{{Name: "state", Tree: state}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	more := dict("a", part(4, 2, 2), "b", part(6, 3, 3), "c", part(1, 0, 1))
	other, err := rollOf([]writer.Item{{Name: "state", Tree: more}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tail := other.pack()
	for at := range tail {
		for what, b := range map[string][]byte{
			"cut":     tail[:at],
			"flipped": func() []byte { b := slices.Clone(tail); b[at] ^= 0x80; return b }(),
		} {
			r := roll{Items: slices.Clone(other.Items)}
			r.Items[0].leaves, r.Items[0].places = nil, places{}
			err := r.unpack(b, own)
			if damaged := errs.KindOf(err) == errs.Corrupt; !damaged && (what == "cut" || err != nil) {
				t.Errorf("%s at %d: %v", what, at, err)
			}
		}
	}
}

// Places of another number of axes than the leaf has are damage.
func TestPlacesOfOtherAxes(t *testing.T) {
	rolls, items := rollsOf(t, dict("a", part(4, 0, 2)), dict("a", part(4, 2, 2)))
	other := rolls[1]
	other.Items[0].places = places{at: []int32{0, 4}, axes: []int32{2}, boxes: []int{0, 0, 2, 2}}
	for _, split := range []bool{false, true} {
		g := Group{Active: []int{0, 1}, Replicas: Replicas{Split: split}}
		if _, err := g.dealOut(items, map[int]roll{0: rolls[0], 1: other}); errs.KindOf(err) != errs.Corrupt {
			t.Error(split, err)
		}
	}
}

// A chunk that two processes have written ends the save, and the error names the second process.
func TestOneChunkTwice(t *testing.T) {
	host, guest, _ := meetings(t)
	stored := entries{{Key: "w/c/0", Value: ocdbt.Ref{File: ocdbt.File{Name: "d/1"}, Length: 4}}}
	guest.report = report{Manifest: (&manifest.Manifest{}).Append(nil), entries: map[string]entries{"state": stored}}
	if err := guest.sayReport(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	host.next = func(context.Context, store.Txn, *writer.Draft) error { return nil }
	draft := &writer.Draft{Manifest: &manifest.Manifest{}, Entries: map[string][]ocdbt.Entry{"state": stored}}
	err := host.Join(t.Context(), host.txn, draft)
	if errs.KindOf(err) != errs.Mismatch || !strings.Contains(err.Error(), "process 1") {
		t.Error(err)
	}
	if err := errors.Join(guest.close(), host.close()); err != nil {
		t.Fatal(err)
	}
}
