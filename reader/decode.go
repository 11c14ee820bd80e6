package reader

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Decode returns a sample as a Go value. T is a struct whose exported fields are fields of the
// sample, or the type of the only field:
//
//	type example struct {
//		Image  tensor.Tensor                  // the field "image"
//		Label  int                            // "label": one number
//		Text   string `field:"caption"`       // bytes, uint8
//		Boxes  [][4]float32 `field:"boxes"`   // a matrix
//		Score  *float64 `field:",optional"`   // nil if the sample lacks it
//		Note   string `field:"-"`             // not a field
//	}
//
// If the tag has no name, it is the name of the Go field in snake case. A number is an integer
// or float of the sample that T holds exactly: a value out of range is an error, and so is a
// fraction in an integer. Floats are rounded to float32. Byte slices, and slices of the very type
// of the field, share memory with the sample; strings and all others are copies.
//
// The error is of kind errs.Mismatch if a field has another type, shape or range, and of kind
// errs.NotFound if there is no such field. It names the data set, the sample, the field, what T
// wants and what was found.
func Decode[T any](f *Fields) (T, error) {
	var v T
	err := DecodeInto(f, &v)
	return v, err
}

// DecodeInto works like Decode. Fields of the struct that are not fields of the sample stay as they
// are, and slices that have room are reused.
func DecodeInto[T any](f *Fields, dst *T) error {
	v := reflect.ValueOf(dst).Elem()
	p, err := planOf(v.Type())
	if err != nil {
		return err
	}
	if p == nil { // not a struct: the only field
		if len(f.Names) != 1 {
			return &errs.Error{Kind: errs.Mismatch, Op: decodeOp, Subject: f.Origin(),
				Want: "a sample of one field for a " + v.Type().String(),
				Got:  fmt.Sprintf("the fields %q", f.Names), Remedy: "decode into a struct"}
		}
		return f.decode(f.Names[0], v, false)
	}
	for i := range p {
		if err := f.decode(p[i].name, v.FieldByIndex(p[i].index), p[i].optional); err != nil {
			return err
		}
	}
	return nil
}

const decodeOp = "reader.Decode"

// member is a field of a struct that a field of the sample goes to.
type member struct {
	name     string
	index    []int
	optional bool
}

var plans sync.Map // reflect.Type of a struct to []member

