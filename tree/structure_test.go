package tree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestStructure(t *testing.T) {
	for name, c := range map[string]struct {
		want, got *Node
		diff      string
	}{
		"same":            {dict("a", 1, "b", list(1, 2)), dict("b", list(3.5, "x"), "a", "y"), ""},
		"untyped":         {named("m.T", "a", tuple(1)), dict("a", list(2)), ""},
		"as saved":        {dict("a", nil), dict("a", dict("b", 1)), ""},
		"both directions": {dict("a", 1, "b", dict("c", 2)), dict("b", dict("d", 2), "e", 3), "- a: int 1\n- b.c: int 2\n+ b.d: int 2\n+ e: int 3\n"},
		"kinds":           {dict("a", dict("x", 1), "b", list(1), "c", 1), dict("a", list(1), "b", 2, "c", list()), "~ a: want dict of 1, got list of 1\n~ b: want list of 1, got int 2\n~ c: want int 1, got list of 0\n"},
		"lengths":         {list(1, 2, 3), list(1), "- [1]: int 2\n- [2]: int 3\n"},
		"longer":          {list(1), list(1, dict("a", 2)), "+ [1]: dict of 1\n"},
		"nothing":         {nil, nil, ""},
		"root":            {dict(), nil, "- (root): dict of 0\n"},
	} {
		if d := cmp.Diff(c.diff, FormatDiff(Structure(c.want, c.got))); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
}

// Equal structures agree also with different values, and Structure finds nothing that Diff does not
// find.
func TestStructureLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawDict(t, 3), drawDict(t, 3)
		forth, back := Structure(a, b), Structure(b, a)
		if len(forth) != len(back) {
			t.Fatalf("%d differences one way, %d the other", len(forth), len(back))
		}
		if len(Structure(a, Untyped(a))) > 0 || len(Diff(a, b)) < len(forth) {
			t.Fatal("more differences than with values")
		}
	})
}

func TestSummary(t *testing.T) {
	want, got := NewDict(), NewDict()
	for _, k := range "abcdefgh" {
		want.Set(string(k), NewLeaf(1))
	}
	got.Set("h", NewDict()).Set("x", NewLeaf(2)).Set("y", NewLeaf(2))
	diff := Structure(want, got)
	if d := cmp.Diff("- a: int 1\n- b: int 1\n~ h: want int 1, got dict of 0\n+ x: int 2\n… and 6 more: 5 missing, 1 extra\n", Summary(diff, 4)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(FormatDiff(diff), Summary(diff, 0)); d != "" {
		t.Error(d)
	}
	if n := strings.Count(Summary(append(diff, append(diff, diff...)...), 0), "\n"); n != 21 {
		t.Errorf("%d lines", n)
	}
}
