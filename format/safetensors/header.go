package safetensors

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// MaxHeader is the most bytes that the reference library lets a header have.
const MaxHeader = 100_000_000

// lengthBytes is the size of the length in front of the header.
const lengthBytes = 8

// metadataKey is the member of the header that is no tensor.
const metadataKey = "__metadata__"

// Info describes a tensor in a file.
type Info struct {
	Name  string
	DType tensor.DType
	// Shape is as the file has it. Its product times the bits of DType is the
	// size of the data, but where an extent is 0 the others may be anything: use
	// Spec for a shape that can be counted on.
	Shape      []uint64
	Begin, End int64 // bytes from the start of the data
}

// Size returns the bytes of the tensor in the file.
func (t Info) Size() int64 { return t.End - t.Begin }

// Spec returns dtype and shape. The error is errs.Unsupported for shapes of no
// elements whose other extents are beyond what tensor.Shape takes.
func (t Info) Spec() (tensor.Spec, error) {
	shape := make(tensor.Shape, len(t.Shape))
	for i, n := range t.Shape {
		if n > math.MaxInt {
			return tensor.Spec{}, t.unsupported()
		}
		shape[i] = int(n)
	}
	if _, err := shape.Bytes(t.DType); err != nil {
		return tensor.Spec{}, t.unsupported()
	}
	return tensor.Spec{DType: t.DType, Shape: shape}, nil
}

func (t Info) unsupported() error {
	return &errs.Error{Kind: errs.Unsupported, Op: "safetensors", Subject: t.Name,
		Want: "a shape that memory could have", Got: fmt.Sprint(t.Shape)}
}

// Header is what stands before the data of a file.
type Header struct {
	Metadata   map[string]string // nil: the file has none
	Tensors    []Info            // by offset, then by name
	Duplicates []string          // names that the header has more than once; the last one counts
	DataStart  int64             // where the data starts in the file

	index map[string]int // name → place in Tensors
}

// Lookup returns the tensor with that name.
func (h *Header) Lookup(name string) (Info, bool) {
	i, ok := h.index[name]
	if !ok {
		return Info{}, false
	}
	return h.Tensors[i], true
}

// FileSize returns the bytes of the whole file.
func (h *Header) FileSize() int64 {
	if len(h.Tensors) == 0 {
		return h.DataStart
	}
	return h.DataStart + h.Tensors[len(h.Tensors)-1].End
}

// arrange sorts the tensors by offset and numbers them.
func (h *Header) arrange() {
	slices.SortFunc(h.Tensors, func(a, b Info) int { return compareInfo(&a, &b) })
	if h.index == nil {
		h.index = make(map[string]int, len(h.Tensors))
	}
	for i := range h.Tensors {
		h.index[h.Tensors[i].Name] = i
	}
}

// order is the reference library's order of types: by bits, then as its list has
// them. Files are written in descending order, so that every tensor is aligned.
var order = [...]tensor.DType{
	tensor.Bool, tensor.Float4E2M1FN, tensor.Float6E2M3FN, tensor.Float6E3M2FN, tensor.Uint8, tensor.Int8,
	tensor.Float8E5M2, tensor.Float8E4M3FN, tensor.Float8E8M0FNU, tensor.Float8E4M3FNUZ, tensor.Float8E5M2FNUZ,
	tensor.Int16, tensor.Uint16, tensor.Float16, tensor.BFloat16, tensor.Int32, tensor.Uint32, tensor.Float32,
	tensor.Complex64, tensor.Float64, tensor.Int64, tensor.Uint64,
}
