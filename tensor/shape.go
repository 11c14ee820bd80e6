package tensor

import (
	"math"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// Shape is the extent of each axis, outermost first. A nil or empty Shape is the shape of a scalar.
type Shape []int

// Len returns the number of elements: the product of the extents, or 1 for a scalar. The result has
// a meaning only if Check returns nil.
func (s Shape) Len() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Bytes returns the memory that an array of this shape and type takes. It returns an error if the
// shape is malformed or the size does not fit an int. Call it before you allocate memory for a
// shape from outside.
func (s Shape) Bytes(d DType) (int, error) {
	if !d.Valid() {
		return 0, &errs.Error{Kind: errs.Invalid, Op: "tensor.Shape", Want: "a valid dtype", Got: d.String()}
	}
	return s.bytes(d.Size())
}

// Check returns an error of kind errs.Invalid if an extent is negative, or if the product of the
// extents other than zero does not fit an int.
func (s Shape) Check() error {
	_, err := s.bytes(1)
	return err
}

func (s Shape) bytes(size int) (int, error) {
	n, zero := size, false
	for _, d := range s {
		switch {
		case d < 0:
			return 0, &errs.Error{Kind: errs.Invalid, Op: "tensor.Shape", Subject: s.String(),
				Want: "extents of at least 0", Got: strconv.Itoa(d)}
		case d == 0:
			zero = true
		case n > math.MaxInt/d:
			return 0, &errs.Error{Kind: errs.Invalid, Op: "tensor.Shape", Subject: s.String(),
				Got: "more bytes than can be addressed"}
		default:
			n *= d
		}
	}
	if zero {
		return 0, nil
	}
	return n, nil
}

// Equal reports whether both shapes have the same rank and extents.
func (s Shape) Equal(o Shape) bool { return slices.Equal(s, o) }

// Clone returns a copy that shares no memory with s.
func (s Shape) Clone() Shape { return slices.Clone(s) }

// String returns the extents in brackets, such as "[3,224,224]"; "[]" for a scalar.
func (s Shape) String() string {
	b := []byte{'['}
	for i, d := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(d), 10)
	}
	return string(append(b, ']'))
}

func quote(s string) string {
	const longest = 64
	if len(s) > longest {
		return strconv.Quote(s[:longest]) + "…"
	}
	return strconv.Quote(s)
}
