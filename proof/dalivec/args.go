package dalivec

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Constant returns a value of a case's arguments, or of an expression, as Go has
// it: Python's integers are int, lists []any, enums of nvidia.dali.types
// tensor.DType, op.ImageType or op.InterpType.
func Constant(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return int(n), nil
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n, nil // seeds from 2^63 on
		}
		return v.Float64()
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = Constant(v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		if name, ok := v["type"].(string); ok {
			return Enum(name)
		}
		if names, ok := v["types"].([]any); ok {
			out := make([]any, len(names))
			for i := range names {
				name, _ := names[i].(string)
				var err error
				if out[i], err = Enum(name); err != nil {
					return nil, err
				}
			}
			return out, nil
		}
		return nil, fmt.Errorf("unknown kind of argument: %v", v)
	}
	return v, nil // nil, bool or string
}

// Enum returns the member of an enum of nvidia.dali.types.
func Enum(name string) (any, error) {
	if d, ok := tensor.FromDALI(name); ok {
		return d, nil
	}
	for t := op.RGB; t <= op.AnyData; t++ {
		if t.String() == name {
			return t, nil
		}
	}
	for t := op.InterpNN; t <= op.InterpGaussian; t++ {
		if t.String() == name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("types.%s is unknown", name)
}

// Samples returns the argument input that v describes; ok is false when v is a constant.
func Samples(v any) (samples []tensor.Tensor, ok bool, err error) {
	m, _ := v.(map[string]any)
	list, ok := m["tensor"].([]any)
	if !ok {
		return nil, false, nil
	}
	dtype, _ := m["dtype"].(string)
	for _, x := range list {
		t, err := Literal(x, dtype)
		if err != nil {
			return nil, true, err
		}
		samples = append(samples, t)
	}
	return samples, true, nil
}

// arguments returns the arguments of a case for optest.
func (c *Case) arguments() (op.Args, error) {
	args := op.Args{}
	for name, v := range c.Args {
		samples, ok, err := Samples(v)
		if ok && err == nil {
			args[name] = optest.Samples(samples)
			continue
		}
		if err == nil {
			args[name], err = Constant(v)
		}
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", name, err)
		}
	}
	return args, nil
}
