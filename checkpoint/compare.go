package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// compare compares the written checkpoint with its sources. If they differ, it removes the written
// checkpoint, unless that replaced another one.
func (c *conversion) compare(ctx context.Context) error {
	to, err := layout.Open(ctx, c.st, c.name)
	if err != nil {
		return err
	}
	defer to.Close()
	for _, t := range c.trees {
		if err := c.compareTree(ctx, to, t); err != nil {
			return c.remove(ctx, t.item, err)
		}
	}
	for _, f := range c.files {
		if err := f.compare(ctx, to); err != nil {
			return c.remove(ctx, f.item, err)
		}
	}
	return nil
}

// remove removes the written checkpoint after an item differed from its source.
func (c *conversion) remove(ctx context.Context, item string, err error) error {
	err = errs.Wrap("", item, err)
	if errs.KindOf(err) == errs.Corrupt && !c.opts.Overwrite {
		err = errors.Join(err, c.st.RemoveTree(ctx, c.name))
	}
	return err
}

func (c *conversion) compareTree(ctx context.Context, to *layout.Checkpoint, t convertedTree) error {
	room := max(c.budget/8, 1<<20)
	var got sources
	defer got.close()
	if err := got.add(ctx, to, t.item, layout.NewCells(room)); err != nil {
		return err
	}
	written := map[string]*tree.Node{}
	for _, e := range tree.Flatten(got.nodes[0]) {
		written[e.Path.Param()] = e.Node
	}
	for _, e := range tree.Flatten(t.want) {
		if err := c.compareLeaf(ctx, e, written[e.Path.Param()], room); err != nil {
			return errs.Wrap("", e.Path.String(), err)
		}
	}
	return nil
}

// compareLeaf compares a leaf, or an empty container, with the written one, room bytes at a time.
func (c *conversion) compareLeaf(ctx context.Context, e tree.Entry, got *tree.Node, room int64) error {
	want := e.Node
	differ := &errs.Error{Kind: errs.Corrupt, Want: want.String(), Got: "a different leaf after writing"}
	if got == nil {
		return differ
	}
	if h, ok := want.Value.(Handled); ok {
		if is, ok := got.Value.(Handled); !ok || is.ValueType != h.ValueType {
			return differ
		}
		return nil
	}
	w, array := arrayOf(want)
	g, isArray := arrayOf(got)
	if !array {
		if isArray || !tree.Equal(tree.Untyped(want), tree.Untyped(got)) {
			return differ
		}
		return nil
	}
	if w.KeyImpl == "" {
		how, _ := c.opts.StorageFor(e.Path, tensor.Spec{DType: w.DType, Shape: w.Shape})
		w = w.castTo(how.DType)
	}
	if !isArray || w.DType != g.DType || !w.Shape.Equal(g.Shape) || w.KeyImpl != g.KeyImpl {
		differ.Want = w.String()
		return differ
	}
	same, err := sameElements(ctx, w, g, room)
	if err == nil && !same {
		err = &errs.Error{Kind: errs.Corrupt, Got: "different elements after writing", Remedy: "check memory and disk"}
	}
	return err
}

// sameElements compares two arrays of the same type and shape, limit bytes at a time.
func sameElements(ctx context.Context, want, got Lazy, limit int64) (same bool, err error) {
	var a, b []byte
	for box := range layout.Pieces(zarr.WholeBox(want.Shape), want.DType.Size(), limit) {
		n := box.Len() * want.DType.Size()
		a, b = slices.Grow(a[:0], n)[:n], slices.Grow(b[:0], n)[:n]
		if err := want.ReadBox(ctx, Box(box), a); err != nil {
			return false, err
		}
		if err := got.ReadBox(ctx, Box(box), b); err != nil {
			return false, err
		}
		if !bytes.Equal(a, b) {
			return false, nil
		}
	}
	return true, nil
}
