package tensor

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// These constants bound what is printed. %v prints all elements of a tensor with at most printSmall
// elements. %+v prints the elements of every tensor. If a tensor has more than printAll elements,
// only printEdge elements at either end of each axis are printed.
const (
	printSmall = 16
	printAll   = 1000
	printEdge  = 3
)

// Format implements fmt.Formatter. Println and %v print type and shape, and the elements of a
// tensor with at most 16 elements: "float32[2,2] [[1 2] [3 4]]". %+v prints the elements of every
// tensor, and only the edges of a large one. %s prints String.
func (t Tensor) Format(f fmt.State, verb rune) {
	text := t.String()
	n, err := t.Shape.Bytes(t.DType)
	if verb == 'v' && err == nil && n == len(t.Data) && t.DType.Valid() && (f.Flag('+') || t.Shape.Len() <= printSmall) {
		var b strings.Builder
		b.WriteString(text + " ")
		t.print(&b, 0, 0, t.Shape.Len() > printAll)
		text = b.String()
	}
	if w, ok := f.Width(); ok && len(text) < w {
		pad := strings.Repeat(" ", w-len(text))
		if f.Flag('-') {
			text += pad
		} else {
			text = pad + text
		}
	}
	io.WriteString(f, text) //nolint:errcheck // a State keeps its errors
}

// print writes the elements from an axis on. at is the index of the first element.
func (t Tensor) print(b *strings.Builder, axis, at int, short bool) {
	if axis == len(t.Shape) {
		b.WriteString(t.Element(at))
		return
	}
	n, below := t.Shape[axis], 1
	for _, d := range t.Shape[axis+1:] {
		below *= d
	}
	b.WriteByte('[')
	for i := 0; i < n; i++ {
		if i > 0 {
			b.WriteByte(' ')
		}
		if short && n > 2*printEdge && i == printEdge {
			b.WriteString("... ")
			i = n - printEdge
		}
		t.print(b, axis+1, at+i*below, short)
	}
	b.WriteByte(']')
}

var _ fmt.Formatter = Tensor{}

// Element returns element i, counted in C order, as text. Numbers have the shortest form that reads
// back the same; floats of fp8 and narrower are their bits. The text is for messages. Element
// panics if i is out of range.
func (t Tensor) Element(i int) string {
	size := t.DType.Size()
	b := t.Data[i*size : (i+1)*size]
	switch t.DType {
	case Bool:
		return strconv.FormatBool(b[0] != 0)
	case BFloat16, Float16:
		return shortest(t.DType.DecodeFloat(uint64(binary.LittleEndian.Uint16(b))), 32)
	case Float32:
		return shortest(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32)
	case Float64:
		return shortest(math.Float64frombits(binary.LittleEndian.Uint64(b)), 64)
	case Complex64:
		re, im := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		return strconv.FormatComplex(complex(float64(math.Float32frombits(re)), float64(math.Float32frombits(im))), 'g', -1, 64)
	case Complex128:
		re, im := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		return strconv.FormatComplex(complex(math.Float64frombits(re), math.Float64frombits(im)), 'g', -1, 128)
	}
	if !t.DType.IsInteger() {
		return fmt.Sprintf("%#02x", b[0])
	}
	var u uint64
	for j := size - 1; j >= 0; j-- {
		u = u<<8 | uint64(b[j])
	}
	if t.DType.IsSigned() {
		shift := 64 - 8*size
		return strconv.FormatInt(int64(u<<shift)>>shift, 10)
	}
	return strconv.FormatUint(u, 10)
}

func shortest(v float64, bits int) string { return strconv.FormatFloat(v, 'g', -1, bits) }
