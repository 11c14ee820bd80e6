package diff

import (
	"bytes"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	piece = 4 << 20 // bytes of each side that are compared at a time
	kept  = 8 << 20 // of each side that are cached, because they can only be decoded as a whole
)

// arrays compares two arrays of one dtype and shape, piece by piece along the chunks of the first,
// and records the differences in l.
func (d *differ) arrays(l *Leaf, was, is *layout.Leaf) (same bool, err error) {
	var read [2]layout.BoxReader
	for i, leaf := range []*layout.Leaf{was, is} {
		if err := leaf.Prove(d.ctx); err != nil {
			return false, err
		}
		read[i] = layout.NewCells(kept).Reader(leaf)
	}
	var data [2][]byte
	same = true
	for tile := range was.Tiles(piece) {
		for box := range layout.Pieces(tile, was.DType.Size(), piece) {
			n := box.Len() * was.DType.Size()
			for i := range data {
				data[i] = slices.Grow(data[i][:0], n)[:n]
				if err := read[i](d.ctx, box, data[i]); err != nil {
					return false, err
				}
			}
			if bytes.Equal(data[0], data[1]) {
				continue
			}
			same = false
			l.distance(was, is, box, data)
		}
	}
	return same, nil
}

// distance adds the differences of two boxes of arrays of one dtype: the number of elements with
// different bits, and the largest absolute difference.
func (l *Leaf) distance(was, is *layout.Leaf, box zarr.Box, data [2][]byte) {
	x := tensor.Tensor{DType: was.DType, Shape: box.Shape, Data: data[0]}
	y := tensor.Tensor{DType: is.DType, Shape: box.Shape, Data: data[1]}
	if len(was.Shape) == 0 {
		l.Was, l.Is = "scalar "+x.Element(0), "scalar "+y.Element(0)
	}
	size := x.DType.Size()
	for i := range x.Len() {
		at := i * size
		if bytes.Equal(x.Data[at:at+size], y.Data[at:at+size]) {
			continue
		}
		l.Elements++
		u, ok1 := x.Float64(i)
		v, ok2 := y.Float64(i)
		diff := math.Abs(u - v)
		switch {
		case !ok1 || !ok2 || math.IsNaN(diff) || math.IsNaN(l.MaxAbs):
			l.MaxAbs = math.NaN()
		default:
			l.MaxAbs = max(l.MaxAbs, diff)
		}
	}
}
