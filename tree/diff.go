package tree

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/internal/enum"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Structure lists where the structure of got differs from the structure of want:
//   - missing or unexpected keys
//   - lists of different lengths
//   - containers of different kinds
//   - a leaf in place of a container, or the reverse
//
// Values do not count: any two leaves agree, and a nil leaf of want agrees with any node. Tuples
// count as lists and structs as dictionaries, as in checkpoints without types.
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

// pair is a child of two containers. One of them may lack it.
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

// Summary prints at most the given number of differences, one a line like FormatDiff, and how many
// more there are. It takes each kind in turn. If most is 0, the limit is 20.
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
// turn, so that no kind leaves out another.
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

// DiffKind says how two trees differ at a path.
type DiffKind uint8

// The kinds of differences between a wanted tree and a given tree.
const (
	Missing DiffKind = iota // wanted and not found
	Extra                   // found and not wanted
	Changed                 // the same type with another value
	Type                    // another kind of node, dtype or shape
)

// String returns the kind in lower case.
func (k DiffKind) String() string {
	return enum.Name(k, []string{"missing", "extra", "changed", "type"}, "difference %d")
}

// Difference is one place where two trees differ. Want is empty for Extra, and Got is empty for
// Missing.
type Difference struct {
	Path Path
	Kind DiffKind
	Want string
	Got  string
}

// String returns the difference on one line.
func (d Difference) String() string {
	switch d.Kind {
	case Missing:
		return fmt.Sprintf("- %s: %s", d.Path, d.Want)
	case Extra:
		return fmt.Sprintf("+ %s: %s", d.Path, d.Got)
	default:
		return fmt.Sprintf("~ %s: want %s, got %s", d.Path, d.Want, d.Got)
	}
}

// FormatDiff prints one difference a line: "-" for missing, "+" for extra, "~" for different. The
// result is empty if there are no differences.
func FormatDiff(diff []Difference) string {
	var b strings.Builder
	for _, d := range diff {
		b.WriteString(d.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// Diff lists the differences of got from want. They come in the order of want, with extras after
// their siblings. A missing or extra container is one difference. The order of keys does not
// matter. Tensors and floats are compared bit for bit. Layouts and type names of structs are not
// compared.
func Diff(want, got *Node) []Difference {
	d := differ{}
	d.compare(want, got, nil)
	return d.found
}

// Equal reports whether Diff finds nothing.
func Equal(a, b *Node) bool {
	d := differ{first: true}
	d.compare(a, b, nil)
	return len(d.found) == 0
}

type differ struct {
	first bool // stop at the first difference and do not describe it
	found []Difference
}

func (d *differ) add(kind DiffKind, at Path, want, got string) {
	d.found = append(d.found, Difference{Path: slices.Clone(at), Kind: kind, Want: want, Got: got})
}

func (d *differ) compare(want, got *Node, at Path) {
	if d.first && len(d.found) > 0 || want == got {
		return
	}
	switch {
	case want == nil:
		d.add(Extra, at, "", got.String())
	case got == nil:
		d.add(Missing, at, want.String(), "")
	case want.Kind != got.Kind:
		d.add(Type, at, want.String(), got.String())
	case want.Kind == Leaf:
		d.leaf(want, got, at)
	case want.Kind.keyed():
		d.keyed(want, got, at)
	default:
		for i := range max(want.Len(), got.Len()) {
			var w, g *Node
			longer := want
			if i < want.Len() {
				w = want.Items[i]
			}
			if i < got.Len() {
				g = got.Items[i]
				longer = got
			}
			d.compare(w, g, append(at, longer.Key(i)))
		}
	}
}

func (d *differ) keyed(want, got *Node, at Path) {
	where := make(map[string]int, got.Len())
	for i, k := range got.Keys {
		where[k] = i
	}
	for i, k := range want.Keys {
		j, ok := where[k]
		var g *Node
		if ok {
			g = got.Items[j]
			delete(where, k)
		}
		d.compare(want.Items[i], g, append(at, want.Key(i)))
	}
	for i, k := range got.Keys {
		if _, extra := where[k]; extra {
			d.compare(nil, got.Items[i], append(at, got.Key(i)))
		}
	}
}

func (d *differ) leaf(want, got *Node, at Path) {
	w, wok := want.Tensor()
	g, gok := got.Tensor()
	switch {
	case wok && gok:
		if w.DType != g.DType || !w.Shape.Equal(g.Shape) {
			d.add(Type, at, w.String(), g.String())
		} else if !bytes.Equal(w.Data, g.Data) {
			if d.first {
				d.add(Changed, at, "", "")
				return
			}
			d.tensors(w, g, at)
		}
	case reflect.TypeOf(want.Value) != reflect.TypeOf(got.Value):
		d.add(Type, at, want.String(), got.String())
	case !sameValue(want.Value, got.Value):
		d.add(Changed, at, want.String(), got.String())
	}
}

// sameValue compares two values of one type. It compares values that KeepUnknown admits deeply.
func sameValue(a, b any) bool {
	if f, ok := a.(float64); ok {
		return math.Float64bits(f) == math.Float64bits(b.(float64))
	}
	return reflect.DeepEqual(a, b)
}

// tensors describes the first element that differs, and how many elements differ.
func (d *differ) tensors(w, g tensor.Tensor, at Path) {
	size, first, count := w.DType.Size(), -1, 0
	if len(w.Data) != len(g.Data) {
		d.add(Changed, at, fmt.Sprintf("%s in %d bytes", w, len(w.Data)), fmt.Sprintf("%d bytes", len(g.Data)))
		return
	}
	for i := 0; i+size <= len(w.Data); i += size {
		if !bytes.Equal(w.Data[i:i+size], g.Data[i:i+size]) {
			if first < 0 {
				first = i / size
			}
			count++
		}
	}
	index := coordinates(first, w.Shape)
	d.add(Changed, at,
		fmt.Sprintf("%s with %s at %s", w, w.Element(first), index),
		fmt.Sprintf("%s (%d of %d elements differ)", g.Element(first), count, w.Len()))
}

func coordinates(flat int, shape tensor.Shape) tensor.Shape {
	at := make(tensor.Shape, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		at[i] = flat % shape[i]
		flat /= shape[i]
	}
	return at
}
