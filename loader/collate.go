package loader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// DefaultCollate makes a batch from samples as torch's default_collate does:
//
//	numbers, bool       a tensor of one axis, of their own type
//	[]number, [n]number a tensor with a row for each sample
//	tensor.Tensor       stacked along a new first axis; shapes and types must agree
//	string, []byte      a slice of them
//	map[K]V             a map with each key of the first sample, collated
//	struct              each field collated, into the field with the same name if B
//	                    is a struct, else into a map[string]any of its exported fields
//	other slices        transposed: element i collates element i of all samples
//	pointer, any        the value in it is collated
//
// B is tensor.Tensor, any, or a slice, map or struct of collated values. The error is of kind
// errs.Mismatch if samples disagree, and of kind errs.Invalid if there is no rule. It names the
// path within the sample.
func DefaultCollate[S, B any](samples []S) (B, error) {
	var batch B
	if len(samples) == 0 {
		return batch, &errs.Error{Kind: errs.Invalid, Op: "loader.DefaultCollate", Want: "at least one sample",
			Got: "no sample"}
	}
	column := make([]reflect.Value, len(samples))
	for i := range samples {
		column[i] = reflect.ValueOf(&samples[i]).Elem()
	}
	v, err := collateColumn("", column, reflect.TypeFor[B]())
	if err != nil {
		return batch, err
	}
	reflect.ValueOf(&batch).Elem().Set(v)
	return batch, nil
}

var tensorType = reflect.TypeFor[tensor.Tensor]()

// collatorOf returns the function that makes batches: custom, or the default.
func collatorOf[S, B any](custom func([]S) (B, error), batched bool) (func([]S) (B, error), error) {
	switch {
	case custom != nil:
		return custom, nil
	case batched:
		if f, ok := direct[S, B](); ok {
			return f, nil
		}
		return DefaultCollate[S, B], nil
	}
	to := reflect.TypeFor[B]()
	if from := reflect.TypeFor[S](); from != to && to.Kind() != reflect.Interface {
		return nil, invalid("Collate", fmt.Sprintf("a function that makes %v from %v (samples are not batched)", to, from),
			nil)
	}
	return func(samples []S) (batch B, err error) {
		b, ok := any(samples[0]).(B)
		if !ok && any(samples[0]) != nil {
			return b, &errs.Error{Kind: errs.Mismatch, Op: "loader.Collate", Want: fmt.Sprint(to),
				Got: fmt.Sprintf("%T", samples[0])}
		}
		return b, nil
	}, nil
}

// direct returns a collator without reflection for samples that are numbers.
func direct[S, B any]() (f func([]S) (B, error), ok bool) {
	for _, rule := range []any{
		numbers[int], numbers[int64], numbers[int32], numbers[uint8], numbers[float32], numbers[float64],
		anyNumbers[int], anyNumbers[int64], anyNumbers[int32], anyNumbers[uint8], anyNumbers[float32], anyNumbers[float64],
	} {
		if f, ok := rule.(func([]S) (B, error)); ok {
			return f, true
		}
	}
	return nil, false
}

func numbers[T tensor.Element](samples []T) (tensor.Tensor, error) {
	return tensor.FromSlice(slices.Clone(samples)), nil
}

func anyNumbers[T tensor.Element](samples []T) (any, error) { return numbers(samples) }

// collateColumn collates the values that all samples have at path into a value of type to.
func collateColumn(path string, column []reflect.Value, to reflect.Type) (reflect.Value, error) {
	column, err := concrete(path, column)
	if err != nil {
		return reflect.Value{}, err
	}
	from := column[0].Type()
	if from == tensorType {
		return stack(path, column, to)
	}
	if d, ok := tensor.FromReflect(from); ok {
		return collateNumbers(path, column, d, nil, to)
	}
	switch from.Kind() {
	case reflect.String:
		return gather(path, column, to)
	case reflect.Slice, reflect.Array:
		elem := from.Elem()
		if elem.Kind() == reflect.Uint8 && from.Kind() == reflect.Slice && to != tensorType {
			return gather(path, column, to)
		}
		if err := equalLengths(path, column); err != nil {
			return reflect.Value{}, err
		}
		if d, ok := tensor.FromReflect(elem); ok {
			return collateNumbers(path, column, d, tensor.Shape{column[0].Len()}, to)
		}
		return transpose(path, column, to)
	case reflect.Map:
		return collateMap(path, column, to)
	case reflect.Struct:
		return collateStruct(path, column, to)
	}
	return reflect.Value{}, noRule(path, from.String())
}

