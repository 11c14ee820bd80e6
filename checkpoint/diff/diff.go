// Package diff compares two checkpoints leaf by leaf.
//
//	for l, err := range diff.Leaves(ctx, "before", "after", nil) {
//		…
//	}
package diff

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"iter"
	"maps"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/plan"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tree"
)

// Status says how a leaf of one checkpoint compares with the same leaf of another.
type Status uint8

// The outcomes.
const (
	Same    Status = iota // bit for bit
	Changed               // another value, dtype, shape or kind
	Missing               // only in the first
	Added                 // only in the second
)

// String returns the outcome in words.
func (s Status) String() string { return [...]string{"same", "changed", "missing", "added"}[s] }

// Leaf compares one leaf, or one item that is not a tree, which has no path.
type Leaf struct {
	Item   string
	Path   tree.Path
	Status Status
	Was    string // the leaf of the first checkpoint, in words: "float32[3,4]", "scalar 7"; "" if it has no such leaf
	Is     string // the leaf of the second checkpoint
	// Elements and MaxAbs are set for a changed array whose dtype and shape did not
	// change: the number of elements with different bits, and the largest absolute difference. That
	// is NaN if a NaN is compared with another value, or if the type has no order.
	// If only the dtype changed, they are of the values, and Elements counts other values.
	Elements int
	MaxAbs   float64
	// Size says how large the change is as a whole. It is set together with MaxAbs.
	Size Size
	// Histogram is set with Options.Histogram, for the same leaves.
	Histogram *Histogram
	// Members are the values that differ in an item of JSON, at most MostMembers. More is how many
	// others differ.
	Members []Member
	More    int
}

// Options modify Leaves; nil is the zero value.
type Options struct {
	// Keys, if not nil, must have signed the first and the second checkpoint; see
	// checkpoint.LoadOptions.
	Keys   [2]ed25519.PublicKey
	Labels [2]string
	// Store holds both checkpoints; nil is the local file system.
	Store store.Store
	// Histogram counts the differences of each changed array by their size.
	Histogram bool
}

// Leaves compares two checkpoints of any layout leaf by leaf, in the order of items and paths. Of
// arrays, a piece of some megabytes of each side is in memory at a time, or the largest chunk that
// can only be decoded as a whole. It ends after the first error. Items and leaves of types of their
// own are compared by the bytes of the files that their handlers wrote, with one file of each side
// in memory. All leaf handlers of a tree are compared by all their files together.
func Leaves(ctx context.Context, a, b string, o *Options) iter.Seq2[Leaf, error] {
	if o == nil {
		o = &Options{}
	}
	return func(yield func(Leaf, error) bool) {
		d := differ{ctx: ctx, yield: yield, histogram: o.Histogram}
		if err := d.run(a, b, o); err != nil && !d.stopped {
			yield(Leaf{}, errs.Wrap("diff.Leaves", a+" and "+b, err))
		}
	}
}

type differ struct {
	ctx     context.Context
	yield   func(Leaf, error) bool
	stopped bool // the caller stopped the iteration

	histogram bool
}

// emit yields one comparison and reports whether to go on.
func (d *differ) emit(l Leaf) bool {
	if !d.stopped && !d.yield(l, nil) {
		d.stopped = true
	}
	return !d.stopped
}

func (d *differ) run(a, b string, o *Options) error {
	var side [2]*layout.Checkpoint
	var items [2]map[string]layout.Item
	defer func() {
		for _, c := range side {
			if c != nil {
				c.Close()
			}
		}
	}()
	for i, path := range []string{a, b} {
		open, st, name, err := plan.OpenSigned(d.ctx, path, o.Keys[i], o.Labels[i], o.Store)
		if err != nil {
			return err
		}
		open.Lease = true
		c, err := open.Open(d.ctx, st, name)
		if err != nil {
			return err
		}
		side[i] = c
		list, err := c.Items(d.ctx)
		if err != nil {
			return c.Explain(d.ctx, err)
		}
		items[i] = map[string]layout.Item{}
		for _, it := range list {
			items[i][it.Name] = it
		}
	}
	flatAsState(items)
	return layout.Explain(d.ctx, d.items(side, items), side[:]...)
}

