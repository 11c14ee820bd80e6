package checkpoint

import (
	"context"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/cast"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Lazy is an array that is read on demand, box by box. It lies in a checkpoint or is made of other
// arrays. It is a leaf of the trees that a Transform takes and returns. Several goroutines may read
// the arrays of a checkpoint, until the function that handed them out returns.
type Lazy struct {
	DType tensor.DType
	Shape tensor.Shape
	// KeyImpl, when not empty, says that the elements are the data of typed PRNG keys of JAX. It names
	// their implementation.
	KeyImpl string
	// Read fills dst, which has the size of the box, with the elements of the box
	// in C order, little-endian. It is called from several goroutines, for boxes
	// inside of Shape.
	Read func(ctx context.Context, box Box, dst []byte) error
}

// LazyOf returns the tensor, whose memory is shared, as a Lazy.
func LazyOf(t tensor.Tensor) Lazy {
	return Lazy{DType: t.DType, Shape: t.Shape, Read: func(_ context.Context, box Box, dst []byte) error {
		zarr.CopyBox(zarr.Box(box), dst, zarr.WholeBox(t.Shape), t.Data, t.DType.Size())
		return nil
	}}
}

// String describes it as tensors are: "float32[2,3]".
func (l Lazy) String() string { return l.DType.String() + l.Shape.String() }

// ReadBox fills dst with the elements of a box, as Read does. A box that is not
// inside of the array, and a dst of another size, are errs.Invalid.
func (l Lazy) ReadBox(ctx context.Context, box Box, dst []byte) error {
	b := zarr.Box(box)
	if !b.Inside(l.Shape) || len(dst) != b.Len()*l.DType.Size() {
		return &errs.Error{Kind: errs.Invalid, Op: "checkpoint.Lazy",
			Want: "a box inside of " + l.Shape.String() + " and memory of its size",
			Got:  b.String() + " and " + strconv.Itoa(len(dst)) + " bytes"}
	}
	if len(dst) == 0 {
		return nil
	}
	return l.Read(ctx, box, dst)
}

// Tensor reads the whole array into memory of its own.
func (l Lazy) Tensor(ctx context.Context) (tensor.Tensor, error) {
	if _, err := l.Shape.Bytes(l.DType); err != nil {
		return tensor.Tensor{}, err
	}
	mem, err := newMemory(l.Shape.Len()*l.DType.Size(), false)
	if err == nil {
		err = l.ReadBox(ctx, Box(zarr.WholeBox(l.Shape)), mem)
	}
	return tensor.Tensor{DType: l.DType, Shape: l.Shape.Clone(), Data: mem}, err
}

// castTo returns the array with elements of another type; Invalid leaves them.
func (l Lazy) castTo(d tensor.DType) Lazy {
	if d == tensor.Invalid || d == l.DType {
		return l
	}
	return Lazy{DType: d, Shape: l.Shape, Read: func(ctx context.Context, box Box, dst []byte) error {
		b := make([]byte, zarr.Box(box).Len()*l.DType.Size())
		if err := l.ReadBox(ctx, box, b); err != nil {
			return err
		}
		return cast.Into(d, dst, l.DType, b, false)
	}}
}

// leaf returns the Lazy as a writer.Lazy.
func (l Lazy) leaf() writer.Lazy {
	return writer.Lazy{DType: l.DType, Shape: l.Shape, KeyImpl: l.KeyImpl,
		Read: func(ctx context.Context, box zarr.Box, dst []byte) error {
			return l.ReadBox(ctx, Box(box), dst)
		}}
}

// lazyArray returns a Lazy for the array of a leaf, which is read through a cache. An array that is
// read in parts is verified as a whole before its first part.
func lazyArray(l *layout.Leaf, cells *layout.Cells) Lazy {
	read := cells.Reader(l)
	var mu sync.Mutex
	proven := false
	prove := func(ctx context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if proven {
			return nil
		}
		err := l.Prove(ctx)
		proven = err == nil
		return err
	}
	return Lazy{DType: l.DType, Shape: l.Shape, KeyImpl: l.KeyImpl,
		Read: func(ctx context.Context, box Box, dst []byte) error {
			if err := prove(ctx); err != nil {
				return err
			}
			return read(ctx, zarr.Box(box), dst)
		}}
}

// lazyTree makes the tree of an item: small leaves are read, arrays are Lazy.
func lazyTree(ctx context.Context, t *layout.OpenTree, item string, cells *layout.Cells) (*tree.Node, error) {
	entries, arrays := leafEntries(t)
	for i := range t.Leaves {
		if l := &t.Leaves[i]; l.Kind == layout.Foreign {
			entries[i].Node.Value = Handled{ValueType: l.ValueType, leaf: l, of: t}
		}
	}
	var numbers []int
	for _, i := range arrays {
		if l := &t.Leaves[i]; l.Kind == layout.Scalar {
			numbers = append(numbers, i)
		} else {
			entries[i].Node.Value = lazyArray(l, cells)
		}
	}
	if err := (&loading{LoadOptions: &LoadOptions{}}).readLeaves(ctx, t, entries, numbers); err != nil {
		return nil, err
	}
	return treeOf(t, item, entries)
}

// arrayOf returns the array that a leaf stands for; ok is false if the leaf is not an array.
func arrayOf(n *tree.Node) (l Lazy, ok bool) {
	if n.Kind != tree.Leaf {
		return Lazy{}, false
	}
	switch v := n.Value.(type) {
	case Lazy:
		return v, true
	case tensor.Tensor:
		return LazyOf(v), true
	case Key:
		l = LazyOf(v.Data)
		l.KeyImpl = v.Impl
		return l, true
	}
	return Lazy{}, false
}
