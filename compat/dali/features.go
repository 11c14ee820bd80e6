package dali

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The arguments and the type of features in a serialized pipeline.
const (
	featureNames = "feature_names"
	featureType  = "TFRecord"
)

// featureTypes lists the types of features by their number in DALI.
var featureTypes = []tensor.DType{tensor.Int64, tensor.Uint8, tensor.Float32}

// featureArguments serializes features as DALI does: their names, and an argument of arguments.
func featureArguments(name string, features []op.Feature) ([]pipeproto.Argument, error) {
	list := pipeproto.Argument{Name: name, Type: featureType, IsVector: true}
	var names []string
	for i, f := range features {
		if !f.Fixed && len(f.Shape) > 0 {
			return nil, fmt.Errorf("%q with a partial shape, which DALI leaves out", f.Name)
		}
		names = append(names, f.Name)
		shape := pipeproto.Argument{Name: "shape"}
		for _, d := range f.Shape {
			shape.Type, shape.Ints = pipeproto.TypeInt, append(shape.Ints, int64(d))
		}
		value := f.Default
		switch f.DType {
		case tensor.Uint8:
			value, _ = value.(string)
		case tensor.Int64:
			n, _ := value.(int)
			value = int64(n)
		case tensor.Float32:
			x, _ := value.(float64)
			value = float32(x)
		}
		e := pipeproto.Argument{Name: "element " + strconv.Itoa(i), Type: featureType}
		for _, p := range []struct {
			name  string
			value any
		}{{"type", int64(slices.Index(featureTypes, f.DType))}, {"has_shape", f.Fixed}, {"shape",
			nil}, {"default_value", value}} {
			if p.name == "shape" {
				e.Elements = append(e.Elements, shape)
				continue
			}
			a, err := pipeproto.NewArgument(p.name, p.value)
			if err != nil {
				return nil, err
			}
			e.Elements = append(e.Elements, a)
		}
		list.Elements = append(list.Elements, e)
	}
	first, err := pipeproto.NewArgument(featureNames, names)
	return []pipeproto.Argument{first, list}, err
}

// featuresOf returns the features of a serialized pipeline. names is the argument with their names,
// or nil.
func featuresOf(names, features *pipeproto.Argument) ([]op.Feature, error) {
	var list []any
	if names != nil {
		var err error
		if list, err = elements(names); err != nil {
			return nil, err
		}
	}
	if len(list) != len(features.Elements) {
		return nil, fmt.Errorf("%d names of %d features", len(list), len(features.Elements))
	}
	out := make([]op.Feature, len(list))
	for i := range out {
		f := &out[i]
		var ok bool
		if f.Name, ok = list[i].(string); !ok {
			return nil, fmt.Errorf("a name of type %T", list[i])
		}
		if err := parseFeature(f, &features.Elements[i]); err != nil {
			return nil, fmt.Errorf("feature %q: %w", f.Name, err)
		}
	}
	return out, nil
}

func parseFeature(f *op.Feature, a *pipeproto.Argument) error {
	for i := range a.Elements {
		e := &a.Elements[i]
		values, err := elements(e)
		if err != nil {
			return err
		}
		if e.Name == "shape" {
			for _, v := range values {
				n, ok := v.(int64)
				if !ok || int64(int(n)) != n {
					return fmt.Errorf("an extent %v", v)
				}
				f.Shape = append(f.Shape, int(n))
			}
			continue
		}
		if len(values) != 1 {
			return fmt.Errorf("%d values of %s", len(values), e.Name)
		}
		ok := true
		switch e.Name {
		case "type":
			n, isInt := values[0].(int64)
			if ok = isInt && n >= 0 && n < int64(len(featureTypes)); ok {
				f.DType = featureTypes[n]
			}
		case "has_shape":
			f.Fixed, ok = values[0].(bool)
		case "default_value":
			f.Default = values[0]
		default:
			ok = false
		}
		if !ok {
			return fmt.Errorf("%s %v", e.Name, values[0])
		}
	}
	return nil
}
