package handler_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
)

// Cursor is where a reader of data is. It saves itself, fills itself, and says
// what there is of it.
type Cursor struct{ Line int }

const cursorFile = "cursor.txt"

func (c *Cursor) Save(context.Context) (handler.Commit, error) {
	text := strconv.Itoa(c.Line) // the cursor may go on
	return func(ctx context.Context, dir handler.Writer) error { return dir.Put(ctx, cursorFile, []byte(text)) }, nil
}

func (c *Cursor) Load(ctx context.Context, dir handler.Reader) error {
	text, err := dir.ReadFile(ctx, cursorFile)
	if err != nil {
		return err
	}
	line, err := strconv.Atoi(string(text))
	if err == nil {
		c.Line = line
	}
	return err
}

func (c *Cursor) Metadata(ctx context.Context, dir handler.Reader) (any, error) {
	text, err := dir.ReadFile(ctx, cursorFile)
	return "line " + string(text), err
}

func ExampleStatefulCheckpointable() {
	dir, err := os.MkdirTemp("", "stateful")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	ctx, path := context.Background(), filepath.Join(dir, "ckpt")

	items := map[string]any{"model": map[string]any{"step": 3}, "data": &Cursor{Line: 120}}
	if err := checkpoint.SaveCheckpointables(ctx, path, items, nil); err != nil {
		fmt.Println(err)
		return
	}

	// Only the object knows what it saved: it is given to be described, and to be filled.
	again := &Cursor{}
	o := &checkpoint.LoadOptions{Abstract: map[string]any{"data": again, "model": nil}}
	info, err := checkpoint.CheckpointablesMetadata(ctx, path, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	data, _ := info.Item("data")
	fmt.Println(data.Metadata, again.Line)
	_, err = checkpoint.LoadCheckpointables(ctx, path, o)
	fmt.Println(again.Line, err)
	// Output:
	// line 120 0
	// 120 <nil>
}