// planOf returns the members of a struct, or nil for other types.
func planOf(t reflect.Type) ([]member, error) {
	if t.Kind() != reflect.Struct || t == tensorType {
		return nil, nil
	}
	if p, ok := plans.Load(t); ok {
		list, _ := p.([]member)
		return list, nil
	}
	list := []member{}
	for _, f := range reflect.VisibleFields(t) {
		tag, tagged := f.Tag.Lookup("field")
		if tag == "-" || f.Anonymous && !tagged || !f.IsExported() {
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		if option != "" && option != "optional" {
			return nil, &errs.Error{Kind: errs.Invalid, Op: decodeOp, Subject: t.String() + "." + f.Name,
				Want: "a tag field:\"NAME\" or field:\"NAME,optional\"", Got: strconv.Quote(tag)}
		}
		if name == "" {
			name = snake(f.Name)
		}
		if !decodable(f.Type) {
			return nil, &errs.Error{Kind: errs.Invalid, Op: decodeOp, Subject: t.String() + "." + f.Name,
				Want: "a number, bool, string, tensor.Tensor, or slices or arrays of numbers", Got: f.Type.String(),
				Remedy: "leave the field out with the tag field:\"-\""}
		}
		list = append(list, member{name, f.Index, option == "optional" || f.Type.Kind() == reflect.Pointer})
	}
	plans.Store(t, list)
	return list, nil
}

// snake returns a Go name in snake case: "ImageID" is "image_id", and "ImageIDs" is "image_ids".
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	upper := func(i int) bool { return i >= len(runes) || unicode.IsUpper(runes[i]) }
	for i, r := range runes {
		begins := !upper(i+1) && !(runes[min(i+1, len(runes)-1)] == 's' && upper(i+2)) // a word after an abbreviation
		if i > 0 && upper(i) && runes[i-1] != '_' && (!upper(i-1) || begins) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

var tensorType = reflect.TypeFor[tensor.Tensor]()

// decodable reports whether a value can be decoded into a type.
func decodable(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == tensorType || t.Kind() == reflect.String {
		return true
	}
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return number(t.Kind())
}

func number(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 && k != reflect.Uintptr
}

// decode sets v to a field.
func (f *Fields) decode(name string, v reflect.Value, optional bool) error {
	t, ok := f.Get(name)
	if !ok {
		if optional {
			v.SetZero()
			return nil
		}
		return f.missing(decodeOp, name)
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	if err := set(v, t); err != nil {
		err.Op, err.Kind, err.Subject = decodeOp, errs.Mismatch, f.subject(name)
		return err
	}
	return nil
}

// set sets v to a tensor. The error lacks the name of the field.
func set(v reflect.Value, t tensor.Tensor) *errs.Error {
	switch {
	case v.Type() == tensorType:
		v.Set(reflect.ValueOf(t))
		return nil
	case v.Kind() == reflect.String:
		if t.DType != tensor.Uint8 || len(t.Shape) != 1 {
			return unlike(v.Type(), "bytes, uint8[n]", t)
		}
		v.SetString(string(t.Data))
		return nil
	case number(v.Kind()):
		if t.Len() != 1 {
			return unlike(v.Type(), "one number", t)
		}
		return setNumber(v, t, 0)
	}
	return setList(v, t)
}

// setList sets a slice or an array to the elements of the first axis.
func setList(v reflect.Value, t tensor.Tensor) *errs.Error {
	if len(t.Shape) == 0 {
		return unlike(v.Type(), "a list of numbers", t)
	}
	n, elem := t.Shape[0], v.Type().Elem()
	if v.Kind() == reflect.Array && v.Len() != n {
		return unlike(v.Type(), fmt.Sprintf("%d elements", v.Len()), t)
	}
	nested := elem.Kind() == reflect.Slice || elem.Kind() == reflect.Array
	if nested != (len(t.Shape) > 1) {
		return unlike(v.Type(), fmt.Sprintf("%d axes", axes(v.Type())), t)
	}
	if v.Kind() == reflect.Slice {
		if !nested && share(v, t) {
			return nil
		}
		if v.Cap() >= n {
			v.SetLen(n)
		} else {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
		}
	}
	for i := range n {
		var err *errs.Error
		if nested {
			err = setList(v.Index(i), t.Index(i))
		} else {
			err = setNumber(v.Index(i), t, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func axes(t reflect.Type) (n int) {
	for ; t.Kind() == reflect.Slice || t.Kind() == reflect.Array; n++ {
		t = t.Elem()
	}
	return n
}

// share sets a slice to the memory of a tensor of the same type.
func share(v reflect.Value, t tensor.Tensor) bool {
	if !v.CanAddr() {
		return false
	}
	switch p := v.Addr().Interface().(type) {
	case *[]byte:
		return view(p, t)
	case *[]int32:
		return view(p, t)
	case *[]int64:
		return view(p, t)
	case *[]float32:
		return view(p, t)
	case *[]float64:
		return view(p, t)
	case *[]uint16:
		return t.DType == tensor.Uint16 && view(p, t)
	case *[]uint32:
		return view(p, t)
	}
	return false
}

func view[T tensor.Element](p *[]T, t tensor.Tensor) bool {
	if t.DType != tensor.DTypeOf[T]() {
		return false
	}
	list, err := tensor.Of[T](t)
	if err != nil { // memory that is not aligned
		return false
	}
	*p = list
	return true
}

// setNumber sets a number to element i of a tensor.
func setNumber(v reflect.Value, t tensor.Tensor, i int) *errs.Error {
	x := integerOf(t, i)
	ok := false
	switch k := v.Kind(); {
	case k == reflect.Bool:
		if ok = t.DType == tensor.Bool || x.integer && x.bits <= 1 && !x.negative; ok {
			v.SetBool(x.bits == 1)
		}
	case k >= reflect.Int && k <= reflect.Int64:
		if ok = x.integer && x.fits(v.Type().Bits()); ok {
			v.SetInt(int64(x.bits))
		}
	case k >= reflect.Uint && k <= reflect.Uint64:
		if ok = x.integer && !x.negative && (v.Type().Bits() == 64 || x.bits>>v.Type().Bits() == 0); ok {
			v.SetUint(x.bits)
		}
	case t.DType.IsComplex():
	case x.integer:
		f, _ := t.Float64(i)
		if k == reflect.Float32 {
			f = float64(float32(f))
		}
		back := math.Abs(f) < 1<<63 && (x.negative && int64(f) == int64(x.bits) || !x.negative && uint64(f) == x.bits)
		if ok = back; ok {
			v.SetFloat(f)
		}
	default:
		f, _ := t.Float64(i)
		ok = k == reflect.Float64 || math.IsInf(f, 0) || math.IsNaN(f) || math.Abs(f) <= math.MaxFloat32
		if ok {
			v.SetFloat(f)
		}
	}
	if !ok {
		e := unlike(v.Type(), "a number that a "+v.Type().String()+" holds", t)
		e.Got = t.DType.String() + " " + t.Element(i)
		return e
	}
	return nil
}

// element is a number of a tensor. Integers are exact.
type element struct {
	integer, negative bool
	bits              uint64 // of an integer; of a negative one in two's complement
}

// fits reports whether an integer fits into a signed integer of that width.
func (x element) fits(bits int) bool {
	if x.negative {
		return int64(x.bits) >= -1<<(bits-1)
	}
	return x.bits <= 1<<(bits-1)-1
}

func integerOf(t tensor.Tensor, i int) (x element) {
	size := t.DType.Size()
	if !t.DType.IsInteger() && t.DType != tensor.Bool || size > 8 {
		return x
	}
	for k, b := range t.Data[i*size : (i+1)*size] {
		x.bits |= uint64(b) << (8 * k)
	}
	if x.integer = true; t.DType.IsSigned() {
		shift := 64 - 8*size
		x.bits = uint64(int64(x.bits<<shift) >> shift)
		x.negative = int64(x.bits) < 0
	}
	return x
}

func unlike(to reflect.Type, want string, t tensor.Tensor) *errs.Error {
	return &errs.Error{Want: fmt.Sprintf("%s, for a %s", want, to), Got: t.String()}
}
