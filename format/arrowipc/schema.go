package arrowipc

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Kind is how the values of a field are stored.
type Kind uint8

// The kinds.
const (
	Other      Kind = iota // a type that is not read
	Null                   // nothing: all values are null
	Fixed                  // numbers of Field.DType
	Bits                   // booleans, one a bit
	Bytes                  // byte strings with offsets of 32 bits
	LargeBytes             // with offsets of 64 bits
	FixedBytes             // byte strings of Field.Width bytes
	List                   // lists with offsets of 32 bits
	LargeList              // with offsets of 64 bits
	FixedList              // lists of Field.Width values
	Struct                 // a value of each child
	BytesView              // byte strings by place
)

// Field is a field of a schema.
type Field struct {
	Name     string
	Kind     Kind
	Type     string       // in words, for messages
	DType    tensor.DType // of Fixed
	Width    int          // bytes of FixedBytes, values of FixedList
	Children []*Field
	// Dictionary is the number of the dictionary that the values, which are numbers, point into;
	// Values is the field of its values. Values is nil for a field without dictionary.
	Dictionary int64
	Values     *Field

	buffers int // of the field without its children; a view has more
}

// Schema is the fields of a file.
type Schema struct {
	Fields []*Field
}

const (
	mostDepth  = 64
	mostFields = 1 << 16
)

// Types by their number in the format.
const (
	typeNull = iota + 1
	typeInt
	typeFloat
	typeBinary
	typeUtf8
	typeBool
	typeDecimal
	typeDate
	typeTime
	typeTimestamp
	typeInterval
	typeList
	typeStruct
	typeUnion
	typeFixedBinary
	typeFixedList
	typeMap
	typeDuration
	typeLargeBinary
	typeLargeUtf8
	typeLargeList
	typeRunEnd
	typeBinaryView
	typeUtf8View
	typeListView
	typeLargeListView
)

var typeNames = []string{"none", "null", "int", "float", "binary", "string", "bool", "decimal", "date", "time",
	"timestamp", "interval", "list",
	"struct", "union", "fixed size binary", "fixed size list", "map", "duration", "large binary", "large string", "large list", "run end encoded",
	"binary view", "string view", "list view", "large list view"}

// parseSchema reads a schema.
func parseSchema(t table) (*Schema, error) {
	if t.i16(0, 0) != 0 {
		return nil, &errs.Error{Kind: errs.Unsupported, Want: "little-endian numbers", Got: "big-endian numbers"}
	}
	left := mostFields
	s := &Schema{}
	at, n := t.vector(1, 4)
	for i := range n {
		f, err := parseField(t.f.table(at+4*i), 0, &left)
		if err != nil {
			return nil, err
		}
		s.Fields = append(s.Fields, f)
	}
	return s, t.f.err
}

func parseField(t table, depth int, left *int) (*Field, error) {
	if *left--; t.f.err != nil || depth > mostDepth || *left < 0 {
		if t.f.err != nil {
			return nil, t.f.err
		}
		return nil, &errs.Error{Kind: errs.Exhausted,
			Want: fmt.Sprintf("a schema of at most %d fields and %d levels", mostFields, mostDepth), Got: "more"}
	}
	f := &Field{Name: t.string(0)}
	f.set(int(t.u8(2)), t.table(3))
	at, n := t.vector(5, 4)
	for i := range n {
		child, err := parseField(t.f.table(at+4*i), depth+1, left)
		if err != nil {
			return nil, err
		}
		f.Children = append(f.Children, child)
	}
	switch f.Kind {
	case List, LargeList, FixedList:
		if len(f.Children) != 1 {
			return nil, corrupt(fmt.Sprintf("field %q with one child", f.Name), fmt.Sprint(len(f.Children)))
		}
	}
	if t.has(4) {
		// The type describes the values in the dictionary. The field has numbers.
		d := t.table(4)
		values := *f
		*f = Field{Name: f.Name, Dictionary: d.i64(0), Values: &values}
		f.set(typeInt, d.table(1))
		if !d.has(1) {
			f.DType = tensor.Int32
		}
		f.Type = "dictionary of " + values.Type
	}
	if f.Width < 0 {
		return nil, corrupt(fmt.Sprintf("field %q of a width of 0 or more", f.Name), fmt.Sprint(f.Width))
	}
	return f, t.f.err
}

// set sets the kind from the number of a type and its table.
func (f *Field) set(typ int, t table) {
	f.Type = "unknown"
	if typ < len(typeNames) {
		f.Type = typeNames[typ]
	}
	fixed := func(d tensor.DType) { f.Kind, f.DType, f.buffers, f.Type = Fixed, d, 2, f.Type+" as "+d.String() }
	switch typ {
	case typeNull:
		f.Kind = Null
	case typeInt:
		d, ok := map[[2]int]tensor.DType{
			{8, 1}: tensor.Int8, {16, 1}: tensor.Int16, {32, 1}: tensor.Int32, {64, 1}: tensor.Int64,
			{8, 0}: tensor.Uint8, {16, 0}: tensor.Uint16, {32, 0}: tensor.Uint32, {64, 0}: tensor.Uint64,
		}[[2]int{int(t.i32(0, 0)), map[bool]int{true: 1}[t.bool(1)]}]
		if fixed(d); ok {
			f.Type = d.String()
		} else {
			f.Kind, f.Type = Other, fmt.Sprintf("int of %d bits", t.i32(0, 0))
		}
	case typeFloat:
		precision := t.i16(0, 0)
		if precision < 0 || precision > 2 {
			f.buffers = 2
			return
		}
		d := [3]tensor.DType{tensor.Float16, tensor.Float32, tensor.Float64}[precision]
		fixed(d)
		f.Type = d.String()
	case typeDate:
		fixed([2]tensor.DType{tensor.Int32, tensor.Int64}[t.i16(0, 1)&1])
	case typeTime:
		fixed(map[bool]tensor.DType{true: tensor.Int32, false: tensor.Int64}[t.i32(1, 32) == 32])
	case typeTimestamp, typeDuration:
		fixed(tensor.Int64)
	case typeBool:
		f.Kind, f.buffers = Bits, 2
	case typeBinary, typeUtf8:
		f.Kind, f.buffers = Bytes, 3
	case typeLargeBinary, typeLargeUtf8:
		f.Kind, f.buffers = LargeBytes, 3
	case typeFixedBinary:
		f.Kind, f.Width, f.buffers = FixedBytes, int(t.i32(0, 0)), 2
	case typeList:
		f.Kind, f.buffers = List, 2
	case typeLargeList:
		f.Kind, f.buffers = LargeList, 2
	case typeFixedList:
		f.Kind, f.Width, f.buffers = FixedList, int(t.i32(0, 0)), 1
	case typeStruct:
		f.Kind, f.buffers = Struct, 1
	case typeBinaryView, typeUtf8View:
		f.Kind, f.buffers = BytesView, 2
	case typeDecimal, typeInterval, typeMap: // which are not read, but counted
		f.buffers = 2
	case typeUnion:
		f.buffers = 1
		if t.i16(0, 0) == 1 { // dense
			f.buffers = 2
		}
	case typeListView, typeLargeListView:
		f.buffers = 3
	}
}
