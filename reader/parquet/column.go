package parquet

import (
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// column is a leaf of the schema.
type column struct {
	name   string
	index  int // among the leaves
	stored format.Type
	length int // of FIXED_LEN_BYTE_ARRAY
	spec   tensor.Spec
	err    error // why it cannot be read

	// A value is there if its definition level is defined. A list at level k has an element if the
	// definition level is at least lists[k].
	defined int
	lists   []int
}

// isBytes reports whether values are byte strings of different lengths.
func (c *column) isBytes() bool { return c.stored == format.ByteArray }

// width returns the bytes of a value as the reader keeps it, for columns whose values all have as
// many.
func (c *column) width() int {
	if c.stored == format.FixedLenByteArray && c.spec.DType == tensor.Uint8 {
		return c.length
	}
	return c.spec.DType.Size()
}

// columnsOf returns the columns of a schema, which is written as a tree in depth-first order. The
// parts of structs have names with a dot; the inner names of lists are left out.
func columnsOf(schema []format.SchemaElement) (list []*column, err error) {
	w := &schemaWalker{rest: schema}
	if len(schema) == 0 || schema[0].NumChildren.V < 0 {
		return nil, corrupt("a schema", "none")
	}
	w.rest = schema[1:]
	for range schema[0].NumChildren.V {
		if err := w.walk(nil, 0, nil, false); err != nil {
			return nil, err
		}
	}
	return w.list, nil
}

type schemaWalker struct {
	rest  []format.SchemaElement
	list  []*column
	depth int
}

// walk takes an element and its children. With inner, its name is left out.
func (w *schemaWalker) walk(path []string, defined int, lists []int, inner bool) error {
	if len(w.rest) == 0 || w.depth > 64 {
		return corrupt("a schema of at most 64 levels", "a schema that is cut or deeper")
	}
	e := &w.rest[0]
	w.rest = w.rest[1:]
	if !inner {
		path = append(path[:len(path):len(path)], e.Name)
	}
	switch e.RepetitionType.V {
	case format.Optional:
		defined++
	case format.Repeated:
		defined++
		lists = append(lists[:len(lists):len(lists)], defined)
	}
	if !e.NumChildren.Valid || e.NumChildren.V == 0 && e.Type.Valid {
		w.list = append(w.list, newColumn(e, strings.Join(path, "."), len(w.list), defined, lists))
		return nil
	}
	w.depth++
	defer func() { w.depth-- }()
	_, logical := e.LogicalType.Value.(*format.ListType)
	isList := e.NumChildren.V == 1 && (logical || e.ConvertedType.Valid && e.ConvertedType.V == deprecated.List)
	// The repeated group of a list and its element have no names of their own.
	single := inner && e.RepetitionType.V == format.Repeated && e.NumChildren.V == 1
	for range e.NumChildren.V {
		if err := w.walk(path, defined, lists, isList || single); err != nil {
			return err
		}
	}
	return nil
}

func newColumn(e *format.SchemaElement, name string, index, defined int, lists []int) *column {
	c := &column{name: name, index: index, stored: e.Type.V, length: int(e.TypeLength.V), defined: defined,
		lists: lists,
		spec:  tensor.Spec{Shape: tensor.Shape{}}}
	for range lists {
		c.spec.Shape = append(c.spec.Shape, -1)
	}
	what := ""
	switch c.stored {
	case format.Boolean:
		c.spec.DType = tensor.Bool
	case format.Int32:
		c.spec.DType = tensor.Int32
	case format.Int64, format.Int96: // a time of 96 bits becomes nanoseconds
		c.spec.DType = tensor.Int64
	case format.Float:
		c.spec.DType = tensor.Float32
	case format.Double:
		c.spec.DType = tensor.Float64
	case format.ByteArray:
		if c.spec.DType = tensor.Uint8; len(lists) > 0 {
			what = "lists of byte strings"
		}
		c.spec.Shape = append(c.spec.Shape, -1)
	case format.FixedLenByteArray:
		if _, half := e.LogicalType.Value.(*format.Float16Type); half && c.length == 2 {
			c.spec.DType = tensor.Float16
			break
		}
		c.spec.DType, c.spec.Shape = tensor.Uint8, append(c.spec.Shape, c.length)
		if c.length < 1 || c.length > 1<<20 {
			what = fmt.Sprintf("byte strings of %d bytes", c.length)
		}
	default:
		what = "type " + c.stored.String()
	}
	if d, ok := integerOf(e); ok && (c.stored == format.Int32 || c.stored == format.Int64) {
		c.spec.DType = d
	}
	if _, decimal := e.LogicalType.Value.(*format.DecimalType); decimal || e.ConvertedType.Valid &&
		e.ConvertedType.V == deprecated.Decimal {
		what = "decimal numbers"
	}
	if what != "" {
		c.err = &errs.Error{Kind: errs.Unsupported, Subject: fmt.Sprintf("column %q", name),
			Want: "numbers, booleans, byte strings, or lists of numbers or booleans", Got: what,
			Remedy: "name the other columns in the argument columns"}
	}
	return c
}

// integerOf returns the type of integers that are stored in more bits.
func integerOf(e *format.SchemaElement) (tensor.DType, bool) {
	signed := map[int8]tensor.DType{8: tensor.Int8, 16: tensor.Int16, 32: tensor.Int32, 64: tensor.Int64}
	unsigned := map[int8]tensor.DType{8: tensor.Uint8, 16: tensor.Uint16, 32: tensor.Uint32, 64: tensor.Uint64}
	if t, ok := e.LogicalType.Value.(*format.IntType); ok {
		d, ok := signed[t.BitWidth]
		if !t.IsSigned {
			d, ok = unsigned[t.BitWidth]
		}
		return d, ok && d.Size() <= widthOf(e.Type.V)
	}
	if !e.ConvertedType.Valid {
		return tensor.Invalid, false
	}
	d, ok := map[deprecated.ConvertedType]tensor.DType{
		deprecated.Int8: tensor.Int8, deprecated.Int16: tensor.Int16, deprecated.Int32: tensor.Int32, deprecated.Int64: tensor.Int64,
		deprecated.Uint8: tensor.Uint8, deprecated.Uint16: tensor.Uint16, deprecated.Uint32: tensor.Uint32, deprecated.Uint64: tensor.Uint64,
	}[e.ConvertedType.V]
	return d, ok && d.Size() <= widthOf(e.Type.V)
}

// widthOf returns the bytes of a stored value, or 0 if they differ.
func widthOf(t format.Type) int {
	switch t {
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	}
	return 0
}
