package arrow

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/arrowipc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// column is a column of a file: a field that is no struct, or a part of a struct.
type column struct {
	name    string
	parents []*arrowipc.Field // structs, the outermost first
	levels  []*arrowipc.Field // lists, the outermost first
	leaf    *arrowipc.Field
	values  *column // of the dictionary of leaf
	spec    tensor.Spec
	err     error // why it cannot be read
}

// columnsOf returns the columns of fields. The parts of structs have names with a dot.
func columnsOf(fields []*arrowipc.Field, prefix string, parents []*arrowipc.Field) (list []*column) {
	for _, f := range fields {
		if f.Kind == arrowipc.Struct && f.Values == nil {
			list = append(list, columnsOf(f.Children, prefix+f.Name+".",
				append(parents[:len(parents):len(parents)], f))...)
			continue
		}
		list = append(list, newColumn(f, prefix+f.Name, parents))
	}
	return list
}

func newColumn(f *arrowipc.Field, name string, parents []*arrowipc.Field) *column {
	c := &column{name: name, parents: parents, leaf: f, spec: tensor.Spec{Shape: tensor.Shape{}}}
	refuse := func(got string) *column {
		c.err = &errs.Error{Kind: errs.Unsupported, Subject: fmt.Sprintf("column %q", name),
			Want: "numbers, booleans, byte strings, or lists of numbers or booleans", Got: got,
			Remedy: "name the other columns in the argument columns"}
		return c
	}
	for c.leaf.Values == nil && len(c.leaf.Children) == 1 {
		switch c.leaf.Kind {
		case arrowipc.List, arrowipc.LargeList:
			c.spec.Shape = append(c.spec.Shape, -1)
		case arrowipc.FixedList:
			c.spec.Shape = append(c.spec.Shape, c.leaf.Width)
		default:
			return refuse(f.Type)
		}
		c.levels = append(c.levels, c.leaf)
		c.leaf = c.leaf.Children[0]
	}
	of := ""
	if len(c.levels) > 0 {
		of = "lists of "
	}
	switch leaf := c.leaf; {
	case leaf.Values != nil:
		if c.values = newColumn(leaf.Values, name, nil); c.values.err != nil {
			c.err = c.values.err
			return c
		}
		if len(c.levels) > 0 {
			return refuse(of + leaf.Type)
		}
		c.spec = c.values.spec
	case leaf.Kind == arrowipc.Fixed:
		c.spec.DType = leaf.DType
	case leaf.Kind == arrowipc.Bits:
		c.spec.DType = tensor.Bool
	case leaf.Kind == arrowipc.FixedBytes:
		c.spec.DType, c.spec.Shape = tensor.Uint8, append(c.spec.Shape, leaf.Width)
	case len(c.levels) == 0 && (leaf.Kind == arrowipc.Bytes || leaf.Kind == arrowipc.LargeBytes ||
		leaf.Kind == arrowipc.BytesView):
		c.spec.DType, c.spec.Shape = tensor.Uint8, tensor.Shape{-1}
	default:
		return refuse(of + leaf.Type)
	}
	return c
}
