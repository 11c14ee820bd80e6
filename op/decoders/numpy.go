package decoders

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "numpy", Module: []string{"decoders"},
		Doc:     "Decodes arrays of npy files, in C order or Fortran order, and converts them to one type.",
		Inputs:  []op.Port{{Name: "encoded", Doc: "the bytes of an npy file", DTypes: []tensor.DType{tensor.Uint8}}},
		Outputs: []op.Port{{Name: "arrays", Doc: "the arrays"}},
		Params: []op.Parameter{
			{Name: "dtype", Type: op.DType, Doc: "Type of the output. It must be given, because the type must be known before the data."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			d := op.Get[tensor.DType](c, "dtype")
			if d == tensor.Invalid {
				err := c.Unsupported("dtype", "a type, which must be known before the data", "no type").(*errs.Error)
				err.Remedy = "give the type of the files, or read them with readers.numpy"
				return nil, err
			}
			if !element.Known(d) {
				return nil, c.Unsupported("dtype", fmt.Sprint(element.Types()), d.String())
			}
			return &numpy{config: c, dtype: d}, nil
		},
	})
}

type numpy struct {
	config *op.Config
	dtype  tensor.DType
}

// Infer implements op.Kernel.
func (k *numpy) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].DType != tensor.Uint8 {
		return nil, k.config.InvalidInput(0, "the bytes of an npy file, uint8", in[0].DType.String(), "")
	}
	return []tensor.Spec{{DType: k.dtype}}, checkEncoded(k.config, in[0])
}

// headers is a worker's state: the header that was read last, with its bytes. Files of a data set
// often have the same header.
type headers struct {
	front  []byte
	header npy.Header
	reader bytes.Reader
}

// Run implements op.Kernel.
func (k *numpy) Run(b *op.Block) error {
	h := op.PerWorker[headers](b)
	return b.Each(func(s int) error { return k.sample(b, s, h) })
}

func (k *numpy) sample(b *op.Block, s int, h *headers) error {
	data := b.In(0, s).Data
	if len(h.front) == 0 || !bytes.HasPrefix(data, h.front) {
		h.front = h.front[:0]
		h.reader.Reset(data)
		header, err := npy.ReadHeader(&h.reader, int64(len(data)))
		if err != nil {
			return err
		}
		h.front, h.header = append(h.front, data[:header.DataStart]...), header
	}
	body := data[len(h.front):]
	if want := h.header.Size(); want != int64(len(body)) {
		return &errs.Error{Kind: errs.Corrupt, Subject: "input encoded",
			Want: fmt.Sprintf("%d bytes of data, as the header says", want),
			Got:  fmt.Sprint(len(body))}
	}
	if !element.Known(h.header.DType) {
		return &errs.Error{Kind: errs.Unsupported, Subject: "input encoded", Want: fmt.Sprint(element.Types()),
			Got: h.header.DType.String()}
	}
	size := h.header.DType.Size()
	if h.header.Fortran && len(h.header.Shape) > 1 {
		body = inOrder(b, body, h.header)
	} else if h.header.BigEndian || len(body) > 0 && uintptr(unsafe.Pointer(unsafe.SliceData(body)))%uintptr(size) != 0 {
		aligned := op.Scratch[uint8](b, len(body))
		copy(aligned, body)
		body = aligned
	}
	if h.header.BigEndian {
		for i := 0; i < len(body); i += size {
			slices.Reverse(body[i : i+size])
		}
	}
	if h.header.DType == tensor.Bool {
		for _, v := range body {
			if v > 1 {
				return &errs.Error{Kind: errs.Corrupt, Subject: "input encoded", Want: "bools of 0 or 1", Got: fmt.Sprint(v)}
			}
		}
	}
	return element.Into(k.dtype, b.Out(0, s, h.header.Shape...).Data, h.header.DType, body)
}

// inOrder returns data of Fortran order in C order.
func inOrder(b *op.Block, data []byte, h npy.Header) []byte {
	out := op.Scratch[uint8](b, len(data))
	size, axes := h.DType.Size(), len(h.Shape)
	var at, strides [64]int
	for axis, stride := 0, size; axis < axes; axis++ {
		strides[axis] = stride
		stride *= h.Shape[axis]
	}
	from := 0
	for to := 0; to < len(out); to += size {
		if size == 4 {
			binary.LittleEndian.PutUint32(out[to:], binary.LittleEndian.Uint32(data[from:]))
		} else {
			copy(out[to:to+size], data[from:])
		}
		for axis := axes - 1; axis >= 0; axis-- {
			at[axis]++
			from += strides[axis]
			if at[axis] < h.Shape[axis] {
				break
			}
			from -= at[axis] * strides[axis]
			at[axis] = 0
		}
	}
	return out
}