// concrete follows interfaces and pointers. The values that it returns have one type.
func concrete(path string, column []reflect.Value) ([]reflect.Value, error) {
	own := false
	for i, v := range column {
		for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return nil, noRule(path, "nil")
			}
			if !own {
				column, own = slices.Clone(column), true
			}
			v = v.Elem()
			column[i] = v
		}
		if first := column[0].Type(); v.Type() != first {
			return nil, disagree(path, i, first.String(), v.Type().String())
		}
	}
	return column, nil
}

// fit returns a value as type to. to is the type of the value, or an interface that the type
// implements.
func fit(path string, v reflect.Value, to reflect.Type) (reflect.Value, error) {
	if !v.Type().AssignableTo(to) {
		return v, &errs.Error{Kind: errs.Invalid, Op: "loader.Collate", Subject: named(path),
			Want: "a batch of " + v.Type().String(), Got: "a batch of " + to.String()}
	}
	return v, nil
}

// element returns the type for the elements of a container of type to. It is the element type of to
// if to is of that kind, else any.
func element(to reflect.Type, kind reflect.Kind) reflect.Type {
	if to.Kind() == kind {
		return to.Elem()
	}
	return reflect.TypeFor[any]()
}

func named(path string) string {
	if path == "" {
		return "sample"
	}
	return "sample" + path
}

func noRule(path, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "loader.Collate", Subject: named(path), Got: got,
		Want: "numbers, tensors, strings, bytes, maps, structs or slices of them", Remedy: "set Options.Collate"}
}

func disagree(path string, sample int, want, got string) error {
	return &errs.Error{Kind: errs.Mismatch, Op: "loader.Collate",
		Subject: fmt.Sprintf("%s of sample %d in the batch", named(path), sample),
		Want:    want + ", as in the first sample", Got: got}
}

// collateNumbers makes a tensor from numbers, or from rows of numbers.
func collateNumbers(path string, column []reflect.Value, d tensor.DType, row tensor.Shape,
	to reflect.Type) (reflect.Value, error) {
	t := tensor.New(d, append([]int{len(column)}, row...)...)
	size := len(t.Data) / len(column)
	for i, v := range column {
		dst := t.Data[i*size : (i+1)*size]
		if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
			putNumber(dst, v)
			continue
		}
		for j := range v.Len() {
			putNumber(dst[j*d.Size():(j+1)*d.Size()], v.Index(j))
		}
	}
	return fit(path, reflect.ValueOf(t), to)
}

// stack puts tensors one after the other along a new axis.
func stack(path string, column []reflect.Value, to reflect.Type) (reflect.Value, error) {
	first := column[0].Interface().(tensor.Tensor)
	t := tensor.New(first.DType, append([]int{len(column)}, first.Shape...)...)
	if first.Layout != "" {
		t.Layout = "N" + first.Layout
	}
	for i, v := range column {
		one := v.Interface().(tensor.Tensor)
		if one.DType == first.DType && len(one.Shape) == len(first.Shape) && !one.Shape.Equal(first.Shape) {
			return reflect.Value{}, ragged(disagree(path, i, first.String(), one.String()))
		}
		if one.DType != first.DType || !one.Shape.Equal(first.Shape) {
			return reflect.Value{}, disagree(path, i, first.String(), one.String())
		}
		copy(t.Data[i*len(first.Data):], one.Data)
	}
	return fit(path, reflect.ValueOf(t), to)
}

// gather makes a slice of values that are not collated any further.
func gather(path string, column []reflect.Value, to reflect.Type) (reflect.Value, error) {
	list := reflect.MakeSlice(reflect.SliceOf(column[0].Type()), 0, len(column))
	return fit(path, reflect.Append(list, column...), to)
}

func equalLengths(path string, column []reflect.Value) error {
	n := column[0].Len()
	for i, v := range column {
		if v.Len() != n {
			return ragged(disagree(path, i, fmt.Sprint("a length of ", n), fmt.Sprint(v.Len())))
		}
	}
	return nil
}

