package safetensors

import (
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Write writes a file, laid out and with the errors of NewHeader. Tensors are
// written from their memory; F4 and F6 are packed on the way.
func Write(w io.Writer, tensors map[string]tensor.Tensor, metadata map[string]string) error {
	specs := make(map[string]tensor.Spec, len(tensors))
	for name, t := range tensors {
		if err := t.Check(); err != nil {
			return errs.Wrap("safetensors.Write", name, err)
		}
		specs[name] = t.Spec()
	}
	h, err := NewHeader(specs, metadata)
	if err != nil {
		return err
	}
	if err := write(w, h.Append(nil)); err != nil {
		return err
	}
	for i := range h.Tensors {
		if err := writeData(w, tensors[h.Tensors[i].Name]); err != nil {
			return err
		}
	}
	return nil
}

func writeData(w io.Writer, t tensor.Tensor) error {
	if t.DType.Bits()%8 == 0 {
		return write(w, t.Data)
	}
	var piece []byte
	for data := t.Data; len(data) > 0; {
		n := min(pieceBytes, len(data)) // a multiple of 8, or all
		piece = tensor.Pack(piece[:0], t.DType, data[:n])
		if err := write(w, piece); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func write(w io.Writer, p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := w.Write(p)
	return err
}

// WriteParts writes several files, none with more than maxBytes of data unless a
// single tensor has, and their index: IndexName and PartName. create makes a
// file; each is closed before the next is made, the index last. When all fits
// into one file, there is only that, SingleName.
func WriteParts(create func(name string) (io.WriteCloser, error), tensors map[string]tensor.Tensor, metadata map[string]string, maxBytes int64) error {
	specs := make(map[string]tensor.Spec, len(tensors))
	for name, t := range tensors {
		specs[name] = t.Spec()
	}
	parts, err := Split(specs, maxBytes)
	if err != nil {
		return err
	}
	put := func(name string, content func(io.Writer) error) error {
		f, err := create(name)
		if err != nil {
			return err
		}
		err = content(f)
		if e := f.Close(); err == nil {
			err = e
		}
		return err
	}
	index := Index{Files: map[string]string{}}
	for i, part := range parts {
		name := PartName(i, len(parts))
		own := make(map[string]tensor.Tensor, len(part))
		for _, t := range part {
			own[t] = tensors[t]
			index.Files[t] = name
			index.TotalSize += int64(tensor.PackedSize(tensors[t].DType, tensors[t].Len()))
		}
		if err := put(name, func(w io.Writer) error { return Write(w, own, metadata) }); err != nil {
			return err
		}
	}
	if len(parts) == 1 {
		return nil
	}
	return put(IndexName, func(w io.Writer) error { return write(w, index.JSON()) })
}

// Split distributes tensors over files: in the order of their names, a new file
// when the next tensor would bring the data beyond maxBytes. There is at least
// one file.
func Split(tensors map[string]tensor.Spec, maxBytes int64) ([][]string, error) {
	h, err := NewHeader(tensors, nil)
	if err != nil {
		return nil, err
	}
	if maxBytes <= 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "safetensors.Split", Want: "a size above 0", Got: fmt.Sprint(maxBytes)}
	}
	parts := [][]string{nil}
	var size int64
	for _, name := range sortedNames(tensors) {
		t, _ := h.Lookup(name)
		last := len(parts) - 1
		if size > 0 && t.Size() > maxBytes-size {
			parts = append(parts, nil)
			last, size = last+1, 0
		}
		parts[last] = append(parts[last], name)
		size += t.Size()
	}
	return parts, nil
}
