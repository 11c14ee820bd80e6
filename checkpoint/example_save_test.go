package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// A checkpoint may hold several things: trees, and what handlers know, such as JSON.
func ExampleSaveCheckpointables() {
	dir, remove := temporary()
	defer remove()
	ctx := context.Background()
	path := filepath.Join(dir, "ckpt")

	err := checkpoint.SaveCheckpointables(ctx, path, map[string]any{
		"model": linear{Weights: []float32{1, 2}},
		"data":  json.RawMessage(`{"epoch":3,"shard":"b"}`),
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	items, err := checkpoint.LoadCheckpointables(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(items["model"].(*tree.Node).Get("w"), string(items["data"].(json.RawMessage)))

	info, err := checkpoint.CheckpointablesMetadata(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, it := range info.Items {
		fmt.Println(it.Name, it.Kind, it.Bytes())
	}
	// Output:
	// float32[2] {"epoch":3,"shard":"b"}
	// data json 0
	// model tree 24
}

func ExampleIsCheckpoint() {
	ctx := context.Background()
	path, remove := sample(ctx)
	defer remove()
	fmt.Println(checkpoint.IsCheckpoint(ctx, path, nil), checkpoint.IsCheckpoint(ctx, filepath.Dir(path), nil))
	// Output: true false
}

// A finished checkpoint grows: every state of it is whole, and loadable.
func ExampleSave_partialUpdate() {
	ctx := context.Background()
	path, remove := sample(ctx)
	defer remove()

	grow := &checkpoint.SaveOptions{PartialUpdate: true}
	ema := map[string]any{"ema": map[string]any{"b": []float32{0.5, 0.25}}}
	if err := checkpoint.Save(ctx, path, ema, grow); err != nil {
		log.Fatal(err)
	}
	n, err := checkpoint.Load(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n.Keys)

	err = checkpoint.Save(ctx, path, ema, grow) // it is there
	fmt.Println(errors.Is(err, errs.Exists))
	// Output:
	// [opt params step ema]
	// true
}

// What leaves can be, and what comes back.
func ExampleSave_leaves() {
	dir, remove := temporary()
	defer remove()
	ctx := context.Background()
	path := filepath.Join(dir, "ckpt")
	state := map[string]any{
		"array":       tensor.New(tensor.BFloat16, 2, 2),
		"bool":        true,
		"bytes":       []byte("raw"),
		"empty":       map[string]any{},
		"float":       0.5,
		"int":         7,
		"large":       uint64(math.MaxUint64),
		"nil":         nil,
		"no elements": tensor.New(tensor.Float32, 0, 3),
		"record":      linear{Weights: []float32{1}},
		"text":        "words",
	}
	if err := checkpoint.Save(ctx, path, state, nil); err != nil {
		log.Fatal(err)
	}
	n, err := checkpoint.Load(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range tree.Flatten(n) {
		fmt.Println(e.Path.Param()+":", e.Node)
	}
	// Output:
	// array: bfloat16[2,2]
	// bool: bool true
	// bytes: uint8[3]
	// empty: dict of 0
	// float: float 0.5
	// int: int 7
	// large: int 18446744073709551615
	// nil: nil
	// no elements: float32[0,3]
	// record.w: float32[1]
	// record.b: float 0
	// record.step: int 0
	// text: "words"
}

// Keys of JAX's random generators stay keys, for Python too.
func ExampleKey() {
	dir, remove := temporary()
	defer remove()
	ctx := context.Background()
	path := filepath.Join(dir, "ckpt")
	key := checkpoint.Key{Impl: "threefry2x32", Data: tensor.FromSlice([]uint32{0, 42}, 2)}
	if err := checkpoint.Save(ctx, path, map[string]any{"rng": key}, nil); err != nil {
		log.Fatal(err)
	}
	n, err := checkpoint.Load(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	again := n.Get("rng").Value.(checkpoint.Key)
	fmt.Println(again.Impl, again.Data)
	// Output: threefry2x32 uint32[2] [0 42]
}

// Two leaves that would have one name on disk are refused, both by name.
func ExampleSave_collision() {
	state := map[string]any{
		"a.b": map[string]any{"c": []float32{1}},
		"a":   map[string]any{"b.c": []float32{2}},
	}
	err := checkpoint.Save(context.Background(), "never written", state, nil)
	fmt.Println(err)
	// Output: checkpoint.Save: never written: state: tree.Collisions: "a.b.c": invalid: want one leaf per parameter name, got a["b.c"] and ["a.b"].c (rename one of the keys)
}

// The outcome of a save in the background is told to who waits, and to who asked for it.
func ExampleResponse() {
	dir, remove := temporary()
	defer remove()
	ctx := context.Background()

	o := &checkpoint.SaveOptions{}
	o.Asynchronous.PostFinalizationCallback = func() { fmt.Println("committed") }
	pending, err := checkpoint.SaveAsync(ctx, filepath.Join(dir, "ckpt"), linear{Weights: []float32{1}}, o)
	if err != nil {
		log.Fatal(err)
	}
	stats, err := pending.Result(ctx)
	fmt.Println(stats.Copied, err)
	pending.OnComplete(func(checkpoint.SaveStats, error) { fmt.Println("over") })
	pending.Cancel() // too late: nothing happens
	// Output:
	// committed
	// true <nil>
	// over
}

// A save that takes too long is given up, and nothing of it is visible.
func ExampleSave_timeout() {
	dir, remove := temporary()
	defer remove()
	ctx := context.Background()
	path := filepath.Join(dir, "ckpt")

	o := &checkpoint.SaveOptions{}
	o.Asynchronous.SaveTimeout = 1 // a nanosecond
	err := checkpoint.Save(ctx, path, linear{Weights: []float32{1}}, o)
	fmt.Println(errors.Is(err, errs.Canceled))
	_, err = os.Stat(path)
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output:
	// true
	// true
}

// What calls with a context inherit; a call's own options go before them.
func ExampleOptions_context() {
	ctx := options.With(context.Background(), checkpoint.Options{
		File:    options.File{Store: local.New(vfstest.NewMem(), "/", nil)}, // a store in memory, for tests
		Bivouac: options.Bivouac{Layout: options.PlainZarr3},
	})
	if err := checkpoint.Save(ctx, "a", linear{Weights: []float32{1}}, nil); err != nil {
		log.Fatal(err)
	}
	o := &checkpoint.SaveOptions{}
	o.Layout = options.SafetensorsLayout
	if err := checkpoint.Save(ctx, "b", linear{Weights: []float32{1}}, o); err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		info, err := checkpoint.Metadata(ctx, name, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, info.Layout, info.Items[0].UseOCDBT)
	}
	// Output:
	// a orbax v1 false
	// b safetensors false
}

// What all calls of the process inherit at last, here from a file of the run.
func ExampleOptions_process() {
	run, err := options.ParseYAML([]byte("bivouac: {compression: zstd}"))
	if err != nil {
		log.Fatal(err)
	}
	restore, err := options.Configure(run)
	if err != nil {
		log.Fatal(err)
	}
	defer restore()

	o, err := options.Resolve(context.Background(), options.Options{}, options.Options{})
	fmt.Println(o.Compression, err)
	// Output: zstd <nil>
}
