package safetensors

import (
	"context"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// pieceBytes is how much packed data is read at once for unpacking: a multiple
// of 3, so that pieces of all types end between elements.
const pieceBytes = 96 << 10

// ReadAt fills p with the bytes of a tensor as they are stored, from the byte
// off on.
func (m *Model) ReadAt(ctx context.Context, name string, p []byte, off int64) error {
	e, err := m.Lookup(name)
	if err != nil {
		return err
	}
	if off < 0 || off > e.Size() || int64(len(p)) > e.Size()-off {
		return invalid(name, fmt.Sprintf("bytes [%d,%d)", off, off+int64(len(p))), fmt.Sprintf("bytes of a tensor of %d", e.Size()))
	}
	return m.readAt(ctx, e.File, p, e.Offset+off)
}

// readAt reads within Options.MaxRead.
func (m *Model) readAt(ctx context.Context, file string, p []byte, off int64) error {
	for most := m.options.MaxRead; most > 0 && int64(len(p)) > most; off += most {
		if err := m.files.ReadAt(ctx, file, p[:most], off); err != nil {
			return err
		}
		p = p[most:]
	}
	return m.files.ReadAt(ctx, file, p, off)
}

// Packed returns the bytes of a tensor as they are stored.
func (m *Model) Packed(ctx context.Context, name string) ([]byte, error) {
	e, err := m.Lookup(name)
	if err != nil {
		return nil, err
	}
	p := make([]byte, e.Size())
	return p, m.readAt(ctx, e.File, p, e.Offset)
}

// Tensor returns a tensor in memory of its own, one byte an element at least. See
// Info.Spec for the shapes that it cannot have.
func (m *Model) Tensor(ctx context.Context, name string) (tensor.Tensor, error) {
	e, err := m.Lookup(name)
	if err != nil {
		return tensor.Tensor{}, err
	}
	spec, err := e.Spec()
	if err != nil {
		return tensor.Tensor{}, err
	}
	t := tensor.New(spec.DType, spec.Shape...)
	return t, m.read(ctx, e, t.Data)
}

// ReadInto fills dst, whose dtype and shape must match the tensor (errs.Mismatch).
func (m *Model) ReadInto(ctx context.Context, name string, dst tensor.Tensor) error {
	e, err := m.Lookup(name)
	if err != nil {
		return err
	}
	spec, err := e.Spec()
	if err != nil {
		return err
	}
	if dst.DType != spec.DType || !dst.Shape.Equal(spec.Shape) {
		return &errs.Error{Kind: errs.Mismatch, Op: "safetensors.ReadInto", Subject: name,
			Want: spec.DType.String() + spec.Shape.String(), Got: dst.String()}
	}
	if err := dst.Check(); err != nil {
		return errs.Wrap("safetensors.ReadInto", name, err)
	}
	return m.read(ctx, e, dst.Data)
}

// read fills dst with all elements of e.
func (m *Model) read(ctx context.Context, e Entry, dst []byte) error {
	if e.DType.Bits()%8 == 0 {
		return m.readAt(ctx, e.File, dst, e.Offset)
	}
	piece := make([]byte, min(pieceBytes, e.Size()))
	for off := int64(0); off < e.Size(); {
		p := piece[:min(int64(len(piece)), e.Size()-off)]
		if err := m.readAt(ctx, e.File, p, e.Offset+off); err != nil {
			return err
		}
		n := len(p) * 8 / e.DType.Bits()
		if _, err := tensor.Unpack(dst[:0:n], e.DType, p, n); err != nil {
			return errs.Wrap("safetensors", e.Name, err)
		}
		dst = dst[n:]
		off += int64(len(p))
	}
	return nil
}

// maxSpan bounds the bytes that ReadBox reads to pick runs from.
const maxSpan = 1 << 20

// ReadBox fills dst with the part of a tensor that starts at origin and has the
// extents shape, in C order, unpacked. Only the bytes of that part are read,
// gaps between its runs aside as Options.MaxGap or OverRead have it. The error is
// errs.Invalid when the part is not inside the tensor or dst has another size.
func (m *Model) ReadBox(ctx context.Context, name string, origin, shape []int, dst []byte) error {
	e, err := m.Lookup(name)
	if err != nil {
		return err
	}
	spec, err := e.Spec()
	if err != nil {
		return err
	}
	if err := checkBox(name, spec, origin, shape, dst); err != nil || len(dst) == 0 {
		return err
	}
	runs := newRuns(spec.Shape, origin, shape)
	size := e.DType.Size()
	var scratch []byte
	for more := true; more; {
		// A group is a span of elements, from one byte boundary to another, that
		// one call reads.
		var group []int
		first := runs.at
		low, high := first&^7, first
		for more {
			end := min((runs.at+runs.length+7)&^7, spec.Shape.Len())
			if len(group) > 0 && !m.joins(e.DType, low, high, runs.at, end, (len(group)+1)*runs.length) {
				break
			}
			group = append(group, runs.at)
			high = end
			more = runs.next()
		}
		n := runs.length * size
		if len(group) == 1 && e.DType.Bits()%8 == 0 {
			if err := m.readAt(ctx, e.File, dst[:n], e.Offset+int64(first)*int64(size)); err != nil {
				return err
			}
			dst = dst[n:]
			continue
		}
		if scratch, err = m.span(ctx, e, low, high, scratch); err != nil {
			return err
		}
		for _, at := range group {
			copy(dst[:n], scratch[(at-low)*size:])
			dst = dst[n:]
		}
	}
	return nil
}

// joins reports whether a run from at to end is read with those from low to high,
// where wanted elements are wanted of all.
func (m *Model) joins(d tensor.DType, low, high, at, end, wanted int) bool {
	span := packed(d, end-low)
	switch {
	case span > maxSpan:
		return false
	case m.options.OverRead > 0:
		return float64(span) <= m.options.OverRead*float64(packed(d, wanted))
	}
	return packed(d, at-high) <= m.options.MaxGap
}

// packed returns the bytes that n elements take in a file.
func packed(d tensor.DType, n int) int64 { return int64(tensor.PackedSize(d, max(0, n))) }

// span reads the elements [low, high) of e, unpacked. low is a multiple of 8.
func (m *Model) span(ctx context.Context, e Entry, low, high int, scratch []byte) ([]byte, error) {
	raw := slices.Grow(scratch[:0], int(packed(e.DType, high-low)))[:packed(e.DType, high-low)]
	if err := m.readAt(ctx, e.File, raw, e.Offset+packed(e.DType, low)); err != nil {
		return nil, err
	}
	if e.DType.Bits()%8 == 0 {
		return raw, nil
	}
	out, err := tensor.Unpack(nil, e.DType, raw, high-low)
	return out, errs.Wrap("safetensors", e.Name, err)
}

func checkBox(name string, spec tensor.Spec, origin, shape []int, dst []byte) error {
	ok := len(origin) == len(spec.Shape) && len(shape) == len(spec.Shape)
	for i := 0; ok && i < len(shape); i++ {
		ok = origin[i] >= 0 && shape[i] >= 0 && shape[i] <= spec.Shape[i] && origin[i] <= spec.Shape[i]-shape[i]
	}
	if !ok {
		return &errs.Error{Kind: errs.Invalid, Op: "safetensors.ReadBox", Subject: name,
			Want: "a part of " + spec.Shape.String(), Got: fmt.Sprintf("%v at %v", shape, origin)}
	}
	if want := tensor.Shape(shape).Len() * spec.DType.Size(); want != len(dst) {
		return &errs.Error{Kind: errs.Invalid, Op: "safetensors.ReadBox", Subject: name,
			Want: fmt.Sprintf("%d bytes", want), Got: fmt.Sprint(len(dst))}
	}
	return nil
}

// runs walks the contiguous runs of a box in ascending order.
type runs struct {
	at, length int   // elements
	count      []int // extents of the axes in front of the run
	stride     []int
	place      []int
}

func newRuns(whole tensor.Shape, origin, shape []int) *runs {
	r := &runs{length: 1}
	stride, k := 1, len(whole)
	for full := true; k > 0 && full; k-- { // k: axes in front of the run
		r.at += origin[k-1] * stride
		r.length *= shape[k-1]
		full = shape[k-1] == whole[k-1]
		stride *= whole[k-1]
	}
	r.count, r.place, r.stride = shape[:k], make([]int, k), make([]int, k)
	for i := k - 1; i >= 0; i-- {
		r.stride[i] = stride
		r.at += origin[i] * stride
		stride *= whole[i]
	}
	return r
}

// next goes to the next run and reports whether there is one.
func (r *runs) next() bool {
	for i := len(r.count) - 1; i >= 0; i-- {
		r.at += r.stride[i]
		if r.place[i]++; r.place[i] < r.count[i] {
			return true
		}
		r.at -= r.count[i] * r.stride[i]
		r.place[i] = 0
	}
	return false
}
