package serve

import (
	"context"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// loadTransform loads a tree that is made of the trees of several checkpoints.
func loadTransform(k *call) (reply, error) {
	return k.loadTree(func(o *checkpoint.LoadOptions) (*tree.Node, error) {
		var paths []string
		k.args.into("paths", &paths)
		for _, p := range paths {
			k.args.checkPlace(p)
		}
		transform, err := k.transform()
		if err == nil {
			err = k.args.finish()
		}
		if err != nil {
			return nil, err
		}
		return checkpoint.LoadAndTransform(k.ctx, paths, nil, transform, o)
	})
}

// transform reads how the tree is made: rules, or leaves.
func (k *call) transform() (checkpoint.Transform, error) {
	rules, leaves := k.args.text("rules"), k.args.raw("leaves")
	switch {
	case k.args.err != nil:
		return nil, k.args.err
	case (rules == "") == (leaves == nil):
		return nil, &errs.Error{Kind: errs.Invalid, Subject: "arguments rules and leaves", Want: "one of them"}
	case leaves == nil:
		script, err := surgery.Parse([]byte(rules))
		return script.Transform, errs.Wrap("", "argument rules", err)
	}
	n, err := readTree(leaves, nil)
	return func(_ context.Context, sources []*tree.Node) (*tree.Node, error) { return place(n, sources) },
		errs.Wrap("", "argument leaves", err)
}

// reference is a leaf that stands for a node of a source.
type reference struct {
	source int
	keys   []string
}

// TreeLeaf makes reference a leaf of a tree.
func (r reference) TreeLeaf() any { return r }

// reference reads the number of a source and the keys of a node of it.
func (r *nodeReader) reference() any {
	return reference{int(r.integer()), r.texts()}
}

// place returns the tree with the nodes of the sources in the place of their references.
func place(n *tree.Node, sources []*tree.Node) (*tree.Node, error) {
	if n.Kind == tree.Leaf {
		if ref, ok := n.Value.(reference); ok {
			return ref.find(sources)
		}
		return n, nil
	}
	out := &tree.Node{Kind: n.Kind, Type: n.Type, Keys: n.Keys, Items: make([]*tree.Node, len(n.Items))}
	for i, c := range n.Items {
		child, err := place(c, sources)
		if err != nil {
			return nil, err
		}
		out.Items[i] = child
	}
	return out, nil
}

func (r reference) find(sources []*tree.Node) (*tree.Node, error) {
	if r.source < 0 || r.source >= len(sources) {
		return nil, &errs.Error{Kind: errs.NotFound, Subject: "source " + strconv.Itoa(r.source),
			Want: "one of " + strconv.Itoa(len(sources))}
	}
	n := sources[r.source]
	for _, key := range r.keys {
		next := n.Get(key)
		if next == nil {
			return nil, &errs.Error{Kind: errs.NotFound, Subject: "leaf of source " + strconv.Itoa(r.source),
				Want: strconv.Quote(key), Remedy: errs.DidYouMean(key, n.Keys)}
		}
		n = next
	}
	return n, nil
}
