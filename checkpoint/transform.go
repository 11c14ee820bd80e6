package checkpoint

import (
	"context"
	"runtime"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Transform makes one tree of the trees of sources, in their order. Their arrays
// and PRNG keys are Lazy, their other leaves what Load returns. What it returns
// may have leaves of all these kinds, and tensors: leaves of the sources, others
// made of them, and new ones. It must not change the sources, and need not read
// anything: package surgery has rules that map boxes of what they make to boxes
// of the sources. A Lazy must not be read after the call that it was handed out
// for.
type Transform func(ctx context.Context, sources []*tree.Node) (*tree.Node, error)

// LoadAndTransform reads one tree of each of the checkpoints, transformed: the
// sources are opened, fn says what is to become of them, and what is left of
// their arrays in its result is read, and nothing else. LoadOptions.Name is the
// item of all sources; the rest of the options applies to each of them, but for
// Want, which is errs.Invalid: the transformation says what is wanted.
//
// abstract, when not nil, is what the transformed tree must agree with.
//
// Errors are those of Load and of fn. A leaf of the result that is no array,
// scalar, string, PRNG key or nil is errs.Invalid.
func LoadAndTransform(ctx context.Context, paths []string, abstract any, fn Transform, o *LoadOptions) (*tree.Node, error) {
	const op = "checkpoint.LoadAndTransform"
	if o == nil {
		o = &LoadOptions{}
	}
	switch {
	case o.Want != nil:
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: "LoadOptions.Want", Want: "none", Remedy: "have the transformation leave out what is not wanted"}
	case abstract != nil:
		return nil, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: "abstract", Want: "nil"}
	}
	var in sources
	defer in.close()
	for _, path := range paths {
		c, err := o.open(ctx, path)
		if err == nil {
			err = in.add(ctx, c, o.Name, newCellCache(readerCache/int64(len(paths))))
		}
		if err != nil {
			return nil, errs.Wrap(op, path, err)
		}
	}
	n, err := in.transform(ctx, fn)
	if err == nil {
		n, err = materialized(ctx, n)
	}
	return n, errs.Wrap(op, "", err)
}

// sources are the open trees that are transformed.
type sources struct {
	open  []*layout.OpenTree
	nodes []*tree.Node
}

func (s *sources) close() {
	for _, t := range s.open {
		t.Close() //nolint:errcheck // nothing was written
	}
}

// add opens a tree of a checkpoint, the default one when item is "".
func (s *sources) add(ctx context.Context, c *layout.Checkpoint, item string, cells *cellCache) (err error) {
	if item == "" {
		if item, err = c.Default(ctx); err != nil {
			return err
		}
	}
	t, err := c.Tree(ctx, item)
	if err != nil {
		return err
	}
	s.open = append(s.open, t)
	n, err := lazyTree(ctx, t, item, cells)
	s.nodes = append(s.nodes, n)
	return err
}

// rich reports whether a source has recorded the types of its containers.
func (s *sources) rich() bool {
	for _, t := range s.open {
		if t.Rich != nil {
			return true
		}
	}
	return false
}

// transform calls fn and holds what it returns against what a tree may have.
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
	return &errs.Error{Kind: errs.Invalid, Subject: "sources", Want: "at least one checkpoint", Got: "none"}
}

// richOf returns the types of the containers of a tree.
func richOf(n *tree.Node) *orbax.Rich {
	r := &orbax.Rich{Kind: n.Kind, Type: n.Type, Keys: n.Keys}
	for _, c := range n.Items {
		r.Items = append(r.Items, richOf(c))
	}
	return r
}

// checkTransformed refuses a leaf that is nothing that could be read or written.
func checkTransformed(n *tree.Node) error {
	if l, ok := arrayOf(n); ok {
		if _, err := l.Shape.Bytes(l.DType); err != nil {
			return err
		}
		if l.Read == nil {
			return &errs.Error{Kind: errs.Invalid, Want: "a Lazy with a way to Read it", Got: "none"}
		}
		return nil
	}
	if n.Kind != tree.Leaf {
		return nil
	}
	switch n.Value.(type) {
	case nil, bool, int64, uint64, float64, complex128, string:
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Want: "an array, scalar, string, PRNG key or nil", Got: n.String()}
}

// replaced returns the tree with other values in place of those of its leaves;
// containers are new ones.
func replaced(n *tree.Node, value func(*tree.Node) any) *tree.Node {
	out := &tree.Node{Kind: n.Kind, Keys: n.Keys, Type: n.Type}
	if n.Kind == tree.Leaf {
		out.Value = value(n)
	}
	for _, c := range n.Items {
		out.Items = append(out.Items, replaced(c, value))
	}
	return out
}

// readPiece is about how much of an array is read at once by one goroutine.
const readPiece = 4 << 20

// materialized returns the tree with tensors, and Keys, in place of what is lazy.
func materialized(ctx context.Context, n *tree.Node) (*tree.Node, error) {
	var work []func() error
	var failed error
	out := replaced(n, func(leaf *tree.Node) any {
		l, lazy := leaf.Value.(Lazy)
		if !lazy || failed != nil {
			return leaf.Value
		}
		mem, err := newMemory(l.Shape.Len() * l.DType.Size())
		if err != nil {
			failed = err
			return nil
		}
		done := 0
		cutBox(zarr.WholeBox(l.Shape), l.DType.Size(), 0, readPiece, func(box zarr.Box) bool {
			end := done + box.Len()*l.DType.Size()
			dst := mem[done:end]
			done = end
			work = append(work, func() error { return l.ReadBox(ctx, Box(box), dst) })
			return true
		})
		t := tensor.Tensor{DType: l.DType, Shape: l.Shape.Clone(), Data: mem}
		if l.KeyImpl != "" {
			return Key{Impl: l.KeyImpl, Data: t}
		}
		return t
	})
	if failed != nil {
		return nil, failed
	}
	return out, together(work)
}

// together does work in several goroutines until one fails, and returns the error
// of the first that did in the order of the list.
func together(work []func() error) error {
	failures := make([]error, len(work))
	var mu sync.Mutex
	next, stop := 0, false
	claim := func() int {
		mu.Lock()
		defer mu.Unlock()
		if stop || next == len(work) {
			return -1
		}
		next++
		return next - 1
	}
	var wg sync.WaitGroup
	for range min(len(work), 2*runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := claim(); i >= 0; i = claim() {
				if failures[i] = work[i](); failures[i] != nil {
					mu.Lock()
					stop = true
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for _, err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}
