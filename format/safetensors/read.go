package safetensors

import (
	"context"
	"fmt"

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
