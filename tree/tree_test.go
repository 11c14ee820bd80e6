package tree

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// genTree draws trees of dictionaries, lists and structs without type names:
// those that key paths describe fully.
func genTree(depth int) *rapid.Generator[*Node] {
	return rapid.Custom(func(t *rapid.T) *Node {
		kinds := []Kind{Leaf, Dict, List, Named}
		if depth == 0 {
			kinds = kinds[:1]
		}
		n := &Node{Kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		if n.Kind == Leaf {
			n.Value = rapid.SampledFrom([]any{
				nil, true, int64(-7), uint64(math.MaxUint64), 0.5, math.NaN(), "text",
				tensor.FromSlice([]float32{1, 2, 3, 4}, 2, 2), tensor.New(tensor.BFloat16, 0, 3), tensor.ScalarOf(int8(3)),
			}).Draw(t, "value")
			return n
		}
		count := rapid.IntRange(0, 12).Draw(t, "children")
		if n.Kind.keyed() {
			key := rapid.SampledFrom([]string{"a", "b", "a.b", "", "0", "1", "x/y", "[", "ü", "w", "v", "long name"})
			n.Keys = rapid.SliceOfNDistinct(key, count, count, rapid.ID[string]).Draw(t, "keys")
		}
		for range count {
			n.Items = append(n.Items, genTree(depth-1).Draw(t, "child"))
		}
		return n
	})
}

func TestFlattenLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := genTree(3).Draw(t, "tree")
		if err := n.Check(); err != nil {
			t.Fatal(err)
		}
		entries := Flatten(n)
		back, err := Unflatten(entries)
		if err != nil {
			t.Fatal(err)
		}
		if diff := FormatDiff(Diff(n, back)); diff != "" || !Equal(n, back) {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(paths(entries), paths(Flatten(back))); diff != "" {
			t.Fatal("order: ", diff)
		}
		for _, e := range entries {
			if n.At(e.Path) != e.Node {
				t.Fatalf("At(%s)", e.Path)
			}
		}
	})
}

func paths(entries []Entry) []string {
	var s []string
	for _, e := range entries {
		s = append(s, e.Path.String())
	}
	return s
}

func TestFlattenOrder(t *testing.T) {
	n := NewDict().
		Set("w", NewLeaf(1)).
		Set("opt", NewList(NewDict(), NewLeaf(nil), NewDict().Set("x.y", NewLeaf("s")))).
		Set("a", &Node{Kind: Named, Keys: []string{"f"}, Items: []*Node{NewList()}})
	want := []string{"w", "opt[0]", "opt[1]", `opt[2]["x.y"]`, "a.f"}
	if diff := cmp.Diff(want, paths(Flatten(n))); diff != "" {
		t.Error(diff)
	}
	var params []string
	for _, e := range Flatten(n) {
		params = append(params, e.Path.Param())
	}
	if diff := cmp.Diff([]string{"w", "opt.0", "opt.1", "opt.2.x.y", "a.f"}, params); diff != "" {
		t.Error(diff)
	}
	if e := Flatten(NewLeaf(3)); len(e) != 1 || e[0].Path.Param() != "" || e[0].Path.String() != "(root)" {
		t.Errorf("bare leaf: %v", e)
	}
}

// path reads "a.b[0]" with names of dictionary keys; ":" marks an attribute.
func path(s string) Path {
	var p Path
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return r == '.' }) {
		if name, ok := strings.CutPrefix(f, ":"); ok {
			p = append(p, Key{name, KeyAttr})
		} else if name, ok := strings.CutPrefix(f, "#"); ok {
			p = append(p, Key{name, KeyIndex})
		} else {
			p = append(p, Key{f, KeyDict})
		}
	}
	return p
}

