package checkpoint

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"iter"
	"sort"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
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
	// Keys, where they are not nil, must have signed the first and the second
	// checkpoint; see LoadOptions.Key and Label.
	Keys   [2]ed25519.PublicKey
	Labels [2]string
	// Store holds both checkpoints; nil is the local file system.
	Store store.Store
}

// Diff compares two checkpoints of any layout leaf by leaf, in the order of items
// and paths. Of arrays, a piece of some megabytes of each side is in memory at a
// time, or the largest chunk that can only be decoded as a whole.
// It ends after the first error. What handlers wrote, items and leaves of types of
// their own, is compared by the bytes of their files, with one of each side in
// memory: of leaf handlers in one tree, by those of all of them.
func Diff(ctx context.Context, a, b string, o *DiffOptions) iter.Seq2[LeafDiff, error] {
	if o == nil {
		o = &DiffOptions{}
	}
	return func(yield func(LeafDiff, error) bool) {
		d := differ{ctx: ctx, yield: yield}
		if err := d.run(a, b, o); err != nil && !d.stopped {
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

func (d *differ) run(a, b string, o *DiffOptions) error {
	var side [2]*layout.Checkpoint
	var items [2]map[string]layout.Item
	var opened crowd
	defer func() { opened.close() }()
	for i, path := range []string{a, b} {
		c, err := (&LoadOptions{Options: signedBy(o.Keys[i], o.Labels[i]), Store: o.Store}).open(d.ctx, path)
		if err != nil {
			return err
		}
		opened = append(opened, c)
		list, err := c.Items(d.ctx)
		if err != nil {
			return c.Explain(d.ctx, err)
		}
		side[i], items[i] = c, map[string]layout.Item{}
		for _, it := range list {
			items[i][it.Name] = it
		}
	}
	flatAsState(items)
	return opened.explain(d.ctx, d.items(side, items))
}

// items compares the items of two checkpoints.
func (d *differ) items(side [2]*layout.Checkpoint, items [2]map[string]layout.Item) error {
	names := map[string]bool{}
	for i := range items {
		for name := range items[i] {
			names[name] = true
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
		case was.Kind == layout.Unknown:
			if err := d.handledItems(side, was, is); err != nil {
				return err
			}
		case was.Kind == layout.Tree:
			if err := d.trees(side, name, [2]string{was.Name, is.Name}); err != nil {
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

// flatAsState has the one item of a flat checkpoint, which has no name, compared
// with the item "state" of the other.
func flatAsState(items [2]map[string]layout.Item) {
	for i, own := range items {
		flat, ok := own[""]
		if _, other := items[1-i][orbax.StateItem]; ok && other && len(own) == 1 {
			own[orbax.StateItem] = flat
			delete(own, "")
		}
	}
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
//
// Leaves are the same by their paths, or else by the names of their parameters:
// some layouts have no other names.
func (d *differ) trees(side [2]*layout.Checkpoint, item string, names [2]string) error {
	var open [2]*layout.OpenTree
	for i, c := range side {
		t, err := c.Tree(d.ctx, names[i])
		if err != nil {
			return err
		}
		defer t.Close() //nolint:errcheck // nothing was written
		open[i] = t
	}
	same, err := foreignLeaves(d.ctx, open)
	if err != nil {
		return err
	}
	partner, paired := pair(open[0].Leaves, open[1].Leaves)
	for i := range open[0].Leaves {
		was := &open[0].Leaves[i]
		is, ok := partner[was]
		l := LeafDiff{Item: item, Path: was.Path, Was: describe(was)}
		if !ok {
			l.Status = Missing
		} else if err := d.leaves(&l, was, is); err != nil {
			return err
		}
		if ok && was.Kind == layout.Foreign && !same {
			l.Status = Changed
		}
		if !d.emit(l) {
			return nil
		}
	}
	for i := range open[1].Leaves {
		is := &open[1].Leaves[i]
		if !paired[is] && !d.emit(LeafDiff{Item: item, Path: is.Path, Status: Added, Is: describe(is)}) {
			return nil
		}
	}
	return nil
}

// pair finds for each leaf the one of the other side.
func pair(a, b []layout.Leaf) (partner map[*layout.Leaf]*layout.Leaf, paired map[*layout.Leaf]bool) {
	partner, paired = map[*layout.Leaf]*layout.Leaf{}, map[*layout.Leaf]bool{}
	for _, key := range []func(l *layout.Leaf) string{
		func(l *layout.Leaf) string { return l.Path.String() },
		func(l *layout.Leaf) string { return l.Param },
	} {
		left := map[string]*layout.Leaf{}
		for i := range b {
			if l := &b[i]; !paired[l] {
				left[key(l)] = l
			}
		}
		for i := range a {
			was := &a[i]
			is, ok := left[key(was)]
			if _, has := partner[was]; !has && ok && !paired[is] {
				partner[was], paired[is] = is, true
			}
		}
	}
	return partner, paired
}

func describe(l *layout.Leaf) string {
	switch {
	case l.Kind == layout.String:
		return "string " + strconv.Quote(l.Text)
	case l.HasArray():
		return l.DType.String() + l.Shape.String()
	case l.Kind == layout.Foreign:
		return LeafKind(l.Kind).String() + " " + l.ValueType
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
	same, err := d.arrays(l, was, is)
	if err == nil && !same {
		l.Status = Changed
	}
	return err
}
