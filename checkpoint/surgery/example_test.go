package surgery_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
)

// Layers that were saved one by one are loaded as one array.
func Example() {
	dir, err := os.MkdirTemp("", "surgery")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, path := context.Background(), filepath.Join(dir, "step")
	layer := func(x float32) map[string]any { return map[string]any{"w": []float32{x, x}} }
	state := map[string]any{"params": map[string]any{"layers": []any{layer(1), layer(2)}}, "opt": []float32{9}}
	if err := checkpoint.Save(ctx, path, state, nil); err != nil {
		fmt.Println(err)
		return
	}
	script, err := surgery.Parse([]byte(`
rules:
- drop: {pattern: opt}
- stack: {pattern: 'params\.layers\.(\d+)\.(.*)', to: 'model.layers.$2'}
- cast: {pattern: '.*', dtype: bfloat16}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := checkpoint.LoadAndTransform(ctx, []string{path}, nil, script.Transform, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(n.Get("model").Get("layers").Get("w"))
	fmt.Println(script.Rules[1])
	// Output:
	// bfloat16[2,2]
	// stack: {pattern: params\.layers\.(\d+)\.(.*), to: model.layers.$2}
}
