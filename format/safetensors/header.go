package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
		Want: "a shape that can fit into memory", Got: fmt.Sprint(t.Shape)}
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
	h.place()
}

// place notes where each tensor is in Tensors.
func (h *Header) place() {
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

// NewHeader lays out a file as the reference library does: tensors by descending
// type, then by name, without gaps. Metadata may be nil; its members are sorted.
//
// Errors: errs.Unsupported for types that the format lacks; errs.Invalid for
// names that are not UTF-8 or reserved, for packed types whose elements do not
// fill whole bytes, and for headers beyond MaxHeader.
func NewHeader(tensors map[string]tensor.Spec, metadata map[string]string) (*Header, error) {
	for k, v := range metadata {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return nil, invalid(k, "metadata that is not UTF-8", "")
		}
	}
	names := slices.Sorted(maps.Keys(tensors))
	h := &Header{Metadata: metadata, Tensors: make([]Info, len(names))}
	for i, name := range names {
		t, err := describe(name, tensors[name])
		if err != nil {
			return nil, err
		}
		h.Tensors[i] = t
	}
	slices.SortStableFunc(h.Tensors, func(a, b Info) int {
		return cmp.Compare(slices.Index(order[:], b.DType), slices.Index(order[:], a.DType))
	})
	var at int64
	for i := range h.Tensors {
		t := &h.Tensors[i]
		if t.End > math.MaxInt64-at-lengthBytes-MaxHeader {
			return nil, invalid(t.Name, "a file of more than 2^63 bytes", "")
		}
		t.Begin, t.End = at, at+t.End
		at = t.End
	}
	h.DataStart = int64(len(h.Append(nil)))
	if h.DataStart > lengthBytes+MaxHeader {
		return nil, invalid("", fmt.Sprintf("a header of %d bytes", h.DataStart-lengthBytes), fmt.Sprintf("at most %d", MaxHeader))
	}
	h.place()
	return h, nil
}

// describe returns the tensor at offset 0.
func describe(name string, spec tensor.Spec) (Info, error) {
	t := Info{Name: name, DType: spec.DType, Shape: make([]uint64, len(spec.Shape))}
	if _, ok := spec.DType.Safetensors(); !ok {
		return t, &errs.Error{Kind: errs.Unsupported, Op: "safetensors", Subject: name,
			Want: "a type of the format", Got: spec.DType.String(), Remedy: "cast the tensor or choose another layout"}
	}
	switch {
	case name == metadataKey:
		return t, invalid(name, "a reserved name", "")
	case !utf8.ValidString(name):
		return t, invalid(strconv.Quote(name), "a name that is not UTF-8", "")
	}
	if _, err := spec.Shape.Bytes(spec.DType); err != nil {
		return t, errs.Wrap("safetensors", name, err)
	}
	for i, n := range spec.Shape {
		t.Shape[i] = uint64(n)
	}
	n, ok := packedSize(t.DType, t.Shape)
	switch {
	case !ok:
		return t, invalid(name, fmt.Sprintf("%s%d is more than 2^64 bits", t.DType, t.Shape), "")
	case n%8 != 0:
		return t, invalid(name, fmt.Sprintf("%s%d", t.DType, t.Shape), "elements that fill whole bytes when packed")
	}
	t.End = int64(n / 8)
	return t, nil
}

// Append appends the length and the header to dst: all that stands before the
// data.
func (h *Header) Append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, lengthBytes)...)
	sep := byte('{')
	if h.Metadata != nil {
		dst = append(dst, `{"`+metadataKey+`":{`...)
		for i, k := range slices.Sorted(maps.Keys(h.Metadata)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, k), ':')
			dst = appendString(dst, h.Metadata[k])
		}
		dst = append(dst, '}')
		sep = ','
	}
	for i := range h.Tensors {
		t := &h.Tensors[i]
		name, _ := t.DType.Safetensors()
		dst = append(appendString(append(dst, sep), t.Name), `:{"dtype":"`...)
		dst = append(append(dst, name...), `","shape":[`...)
		for j, n := range t.Shape {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendUint(dst, n, 10)
		}
		dst = fmt.Appendf(dst, `],"data_offsets":[%d,%d]}`, t.Begin, t.End)
		sep = ','
	}
	if sep == '{' {
		dst = append(dst, '{')
	}
	dst = append(dst, '}')
	dst = append(dst, strings.Repeat(" ", -(len(dst)-start)&7)...)
	binary.LittleEndian.PutUint64(dst[start:], uint64(len(dst)-start-lengthBytes))
	return dst
}

func invalid(name, got, want string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "safetensors", Subject: name, Want: want, Got: got}
}