// items compares the items of two checkpoints.
func (d *differ) items(side [2]*layout.Checkpoint, items [2]map[string]layout.Item) error {
	names := map[string]bool{}
	for i := range items {
		for name := range items[i] {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, inA := items[0][name]
		is, inB := items[1][name]
		switch {
		case !inA || !inB || was.Kind != is.Kind:
			l := Leaf{Item: name, Status: Changed, Was: was.Kind.String(), Is: is.Kind.String()}
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

// flatAsState makes the one item of a flat checkpoint, which has no name, compare with the item
// "state" of the other.
func flatAsState(items [2]map[string]layout.Item) {
	for i, own := range items {
		flat, ok := own[""]
		if _, other := items[1-i][orbax.StateItem]; ok && other && len(own) == 1 {
			own[orbax.StateItem] = flat
			delete(own, "")
		}
	}
}

// documents compares two items that are single files, byte by byte.
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
	l := Leaf{Item: it.Name, Was: it.Kind.String(), Is: it.Kind.String()}
	if !bytes.Equal(b[0], b[1]) {
		l.Status = Changed
		if it.Kind == layout.JSON {
			l.Members, l.More = members(b[0], b[1])
		}
	}
	d.emit(l)
	return nil
}

// trees compares two tree items: first the leaves of the first item, in its order, then the leaves
// that only the second item has.
//
// Leaves are matched by path, or else by parameter name, because some layouts have no other names.
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
		l := Leaf{Item: item, Path: was.Path, Was: describe(was)}
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
		if !paired[is] && !d.emit(Leaf{Item: item, Path: is.Path, Status: Added, Is: describe(is)}) {
			return nil
		}
	}
	return nil
}

// pair matches each leaf with a leaf of the other side.
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
		return l.Kind.String() + " " + l.ValueType
	}
	return l.Kind.String()
}

// leaves compares two leaves of one path.
func (d *differ) leaves(l *Leaf, was, is *layout.Leaf) error {
	l.Is = describe(is)
	if l.Was != l.Is || was.HasArray() != is.HasArray() || was.KeyImpl != is.KeyImpl {
		l.Status = Changed
		if was.HasArray() && is.HasArray() && was.KeyImpl == is.KeyImpl && slices.Equal(was.Shape, is.Shape) {
			_, err := d.arrays(l, was, is)
			return err
		}
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

// The output of handlers is compared by the bytes of their files. Leaves of leaf handlers that are
// in both trees count as changed if any file of such handlers in the item differs, because only the
// handler knows to which leaf a file belongs. Trees within items have files with random names, and
// count as changed when they are saved again.

// handledItems compares items that only their handlers understand.
func (d *differ) handledItems(side [2]*layout.Checkpoint, was, is layout.Item) error {
	l := Leaf{Item: was.Name, Was: itemOf(was), Is: itemOf(is)}
	var dirs [2]handler.Reader
	var names [2][]string
	for i, c := range side {
		var err error
		dirs[i] = c.Directory(was.Name)
		if names[i], err = dirs[i].List(d.ctx); err != nil {
			return err
		}
	}
	same, err := sameFiles(d.ctx, dirs, names)
	if err != nil {
		return err
	}
	if !same || l.Was != l.Is {
		l.Status = Changed
	}
	d.emit(l)
	return nil
}

// itemOf describes an item that only its handler understands.
func itemOf(it layout.Item) string {
	if it.Handler == "" {
		return it.Kind.String()
	}
	return "item of " + it.Handler
}

// foreignLeaves reports whether the files of leaf handlers are equal in both trees.
func foreignLeaves(ctx context.Context, open [2]*layout.OpenTree) (bool, error) {
	var dirs [2]handler.Reader
	var names [2][]string
	for i, t := range open {
		var err error
		if names[i], err = t.ForeignFiles(ctx); err != nil {
			return false, err
		}
		if len(names[i]) > 0 {
			dirs[i] = t.Directory()
		}
	}
	return sameFiles(ctx, dirs, names)
}

// sameFiles reports whether the named files are equal in two directories.
func sameFiles(ctx context.Context, dirs [2]handler.Reader, names [2][]string) (bool, error) {
	if !slices.Equal(names[0], names[1]) {
		return false, nil
	}
	name, err := parts.Differing(ctx, names[0], dirs[0], dirs[1])
	return name == "", err
}
