package tree

import (
	"fmt"
	"slices"
	"strings"
)

// Structure lists where the structure of got differs from the structure of want: missing or
// unexpected keys, lists of different lengths, containers of different kinds, a leaf in place of a
// container and the reverse. Values do not count: any two leaves agree, and a nil leaf of want
// agrees with any node. Tuples count as lists and structs as dictionaries, as in checkpoints
// without types.
func Structure(want, got *Node) []Difference {
	var d differ
	d.structure(want, got, nil)
	return d.found
}

func (d *differ) structure(want, got *Node, at Path) {
	switch {
	case want == nil && got == nil:
	case want == nil:
		d.add(Extra, at, "", got.String())
	case got == nil:
		d.add(Missing, at, want.String(), "")
	case want.Kind == Leaf && (want.Value == nil || got.Kind == Leaf):
	case want.Kind == Leaf || got.Kind == Leaf || want.Kind.keyed() != got.Kind.keyed():
		d.add(Type, at, want.String(), got.String())
	default:
		for _, p := range pairs(want, got) {
			d.structure(p.want, p.got, append(at, p.key))
		}
	}
}

// pair is a child of two containers; one of them may lack it.
type pair struct {
	key       Key
	want, got *Node
}

// pairs returns the children of two containers that are both keyed or both not keyed: the children
// of want in their order, then the children that only got has.
func pairs(want, got *Node) []pair {
	place := make(map[string]int, got.Len())
	for i := range got.Items {
		place[got.Key(i).Name] = i
	}
	out := make([]pair, 0, want.Len())
	for i, w := range want.Items {
		p := pair{key: want.Key(i), want: w}
		if j, both := place[p.key.Name]; both {
			p.got = got.Items[j]
			delete(place, p.key.Name)
		}
		out = append(out, p)
	}
	for i, g := range got.Items {
		k := got.Key(i)
		if _, left := place[k.Name]; left {
			out = append(out, pair{key: k, got: g})
		}
	}
	return out
}

// Summary prints at most the given number of differences, one a line like FormatDiff, taking each
// kind in turn, and how many more there are. A most of 0 means 20.
func Summary(diff []Difference, most int) string {
	if most <= 0 {
		most = 20
	}
	if len(diff) <= most {
		return FormatDiff(diff)
	}
	shown := inTurn(diff, most)
	var rest [Type + 1]int
	for i, d := range diff {
		if !slices.Contains(shown, i) && d.Kind <= Type {
			rest[d.Kind]++
		}
	}
	var b strings.Builder
	for _, i := range shown {
		b.WriteString(diff[i].String() + "\n")
	}
	fmt.Fprintf(&b, "… and %d more", len(diff)-most)
	separator := ": "
	for kind, n := range rest {
		if n > 0 {
			fmt.Fprintf(&b, "%s%d %s", separator, n, DiffKind(kind))
			separator = ", "
		}
	}
	return b.String() + "\n"
}

// inTurn returns the indices of at most most differences, in their order. It takes each kind in
// turn, so that no kind crowds out another.
func inTurn(diff []Difference, most int) []int {
	byKind := map[DiffKind][]int{}
	for i, d := range diff {
		byKind[d.Kind] = append(byKind[d.Kind], i)
	}
	var shown []int
	for len(shown) < most {
		for kind := Missing; kind <= Type && len(shown) < most; kind++ {
			if left := byKind[kind]; len(left) > 0 {
				shown, byKind[kind] = append(shown, left[0]), left[1:]
			}
		}
	}
	slices.Sort(shown)
	return shown
}
