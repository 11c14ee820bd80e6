package tree

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A field with the option array is a slice of slices of numbers with equally long rows. It is one
// leaf of the tree: an array with one dimension per level of slices.

// asArray is the remedy that tells how to make a slice of slices an array.
const asArray = "tag the field of the struct `bivouac:\",array\"`: then a slice whose rows are equally long is an array"

// rectangle returns how many levels of slices are around the innermost type that numericType takes,
// for a type that may be an array: a slice of slices of numbers.
func rectangle(t reflect.Type) (d tensor.DType, depth int, dims tensor.Shape, ok bool) {
	for t.Kind() == reflect.Slice {
		depth++
		if d, dims, ok = numericType(t); ok {
			return d, depth, dims, depth > 1
		}
		t = t.Elem()
	}
	return tensor.Invalid, 0, nil, false
}

// fromRectangle returns the leaf of a slice of slices: a copy of its numbers.
func fromRectangle(v reflect.Value, at Path) (*Node, error) {
	d, depth, dims, _ := rectangle(v.Type())
	shape := firstRows(v, depth)
	t := tensor.New(d, append(shape, dims...)...)
	rest := t.Data
	err := eachRow(v, shape, at, "tree.From", func(row reflect.Value) {
		rest = rest[copy(rest, memory(row)):]
	})
	if err != nil {
		return nil, err
	}
	return &Node{Value: t}, nil
}

// firstRows returns the length of a slice of slices, the length of its first row, and so on. A
// length is 0 if there is no row.
func firstRows(v reflect.Value, depth int) tensor.Shape {
	shape := make(tensor.Shape, depth)
	for i := range shape {
		if shape[i] = v.Len(); shape[i] == 0 {
			break
		}
		if i+1 < depth {
			v = v.Index(0)
		}
	}
	return shape
}

// eachRow calls do for the innermost slices in their order. The error names the first slice whose
// length differs from shape.
func eachRow(v reflect.Value, shape tensor.Shape, at Path, op string, do func(row reflect.Value)) error {
	if v.Len() != shape[0] {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: at.String(),
			Want: fmt.Sprintf("%d elements, as in the first row", shape[0]), Got: strconv.Itoa(v.Len()) + " elements",
			Remedy: "make all rows of the array equally long, or remove the option array from the tag to store a list of rows"}
	}
	if len(shape) == 1 {
		do(v)
		return nil
	}
	for i := range v.Len() {
		if err := eachRow(v.Index(i), shape[1:], append(at, Key{strconv.Itoa(i), KeyIndex}), op, do); err != nil {
			return err
		}
	}
	return nil
}

// intoRectangle fills a slice of slices from an array. A slice that has elements fixes the shape
// and is filled in place. intoRectangle also takes a list of rows, which is what the tree has
// without the option.
func intoRectangle(n *Node, v reflect.Value, at Path) error {
	if n.Kind == List || n.Kind == Tuple {
		if err := intoList(n, v, at); err != nil {
			return err
		}
		_, err := fromRectangle(v, at)
		return err
	}
	d, depth, dims, _ := rectangle(v.Type())
	src, ok := n.Tensor()
	if !ok || src.DType != d || len(src.Shape) != depth+len(dims) || !src.Shape[depth:].Equal(dims) {
		return mismatch(at, fmt.Sprintf("an array of %d dimensions for %s", depth+len(dims), v.Type()), n.String())
	}
	if err := src.Check(); err != nil {
		return mismatch(at, "a well-formed array", err.Error())
	}
	if d == tensor.Bool {
		if _, err := tensor.Of[bool](src); err != nil {
			return mismatch(at, "an array of booleans", err.Error())
		}
	}
	if v.Len() == 0 {
		v.Set(makeRectangle(v.Type(), src.Shape[:depth]))
	}
	if rows := firstRows(v, depth); src.Shape.Len() > 0 && !rows.Equal(src.Shape[:depth]) {
		return mismatch(at, tensor.Tensor{DType: d, Shape: append(rows, dims...)}.String(), src.String())
	}
	rest := src.Data
	return eachRow(v, src.Shape[:depth], at, "tree.Into", func(row reflect.Value) {
		to := memory(row)
		fill(to, rest[:len(to)])
		rest = rest[len(to):]
	})
}

// makeRectangle makes slices of slices with the given shape.
func makeRectangle(t reflect.Type, shape tensor.Shape) reflect.Value {
	v := reflect.MakeSlice(t, shape[0], shape[0])
	for i := 0; i < shape[0] && len(shape) > 1; i++ {
		v.Index(i).Set(makeRectangle(t.Elem(), shape[1:]))
	}
	return v
}
