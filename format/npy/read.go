package npy

import (
	"bytes"
	"io"

	"github.com/bivouac-ml/bivouac/tensor"
)

// Read reads an npy file: its header as ReadHeader does, and its data. The
// tensor has memory of its own, is in C order and little-endian. Bytes behind
// the data stay in r.
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
