package checkpoint

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
)

// Reader reads parts of one tree of a checkpoint, for tools: leaf by leaf, and an array box by box.
// It is safe for concurrent use until Close. It reads only the checkpoint that it opened. If that
// checkpoint is replaced or removed meanwhile, a store with leases reads on. Without leases the
// read fails with store.ErrReplaced or store.ErrRemoved in its chain.
type Reader struct {
	c     *layout.Checkpoint
	info  ItemInfo
	tree  *layout.OpenTree
	cells *layout.Cells
}

// readerCache is how many bytes a Reader caches of parts that can only be decoded as a whole.
const readerCache = 64 << 20

// OpenReader opens a tree of the checkpoint path. Close must be called.
func OpenReader(ctx context.Context, path string, o *LoadOptions) (*Reader, error) {
	const op = "checkpoint.OpenReader"
	o, err := o.resolve(ctx)
	if err != nil {
		return nil, errs.Wrap(op, path, err)
	}
	c, err := o.open(ctx, path)
	if err != nil {
		return nil, errs.Wrap(op, path, err)
	}
	r := &Reader{c: c, cells: layout.NewCells(readerCache)}
	if err := c.Explain(ctx, r.open(ctx, o)); err != nil {
		c.Close()
		return nil, errs.Wrap(op, path, err)
	}
	return r, nil
}

func (r *Reader) open(ctx context.Context, o *LoadOptions) (err error) {
	item := o.Name
	if item == "" {
		if item, err = r.c.Default(ctx); err != nil {
			return err
		}
	}
	r.info = ItemInfo{Name: item, Kind: layout.Tree.String()}
	open := o.describer(r.c)
	if err = describeTree(ctx, open, item, o.PyTree.LeafHandlers, &r.info); err == nil {
		r.tree, err = open(ctx, item)
	}
	return err
}

// Close closes the files.
func (r *Reader) Close() error {
	defer r.c.Close()
	return r.tree.Close()
}

// Info describes the tree. The slices are shared.
func (r *Reader) Info() ItemInfo { return r.info }

// Leaf finds a leaf by its path, as Path.String spells it, or by its keys joined
// with ".". If there is no such leaf, the error is errs.NotFound and names the nearest leaf.
func (r *Reader) Leaf(name string) (LeafInfo, error) {
	for _, same := range []func(LeafInfo) bool{
		func(l LeafInfo) bool { return l.Path.String() == name },
		func(l LeafInfo) bool { return l.Param == name },
	} {
		for _, l := range r.info.Leaves {
			if same(l) {
				return l, nil
			}
		}
	}
	e := &errs.Error{Kind: errs.NotFound, Op: "checkpoint.Reader", Subject: "leaf " + strconv.Quote(name),
		Want:   "one of the " + strconv.Itoa(len(r.info.Leaves)) + " leaves of " + strconv.Quote(r.info.Name),
		Remedy: "bivouac info lists them"}
	names := make([]string, len(r.info.Leaves))
	for i, l := range r.info.Leaves {
		names[i] = l.Param
	}
	if near := errs.DidYouMean(strings.ReplaceAll(name, "/", "."), names); near != "" {
		e.Remedy = near
	}
	return LeafInfo{}, e
}

// ReadBox reads a box of an array into dst: extents shape from origin on, in C order,
// little-endian. dst must have the size of the elements. A leaf that is not an array, and a box
// outside of the array, are errs.Invalid.
func (r *Reader) ReadBox(ctx context.Context, l LeafInfo, origin, shape []int, dst []byte) error {
	for i := range r.tree.Leaves {
		leaf := &r.tree.Leaves[i]
		if leaf.Param == l.Param && leaf.Err != nil {
			return errs.Wrap("checkpoint.Reader", "leaf "+strconv.Quote(l.Param), leaf.Err)
		}
		if leaf.Param != l.Param || !leaf.HasArray() {
			continue
		}
		box := zarr.Box{Origin: origin, Shape: shape}
		if !box.Inside(leaf.Shape) || len(dst) != box.Len()*leaf.DType.Size() {
			return &errs.Error{Kind: errs.Invalid, Op: "checkpoint.Reader", Subject: l.Param,
				Want: "a part of " + leaf.Shape.String() + " and memory of its size", Got: box.String()}
		}
		return r.c.Explain(ctx, r.cells.Reader(leaf)(ctx, box, dst))
	}
	return &errs.Error{Kind: errs.Invalid, Op: "checkpoint.Reader", Subject: l.Param, Want: "an array"}
}

// Boxes yields boxes that together are the array of a leaf, in an order in which ReadBox reads no
// stored part twice, unless a single part is larger than the cache of the Reader. A box has at most
// most bytes, or one element. A leaf that is not an array has no boxes.
func (r *Reader) Boxes(l LeafInfo, most int) iter.Seq[Box] {
	return func(yield func(Box) bool) {
		i := slices.IndexFunc(r.tree.Leaves, func(leaf layout.Leaf) bool { return leaf.Param == l.Param && leaf.HasArray() })
		if i < 0 {
			return
		}
		leaf := &r.tree.Leaves[i]
		for tile := range leaf.Tiles(most) {
			for box := range layout.Pieces(tile, leaf.DType.Size(), int64(most)) {
				if !yield(Box{Origin: box.Origin, Shape: box.Shape}) {
					return
				}
			}
		}
	}
}

// Check reads a whole array piece by piece and returns an error if it is damaged. It takes some
// megabytes of memory.
func (r *Reader) Check(ctx context.Context, l LeafInfo) error {
	for i := range r.tree.Leaves {
		leaf := &r.tree.Leaves[i]
		if leaf.Param != l.Param || !leaf.HasArray() {
			continue
		}
		if err := leaf.Prove(ctx); err != nil {
			return r.c.Explain(ctx, err)
		}
		var b []byte
		for box := range leaf.Tiles(4 << 20) {
			n := box.Len() * leaf.DType.Size()
			if n > cap(b) {
				b = make([]byte, n)
			}
			if err := r.cells.Reader(leaf)(ctx, box, b[:n]); err != nil {
				return r.c.Explain(ctx, err)
			}
		}
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Op: "checkpoint.Reader", Subject: l.Param, Want: "an array"}
}

// ReadDocument reads an item that is JSON or a protobuf in text format. A tree is
// errs.Mismatch.
func ReadDocument(ctx context.Context, path, item string, o *LoadOptions) ([]byte, error) {
	const op = "checkpoint.ReadDocument"
	if o == nil {
		o = &LoadOptions{}
	}
	var b []byte
	err := o.read(ctx, path, func(c *layout.Checkpoint) error {
		it, err := c.Item(ctx, item)
		switch {
		case err != nil:
		case it.Kind == layout.Proto:
			b, err = c.Proto(ctx, item)
		default:
			b, err = c.JSON(ctx, item)
		}
		return err
	})
	return b, errs.Wrap(op, path, err)
}
