package checkpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tree"
)

func ExampleLoadCheckpointables() {
	dir, err := os.MkdirTemp("", "items")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	ctx, path := context.Background(), filepath.Join(dir, "ckpt")

	// Each item is saved by the handler that takes it: a tree, JSON, where the data
	// are, a message in text form, one array.
	items := map[string]any{
		"model":    map[string]any{"w": []float32{1, 2}, "step": 7},
		"config":   json.RawMessage(`{"lr": 0.001}`),
		"pipeline": state.Document{Version: 1, Kind: "pipeline", Position: 12},
		"schedule": checkpoint.ProtoText("warmup: 100\n"),
		"mean":     []float32{0.5, 0.25},
	}
	if err := checkpoint.SaveCheckpointables(ctx, path, items, nil); err != nil {
		fmt.Println(err)
		return
	}

	info, err := checkpoint.CheckpointablesMetadata(ctx, path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, it := range info.Items {
		fmt.Println(it.Name, it.Kind, len(it.Leaves))
	}

	// Some of them, one cast and one as it was saved.
	loaded, err := checkpoint.LoadCheckpointables(ctx, path, &checkpoint.LoadOptions{Abstract: map[string]any{
		"model":  map[string]any{"w": checkpoint.TypeOf[[]float64](), "step": nil},
		"config": nil,
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(slices.Sorted(maps.Keys(loaded)))
	model := loaded["model"].(*tree.Node)
	fmt.Println(model.Get("w"), model.Get("step"))
	fmt.Printf("%s\n", loaded["config"])
	// Output:
	// config json 0
	// mean tree 1
	// model tree 2
	// pipeline json 0
	// schedule proto 0
	// [config model]
	// float64[2] int 7
	// {"lr": 0.001}
}
