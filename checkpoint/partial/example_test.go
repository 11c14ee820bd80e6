package partial_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/errs"
)

// A model that never is in memory as a whole is saved layer by layer.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "partial")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ckpt")

	for i := range 3 {
		layer := map[string]any{fmt.Sprintf("layer%d", i): map[string]any{"w": []float32{float32(i), 1, 2}}}
		if err := partial.Save(ctx, path, layer, nil); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("before Finalize:", checkpoint.IsCheckpoint(ctx, path, nil))
	if err := partial.Finalize(ctx, path, nil); err != nil {
		fmt.Println(err)
		return
	}
	model, err := checkpoint.Load(ctx, path, nil)
	fmt.Println("after:", model.Keys, err)
	// Output:
	// before Finalize: false
	// after: [layer0 layer1 layer2] <nil>
}

// Parts only add, unless they are told to replace.
func ExampleSaveOptions() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "partial")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ckpt")

	first := map[string]any{"step": 1, "w": []float32{1, 2}, "scratch": "x"}
	second := map[string]any{"step": 2}
	fmt.Println(partial.Save(ctx, path, first, nil))
	fmt.Println(errs.KindOf(partial.Save(ctx, path, second, nil)))
	fmt.Println(partial.Save(ctx, path, second, &partial.SaveOptions{Replace: true, Remove: [][]string{{"scratch"}}}))
	fmt.Println(partial.Finalize(ctx, path, nil))
	model, err := checkpoint.Load(ctx, path, nil)
	fmt.Println(model.Keys, model.Get("step"), err)
	// Output:
	// <nil>
	// already exists
	// <nil>
	// <nil>
	// [w step] int 2 <nil>
}

// Parts are written in the background, one at a time; Finalize waits for them, and
// Abort gives up what was begun.
func ExampleSaveAsync() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "partial")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ckpt")

	w := []float32{1, 2}
	for _, name := range []string{"encoder", "decoder"} {
		if _, err := partial.SaveAsync(ctx, path, map[string]any{name: w}, nil); err != nil {
			fmt.Println(err)
			return
		}
		w[0]++ // the part is copied
	}
	fmt.Println(partial.Finalize(ctx, path, nil), checkpoint.IsCheckpoint(ctx, path, nil))

	other := filepath.Join(dir, "other")
	fmt.Println(partial.Save(ctx, other, map[string]any{"w": w}, nil), partial.Abort(ctx, other, nil))
	fmt.Println(errs.KindOf(partial.Finalize(ctx, other, nil)))
	// Output:
	// <nil> true
	// <nil> <nil>
	// not found
}
