package npy

import (
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/tensor"
)

// kinds are the types with a tensor counterpart, by kind and bytes.
var kinds = map[string]tensor.DType{
	"b1": tensor.Bool,
	"i1": tensor.Int8, "i2": tensor.Int16, "i4": tensor.Int32, "i8": tensor.Int64,
	"u1": tensor.Uint8, "u2": tensor.Uint16, "u4": tensor.Uint32, "u8": tensor.Uint64,
	"f2": tensor.Float16, "f4": tensor.Float32, "f8": tensor.Float64,
	"c8": tensor.Complex64, "c16": tensor.Complex128,
}

// letters are numpy's names of one letter, which may have a byte order. C types have their sizes on
// 64-bit Linux.
var letters = map[string]string{
	"?": "b1", "b": "i1", "h": "i2", "i": "i4", "l": "i8", "q": "i8", "p": "i8", "n": "i8",
	"B": "u1", "H": "u2", "I": "u4", "L": "u8", "Q": "u8", "P": "u8", "N": "u8",
	"e": "f2", "f": "f4", "d": "f8", "F": "c8", "D": "c16",
}

// words are numpy's longer names, which have no byte order.
var words = map[string]string{
	"bool": "b1", "bool_": "b1",
	"int8": "i1", "byte": "i1", "int16": "i2", "short": "i2", "int32": "i4", "intc": "i4",
	"int64": "i8", "int": "i8", "int_": "i8", "intp": "i8", "long": "i8", "longlong": "i8",
	"uint8": "u1", "ubyte": "u1", "uint16": "u2", "ushort": "u2", "uint32": "u4", "uintc": "u4",
	"uint64": "u8", "uint": "u8", "uintp": "u8", "ulong": "u8", "ulonglong": "u8",
	"float16": "f2", "half": "f2", "float32": "f4", "single": "f4", "float64": "f8", "double": "f8", "float": "f8",
	"complex64": "c8", "csingle": "c8", "complex128": "c16", "cdouble": "c16", "complex": "c16",
}

// foreign are the kinds of numpy that tensors do not have.
const foreign = "SaUVMmOgGT"

// parseDescr returns the type that descr names. foreign tells that numpy has a
// type of that name, or may have, and tensors do not.
func parseDescr(descr string) (d tensor.DType, bigEndian, isForeign bool) {
	name := descr
	if w, ok := words[name]; ok {
		return kinds[w], false, false
	}
	if name != "" && strings.IndexByte("<>=|", name[0]) >= 0 {
		bigEndian = name[0] == '>'
		name = name[1:]
	}
	if name == "" {
		return tensor.Invalid, false, false
	}
	if len(name) > 1 && name[0] == '1' && !isDigit(name[1]) {
		name = name[1:] // an array of one element is the element
	}
	if l, ok := letters[name]; ok {
		name = l
	}
	if size, err := strconv.Atoi(name[1:]); err == nil {
		name = name[:1] + strconv.Itoa(size)
	}
	if d, ok := kinds[name]; ok {
		return d, bigEndian && d.Size() > 1, false
	}
	isForeign = strings.IndexByte(foreign, name[0]) >= 0 || name == "f16" || name == "c32" ||
		strings.ContainsAny(name, ",()") || isDigit(name[0]) || foreignWords[name]
	return tensor.Invalid, false, isForeign
}

// foreignWords are the longer names of such types.
var foreignWords = map[string]bool{
	"longdouble": true, "clongdouble": true, "float128": true, "complex256": true, "object": true, "object_": true,
	"str": true, "str_": true, "bytes": true, "bytes_": true, "void": true, "datetime64": true, "timedelta64": true,
}

// descr returns how numpy names a type; ok is false where it has no name.
func descr(d tensor.DType, bigEndian bool) (name string, ok bool) {
	for k, v := range kinds {
		if v == d {
			switch {
			case d.Size() == 1:
				return "|" + k, true
			case bigEndian:
				return ">" + k, true
			}
			return "<" + k, true
		}
	}
	return "", false
}