func TestUnflattenErrors(t *testing.T) {
	for _, c := range []struct {
		paths   []string
		mention string
	}{
		{nil, "no entry"},
		{[]string{"a", "a"}, "a"},
		{[]string{"a", "a.b"}, "b"},
		{[]string{"a.b", "a"}, "a"},
		{[]string{"l.#0", "l.#2"}, "no index 1"},
		{[]string{"l.#00"}, "no index 0"},
		{[]string{"l.#999999999999"}, "no index 0"},
		{[]string{"l.#0", "l.x"}, "dict key"},
		{[]string{"", ""}, "(root)"},
		{[]string{strings.Repeat("x.", 5000)}, "depth"},
	} {
		var entries []Entry
		for _, p := range c.paths {
			entries = append(entries, Entry{path(p), NewLeaf(1)})
		}
		_, err := Unflatten(entries)
		if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), c.mention) {
			t.Errorf("%.40v: %v", c.paths, err)
		}
	}
	if _, err := Unflatten([]Entry{{path("a"), nil}}); !errors.Is(err, errs.Invalid) {
		t.Errorf("nil node: %v", err)
	}
	n, err := Unflatten([]Entry{{path("l.#10"), NewLeaf(10)}, {path("l.#2"), NewLeaf(2)}, {path("l.#0"), NewLeaf(0)},
		{path("l.#1"), NewLeaf(1)}, {path("l.#3"), NewLeaf(3)}, {path("l.#4"), NewLeaf(4)}, {path("l.#5"), NewLeaf(5)},
		{path("l.#6"), NewLeaf(6)}, {path("l.#7"), NewLeaf(7)}, {path("l.#8"), NewLeaf(8)}, {path("l.#9"), NewLeaf(9)}})
	if err != nil || n.Get("l").Get("10").Value != int64(10) || n.Get("l").Len() != 11 {
		t.Errorf("sorted by name: %v, %v", n, err)
	}
}

func TestCollisions(t *testing.T) {
	entries := []Entry{{path("x"), NewLeaf(1)}, {Path{{"a.b", KeyDict}, {"c", KeyDict}}, NewLeaf(1)},
		{Path{{"a", KeyDict}, {"b.c", KeyAttr}}, NewLeaf(2)}}
	err := Collisions(entries)
	if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), `["a.b"].c and a["b.c"]`) {
		t.Error(err)
	}
	if err := Collisions(entries[:2]); err != nil {
		t.Error(err)
	}
}

func TestPathCompare(t *testing.T) {
	sorted := []Path{nil, path("#2"), path("#10"), path("#10.a"), path("a"), path(":a"), path("a.b"), path("a.c"), path("b")}
	slices.SortFunc(sorted, Path.Compare)
	want := []string{"(root)", "[2]", "[10]", "[10].a", "a", "a.b", "a.c", "a", "b"}
	var got []string
	for _, p := range sorted {
		got = append(got, p.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	gen := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Key {
		return Key{rapid.SampledFrom([]string{"1", "2", "10", "9", "95", "a"}).Draw(t, "name"), KeyKind(rapid.IntRange(0, 2).Draw(t, "kind"))}
	}), 0, 2)
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := Path(gen.Draw(t, "a")), Path(gen.Draw(t, "b")), Path(gen.Draw(t, "c"))
		if a.Compare(b) != -b.Compare(a) {
			t.Fatal("not antisymmetric")
		}
		if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
			t.Fatal("not transitive")
		}
		if (a.Compare(b) == 0) != slices.Equal(a, b) {
			t.Fatal("equal paths")
		}
	})
}

