package dataset

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/loader/internal/config"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// arguments returns the arguments of a reader. Paths are relative to the file.
func (s *dataSource) arguments(schema *op.Schema, dir string) (op.Args, error) {
	args := op.Args{}
	for _, name := range slices.Sorted(maps.Keys(s.args)) {
		v := s.args[name]
		p, ok := schema.Param(name)
		if !ok {
			var known []string
			for i := range schema.Params {
				known = append(known, schema.Params[i].Name)
			}
			return nil, v.Unknown(name, known)
		}
		value, err := argument(v, p)
		if err != nil {
			return nil, err
		}
		if _, rooted := s.args["file_root"]; isPath(p) && (!rooted || name == "file_root") {
			switch x := value.(type) {
			case string:
				value = under(dir, x)
			case []string:
				for i := range x {
					x[i] = under(dir, x[i])
				}
			}
		}
		args[name] = value
	}
	return args, nil
}

// isPath reports whether an argument is a path, or a list of paths.
func isPath(p *op.Parameter) bool {
	if p.Type != op.String && p.Type != op.Strings {
		return false
	}
	return slices.ContainsFunc([]string{"path", "paths", "file", "files", "file_list", "file_root", "root",
		"filepaths"}, func(end string) bool {
		return p.Name == end || strings.HasSuffix(p.Name, "_"+end)
	})
}

// argument returns the value for a parameter.
func argument(v config.Value, p *op.Parameter) (any, error) {
	if p.Type == op.Features {
		return features(v, p)
	}
	if v.Node.Kind == yaml.SequenceNode {
		list := make([]any, len(v.Node.Content))
		for i := range list {
			x, err := scalar(v.Element(i), p)
			if err != nil {
				return nil, err
			}
			list[i] = x
		}
		return converted(v, p, typed(list))
	}
	x, err := scalar(v, p)
	if err != nil {
		return nil, err
	}
	return converted(v, p, x)
}

// features returns the features of TFRecords: maps, as definitions of pipelines have them.
func features(v config.Value, p *op.Parameter) (any, error) {
	var list []map[string]any
	if v.Node.Kind != yaml.SequenceNode || v.Node.Decode(&list) != nil {
		return nil, v.Wrong("a list of features such as {name: text, type: bytes}")
	}
	all := make([]any, len(list))
	for i := range list {
		all[i] = list[i]
	}
	return converted(v, p, all)
}

func converted(v config.Value, p *op.Parameter, x any) (any, error) {
	out, err := p.Convert(x)
	if err != nil {
		return nil, v.Wrong(p.Type.String())
	}
	return out, nil
}

// typed returns a list of values of one type as a slice of it.
func typed(list []any) any {
	if len(list) == 0 {
		return []string{}
	}
	switch list[0].(type) {
	case string:
		return sliceOf[string](list)
	case bool:
		return sliceOf[bool](list)
	case int:
		if s := sliceOf[int](list); s != nil {
			return s
		}
	case tensor.DType:
		return sliceOf[tensor.DType](list)
	}
	floats := make([]float64, len(list))
	for i, x := range list {
		switch x := x.(type) {
		case int:
			floats[i] = float64(x)
		case float64:
			floats[i] = x
		default:
			return nil
		}
	}
	return floats
}

func sliceOf[T any](list []any) any {
	out := make([]T, len(list))
	for i, x := range list {
		t, ok := x.(T)
		if !ok {
			return nil
		}
		out[i] = t
	}
	return out
}

func scalar(v config.Value, p *op.Parameter) (any, error) {
	var x any
	if v.Node.Kind != yaml.ScalarNode || v.Null() || v.Node.Decode(&x) != nil {
		return nil, v.Wrong(p.Type.String())
	}
	if text, ok := x.(string); ok && (p.Type == op.DType || p.Type == op.DTypes) {
		d, err := tensor.ParseDType(text)
		if err != nil {
			return nil, v.Wrong("a dtype such as uint16")
		}
		return d, nil
	}
	switch x.(type) {
	case string, bool, int, float64:
		return x, nil
	}
	return nil, v.Wrong(p.Type.String())
}
