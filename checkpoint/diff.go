package checkpoint

import (
	"bytes"
	"context"
	"iter"
	"math"
	"sort"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// DiffStatus says how a leaf of one checkpoint compares with that of another.
type DiffStatus uint8

// The outcomes.
const (
	Same    DiffStatus = iota // bit for bit
	Changed                   // another value, dtype, shape or kind
	Missing                   // only in the first
	Added                     // only in the second
)

// String returns the outcome in words.
func (s DiffStatus) String() string { return [...]string{"same", "changed", "missing", "added"}[s] }

// LeafDiff compares one leaf, or one item that is no tree, which has no path.
type LeafDiff struct {
	Item   string
	Path   tree.Path
	Status DiffStatus
	Was    string // what the first has, in words: "float32[3,4]", "scalar 7"; "" when it has none
	Is     string // what the second has
	// Of arrays that changed and have one dtype and shape: how many elements
	// differ in their bits, and the largest absolute difference; NaN when a NaN
	// stands against something else, or the type has no order.
	Elements int
	MaxAbs   float64
}

// DiffOptions modify Diff; nil is the zero value.
type DiffOptions struct {
	// Store holds both checkpoints; nil is the local file system.
	Store store.Store
}

// Diff compares two checkpoints of any layout leaf by leaf, in the order of items
// and paths. Only documents and one leaf of each side are in memory at a time.
// It ends after the first error. Items that neither side can read are compared
// by their names.
func Diff(ctx context.Context, a, b string, o *DiffOptions) iter.Seq2[LeafDiff, error] {
	if o == nil {
		o = &DiffOptions{}
	}
	return func(yield func(LeafDiff, error) bool) {
		d := differ{ctx: ctx, yield: yield}
		if err := d.run(a, b, o.Store); err != nil && !d.stopped {
			yield(LeafDiff{}, errs.Wrap("checkpoint.Diff", a+" and "+b, err))
		}
	}
}

type differ struct {
	ctx     context.Context
	yield   func(LeafDiff, error) bool
	stopped bool // the caller has seen enough
}

// emit passes one comparison on and reports whether to go on.
func (d *differ) emit(l LeafDiff) bool {
	if !d.stopped && !d.yield(l, nil) {
		d.stopped = true
	}
	return !d.stopped
}

func (d *differ) run(a, b string, st store.Store) error {
	var side [2]*layout.Checkpoint
	var items [2]map[string]layout.Item
	names := map[string]bool{}
	for i, path := range []string{a, b} {
		c, err := open(d.ctx, path, st)
		if err != nil {
			return err
		}
		list, err := c.Items(d.ctx)
		if err != nil {
			return err
		}
		side[i], items[i] = c, map[string]layout.Item{}
		for _, it := range list {
			items[i][it.Name] = it
			names[it.Name] = true
		}
	}
	for _, name := range sorted(names) {
		was, inA := items[0][name]
		is, inB := items[1][name]
		switch {
		case !inA || !inB || was.Kind != is.Kind:
			l := LeafDiff{Item: name, Status: Changed, Was: was.Kind.String(), Is: is.Kind.String()}
			if !inA {
				l.Status, l.Was = Added, ""
			}
			if !inB {
				l.Status, l.Is = Missing, ""
			}
			d.emit(l)
		case was.Kind == layout.Tree:
			if err := d.trees(side, name); err != nil {
				return err
			}
		default:
			if err := d.documents(side, was); err != nil {
				return err
			}
		}
		if d.stopped {
			return nil
		}
	}
	return nil
}

func sorted(names map[string]bool) []string {
	out := make([]string, 0, len(names))
	for n := range names {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// documents compares two items that are one file each, byte by byte.
func (d *differ) documents(side [2]*layout.Checkpoint, it layout.Item) error {
	var b [2][]byte
	for i, c := range side {
		var err error
		switch it.Kind {
		case layout.JSON:
			b[i], err = c.JSON(d.ctx, it.Name)
		case layout.Proto:
			b[i], err = c.Proto(d.ctx, it.Name)
		}
		if err != nil {
			return err
		}
	}
	l := LeafDiff{Item: it.Name, Was: it.Kind.String(), Is: it.Kind.String()}
	if !bytes.Equal(b[0], b[1]) {
		l.Status = Changed
	}
	d.emit(l)
	return nil
}

// trees compares two tree items: first what the first has, in its order, then
// what only the second has.
func (d *differ) trees(side [2]*layout.Checkpoint, item string) error {
	var open [2]*layout.OpenTree
	for i, c := range side {
		t, err := c.Tree(d.ctx, item)
		if err != nil {
			return err
		}
		defer t.Close() //nolint:errcheck // nothing was written
		open[i] = t
	}
	second := map[string]*layout.Leaf{}
	for i := range open[1].Leaves {
		l := &open[1].Leaves[i]
		second[l.Path.String()] = l
	}
	for i := range open[0].Leaves {
		was := &open[0].Leaves[i]
		key := was.Path.String()
		is, ok := second[key]
		delete(second, key)
		l := LeafDiff{Item: item, Path: was.Path, Was: describe(was)}
		if !ok {
			l.Status = Missing
		} else if err := d.leaves(&l, was, is); err != nil {
			return err
		}
		if !d.emit(l) {
			return nil
		}
	}
	for i := range open[1].Leaves {
		is := &open[1].Leaves[i]
		if _, left := second[is.Path.String()]; left && !d.emit(LeafDiff{Item: item, Path: is.Path, Status: Added, Is: describe(is)}) {
			return nil
		}
	}
	return nil
}

func describe(l *layout.Leaf) string {
	switch {
	case l.Kind == layout.String:
		return "string " + strconv.Quote(l.Text)
	case l.HasArray():
		return l.DType.String() + l.Shape.String()
	}
	return LeafKind(l.Kind).String()
}

// leaves compares two leaves of one path.
func (d *differ) leaves(l *LeafDiff, was, is *layout.Leaf) error {
	l.Is = describe(is)
	if l.Was != l.Is || was.HasArray() != is.HasArray() || was.KeyImpl != is.KeyImpl {
		l.Status = Changed
		return nil
	}
	if !was.HasArray() {
		return nil
	}
	a, b := make([]byte, was.Bytes()), make([]byte, is.Bytes())
	if err := was.Read(d.ctx, a); err != nil {
		return err
	}
	if err := is.Read(d.ctx, b); err != nil {
		return err
	}
	if bytes.Equal(a, b) {
		return nil
	}
	l.Status = Changed
	x := tensor.Tensor{DType: was.DType, Shape: was.Shape, Data: a}
	y := tensor.Tensor{DType: is.DType, Shape: is.Shape, Data: b}
	l.Elements, l.MaxAbs = distance(x, y)
	if len(was.Shape) == 0 {
		l.Was, l.Is = "scalar "+x.Element(0), "scalar "+y.Element(0)
	}
	return nil
}

// distance counts the elements of two tensors of one dtype and shape that differ
// in their bits, and finds the largest absolute difference.
func distance(x, y tensor.Tensor) (n int, largest float64) {
	size := x.DType.Size()
	for i := range x.Len() {
		at := i * size
		if bytes.Equal(x.Data[at:at+size], y.Data[at:at+size]) {
			continue
		}
		n++
		u, ok1 := x.Float64(i)
		v, ok2 := y.Float64(i)
		diff := math.Abs(u - v)
		switch {
		case !ok1 || !ok2 || math.IsNaN(diff) || math.IsNaN(largest):
			largest = math.NaN()
		default:
			largest = max(largest, diff)
		}
	}
	return n, largest
}
