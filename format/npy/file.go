package npy

import (
	"bytes"
	"io"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// WriteOptions tune Write. The zero value writes what numpy.save writes.
type WriteOptions struct {
	Version   int  // 1, 2 or 3; 0: 1
	Fortran   bool // Fortran order
	BigEndian bool
}

// pieceBytes is how many bytes of data are reordered at once.
const pieceBytes = 64 << 10

// Write writes an npy file; nil options are the zero value. Types for which numpy has no name, such
// as bfloat16, are errs.Unsupported.
func Write(w io.Writer, t tensor.Tensor, o *WriteOptions) error {
	if err := t.Check(); err != nil {
		return errs.Wrap("npy.Write", "", err)
	}
	if o == nil {
		o = &WriteOptions{}
	}
	h := Header{Version: o.Version, DType: t.DType, BigEndian: o.BigEndian, Fortran: o.Fortran, Shape: t.Shape}
	front, err := h.Append(nil)
	if err != nil {
		return err
	}
	if _, err := w.Write(front); err != nil {
		return err
	}
	data := t.Data
	if o.Fortran && len(t.Shape) > 1 {
		data = make([]byte, len(t.Data))
		reversed := t.Shape.Clone()
		slices.Reverse(reversed)
		transpose(data, t.Data, reversed, t.DType.Size())
	}
	if !o.BigEndian || t.DType.Size() == 1 {
		_, err := w.Write(data)
		return err
	}
	var piece []byte
	for len(data) > 0 {
		n := min(pieceBytes, len(data))
		piece = append(piece[:0], data[:n]...)
		swap(piece, t.DType)
		if _, err := w.Write(piece); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// Encode returns t as the bytes of an npy file, with the errors of Write.
func Encode(t tensor.Tensor, o *WriteOptions) ([]byte, error) {
	var b bytes.Buffer
	err := Write(&b, t, o)
	return b.Bytes(), err
}

// Read reads an npy file: its header as ReadHeader does, and its data. The tensor has its own
// memory, and is in C order and little-endian. Bytes behind the data stay in r.
func Read(r io.Reader, limit int64) (tensor.Tensor, error) {
	h, err := ReadHeader(r, limit)
	if err != nil {
		return tensor.Tensor{}, err
	}
	return readData(r, h)
}

// Decode reads an npy file in memory.
func Decode(b []byte) (tensor.Tensor, error) { return Read(bytes.NewReader(b), int64(len(b))) }

func readData(r io.Reader, h Header) (tensor.Tensor, error) {
	t := tensor.New(h.DType, h.Shape...)
	if err := fill(r, t.Data, "the data"); err != nil {
		return tensor.Tensor{}, err
	}
	if h.BigEndian {
		swap(t.Data, h.DType)
	}
	if h.Fortran && len(h.Shape) > 1 {
		c := tensor.New(h.DType, h.Shape...)
		transpose(c.Data, t.Data, h.Shape, h.DType.Size())
		t = c
	}
	return t, nil
}
