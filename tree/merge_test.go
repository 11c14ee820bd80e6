package tree

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

func dict(pairs ...any) *Node {
	n := NewDict()
	for i := 0; i < len(pairs); i += 2 {
		n.Set(pairs[i].(string), node(pairs[i+1]))
	}
	return n
}

func node(v any) *Node {
	if n, ok := v.(*Node); ok {
		return n
	}
	return NewLeaf(v)
}

func list(items ...any) *Node {
	n := NewList()
	for _, v := range items {
		n.Items = append(n.Items, node(v))
	}
	return n
}

func named(typ string, pairs ...any) *Node {
	n := dict(pairs...)
	n.Kind, n.Type = Named, typ
	return n
}

func tuple(items ...any) *Node {
	n := list(items...)
	n.Kind = Tuple
	return n
}

func TestMerge(t *testing.T) {
	for name, c := range map[string]struct {
		trees     []*Node
		overwrite bool
		want      *Node
	}{
		"none":               {nil, false, dict()},
		"one":                {[]*Node{dict("a", 1)}, false, dict("a", 1)},
		"apart":              {[]*Node{dict("a", 1, "b", dict("c", 2)), dict("d", 3, "b", dict("e", 4))}, false, dict("a", 1, "b", dict("c", 2, "e", 4), "d", 3)},
		"three":              {[]*Node{dict("a", 1), dict("b", 2), dict("c", 3)}, false, dict("a", 1, "b", 2, "c", 3)},
		"empty beside":       {[]*Node{dict("a", dict()), dict("a", dict("b", 1))}, false, dict("a", dict("b", 1))},
		"lists":              {[]*Node{list(dict("a", 1), dict()), list(dict(), dict("b", 2))}, false, list(dict("a", 1), dict("b", 2))},
		"later leaf":         {[]*Node{dict("a", 1), dict("a", 100)}, true, dict("a", 100)},
		"nil gives way":      {[]*Node{dict("a", 1), dict("a", nil)}, true, dict("a", 1)},
		"nil is filled":      {[]*Node{dict("a", nil), dict("a", 1)}, true, dict("a", 1)},
		"leaf over dict":     {[]*Node{dict("a", dict("b", 1)), dict("a", 5)}, true, dict("a", 5)},
		"dict over leaf":     {[]*Node{dict("a", 5), dict("a", dict("b", 1))}, true, dict("a", dict("b", 1))},
		"other number":       {[]*Node{dict("a", 5), dict("a", 1.5)}, true, dict("a", 1.5)},
		"list over dict":     {[]*Node{dict("a", 1, "b", 2), list(7, nil)}, true, list(7, nil)},
		"dict over pairs":    {[]*Node{list(list("k", 1), tuple(6, 7)), dict("a", 2)}, true, dict("k", 1, "6", 7, "a", 2)},
		"dict over dicts":    {[]*Node{list(dict("x", 1, "y", 2)), dict("a", 2)}, true, dict("x", "y", "a", 2)},
		"tuple over list":    {[]*Node{list(1, 2), tuple(3, nil)}, true, tuple(3, 2)},
		"structs":            {[]*Node{named("m.T", "a", nil, "b", 1), named("m.T", "b", 2, "a", 3)}, true, named("m.T", "b", 2, "a", 3)},
		"struct over dict":   {[]*Node{dict("a", 1), named("m.T", "a", 2)}, true, named("m.T", "a", 2)},
		"struct that grows":  {[]*Node{dict("x", 1), named("m.T", "a", 2)}, true, dict("x", 1, "a", 2)},
		"replaced and added": {[]*Node{dict("a", dict("b", 1, "c", 2)), dict("a", dict("c", 3, "d", 4))}, true, dict("a", dict("b", 1, "c", 3, "d", 4))},
	} {
		got, err := Merge(c.trees, &MergeOptions{Overwrite: c.overwrite})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		trees     []*Node
		overwrite bool
		path      string
	}{
		"same leaf":            {[]*Node{dict("a", dict("b", 1)), dict("a", dict("b", 2))}, false, "a.b"},
		"same nil":             {[]*Node{dict("a", 1), dict("a", nil)}, false, "a"},
		"leaf and dict":        {[]*Node{dict("a", 1), dict("a", dict())}, false, "a"},
		"dict and list":        {[]*Node{dict("a", dict()), dict("a", list())}, false, "a"},
		"other struct":         {[]*Node{named("m.T", "a", dict()), named("m.U", "b", 1)}, false, "(root)"},
		"lengths":              {[]*Node{dict("a", list(1)), dict("a", list(1, 2))}, true, "a"},
		"list over other dict": {[]*Node{dict("a", 1), list(1, 2)}, true, "(root)"},
		"dict over numbers":    {[]*Node{dict("a", list(1, 2)), dict("a", dict())}, true, "a[0]"},
		"dict over list keys":  {[]*Node{list(list(list(), 1)), dict()}, true, "[0]"},
	} {
		_, err := Merge(c.trees, &MergeOptions{Overwrite: c.overwrite})
		var e *errs.Error
		if !errors.As(err, &e) || errs.KindOf(err) != errs.Mismatch || e.Subject != c.path {
			t.Errorf("%s: got %v, want a mismatch at %s", name, err, c.path)
		}
	}
	if _, err := Merge([]*Node{dict(), nil}, nil); errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), "tree 1") {
		t.Errorf("a nil tree: %v", err)
	}
}

func TestMergeLeaf(t *testing.T) {
	whole := func(n *Node) bool { return n.Kind == Tuple }
	got, err := Merge([]*Node{dict("a", tuple(1, 2, 3)), dict("a", tuple(4))}, &MergeOptions{Overwrite: true, IsLeaf: whole})
	if err != nil || !Equal(got, dict("a", tuple(4))) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := Merge([]*Node{dict("a", tuple()), dict("a", tuple())}, &MergeOptions{IsLeaf: whole}); errs.KindOf(err) != errs.Mismatch {
		t.Errorf("two leaves: %v", err)
	}
}

// The parts of a tree join to the tree, and the parts do not change.
func TestMergeOfParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := dict("r", drawDict(t, 3))
		entries := Flatten(whole)
		var parts [3][]Entry
		for _, e := range entries {
			i := rapid.IntRange(0, 2).Draw(t, "part")
			parts[i] = append(parts[i], e)
		}
		var trees []*Node
		for _, p := range parts {
			if len(p) > 0 {
				n, err := Unflatten(p)
				if err != nil {
					t.Fatal(err)
				}
				trees = append(trees, n)
			}
		}
		before := cmp.Diff(nil, trees)
		got, err := Merge(trees, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := FormatDiff(Diff(whole, got)); d != "" {
			t.Fatalf("merged:\n%s", d)
		}
		if cmp.Diff(nil, trees) != before {
			t.Fatal("the parts were changed")
		}
		again, err := Merge([]*Node{got, whole}, &MergeOptions{Overwrite: true})
		if err != nil || !Equal(again, whole) {
			t.Fatalf("over itself: %v", err)
		}
	})
}

// drawDict draws a tree of dictionaries.
func drawDict(t *rapid.T, depth int) *Node {
	n := NewDict()
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "0", ""}), 0, 4, rapid.ID).Draw(t, "keys") {
		if depth == 0 || rapid.Bool().Draw(t, "leaf") {
			n.Set(k, NewLeaf(rapid.Int64().Draw(t, "value")))
		} else {
			n.Set(k, drawDict(t, depth-1))
		}
	}
	return n
}
