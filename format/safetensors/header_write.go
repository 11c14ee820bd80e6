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
	h.index = make(map[string]int, len(names))
	for i := range h.Tensors {
		h.index[h.Tensors[i].Name] = i
	}
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
