package reader

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/tensor"
)

var safetensorsArrays = arrayFormat{name: "readers.safetensors", open: openSafetensors}

func init() {
	Register(op.Schema{
		Name: "safetensors", Module: []string{"readers"},
		Doc: "Reads rows of the tensors in safetensors files: sample i has row i of each tensor. The tensors of a file have equal " +
			"numbers of rows, and the rows of one name are equal in dtype and shape in all files.",
		Outputs:     []op.Port{{Name: "columns", Doc: "one output for each of columns, in their order: a row of the tensor"}},
		Params:      arrayParams(),
		OutputCount: countColumns(safetensorsArrays),
	}, Opener{
		Outputs: specsOfColumns(safetensorsArrays),
		Open: func(ctx context.Context, c *op.Config) (Source, error) {
			s, err := openArrays(ctx, c, safetensorsArrays)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	})
}

func countColumns(f arrayFormat) func(c *op.Config) (int, error) {
	return func(c *op.Config) (int, error) {
		columns, err := arrayColumns(context.Background(), c, f)
		return len(columns), err
	}
}

func specsOfColumns(f arrayFormat) func(c *op.Config) ([]tensor.Spec, error) {
	return func(c *op.Config) ([]tensor.Spec, error) {
		columns, err := arrayColumns(context.Background(), c, f)
		return columnSpecs(columns), err
	}
}

// openSafetensors reads the header of a file.
func openSafetensors(ctx context.Context, set *shards.Set, i int) (a arrayContents, err error) {
	m, err := safetensors.Open(ctx, safetensors.FromReader(set.Reader(ctx, i), set.Size(i)), set.Path(i),
		safetensors.Options{})
	if err != nil {
		return a, err
	}
	for _, e := range m.Entries() {
		a.names = append(a.names, e.Name)
	}
	a.find = func(name string) (p arrayPlace, err error) {
		e, err := m.Lookup(name)
		if err != nil {
			return p, err
		}
		spec, err := e.Spec()
		if err != nil {
			return p, err
		}
		if e.DType.Bits()%8 != 0 {
			return p, &errs.Error{Kind: errs.Unsupported, Subject: "array " + name, Want: "elements of whole bytes",
				Got: e.DType.String()}
		}
		return arrayPlace{name, spec, e.Offset}, nil
	}
	return a, nil
}