func TestCheck(t *testing.T) {
	loop := NewDict()
	loop.Set("self", loop)
	for name, c := range map[string]struct {
		n    *Node
		kind errs.Kind
	}{
		"nil":        {nil, errs.Invalid},
		"nil child":  {NewList(nil), errs.Invalid},
		"keys":       {&Node{Kind: Dict, Keys: []string{"a"}}, errs.Invalid},
		"list keys":  {&Node{Kind: List, Keys: []string{"a"}}, errs.Invalid},
		"twice":      {&Node{Kind: Dict, Keys: []string{"a", "a"}, Items: []*Node{NewLeaf(1), NewLeaf(1)}}, errs.Invalid},
		"leaf items": {&Node{Items: []*Node{NewLeaf(1)}}, errs.Invalid},
		"narrow":     {&Node{Value: int32(1)}, errs.Unsupported},
		"two forms":  {&Node{Value: uint64(1)}, errs.Invalid},
		"tensor":     {&Node{Value: tensor.Tensor{DType: tensor.Int8, Shape: tensor.Shape{2}}}, errs.Mismatch},
		"kind":       {&Node{Kind: 9}, errs.Invalid},
		"cycle":      {loop, errs.Invalid},
	} {
		if err := c.n.Check(); errs.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDiff(t *testing.T) {
	a := NewDict().
		Set("same", NewLeaf("x")).
		Set("w", NewLeaf(tensor.FromSlice([]float32{1, 2, 3, 4}, 2, 2))).
		Set("step", NewLeaf(3)).
		Set("gone", NewDict().Set("x", NewLeaf(1))).
		Set("shape", NewLeaf(tensor.New(tensor.Int8, 2))).
		Set("list", NewList(NewLeaf(1), NewLeaf(2)))
	b := NewDict().
		Set("list", NewList(NewLeaf(1))).
		Set("shape", NewLeaf(tensor.New(tensor.Uint8, 2))).
		Set("new", NewLeaf(nil)).
		Set("step", NewLeaf(4.0)).
		Set("w", NewLeaf(tensor.FromSlice([]float32{1, 2, 3.5, 0}, 2, 2))).
		Set("same", NewLeaf("x"))
	want := `~ w: want float32[2,2] with 3 at [1,0], got 3.5 (2 of 4 elements differ)
~ step: want int 3, got float 4
- gone: dict of 1
~ shape: want int8[2], got uint8[2]
- list[1]: int 2
+ new: nil
`
	if diff := cmp.Diff(want, FormatDiff(Diff(a, b))); diff != "" {
		t.Error(diff)
	}
	back := `+ list[1]: int 2
~ shape: want uint8[2], got int8[2]
- new: nil
~ step: want float 4, got int 3
~ w: want float32[2,2] with 3.5 at [1,0], got 3 (2 of 4 elements differ)
+ gone: dict of 1
`
	if diff := cmp.Diff(back, FormatDiff(Diff(b, a))); diff != "" {
		t.Error(diff)
	}
	if Equal(a, b) || !Equal(a, a) || Equal(NewLeaf(0.0), NewLeaf(math.Copysign(0, -1))) {
		t.Error("Equal")
	}
	if d := Diff(nil, a); len(d) != 1 || d[0].Kind != Extra {
		t.Errorf("%v", d)
	}
}

func TestDiffLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := genTree(2).Draw(t, "a"), genTree(2).Draw(t, "b")
		ab, ba := Diff(a, b), Diff(b, a)
		if Equal(a, b) != (len(ab) == 0) || len(ab) != len(ba) {
			t.Fatalf("%v\n%v", ab, ba)
		}
		flip := map[DiffKind]DiffKind{Missing: Extra, Extra: Missing, Changed: Changed, Type: Type}
		key := func(d Difference, k DiffKind) string { return fmt.Sprint(d.Path, k) }
		var x, y []string
		for i := range ab {
			x = append(x, key(ab[i], ab[i].Kind))
			y = append(y, key(ba[i], flip[ba[i].Kind]))
		}
		slices.Sort(x)
		slices.Sort(y)
		if diff := cmp.Diff(x, y); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A dictionary of many leaves takes no allocation a leaf where its names ascend, and
// those that do not ascend are found all the same.
func TestUnflattenOfManyLeaves(t *testing.T) {
	const n = 10_000
	entries := make([]Entry, n)
	for i := range entries {
		entries[i] = Entry{Path{{Name: fmt.Sprintf("leaf%05d", i), Kind: KeyDict}}, NewLeaf(int64(i))}
	}
	build := func() {
		back, err := Unflatten(entries)
		if err != nil || len(back.Items) != n {
			t.Fatalf("%v", err)
		}
	}
	if a := testing.AllocsPerRun(3, build); a > 200 {
		t.Errorf("%v allocations of %d leaves, want at most 200", a, n)
	}
	slices.Reverse(entries)
	build()
	entries[0], entries[n/2] = entries[n/2], entries[0]
	build()
	if _, err := Unflatten(append(entries, entries[n/3])); !errors.Is(err, errs.Invalid) {
		t.Errorf("one name twice: %v", err)
	}
}
