// Package text is an example of language modelling: texts in Parquet files become tokens, and rows
// of equal length.
package text

import (
	"context"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/reader"
	_ "github.com/bivouac-ml/bivouac/reader/parquet"   // readers.parquet
	_ "github.com/bivouac-ml/bivouac/reader/tokenizer" // tokenize
)

// Open opens the data that a data.yaml describes, and a loader over them. Each batch has the fields
// tokens, segment_ids, positions and loss_mask, all with a row for each pack. The caller closes the
// loader and then the data.
func Open(ctx context.Context, path string) (*dataset.Data, *loader.Loader[reader.Fields, reader.Fields], error) {
	data, err := dataset.Open(ctx, path, dataset.OpenOptions{})
	if err != nil {
		return nil, nil, err
	}
	l, err := loader.New(data, data.Options())
	if err != nil {
		data.Close() //nolint:errcheck // the other error says more
		return nil, nil, err
	}
	return data, l, nil
}
