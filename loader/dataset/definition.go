package dataset

import (
	"context"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// OpenText opens the data set that the text of a data.yaml describes, as Open would open a file
// with this text in the directory base. name stands for the file in errors.
func OpenText(ctx context.Context, name string, text []byte, base string, o OpenOptions) (*Data, error) {
	if o.Reader != "" || len(o.Args) > 0 || o.Split != "" {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "dataset.Open", Subject: name,
			Want: "the reader, its args and the split in the text", Got: "OpenOptions.Reader, Args or Split"}
	}
	f, err := parseDataFile(name, text, datafs.Join(base, "data.yaml"), o)
	if err != nil {
		return nil, err
	}
	return openFile(ctx, f, o)
}

// Definition returns the text of a data.yaml that describes the data set, and the directory to
// which its paths are relative: OpenText opens the same data. For a path that is not a data.yaml
// the text names it, with reader, split and arguments. text is nil if YAML has no form for an
// argument. A tokenizer that the program passed to Open is not in the text.
func (d *Data) Definition() (text []byte, base string) {
	f := d.file
	if f.text != nil {
		return slices.Clone(f.text), abs(f.dir)
	}
	s := &f.sources[0]
	path := abs(s.paths[0])
	out := map[string]any{"path": path}
	if !datafs.IsURL(path) {
		base = filepath.Dir(path)
		out["path"] = filepath.Base(path)
	}
	if s.reader != "" {
		out["reader"] = s.reader
	}
	if s.split != "" {
		out["split"] = s.split
	}
	if len(s.given) > 0 {
		schema, err := reader.Schema(d.sources[0].data.Reader())
		if err != nil {
			return nil, ""
		}
		args := map[string]any{}
		for name, v := range s.given {
			if args[name], err = written(schema, name, v); err != nil {
				return nil, ""
			}
		}
		out["args"] = args
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		return nil, ""
	}
	return text, base
}

// written returns an argument as a data.yaml has it. A path does not depend on the directory.
func written(schema *op.Schema, name string, v any) (any, error) {
	p, ok := schema.Param(name)
	if !ok {
		return nil, &errs.Error{Kind: errs.NotFound, Subject: name}
	}
	switch v := v.(type) {
	case string:
		if isPath(p) {
			return abs(v), nil
		}
		return v, nil
	case []string:
		if isPath(p) {
			all := make([]string, len(v))
			for i := range v {
				all[i] = abs(v[i])
			}
			return all, nil
		}
		return v, nil
	case bool, int, int64, float64, []bool, []int, []float64:
		return v, nil
	case tensor.DType:
		return v.String(), nil
	case []tensor.DType:
		all := make([]string, len(v))
		for i := range v {
			all[i] = v[i].String()
		}
		return all, nil
	}
	return nil, &errs.Error{Kind: errs.Unsupported, Subject: name}
}

// abs returns a path that does not depend on the working directory, or the path if that is not
// known.
func abs(name string) string {
	if out, err := datafs.Abs(name); err == nil {
		return out
	}
	return name
}
