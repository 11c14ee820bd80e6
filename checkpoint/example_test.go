package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// linear is a state as programs have one.
type linear struct {
	Weights []float32 `bivouac:"w"`
	Bias    float64   `bivouac:"b"`
	Step    int64     `bivouac:"step"`
}

// temporary is a directory for an example.
func temporary() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { os.RemoveAll(dir) }
}

func Example() {
	dir, remove := temporary()
	defer remove()
	ctx := context.Background()
	path := filepath.Join(dir, "ckpt")

	model := linear{Weights: []float32{1, 2, 3}, Bias: 0.5, Step: 100}
	if err := checkpoint.Save(ctx, path, &model, nil); err != nil {
		log.Fatal(err)
	}
	restored := linear{Weights: make([]float32, 3)}
	if err := checkpoint.LoadInto(ctx, path, &restored, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%+v\n", restored)
	// Output: {Weights:[1 2 3] Bias:0.5 Step:100}
}

// The state may change as soon as SaveAsync has returned.
func ExampleSaveAsync() {
	dir, remove := temporary()
	defer remove()
	ctx := context.Background()
	path := filepath.Join(dir, "ckpt")

	weights := []float32{1, 2, 3}
	pending, err := checkpoint.SaveAsync(ctx, path, map[string]any{"w": weights}, nil)
	if err != nil {
		log.Fatal(err)
	}
	weights[0] = 99 // training goes on
	if _, err := pending.Result(ctx); err != nil {
		log.Fatal(err)
	}
	if err := checkpoint.LoadInto(ctx, path, map[string]any{"w": weights}, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(weights)
	// Output: [1 2 3]
}

func ExampleLoad() {
	dir, remove := temporary()
	defer remove()
	ctx := context.Background()
	path := filepath.Join(dir, "ckpt")
	state := map[string]any{"epoch": 3, "layers": []any{map[string]any{"w": []float32{1, 2}}}, "name": "digits"}
	if err := checkpoint.Save(ctx, path, state, nil); err != nil {
		log.Fatal(err)
	}

	n, err := checkpoint.Load(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n.Get("epoch").Value, n.Get("name").Value)

	_, err = checkpoint.Load(ctx, filepath.Join(dir, "other"), nil)
	fmt.Println(errors.Is(err, errs.NotFound))
	// Output:
	// 3 digits
	// true
}

func ExampleMetadata() {
	dir, remove := temporary()
	defer remove()
	ctx := context.Background()
	path := filepath.Join(dir, "ckpt")
	o := &checkpoint.SaveOptions{Custom: map[string]any{"commit": "4f1c"}}
	if err := checkpoint.Save(ctx, path, linear{Weights: make([]float32, 1000)}, o); err != nil {
		log.Fatal(err)
	}

	info, err := checkpoint.Metadata(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, manifest: %t, metadata %s\n", info.Layout, info.Manifest, info.Custom)
	for _, l := range info.Items[0].Leaves {
		fmt.Println(l.Param, l.Kind, l.DType, l.Shape)
	}
	// Output:
	// orbax v1, manifest: true, metadata {"commit":"4f1c"}
	// w array float32 [1000]
	// b scalar float64 []
	// step scalar int64 []
}

func ExampleVerify() {
	dir, remove := temporary()
	defer remove()
	ctx := context.Background()
	path := filepath.Join(dir, "ckpt")
	if err := checkpoint.Save(ctx, path, linear{Weights: make([]float32, 1000)}, nil); err != nil {
		log.Fatal(err)
	}
	report, err := integrity.Verify(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.OK(), report.Coverage)

	if err := os.Truncate(filepath.Join(path, "commit_success.txt"), 0); err != nil {
		log.Fatal(err)
	}
	if report, err = integrity.Verify(ctx, path, nil); err != nil {
		log.Fatal(err)
	}
	for _, problem := range report.Problems {
		fmt.Println(problem)
	}
	// Output:
	// true every byte of every file, and each chunk's place
	// integrity.Verify: commit_success.txt: corrupt: want 32 bytes, got 0
}

// Optimizer state is compressed, weights are not; the embedding will be read row
// by row.
func ExampleOptions_leafStorage() {
	dir, remove := temporary()
	defer remove()
	ctx := context.Background()
	path := filepath.Join(dir, "ckpt")

	moments := map[string]any{"w": make([]float32, 1<<20)}
	state := map[string]any{"opt": moments, "embedding": tensor.New(tensor.Float32, 4096, 256)}
	o := &checkpoint.SaveOptions{}
	o.LeafStorage = []options.LeafStorage{
		{Match: "opt/**", Compression: options.Zstd},
		{Match: "embedding", Storage: options.Storage{ChunkByteSize: 1 << 18}},
	}
	if err := checkpoint.Save(ctx, path, state, o); err != nil {
		log.Fatal(err)
	}
	info, err := checkpoint.Metadata(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range info.Items[0].Leaves {
		fmt.Println(l.Path, l.Shape, "read by", l.ReadShape)
	}
	// Output:
	// embedding [4096,256] read by [256 256]
	// opt.w [1048576] read by [1048576]
}

// The options of a call are fields of its last argument.
func ExampleSaveOptions() {
	dir, remove := temporary()
	defer remove()
	ctx := context.Background()
	path := filepath.Join(dir, "ckpt")

	o := &checkpoint.SaveOptions{Overwrite: true}
	o.Layout, o.Compression = options.PlainZarr3, options.Zstd
	o.Array.Saving.Storage.ShardAxes = []int{0}
	if err := checkpoint.Save(ctx, path, linear{Weights: make([]float32, 1000)}, o); err != nil {
		log.Fatal(err)
	}
	info, err := checkpoint.Metadata(ctx, path, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Layout, info.Items[0].UseOCDBT)
	// Output: orbax v1 false
}
