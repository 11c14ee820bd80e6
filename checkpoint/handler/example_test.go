package handler_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
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

func ExampleCheckpointableHandler() {
	ctx := context.Background()
	registry, err := handler.Local(nil, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := registry.Add(CSV{}, ""); err != nil {
		fmt.Println(err)
		return
	}
	table := Table{{"name", "loss"}, {"a", "0.5"}}
	h, err := registry.ForSave("scores", table)
	if err != nil {
		fmt.Println(err)
		return
	}
	commit, err := h.Save(ctx, table)
	if err != nil {
		fmt.Println(err)
		return
	}
	table[1][1] = "changed after Save"

	var dir handler.Memory // of a checkpoint, a directory in its store
	if err := handler.Run(ctx, commit, &dir); err != nil {
		fmt.Println(err)
		return
	}
	again, err := registry.ForLoad("scores", nil, h.TypeString())
	if err != nil {
		fmt.Println(err)
		return
	}
	loaded, err := again.Load(ctx, &dir, nil)
	fmt.Println(loaded, err)
	// Output: [[name loss] [a 0.5]] <nil>
}