// ragged adds a remedy to the error of samples with different lengths.
func ragged(err error) error {
	var e *errs.Error
	if errors.As(err, &e) {
		e.Remedy = "pad them (Collate: loader.PadTokens), pack them (Order: order.NewPacks, CollatePacks: loader.PackTokens), or batch samples of one length (Order: order.NewBuckets)"
	}
	return err
}

func transpose(path string, column []reflect.Value, to reflect.Type) (reflect.Value, error) {
	elem := element(to, reflect.Slice)
	list := reflect.MakeSlice(reflect.SliceOf(elem), 0, column[0].Len())
	for j := range column[0].Len() {
		part := make([]reflect.Value, len(column))
		for i, v := range column {
			part[i] = v.Index(j)
		}
		v, err := collateColumn(fmt.Sprintf("%s[%d]", path, j), part, elem)
		if err != nil {
			return v, err
		}
		list = reflect.Append(list, v)
	}
	return fit(path, list, to)
}

func collateMap(path string, column []reflect.Value, to reflect.Type) (reflect.Value, error) {
	elem := element(to, reflect.Map)
	m := reflect.MakeMap(reflect.MapOf(column[0].Type().Key(), elem))
	for _, key := range column[0].MapKeys() {
		part := make([]reflect.Value, len(column))
		for i, v := range column {
			if part[i] = v.MapIndex(key); !part[i].IsValid() {
				return m, disagree(fmt.Sprintf("%s[%v]", path, key), i, "a value", "none")
			}
		}
		v, err := collateColumn(fmt.Sprintf("%s[%v]", path, key), part, elem)
		if err != nil {
			return v, err
		}
		m.SetMapIndex(key, v)
	}
	return fit(path, m, to)
}

func collateStruct(path string, column []reflect.Value, to reflect.Type) (reflect.Value, error) {
	from := column[0].Type()
	fields := func(name string, elem reflect.Type) (reflect.Value, error) {
		part := make([]reflect.Value, len(column))
		for i, v := range column {
			if part[i] = v.FieldByName(name); !part[i].IsValid() {
				return part[i], noRule(path+"."+name, "no such field in "+from.String())
			}
		}
		return collateColumn(path+"."+name, part, elem)
	}
	if to.Kind() == reflect.Struct && to != tensorType {
		batch := reflect.New(to).Elem()
		for _, f := range reflect.VisibleFields(to) {
			if !f.IsExported() || len(f.Index) > 1 {
				continue
			}
			v, err := fields(f.Name, f.Type)
			if err != nil {
				return v, err
			}
			batch.FieldByIndex(f.Index).Set(v)
		}
		return batch, nil
	}
	elem := element(to, reflect.Map)
	m := reflect.MakeMap(reflect.MapOf(reflect.TypeFor[string](), elem))
	for i := range from.NumField() {
		f := from.Field(i)
		if !f.IsExported() {
			continue
		}
		v, err := fields(f.Name, elem)
		if err != nil {
			return v, err
		}
		m.SetMapIndex(reflect.ValueOf(f.Name), v)
	}
	return fit(path, m, to)
}

// putNumber writes a number as an element of a tensor. dst has the length of the element.
func putNumber(dst []byte, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			dst[0] = 1
		}
	case reflect.Float32:
		binary.LittleEndian.PutUint32(dst, math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		binary.LittleEndian.PutUint64(dst, math.Float64bits(v.Float()))
	case reflect.Complex64:
		c := complex64(v.Complex())
		binary.LittleEndian.PutUint32(dst, math.Float32bits(real(c)))
		binary.LittleEndian.PutUint32(dst[4:], math.Float32bits(imag(c)))
	case reflect.Complex128:
		binary.LittleEndian.PutUint64(dst, math.Float64bits(real(v.Complex())))
		binary.LittleEndian.PutUint64(dst[8:], math.Float64bits(imag(v.Complex())))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		putInteger(dst, uint64(v.Int()))
	default:
		putInteger(dst, v.Uint())
	}
}

func putInteger(dst []byte, u uint64) {
	for i := range dst {
		dst[i] = byte(u >> (8 * i))
	}
}
