package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// limits says what a layout, and the libraries that read it, hold.
type limits struct {
	dtypes   []tensor.DType
	names    []string
	nested   bool
	others   bool // strings, nil and empty containers
	zeroSize bool // arrays with an axis of length zero
	packed   bool // narrow elements fill whole bytes
}

// zarrLimits is what Orbax reads in a layout.
func zarrLimits(l options.Layout) limits {
	out := limits{names: awkward, nested: true, others: true, zeroSize: true}
	for _, d := range tensor.DTypes() {
		if _, ok := d.Zarr(); ok {
			out.dtypes = append(out.dtypes, d)
		}
	}
	if l == options.PlainZarr3 || l == options.PlainZarr2 {
		out.names = slices.DeleteFunc(slices.Clone(awkward),
			func(n string) bool { return n[0] == '/' || strings.Contains(n, `\`) })
	}
	return out
}

// safetensorsLimits is what the format holds.
func safetensorsLimits() limits {
	out := limits{names: awkward, nested: true, zeroSize: true, packed: true}
	for _, d := range tensor.DTypes() {
		if _, ok := d.Safetensors(); ok {
			out.dtypes = append(out.dtypes, d)
		}
	}
	return out
}

// commonLimits is what Orbax reads of safetensors.
func commonLimits() limits {
	out := safetensorsLimits()
	out.dtypes = slices.DeleteFunc(out.dtypes, func(d tensor.DType) bool {
		wide := d.IsInteger() || d.IsFloat() && d.Bits() > 8
		return !(wide || d == tensor.Bool || d == tensor.Float8E5M2 || d == tensor.Float8E4M3FN)
	})
	return out
}

// awkward are names that a format may stumble over. None is a prefix of another
// at "." or "/", which would make two parameters one.
var awkward = []string{
	"w", "layer_0", "with space", " lead", "a.b", "..hidden", "dot.", "sl/ash", "back\\slash", "/abs",
	`quote"d`, "it's", "(0, 'x')", "[0]", "{}", "#1", "per%cent", "%2F", "tilde~0", "col:on", "que?ry", "st*r",
	"0", "7", "007", "-1", "1e5", "0x10", "None", "True", "null", "NaN", "zarr.json", "manifest.ocdbt", "d",
	"naïve", "日本語", "Ünïcödé", "🎉", "e\u0301", "tab\there", "new\nline", "<html>", "&amp;", "$var", "@", strings.Repeat("x", 60),
}

var texts = []string{"", "text", "ünïcödé 日本 🎉", `quote " back \ slash / `, "line\nbreak\ttab", "null", "1", "\x7f",
	strings.Repeat("long ", 300)}

var numbers = []any{
	int64(0), int64(1), int64(-1), int64(1 << 31), int64(math.MaxInt64), int64(math.MinInt64), uint64(1 << 63), uint64(math.MaxUint64),
	0.0, math.Copysign(0, -1), 1.5, 5e-324, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), 0.1, true, false,
}

// deck deals a list in random order, again and again, so that a few trees meet
// all of it.
type deck[T any] struct {
	rnd   *rand.Rand
	cards []T
	rest  []int
}

func (d *deck[T]) deal() T {
	if len(d.rest) == 0 {
		d.rest = d.rnd.Perm(len(d.cards))
	}
	i := d.rest[0]
	d.rest = d.rest[1:]
	return d.cards[i]
}

// trees makes random trees within limits.
type trees struct {
	rnd    *rand.Rand
	l      limits
	dtypes deck[tensor.DType]
	names  deck[string]
	ranks  deck[int]
	texts  deck[string]
	values deck[any]
	used   map[string]bool
}

func newTrees(rnd *rand.Rand, l limits) *trees {
	return &trees{
		rnd: rnd, l: l, dtypes: deck[tensor.DType]{rnd: rnd, cards: l.dtypes}, names: deck[string]{rnd: rnd, cards: l.names},
		ranks: deck[int]{rnd: rnd, cards: []int{0, 1, 2, 3, 4, 5}}, texts: deck[string]{rnd: rnd, cards: texts},
		values: deck[any]{rnd: rnd, cards: numbers},
	}
}

// tree makes a dictionary with some dozens of leaves.
func (t *trees) tree() *tree.Node {
	t.used = map[string]bool{}
	depth := 0
	if t.l.nested {
		depth = 3
	}
	return t.dict("", depth, 8+t.rnd.IntN(12)).Set("always", t.array())
}

func (t *trees) dict(param string, depth, width int) *tree.Node {
	n := tree.NewDict()
	for range width {
		name := t.names.deal()
		if at := join(param, name); len(at) <= 200 && !t.used[at] { // names of files have 255 bytes at most
			t.used[at] = true
			n.Set(name, t.node(at, depth))
		}
	}
	if n.Len() == 0 {
		n.Set("only", t.array())
	}
	return n
}

func join(param, key string) string {
	if param == "" {
		return key
	}
	return param + "." + key
}

func (t *trees) node(param string, depth int) *tree.Node {
	if depth == 0 || t.rnd.IntN(3) > 0 {
		return t.leaf()
	}
	kind := t.rnd.IntN(3)
	if kind == 0 {
		return t.dict(param, depth-1, 1+t.rnd.IntN(8))
	}
	n := tree.NewList()
	if kind == 1 {
		n.Kind = tree.Tuple
	}
	for range 1 + t.rnd.IntN(4) {
		n.Items = append(n.Items, t.node(join(param, n.Key(len(n.Items)).Name), depth-1))
	}
	return n
}

func (t *trees) leaf() *tree.Node {
	switch k := t.rnd.IntN(12); {
	case k < 2:
		return tree.NewLeaf(t.values.deal())
	case k == 2 && t.l.others:
		return tree.NewLeaf(t.texts.deal())
	case k == 3 && t.l.others:
		return []*tree.Node{tree.NewLeaf(nil), tree.NewDict(), tree.NewList(), {Kind: tree.Tuple}}[t.rnd.IntN(4)]
	}
	return t.array()
}

// array makes an array of random bits, or of runs that compressors notice.
func (t *trees) array() *tree.Node {
	rank := t.ranks.deal()
	shape := make(tensor.Shape, rank)
	for i := range shape {
		shape[i] = 1 + t.rnd.IntN([]int{0, 3000, 60, 14, 7, 5}[rank])
	}
	if rank == 2 && t.rnd.IntN(10) == 0 {
		shape[0] *= 40 // some are cut into sub-chunks and aligned
	}
	if rank > 0 && t.l.zeroSize && t.rnd.IntN(8) == 0 {
		shape[t.rnd.IntN(rank)] = 0
	}
	d := t.dtypes.deal()
	if t.l.packed && d.Bits() < 8 {
		shape = append(shape, 4)
	}
	v := tensor.New(d, shape...)
	how := t.rnd.IntN(6)
	if how > 0 {
		t.fill(v)
	}
	if period := len(v.Data) / v.DType.Size() / 7 * v.DType.Size(); how == 1 && period > 0 {
		for i := period; i < len(v.Data); i += period {
			copy(v.Data[i:], v.Data[:period])
		}
	}
	return tree.NewLeaf(v)
}

// fill sets all elements to random bits.
func (t *trees) fill(v tensor.Tensor) {
	narrow := 8 - min(v.DType.Bits(), 8)
	for i := range v.Data {
		b := byte(t.rnd.Uint32())
		switch {
		case v.DType == tensor.Bool:
			b &= 1
		case v.DType.IsInteger() && v.DType.IsSigned():
			b = byte(int8(b) >> narrow)
		default:
			b >>= narrow
		}
		v.Data[i] = b
	}
}
