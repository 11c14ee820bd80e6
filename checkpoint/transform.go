package checkpoint

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Transform makes one tree of the trees of sources, which are in the order of the call. Arrays and
// PRNG keys of sources are Lazy, and leaves of leaf handlers are Handled. Other leaves are what
// Load returns. The result may have leaves of all these kinds, and tensors: leaves of the sources,
// leaves made of them, and new ones. A Transform must not change the sources. It need not read
// anything: package surgery has rules that map boxes of their results to boxes of the sources. A
// Lazy must not be read after the call for which it was made.
type Transform func(ctx context.Context, sources []*tree.Node) (*tree.Node, error)

// LoadAndTransform opens one tree of each checkpoint, calls fn with the trees, and reads only the
// arrays in the result of fn. LoadOptions.Name is the item of all sources. The other options apply
// to each source, except Want, which is errs.Invalid because fn chooses the leaves.
//
// abstract, when not nil, is LoadOptions.Abstract for the transformed tree.
//
// It fails as Load and fn do. A leaf of the result that is not an array, scalar, string, PRNG key,
// Handled or nil is errs.Invalid.
func LoadAndTransform(ctx context.Context, paths []string, abstract any, fn Transform,
	o *LoadOptions) (n *tree.Node, err error) {
	const op = "checkpoint.LoadAndTransform"
	if o == nil {
		o = &LoadOptions{}
	}
	switch {
	case o.Want != nil:
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: "LoadOptions.Want", Want: "nil",
			Remedy: "leave out unwanted leaves in the transformation"}
	case abstract != nil && o.Abstract != nil:
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: "LoadOptions.Abstract", Want: "one abstract tree",
			Got: "two"}
	}
	if o, err = o.resolve(ctx); err != nil {
		return nil, errs.Wrap(op, "", err)
	}
	ctx, o, told := o.tell(ctx, strings.Join(paths, ", "))
	defer func() { told(err) }()
	o.reads = layout.NewLimit(o.Memory.ReadConcurrentBytes.Bytes())
	var in sources
	defer in.close()
	var opened crowd
	defer opened.close()
	for _, path := range paths {
		c, err := o.open(ctx, path)
		if err == nil {
			opened = append(opened, c)
			err = c.Explain(ctx, in.add(ctx, c, o.Name, layout.NewCells(readerCache/int64(len(paths)))))
		}
		if err != nil {
			return nil, errs.Wrap(op, path, err)
		}
	}
	n, err = in.transform(ctx, fn)
	if err == nil {
		matched := *o
		matched.Final = nil
		if abstract != nil {
			matched.Abstract = abstract
		}
		made, origins := madeTree(n)
		n, err = loadOpen(ctx, made, origins, o.Name, nil, &matched)
	}
	return n, errs.Wrap(op, "", layout.Explain(ctx, err, opened...))
}

// crowd is several open checkpoints.
type crowd []*layout.Checkpoint

func (cs crowd) close() {
	for _, c := range cs {
		c.Close()
	}
}

// sources are the open source trees of a transformation.
type sources struct {
	open  []*layout.OpenTree
	nodes []*tree.Node
}

func (s *sources) close() {
	for _, t := range s.open {
		t.Close() //nolint:errcheck // nothing was written
	}
}

// add opens a tree of a checkpoint; item "" is the default tree.
func (s *sources) add(ctx context.Context, c *layout.Checkpoint, item string, cells *layout.Cells) (err error) {
	if item == "" {
		if item, err = c.Default(ctx); err != nil {
			return err
		}
	}
	t, err := c.Tree(ctx, item)
	if err != nil {
		return err
	}
	return s.take(ctx, t, item, cells)
}

