package loader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// collateNumbers makes a tensor of numbers, or of rows of them.
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

// stack puts tensors behind each other.
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

// gather makes a slice of what is not collated any further.
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

// ragged adds to the error of samples of several lengths what can be done about them.
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

// putNumber writes a number as an element of a tensor; dst is as long as it is.
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
