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

// arrays compares two arrays of one shape, piece by piece along the chunks of the first, and
// records the differences in l. Pieces that are equal are read again if others differ: the norm
// needs them.
func (d *differ) arrays(l *Leaf, was, is *layout.Leaf) (same bool, err error) {
	var read [2]layout.BoxReader
	leaves := [2]*layout.Leaf{was, is}
	for i, leaf := range leaves {
		if err := leaf.Prove(d.ctx); err != nil {
			return false, err
		}
		read[i] = layout.NewCells(kept).Reader(leaf)
	}
	var data [2][]byte
	load := func(i int, box zarr.Box) error {
		n := box.Len() * leaves[i].DType.Size()
		data[i] = slices.Grow(data[i][:0], n)[:n]
		return read[i](d.ctx, box, data[i])
	}
	sum := sums{differ: d}
	if d.histogram {
		l.Histogram = &Histogram{}
	}
	var equal []zarr.Box // before the first piece that differs
	same = was.DType == is.DType
	for tile := range was.Tiles(piece) {
		for box := range layout.Pieces(tile, max(was.DType.Size(), is.DType.Size()), piece) {
			for i := range data {
				if err := load(i, box); err != nil {
					return false, err
				}
			}
			if was.DType == is.DType && bytes.Equal(data[0], data[1]) {
				equal = append(equal, box)
				continue
			}
			same = false
			sum.add(l, was, is, box, data)
		}
	}
	if same {
		l.Histogram = nil
		return true, nil
	}
	for _, box := range equal {
		if err := load(0, box); err != nil {
			return false, err
		}
		sum.equal(l, was, box, data[0])
	}
	l.Size = sum.size()
	return false, nil
}

// sums are what the size of a change is made of.
type sums struct {
	*differ
	n            float64 // elements
	was, is, gap float64 // sums of squares
}

// add adds the differences of two boxes of one shape.
func (s *sums) add(l *Leaf, was, is *layout.Leaf, box zarr.Box, data [2][]byte) {
	x := tensor.Tensor{DType: was.DType, Shape: box.Shape, Data: data[0]}
	y := tensor.Tensor{DType: is.DType, Shape: box.Shape, Data: data[1]}
	if len(was.Shape) == 0 && was.DType == is.DType {
		l.Was, l.Is = "scalar "+x.Element(0), "scalar "+y.Element(0)
	}
	size, alike := x.DType.Size(), x.DType == y.DType
	for i := range x.Len() {
		s.n++
		u, ok1 := x.Float64(i)
		v, ok2 := y.Float64(i)
		s.was += u * u
		s.is += v * v
		if alike && bytes.Equal(x.Data[i*size:(i+1)*size], y.Data[i*size:(i+1)*size]) || !alike && ok1 && ok2 && u == v {
			if l.Histogram != nil {
				l.Histogram.Same++
			}
			continue
		}
		l.Elements++
		diff := math.Abs(u - v)
		if !ok1 || !ok2 {
			diff = math.NaN()
		}
		s.gap += diff * diff
		if math.IsNaN(diff) || math.IsNaN(l.MaxAbs) {
			l.MaxAbs = math.NaN()
		} else {
			l.MaxAbs = max(l.MaxAbs, diff)
		}
		if l.Histogram != nil {
			l.Histogram.add(diff)
		}
	}
}

// equal adds a box that is the same on both sides.
func (s *sums) equal(l *Leaf, was *layout.Leaf, box zarr.Box, data []byte) {
	x := tensor.Tensor{DType: was.DType, Shape: box.Shape, Data: data}
	for i := range x.Len() {
		u, _ := x.Float64(i)
		s.was += u * u
		s.is += u * u
	}
	s.n += float64(x.Len())
	if l.Histogram != nil {
		l.Histogram.Same += int64(x.Len())
	}
}

func (s *sums) size() Size {
	if s.n == 0 {
		return Size{}
	}
	z := Size{Elements: int(s.n), RMS: math.Sqrt(s.gap / s.n), Was: math.Sqrt(s.was / s.n), Is: math.Sqrt(s.is / s.n)}
	z.Relative = z.RMS / z.Was
	return z
}
