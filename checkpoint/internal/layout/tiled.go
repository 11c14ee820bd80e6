package layout

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// part is a box of an array that is stored by itself.
type part struct {
	box  zarr.Box
	from partSource
}

// partSource reads one part.
type partSource interface {
	// read reads a region of the part, which lies in box, into dst, the memory of box. If whole is
	// set, the region is the whole part, and is compared with its checksum.
	read(ctx context.Context, p *part, region, box zarr.Box, dst []byte, whole bool, w *worker) error
	// check compares the part with its checksum, given the memory of a box around it.
	check(ctx context.Context, p *part, box zarr.Box, dst []byte) error
	// prove reads the part and compares it with its checksum.
	prove(ctx context.Context, p *part, w *worker) error
}

// lumpBytes is the size up to which a part is read as a whole.
const lumpBytes = 32 << 20

// tiled is an array in parts that tile it.
type tiled struct {
	shape tensor.Shape
	size  int     // of an element
	parts []*part // with elements, by their origin along the first axis
	reach int     // the largest extent of a part along the first axis
	cell  []int   // the shape of the cells of the grid that the parts make; nil if they make none
	units []int   // see unit
	lumps bool    // units are whole parts, which are compared with their checksums when they are read
	sums  bool    // parts may have checksums
}

// newTiled returns the array of a leaf. packed says that a part can only be decoded as a whole.
func newTiled(shape tensor.Shape, size int, parts []*part, sums, packed bool) *tiled {
	a := &tiled{shape: shape, size: size, sums: sums,
		parts: slices.DeleteFunc(parts, func(p *part) bool { return p.box.Len() == 0 })}
	if len(shape) > 0 {
		slices.SortStableFunc(a.parts, func(p, q *part) int { return cmp.Compare(p.box.Origin[0], q.box.Origin[0]) })
		for _, p := range a.parts {
			a.reach = max(a.reach, p.box.Shape[0])
		}
	}
	a.cell = a.grid()
	most := 0
	for _, p := range a.parts {
		most = max(most, p.box.Len()*size)
	}
	switch {
	case a.cell != nil && (packed || most <= lumpBytes):
		a.units, a.lumps = a.cell, true
	case packed:
		a.units, a.lumps = slices.Clone([]int(shape)), true
	default:
		a.units = row(shape)
	}
	return a
}

// row returns the shape of a row of the first axis with an extent above 1.
func row(shape []int) []int {
	u := slices.Clone(shape)
	if tensor.Shape(shape).Len() == 0 {
		return u
	}
	if i := slices.IndexFunc(u, func(n int) bool { return n > 1 }); i >= 0 {
		u[i] = 1
	}
	return u
}

// grid returns the shape of the cells if the parts make a grid, or nil.
func (a *tiled) grid() []int {
	i := slices.IndexFunc(a.parts, func(p *part) bool {
		return !slices.ContainsFunc(p.box.Origin, func(o int) bool { return o > 0 })
	})
	if i < 0 {
		return nil
	}
	cell := a.parts[i].box.Shape
	for _, p := range a.parts {
		for axis, o := range p.box.Origin {
			if o%cell[axis] != 0 || p.box.Shape[axis] != min(cell[axis], a.shape[axis]-o) {
				return nil
			}
		}
	}
	return cell
}

// touching calls f for each part that has elements of a region, until f fails.
func (a *tiled) touching(region zarr.Box, f func(p *part, common zarr.Box) error) error {
	from, to := 0, len(a.parts)
	if len(a.shape) > 0 {
		low, high := region.Origin[0]-a.reach, region.Origin[0]+region.Shape[0]
		from = sort.Search(len(a.parts), func(i int) bool { return a.parts[i].box.Origin[0] > low })
		to = sort.Search(len(a.parts), func(i int) bool { return a.parts[i].box.Origin[0] >= high })
	}
	for _, p := range a.parts[from:max(from, to)] {
		if common, ok := p.box.Intersect(region); ok {
			if err := f(p, common); err != nil {
				return err
			}
		}
	}
	return nil
}

// unit implements source: a whole part, if the parts are small and make a grid, or else a row.
func (a *tiled) unit() []int { return slices.Clone(a.units) }

// readRegion implements source.
func (a *tiled) readRegion(ctx context.Context, region, box zarr.Box, dst []byte, w *worker) error {
	return a.touching(region, func(p *part, common zarr.Box) error {
		whole := common.Equal(p.box) && (a.lumps || common.Len()*a.size <= lumpBytes)
		return p.from.read(ctx, p, common, box, dst, whole, w)
	})
}

// checkBox implements source: it compares the parts that lie in the box with their checksums,
// unless that was done when they were read.
func (a *tiled) checkBox(box zarr.Box, dst []byte) error {
	if !a.entire() {
		return nil
	}
	return a.touching(box, func(p *part, common zarr.Box) error {
		if !common.Equal(p.box) {
			return nil
		}
		return p.from.check(context.Background(), p, box, dst)
	})
}

// entire implements source.
func (a *tiled) entire() bool { return a.sums && !a.lumps }

// prove compares all parts with their checksums.
func (a *tiled) prove(ctx context.Context, w *worker) error {
	for _, p := range a.parts {
		if err := p.from.prove(ctx, p, w); err != nil {
			return err
		}
	}
	return nil
}

// runs calls run for each run of elements of a region of the part: with its place in the memory of
// box, its place in the part, and its length, all in bytes.
func (p *part) runs(region, box zarr.Box, size int, run func(at, whole, n int)) {
	zarr.Runs(p.relative(region), p.relative(box), p.box.Shape, size, run)
}

// copy copies a region of the part to dst, the memory of box, from b, which has the bytes of the
// part from first on.
func (p *part) copy(region, box zarr.Box, dst, b []byte, first, size int) {
	p.runs(region, box, size, func(at, whole, n int) { copy(dst[at:at+n], b[whole-first:whole-first+n]) })
}

// relative returns a box of the array in the coordinates of the part. Its origin may be negative.
func (p *part) relative(b zarr.Box) zarr.Box {
	origin := make([]int, len(b.Origin))
	for i, o := range b.Origin {
		origin[i] = o - p.box.Origin[i]
	}
	return zarr.Box{Origin: origin, Shape: b.Shape}
}

// span returns where the elements of a region of the part lie in the part: the first byte and the
// number of bytes up to the last.
func (p *part) span(region zarr.Box, size int) (first, length int) {
	end := 0
	stride := size
	for i := len(region.Shape) - 1; i >= 0; i-- {
		o := region.Origin[i] - p.box.Origin[i]
		first += o * stride
		end += (o + region.Shape[i] - 1) * stride
		stride *= p.box.Shape[i]
	}
	return first, end + size - first
}
