package image

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A raw value is an array as safetensors files have it: its elements in C order,
// those of less than a byte packed. Its pieces are cut by bytes of the file.

// newRaw returns an array that is one raw value, or none when it has no elements.
func newRaw(param string, src source) *array {
	a := &array{form: &form{}, raw: true, param: param, src: src}
	if n := tensor.PackedSize(src.DType, src.Shape.Len()); n > 0 {
		a.size = n
		a.one[0] = value{array: a, size: n}
		a.values = a.one[:]
	}
	return a
}

// elementsOf returns which elements of a type have bytes from … to of a raw
// value, and the first that begins there.
func elementsOf(d tensor.DType, count, from, to int) (low, own, high int) {
	unit, group := d.Size(), 1
	if bits := d.Bits(); bits%8 != 0 {
		unit, group = bits, 8 // 8 elements fill whole bytes
	}
	return from / unit * group, min(count, (from+unit-1)/unit*group), min(count, (to+unit-1)/unit*group)
}

// encodeRaw is encode for a piece of a raw value.
func (v *value) encodeRaw(ctx context.Context, p *piece, dst []byte) (uint32, error) {
	s := &v.array.src
	from := int(p.off - v.offset)
	low, own, high := elementsOf(s.DType, s.Shape.Len(), from, from+p.size)
	size := s.DType.Size()
	packed := s.DType.Bits()%8 != 0
	var data []byte
	switch {
	case s.read == nil && s.parts == nil:
		data = s.Data[low*size : high*size]
	case packed:
		data = make([]byte, (high-low)*size)
	default:
		data = dst
	}
	if s.read != nil || s.parts != nil {
		at := 0
		for _, b := range runBoxes(s.Shape, low, high) {
			n := b.Len() * size
			if err := s.fill(ctx, b, data[at:at+n]); err != nil {
				return 0, err
			}
			at += n
		}
	}
	switch {
	case packed:
		first := low / 8 * s.DType.Bits()
		copy(dst, tensor.Pack(nil, s.DType, data)[from-first:])
	case &data[0] != &dst[0]:
		copy(dst, data)
	}
	sum := crc.Sum(dst)
	v.share[p.sub] = sum
	if packed {
		v.share[p.sub] = crc.Sum(data[(own-low)*size:])
	}
	v.share[p.sub] = crc.Combine(v.share[p.sub], 0, int64((s.Shape.Len()-high)*size))
	return sum, nil
}

// sealRaw is encodeRaw for a piece that is in dst already.
func (v *value) sealRaw(p *piece, dst []byte) uint32 {
	sum := crc.Sum(dst)
	v.share[p.sub] = crc.Combine(sum, 0, int64(v.size)-(p.off-v.offset)-int64(p.size))
	return sum
}

// runBoxes returns the boxes that elements low … high of an array consist of, in
// C order.
func runBoxes(shape []int, low, high int) []zarr.Box {
	if low >= high {
		return nil
	}
	if len(shape) == 0 {
		return []zarr.Box{{Origin: []int{}, Shape: []int{}}}
	}
	var out []zarr.Box
	row := tensor.Shape(shape[1:]).Len()
	partial := func(at, low, high int) {
		for _, b := range runBoxes(shape[1:], low, high) {
			out = append(out, zarr.Box{Origin: slices.Insert(b.Origin, 0, at), Shape: slices.Insert(b.Shape, 0, 1)})
		}
	}
	first, last := low/row, high/row
	if low%row != 0 {
		partial(first, low%row, min(row, high-first*row))
		first++
	}
	if first < last {
		b := zarr.WholeBox(shape)
		b.Origin[0], b.Shape[0] = first, last-first
		out = append(out, b)
	}
	if last >= first && high%row != 0 {
		partial(last, 0, high%row)
	}
	return out
}
