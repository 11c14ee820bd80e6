package dali

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// dtypes lists tensor types by their number in DALI.
var dtypes = []tensor.DType{
	tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
	tensor.Float16, tensor.Float32, tensor.Float64, tensor.Bool,
}

func dtypeOf(number int64) (tensor.DType, bool) {
	if number < 0 || number >= int64(len(dtypes)) {
		return tensor.Invalid, false
	}
	return dtypes[number], true
}

// numberOf returns DALI's number of a type, or -1 if DALI does not have it.
func numberOf(d tensor.DType) int64 { return int64(slices.Index(dtypes, d)) }

// constant returns the value of a serialized argument as the parameter takes it.
func constant(p *op.Parameter, a *pipeproto.Argument) (any, error) {
	values, err := elements(a)
	if err != nil {
		return nil, err
	}
	out := make([]any, len(values))
	for i, v := range values {
		var ok bool
		if out[i], ok = element(p.Type, v); !ok {
			return nil, fmt.Errorf("%v of type %s", v, a.Type)
		}
	}
	if list(p.Type) {
		return out, nil
	}
	if len(out) != 1 {
		return nil, fmt.Errorf("%d values", len(out))
	}
	return out[0], nil
}

// elements returns the values of an argument: int64, float32, string or bool.
func elements(a *pipeproto.Argument) ([]any, error) {
	var values []any
	for _, v := range a.Ints {
		values = append(values, v)
	}
	for _, v := range a.Floats {
		values = append(values, v)
	}
	for _, v := range a.Strings {
		values = append(values, v)
	}
	for _, v := range a.Bools {
		values = append(values, v)
	}
	for i := range a.Elements {
		v, ok := a.Elements[i].Value()
		if _, nested := v.([]any); !ok || nested {
			return nil, fmt.Errorf("an element of type %s", a.Elements[i].Type)
		}
		values = append(values, v)
	}
	return values, nil
}

func list(t op.Type) bool {
	return t == op.Ints || t == op.Floats || t == op.Strings || t == op.Bools || t == op.DTypes
}

// element converts one value to the Go type of a parameter, or of the elements of a list parameter.
func element(t op.Type, v any) (any, bool) {
	switch v := v.(type) {
	case bool:
		if t == op.Int || t == op.Ints {
			return map[bool]int{true: 1}[v], true
		}
		return v, t == op.Bool || t == op.Bools
	case string:
		return v, t == op.String || t == op.Strings
	case float32:
		return float64(v), t == op.Float || t == op.Floats
	case int64:
		return integer(t, v)
	}
	return nil, false
}

func integer(t op.Type, v int64) (any, bool) {
	switch t {
	case op.Int, op.Ints:
		return int(v), int64(int(v)) == v
	case op.Float, op.Floats:
		return float64(v), true
	case op.Bool, op.Bools:
		return v != 0, v == 0 || v == 1
	case op.DType, op.DTypes:
		d, ok := dtypeOf(v)
		return d, ok
	case op.Image:
		return op.ImageType(v), v >= 0 && v <= int64(op.AnyData)
	case op.Interp:
		return op.InterpType(v), v >= 0 && v <= int64(op.InterpGaussian)
	}
	return nil, false
}

// argument serializes the constant of a parameter. ok is false for a value that DALI cannot hold.
func argument(name string, v any) (a pipeproto.Argument, ok bool) {
	var value any
	switch v := v.(type) {
	case bool, string, []string, []bool:
		value = v
	case int:
		value = int64(v)
	case float64:
		value = float32(v)
	case []int:
		value, ok = mapped(v, func(i int) int64 { return int64(i) }), true
	case []float64:
		value = mapped(v, func(f float64) float32 { return float32(f) })
	case tensor.DType:
		value = numberOf(v)
	case []tensor.DType:
		value = mapped(v, numberOf)
	case op.ImageType:
		value = int64(v)
	case op.InterpType:
		value = int64(v)
	}
	if value == nil || value == int64(-1) && isDType(v) {
		return a, false
	}
	a, err := pipeproto.NewArgument(name, value)
	return a, err == nil && fits(v)
}

func isDType(v any) bool { _, ok := v.(tensor.DType); return ok }

// fits reports whether no number of v overflows DALI's float32.
func fits(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.IsInf(v, 0) || !math.IsInf(float64(float32(v)), 0)
	case []float64:
		return !slices.ContainsFunc(v, func(f float64) bool { return !fits(f) })
	case []tensor.DType:
		return !slices.ContainsFunc(v, func(d tensor.DType) bool { return numberOf(d) < 0 })
	}
	return true
}

func mapped[S, T any](list []S, convert func(S) T) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}
