package handler_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
)

// Table is rows of text.
type Table [][]string

// CSV saves tables as table.csv.
type CSV struct{}

const tableFile = "table.csv"

func (CSV) TypeString() string { return "example.CSV" }

func (CSV) Handles(v any) bool { _, ok := v.(Table); return ok }

func (CSV) HandlesAbstract(a any) handler.Verdict {
	if _, ok := a.(Table); ok {
		return handler.Yes
	}
	return handler.No
}

// Save encodes the table before it returns, so that the caller may go on changing it.
func (CSV) Save(_ context.Context, v any) (handler.Commit, error) {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(v.(Table)); err != nil {
		return nil, err
	}
	return func(ctx context.Context, dir handler.Writer) error { return dir.Put(ctx, tableFile, b.Bytes()) }, nil
}

func (CSV) Load(ctx context.Context, dir handler.Reader, _ any) (any, error) {
	b, err := dir.ReadFile(ctx, tableFile)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	return Table(rows), err
}

// Metadata returns the first row, a Table too.
func (CSV) Metadata(ctx context.Context, dir handler.Reader) (any, error) {
	b, err := dir.ReadFile(ctx, tableFile)
	if err != nil {
		return nil, err
	}
	row, err := csv.NewReader(bytes.NewReader(b)).Read()
	return Table{row}, err
}

// A toy format of others end to end: found by the value, saved with a tree in one
// checkpoint, described without being loaded, found again by its type string.
func ExampleCheckpointableHandler() {
	dir, err := os.MkdirTemp("", "handler")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	path := filepath.Join(dir, "ckpt")

	registry, err := handler.Local(nil, true) // the registry of the process, and what is added
	if err == nil {
		err = registry.Add(CSV{}, "")
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := options.With(context.Background(), checkpoint.Options{Checkpointables: options.Checkpointables{Registry: registry}})

	table := Table{{"name", "loss"}, {"a", "0.5"}}
	items := map[string]any{"model": map[string]any{"w": []float32{1, 2}}, "scores": table}
	saving, err := checkpoint.SaveCheckpointablesAsync(ctx, path, items, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	table[1][1] = "changed after Save"
	if _, err := saving.Result(ctx); err != nil {
		fmt.Println(err)
		return
	}

	info, err := checkpoint.CheckpointablesMetadata(ctx, path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	scores, _ := info.Item("scores")
	fmt.Println(scores.Handler, scores.Metadata)

	loaded, err := checkpoint.LoadCheckpointables(ctx, path, nil)
	fmt.Println(loaded["scores"], err)

	// A program without the handler loads the rest, and says what it cannot.
	loaded, err = checkpoint.LoadCheckpointables(context.Background(), path, nil)
	fmt.Println(len(loaded), err)
	_, err = checkpoint.LoadCheckpointables(context.Background(), path, &checkpoint.LoadOptions{Abstract: map[string]any{"scores": nil}})
	fmt.Println(errors.Is(err, errs.NotFound), strings.Contains(err.Error(), "example.CSV"))
	// Output:
	// example.CSV [[name loss]]
	// [[name loss] [a 0.5]] <nil>
	// 1 <nil>
	// true true
}
