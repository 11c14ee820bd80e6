package tensor

import (
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// DType is the type of an array's elements. The zero DType is Invalid.
type DType uint8

// The element types. Names of the float formats follow numpy's ml_dtypes: eXmY are the widths of
// exponent and mantissa, fn means finite (no infinities), uz means that zero has no sign, and bN is
// an unusual bias.
const (
	Invalid DType = iota
	Bool
	Int2
	Int4
	Int8
	Int16
	Int32
	Int64
	Uint2
	Uint4
	Uint8
	Uint16
	Uint32
	Uint64
	Float16
	BFloat16
	Float32
	Float64
	Complex64
	Complex128
	Float8E3M4
	Float8E4M3
	Float8E4M3FN
	Float8E4M3FNUZ
	Float8E4M3B11FNUZ
	Float8E5M2
	Float8E5M2FNUZ
	Float8E8M0FNU
	Float4E2M1FN
	Float6E2M3FN
	Float6E3M2FN

	numDTypes
)

type class uint8

const (
	classOther class = iota
	classBool
	classInt
	classUint
	classFloat
	classComplex
)

// dtypeInfo is a row of the table below. An empty name means that the system has no such type.
type dtypeInfo struct {
	name        string // numpy and ml_dtypes
	size        uint8  // bytes in memory
	bits        uint8  // bits in packed form
	class       class
	carrier     DType  // for Of: the type of the same width that Go has
	zarr2       string // zarr v2, as TensorStore writes it
	zarr3       string // zarr v3 data_type, as TensorStore writes it
	safetensors string
	dali        string // member of nvidia.dali.types.DALIDataType
}

// info returns the row of d. For values out of range it returns the row of Invalid.
func (d DType) info() *dtypeInfo {
	if d >= numDTypes {
		d = Invalid
	}
	return &dtypes[d]
}

// dtypes does not change. The names were taken from the systems themselves. TensorStore (zarr)
// refuses uint2, uint4, float8_e4m3 and fp6. F8_E4M3 of safetensors is the fn variant. DALI has
// only the plain types.
var dtypes = [numDTypes]dtypeInfo{
	Invalid:           {name: "invalid"},
	Bool:              {"bool", 1, 8, classBool, Bool, "|b1", "bool", "BOOL", "BOOL"},
	Int2:              {"int2", 1, 2, classInt, Int8, "int2", "int2", "", ""},
	Int4:              {"int4", 1, 4, classInt, Int8, "int4", "int4", "", ""},
	Int8:              {"int8", 1, 8, classInt, Int8, "|i1", "int8", "I8", "INT8"},
	Int16:             {"int16", 2, 16, classInt, Int16, "<i2", "int16", "I16", "INT16"},
	Int32:             {"int32", 4, 32, classInt, Int32, "<i4", "int32", "I32", "INT32"},
	Int64:             {"int64", 8, 64, classInt, Int64, "<i8", "int64", "I64", "INT64"},
	Uint2:             {"uint2", 1, 2, classUint, Uint8, "", "", "", ""},
	Uint4:             {"uint4", 1, 4, classUint, Uint8, "", "", "", ""},
	Uint8:             {"uint8", 1, 8, classUint, Uint8, "|u1", "uint8", "U8", "UINT8"},
	Uint16:            {"uint16", 2, 16, classUint, Uint16, "<u2", "uint16", "U16", "UINT16"},
	Uint32:            {"uint32", 4, 32, classUint, Uint32, "<u4", "uint32", "U32", "UINT32"},
	Uint64:            {"uint64", 8, 64, classUint, Uint64, "<u8", "uint64", "U64", "UINT64"},
	Float16:           {"float16", 2, 16, classFloat, Uint16, "<f2", "float16", "F16", "FLOAT16"},
	BFloat16:          {"bfloat16", 2, 16, classFloat, Uint16, "bfloat16", "bfloat16", "BF16", ""},
	Float32:           {"float32", 4, 32, classFloat, Float32, "<f4", "float32", "F32", "FLOAT"},
	Float64:           {"float64", 8, 64, classFloat, Float64, "<f8", "float64", "F64", "FLOAT64"},
	Complex64:         {"complex64", 8, 64, classComplex, Complex64, "<c8", "complex64", "C64", ""},
	Complex128:        {"complex128", 16, 128, classComplex, Complex128, "<c16", "complex128", "", ""},
	Float8E3M4:        {"float8_e3m4", 1, 8, classFloat, Uint8, "float8_e3m4", "float8_e3m4", "", ""},
	Float8E4M3:        {"float8_e4m3", 1, 8, classFloat, Uint8, "", "", "", ""},
	Float8E4M3FN:      {"float8_e4m3fn", 1, 8, classFloat, Uint8, "float8_e4m3fn", "float8_e4m3fn", "F8_E4M3", ""},
	Float8E4M3FNUZ:    {"float8_e4m3fnuz", 1, 8, classFloat, Uint8, "float8_e4m3fnuz", "float8_e4m3fnuz", "F8_E4M3FNUZ", ""},
	Float8E4M3B11FNUZ: {"float8_e4m3b11fnuz", 1, 8, classFloat, Uint8, "float8_e4m3b11fnuz", "float8_e4m3b11fnuz", "", ""},
	Float8E5M2:        {"float8_e5m2", 1, 8, classFloat, Uint8, "float8_e5m2", "float8_e5m2", "F8_E5M2", ""},
	Float8E5M2FNUZ:    {"float8_e5m2fnuz", 1, 8, classFloat, Uint8, "float8_e5m2fnuz", "float8_e5m2fnuz", "F8_E5M2FNUZ", ""},
	Float8E8M0FNU:     {"float8_e8m0fnu", 1, 8, classFloat, Uint8, "float8_e8m0fnu", "float8_e8m0fnu", "F8_E8M0", ""},
	Float4E2M1FN:      {"float4_e2m1fn", 1, 4, classFloat, Uint8, "float4_e2m1fn", "float4_e2m1fn", "F4", ""},
	Float6E2M3FN:      {"float6_e2m3fn", 1, 6, classFloat, Uint8, "", "", "F6_E2M3", ""},
	Float6E3M2FN:      {"float6_e3m2fn", 1, 6, classFloat, Uint8, "", "", "F6_E3M2", ""},
}

// Valid reports whether d is one of the constants other than Invalid.
func (d DType) Valid() bool { return d > Invalid && d < numDTypes }

// Size returns the bytes of one element in memory. Types narrower than a byte take one byte. The
// result is 0 for Invalid.
func (d DType) Size() int { return int(d.info().size) }

// Bits returns the bits of one element in packed form. A bool has 8 bits.
func (d DType) Bits() int { return int(d.info().bits) }

// String returns the name in numpy and ml_dtypes, such as "float32".
func (d DType) String() string { return d.info().name }

// IsFloat reports whether d is a real floating-point type of any width.
func (d DType) IsFloat() bool { return d.info().class == classFloat }

// IsInteger reports whether d is a signed or unsigned integer. Bool is not an integer.
func (d DType) IsInteger() bool { c := d.info().class; return c == classInt || c == classUint }

// IsSigned reports whether d has negative values. It is false for complex types.
func (d DType) IsSigned() bool {
	c := d.info().class
	return c == classInt || c == classFloat && d != Float8E8M0FNU
}

// IsComplex reports whether d is a complex type.
func (d DType) IsComplex() bool { return d.info().class == classComplex }

// Zarr returns the zarr v3 data_type name; ok is false if zarr has no name for d.
func (d DType) Zarr() (name string, ok bool) { n := d.info().zarr3; return n, n != "" }

// ZarrV2 returns the zarr v2 dtype name in little-endian order, such as "<f4".
func (d DType) ZarrV2() (name string, ok bool) { n := d.info().zarr2; return n, n != "" }

// Safetensors returns the name in a safetensors header, such as "BF16".
func (d DType) Safetensors() (name string, ok bool) {
	n := d.info().safetensors
	return n, n != ""
}

// DALI returns the name in DALI's enumeration of types, such as "FLOAT".
func (d DType) DALI() (name string, ok bool) { n := d.info().dali; return n, n != "" }

// ParseDType returns the type with the given numpy or ml_dtypes name. The error is of kind
// errs.Invalid.
func ParseDType(name string) (DType, error) {
	d, ok := lookup(func(i *dtypeInfo) bool { return i.name == name })
	if !ok {
		return Invalid, &errs.Error{Kind: errs.Invalid, Op: "tensor.ParseDType",
			Want: "a numpy or ml_dtypes name such as float32", Got: quote(name)}
	}
	return d, nil
}

// FromZarr returns the type with the given zarr v3 data_type name.
func FromZarr(name string) (DType, bool) {
	return lookup(func(i *dtypeInfo) bool { return name != "" && i.zarr3 == name })
}

// FromZarrV2 returns the type with the given zarr v2 dtype name. bigEndian is true for names such
// as ">f4": the bytes must be swapped after reading.
func FromZarrV2(name string) (d DType, bigEndian, ok bool) {
	if rest, big := strings.CutPrefix(name, ">"); big {
		d, ok = lookup(func(i *dtypeInfo) bool { return i.zarr2 == "<"+rest })
		return d, ok, ok
	}
	d, ok = lookup(func(i *dtypeInfo) bool { return name != "" && i.zarr2 == name })
	return d, false, ok
}

// FromSafetensors returns the type with the given name in a safetensors header.
func FromSafetensors(name string) (DType, bool) {
	return lookup(func(i *dtypeInfo) bool { return name != "" && i.safetensors == name })
}

// FromDALI returns the type with the given name in DALI's enumeration, such as "FLOAT".
func FromDALI(name string) (DType, bool) {
	return lookup(func(i *dtypeInfo) bool { return name != "" && i.dali == name })
}

func lookup(match func(*dtypeInfo) bool) (DType, bool) {
	for d := Bool; d < numDTypes; d++ {
		if match(&dtypes[d]) {
			return d, true
		}
	}
	return Invalid, false
}

// DTypes returns all valid types in the order of the constants.
func DTypes() []DType {
	all := make([]DType, 0, numDTypes-1)
	for d := Bool; d < numDTypes; d++ {
		all = append(all, d)
	}
	return all
}