// salvage works like add for a damaged tree: it reads all arrays, replaces damaged ones by None and
// returns them.
func (s *sources) salvage(ctx context.Context, c *layout.Checkpoint, item string,
	cells *layout.Cells) ([]LeafReport, error) {
	t, err := c.Salvage(ctx, item)
	if err != nil {
		return nil, err
	}
	why := map[*layout.Leaf]error{}
	err = t.Check(ctx, &layout.Checker{Verdict: func(i int, err error) error {
		if layout.IsDamage(err) {
			why[&t.Leaves[i]], err = err, nil
		}
		return err
	}})
	var lost []LeafReport
	for i := range t.Leaves {
		l := &t.Leaves[i]
		if l.Err != nil {
			why[l] = errs.Wrap("", "leaf "+strconv.Quote(l.Param), l.Err)
			if !layout.IsDamage(l.Err) {
				err = errors.Join(err, why[l])
			}
		}
		if why[l] != nil {
			lost = append(lost, LeafReport{Item: item, Path: l.Path, Saved: tensor.Spec{DType: l.DType, Shape: l.Shape},
				Lost: why[l]})
			l.Kind = layout.None
			if l.Err != nil { // then this leaf does not share its form
				l.Err = nil
			}
		}
	}
	if len(lost) > 0 && err == nil {
		err = c.Gone(ctx) // the whole checkpoint is gone, not just these leaves
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return lost, s.take(ctx, t, item, cells)
}

// take adds an open tree.
func (s *sources) take(ctx context.Context, t *layout.OpenTree, item string, cells *layout.Cells) error {
	s.open = append(s.open, t)
	n, err := lazyTree(ctx, t, item, cells)
	s.nodes = append(s.nodes, n)
	return err
}

// rich reports whether a source has recorded the types of its containers.
func (s *sources) rich() bool {
	return slices.ContainsFunc(s.open, func(t *layout.OpenTree) bool { return t.Rich != nil })
}

// transform calls fn and checks that its result can be a tree.
func (s *sources) transform(ctx context.Context, fn Transform) (*tree.Node, error) {
	if len(s.nodes) == 0 {
		return nil, noSources()
	}
	n, err := fn(ctx, s.nodes)
	if err != nil {
		return nil, err
	}
	if n, err = (tree.Options{KeepUnknown: true}).From(n); err != nil {
		return nil, errs.Wrap("transformation", "", err)
	}
	for _, e := range tree.Flatten(n) {
		if err := checkTransformed(e.Node); err != nil {
			return nil, errs.Wrap("transformation", e.Path.String(), err)
		}
	}
	return n, nil
}

func noSources() error {
	return &errs.Error{Kind: errs.Invalid, Subject: "sources", Want: "at least one checkpoint", Got: "no checkpoint"}
}

// checkTransformed returns an error for a leaf that can be neither read nor written.
func checkTransformed(n *tree.Node) error {
	if l, ok := arrayOf(n); ok {
		if _, err := l.Shape.Bytes(l.DType); err != nil {
			return err
		}
		if l.Read == nil {
			return &errs.Error{Kind: errs.Invalid, Want: "a Lazy with a Read function", Got: "nil"}
		}
		return nil
	}
	if n.Kind != tree.Leaf {
		return nil
	}
	switch n.Value.(type) {
	case nil, bool, int64, uint64, float64, complex128, string, Handled:
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Want: "an array, scalar, string, PRNG key or nil", Got: n.String()}
}

// replaced returns a copy of the tree with other values in its leaves; its containers are new.
func replaced(n *tree.Node, value func(*tree.Node) any) *tree.Node {
	if n.Kind == tree.Leaf {
		leaf := *n
		leaf.Value = value(n)
		return &leaf
	}
	out := &tree.Node{Kind: n.Kind, Keys: n.Keys, Type: n.Type}
	for _, c := range n.Items {
		out.Items = append(out.Items, replaced(c, value))
	}
	return out
}

// madeTree returns the tree, with its lazy arrays, in a form that can be loaded from, and the
// origins of the leaves of leaf handlers.
func madeTree(n *tree.Node) (*layout.OpenTree, map[*layout.Leaf]origin) {
	entries := tree.Flatten(n)
	t, origins := &layout.OpenTree{Rich: orbax.RichOf(n), Leaves: make([]layout.Leaf, len(entries))},
		map[*layout.Leaf]origin{}
	for i, e := range entries {
		t.Leaves[i] = madeLeaf(e)
		if h, ok := e.Node.Value.(Handled); ok {
			origins[&t.Leaves[i]] = origin{h.of, h.leaf.Path}
		}
	}
	return t, origins
}

func madeLeaf(e tree.Entry) layout.Leaf {
	l := layout.Leaf{Path: e.Path, Param: e.Path.Param(), Form: new(layout.Form)}
	a, ok := arrayOf(e.Node)
	if !ok {
		var x tensor.Tensor
		switch v := e.Node.Value.(type) {
		case bool, int64, uint64, float64:
			x, _ = e.Node.Number()
		case complex128:
			x = tensor.ScalarOf(v)
		case string:
			l.Kind, l.Text = layout.String, v
			return l
		case Handled:
			l.Kind, l.ValueType = layout.Foreign, v.ValueType
			return l
		default:
			l.Kind = map[tree.Kind]layout.Kind{tree.Leaf: layout.None, tree.Dict: layout.EmptyDict, tree.List: layout.EmptyList,
				tree.Tuple: layout.EmptyTuple, tree.Named: layout.EmptyNamed}[e.Node.Kind]
			return l
		}
		l.Kind, a = layout.Scalar, LazyOf(x)
	}
	if a.KeyImpl != "" {
		l.Kind, l.KeyImpl = layout.PRNGKey, a.KeyImpl
	}
	l.DType, l.Shape = a.DType, a.Shape
	l.Make(a.leaf().Read)
	return l
}
