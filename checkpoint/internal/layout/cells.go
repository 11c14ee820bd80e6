package layout

import (
	"context"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/format/zarr"
)

// Cells caches parts of arrays that can only be decoded as a whole, while smaller boxes of them are
// read. It is safe for concurrent use.
type Cells struct {
	limit int64

	mu    sync.Mutex
	used  int64
	cells map[cellKey]*cell
	order []cellKey // oldest first
}

type cellKey struct {
	leaf *Leaf
	at   int // index in the grid, in C order
}

// cell is a part of an array, loaded once.
type cell struct {
	size int64
	once sync.Once
	data []byte
	err  error
}

// NewCells returns a cache of at most limit bytes.
func NewCells(limit int64) *Cells {
	return &Cells{limit: limit, cells: map[cellKey]*cell{}}
}

// BoxReader reads the elements of a box in C order.
type BoxReader func(ctx context.Context, box zarr.Box, dst []byte) error

// Reader returns a function that reads boxes of a leaf: directly, or through the cache if boxes may
// be smaller than the parts that must be decoded as a whole.
func (c *Cells) Reader(l *Leaf) BoxReader {
	if l.File != "" || len(l.ReadShape) != len(l.Shape) || len(l.Shape) == 0 || slices.Contains(l.ReadShape, 0) {
		return l.ReadBox
	}
	return func(ctx context.Context, box zarr.Box, dst []byte) error {
		if (zarr.Box{Shape: l.ReadShape}).Len() <= box.Len() {
			return l.ReadBox(ctx, box, dst)
		}
		for at := range gridCells(l, box) {
			data, err := c.get(ctx, l, at)
			if err != nil {
				return err
			}
			zarr.CopyBox(box, dst, at, data, l.DType.Size())
		}
		return nil
	}
}

// gridCells yields the parts of an array that a box touches, cut to the array.
func gridCells(l *Leaf, box zarr.Box) func(yield func(zarr.Box) bool) {
	return func(yield func(zarr.Box) bool) {
		if box.Len() == 0 {
			return
		}
		at := make([]int, len(box.Shape))
		for k := range at {
			at[k] = box.Origin[k] / l.ReadShape[k]
		}
		for {
			cell := zarr.Box{Origin: make([]int, len(at)), Shape: make([]int, len(at))}
			for k, n := range at {
				cell.Origin[k] = n * l.ReadShape[k]
				cell.Shape[k] = min(l.ReadShape[k], l.Shape[k]-cell.Origin[k])
			}
			if !yield(cell) {
				return
			}
			k := len(at) - 1
			for ; k >= 0; k-- {
				if at[k]++; at[k]*l.ReadShape[k] < box.Origin[k]+box.Shape[k] {
					break
				}
				at[k] = box.Origin[k] / l.ReadShape[k]
			}
			if k < 0 {
				return
			}
		}
	}
}

// get returns the elements of a part.
func (c *Cells) get(ctx context.Context, l *Leaf, box zarr.Box) ([]byte, error) {
	key := cellKey{leaf: l}
	for k, n := range box.Origin {
		key.at = key.at*((l.Shape[k]+l.ReadShape[k]-1)/l.ReadShape[k]) + n/l.ReadShape[k]
	}
	size := int64(box.Len() * l.DType.Size())
	e := c.entry(key, size)
	e.once.Do(func() {
		e.data = make([]byte, size)
		e.err = l.ReadBox(ctx, box, e.data)
	})
	return e.data, e.err
}

// entry returns the cell of a part. It drops the oldest cells if the cache would become too large.
func (c *Cells) entry(key cellKey, size int64) *cell {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.cells[key]; ok {
		return e
	}
	for len(c.order) > 0 && c.used+size > c.limit {
		old := c.order[0]
		c.order = c.order[1:]
		c.used -= c.cells[old].size
		delete(c.cells, old)
	}
	e := &cell{size: size}
	c.cells[key], c.used = e, c.used+size
	c.order = append(c.order, key)
	return e
}
