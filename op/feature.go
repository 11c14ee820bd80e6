package op

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/tensor"
)

// Feature describes a field of the records of a data set: its name, its type, and its shape or that
// it differs. The zero Default is 0, or no bytes.
type Feature struct {
	Name string
	// DType is tensor.Uint8 for bytes and texts, tensor.Int64 or tensor.Float32.
	DType tensor.DType
	// Fixed says that all records have values for exactly Shape. Otherwise the number of values may
	// differ: the first extent follows from it, and Shape has the others.
	Fixed bool
	Shape []int
	// Default is each value of a record that lacks a Fixed feature: a number, or a string for bytes.
	// A record that lacks another feature has no values of it.
	Default any
}

// FixedLen returns a feature with values for the given shape in all records. Bytes are one value:
// their shape is empty.
func FixedLen(name string, shape []int, dtype tensor.DType, value any) Feature {
	return Feature{Name: name, DType: dtype, Fixed: true, Shape: shape, Default: value}
}

// VarLen returns a feature with any number of values. inner are the extents of the shape after the
// first.
func VarLen(name string, dtype tensor.DType, value any, inner ...int) Feature {
	return Feature{Name: name, DType: dtype, Shape: inner, Default: value}
}

// String returns the feature in one line. Different features have different lines.
func (f Feature) String() string {
	kind := "var"
	if f.Fixed {
		kind = "fixed"
	}
	value := fmt.Sprint(f.Default)
	switch v := f.Default.(type) {
	case nil:
		value = "-"
	case string:
		value = strconv.Quote(v)
	case float64:
		value = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprintf("%s:%s %s %v %s", strconv.Quote(f.Name), kind, f.DType, f.Shape, value)
}

// normal returns the feature with a default of type string, int or float64, or none if it is the
// zero value. ok is false if the default is of another type than the feature or does not fit it.
func (f Feature) normal() (out Feature, ok bool) {
	out = f
	out.Shape = slices.Clone(f.Shape)
	switch v := f.Default.(type) {
	case nil:
		return out, true
	case string:
		out.Default, ok = v, f.DType == tensor.Uint8
	default:
		number, isNumber := toFloat(v)
		whole, isInt := toInt(v)
		switch f.DType {
		case tensor.Float32:
			out.Default, ok = number, isNumber && (math.IsInf(number, 0) || !math.IsInf(float64(float32(number)), 0))
		case tensor.Int64:
			if !isInt && isNumber && number == math.Trunc(number) && math.Abs(number) < 1<<53 {
				whole, isInt = int(number), true
			}
			out.Default, ok = whole, isInt
		}
	}
	if out.Default == "" || out.Default == 0 || out.Default == 0.0 {
		out.Default = nil
	}
	return out, ok
}

// toFeatures returns the features in v: a []Feature, or a []any of such, or of maps as files have
// them.
func toFeatures(v any) ([]Feature, bool) {
	var list []Feature
	switch v := v.(type) {
	case Feature:
		list = []Feature{v}
	case []Feature:
		list = v
	case []any:
		for _, e := range v {
			f, ok := e.(Feature)
			if m, isMap := e.(map[string]any); isMap {
				f, ok = featureOf(m)
			}
			if !ok {
				return nil, false
			}
			list = append(list, f)
		}
	default:
		return nil, false
	}
	out := make([]Feature, len(list))
	for i, f := range list {
		var ok bool
		if out[i], ok = f.normal(); !ok {
			return nil, false
		}
	}
	return out, true
}

// featureTypes are the names of types of features in files.
var featureTypes = map[string]tensor.DType{
	"string": tensor.Uint8, "bytes": tensor.Uint8, "int64": tensor.Int64, "float32": tensor.Float32,
}

// featureOf reads a feature as files have it:
//
//	{name: label, type: int64, shape: [1], default: -1}
//	{name: vals, type: float32, variable: true, partial_shape: [4]}
func featureOf(m map[string]any) (f Feature, ok bool) {
	f.Fixed = true
	for key, v := range m {
		switch key {
		case "name":
			f.Name, ok = v.(string)
		case "type":
			text, _ := v.(string)
			f.DType, ok = featureTypes[strings.ToLower(text)]
		case "shape", "partial_shape":
			f.Shape, ok = toList(v, toInt)
		case "variable":
			var variable bool
			variable, ok = v.(bool)
			f.Fixed = !variable
		case "default":
			f.Default, ok = v, true
		default:
			ok = false
		}
		if !ok {
			return f, false
		}
	}
	return f, f.Name != "" && f.DType.Valid()
}
