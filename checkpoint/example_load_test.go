package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// sample is a checkpoint of a small model; remove takes it away.
func sample(ctx context.Context) (path string, remove func()) {
	dir, remove := temporary()
	path = filepath.Join(dir, "ckpt")
	state := map[string]any{
		"params": map[string]any{"w": tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3), "b": []float32{0.5, 0.25}},
		"opt":    map[string]any{"mu": make([]float32, 6)},
		"step":   100,
	}
	if err := checkpoint.Save(ctx, path, state, nil); err != nil {
		log.Fatal(err)
	}
	return path, remove
}

// An abstract tree says for each leaf what is wanted of it: here w as bfloat16, b
// as it was saved, the step as a number, and nothing of the optimizer.
func ExampleAbstract() {
	ctx := context.Background()
	path, remove := sample(ctx)
	defer remove()

	var report checkpoint.LoadReport
	n, err := checkpoint.Load(ctx, path, &checkpoint.LoadOptions{Report: &report, Abstract: map[string]any{
		"params": map[string]any{"w": checkpoint.Abstract{DType: tensor.BFloat16, Shape: tensor.Shape{2, 3}}, "b": nil},
		"opt":    checkpoint.Placeholder{},
		"step":   checkpoint.TypeOf[int32](),
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n.Get("params").Get("w"), n.Get("step"))
	fmt.Print(&report)
	// Output:
	// bfloat16[2,3] int 100
	// state: opt.mu: not read
	// state: params.w: cast from float32 to bfloat16
	// state: step: cast from int64 to int32
}

// A process loads the part of an array that is its own, whatever boxes it was
// saved in.
func ExampleBox() {
	ctx := context.Background()
	path, remove := sample(ctx)
	defer remove()

	column := checkpoint.Box{Origin: []int{0, 1}, Shape: []int{2, 1}}
	n, err := checkpoint.Load(ctx, path, &checkpoint.LoadOptions{Abstract: map[string]any{
		"params": map[string]any{"w": checkpoint.Abstract{Boxes: []checkpoint.Box{column}}, "b": checkpoint.Placeholder{}},
		"opt":    checkpoint.Placeholder{}, "step": nil,
	}})
	if err != nil {
		log.Fatal(err)
	}
	w, err := tensor.Of[float32](n.Get("params").Get("w").Value.(tensor.Tensor))
	fmt.Println(w, err)
	// Output: [2 5] <nil>
}

// A tree that is not the saved one is refused with what differs, both ways.
func ExampleLoadInto_mismatch() {
	ctx := context.Background()
	path, remove := sample(ctx)
	defer remove()

	var model struct {
		Params struct {
			Kernel [][3]float32 `bivouac:"kernel"`
			B      []float32    `bivouac:"b"`
		} `bivouac:"params"`
		Step int `bivouac:"step"`
	}
	model.Params.Kernel, model.Params.B = make([][3]float32, 2), make([]float32, 2)
	_, err := checkpoint.Load(ctx, path, &checkpoint.LoadOptions{Abstract: &model})
	var cause *errs.Error
	for errors.As(err, &cause) && cause.Err != nil {
		err = cause.Err // without the name of the temporary directory
	}
	fmt.Println(err)
	// Output:
	// LoadOptions.Abstract: mismatch: want the structure that was saved, got another structure (- asked for, not saved; + saved, not asked for; ~ of another kind):
	// - params.kernel: float32[2,3]
	// + params.w: nil
	// + opt: dict of 1
}

// Arrays of another shape are padded with zeros, or truncated, where that is asked for.
func ExampleLoadInto_padding() {
	ctx := context.Background()
	path, remove := sample(ctx)
	defer remove()

	wider := map[string]any{"params": map[string]any{"b": make([]float32, 4)}}
	var o checkpoint.LoadOptions
	o.Pad, o.PyTree.Loading.PartialLoad = options.On, options.On
	o.Abstract = wider
	n, err := checkpoint.Load(ctx, path, &o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tree.Into(n, wider), wider)
	// Output: <nil> map[params:map[b:[0.5 0.25 0 0]]]
}

// Tensors, slices and structs that are there are read into; nothing is allocated for them.
func ExampleLoadInto() {
	ctx := context.Background()
	path, remove := sample(ctx)
	defer remove()

	var model struct {
		Params struct {
			W tensor.Tensor `bivouac:"w"`
			B []float32     `bivouac:"b"`
		} `bivouac:"params"`
		Opt  map[string][]float64 `bivouac:"opt"` // cast from float32
		Step int                  `bivouac:"step"`
	}
	model.Params.W, model.Params.B = tensor.New(tensor.Float32, 2, 3), make([]float32, 2)
	model.Opt = map[string][]float64{"mu": make([]float64, 6)}
	if err := checkpoint.LoadInto(ctx, path, &model, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.Params.W, model.Params.B, len(model.Opt["mu"]), model.Step)
	// Output: float32[2,3] [[1 2 3] [4 5 6]] [0.5 0.25] 6 100
}

// Every layout loads in the background.
func ExampleLoadAsync() {
	ctx := context.Background()
	path, remove := sample(ctx)
	defer remove()

	pending := checkpoint.LoadAsync(ctx, path, nil)
	// … something else is made ready …
	n, err := pending.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n.Keys)
	// Output: [opt params step]
}

// What others wrote loads without being told what it is: Orbax before v1, Flax,
// safetensors.
func ExampleLoad_others() {
	ctx := context.Background()
	for _, path := range []string{
		"../testdata/orbax/v0-standard/checkpoint",                     // StandardCheckpointer
		"../testdata/orbax/v0-manager-prefix/checkpoint/ckpt_00000300", // CheckpointManager
		"testdata/flax/checkpoint_7",
		"../testdata/orbax/st-single/checkpoint/model.safetensors",
	} {
		info, err := checkpoint.Metadata(ctx, path, nil)
		if err != nil {
			log.Fatal(err)
		}
		n, err := checkpoint.Load(ctx, path, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(info.Layout, n.Keys)
	}
	// Output:
	// orbax v0 flat [a e f i l n]
	// orbax step [s w]
	// flax [big c empty list lr name neg none np on params step]
	// safetensors [i d a.bias a.weight bf h e4 e5 u8 b]
}

// A function of lazy trees makes the tree that is wanted; what it leaves out is not read.
func ExampleLoadAndTransform() {
	ctx := context.Background()
	path, remove := sample(ctx)
	defer remove()

	forInference := func(_ context.Context, sources []*tree.Node) (*tree.Node, error) {
		return tree.NewDict().Set("model", sources[0].Get("params")), nil
	}
	n, err := checkpoint.LoadAndTransform(ctx, []string{path}, nil, forInference, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range tree.Flatten(n) {
		fmt.Println(e.Path.Param(), e.Node)
	}
	// Output:
	// model.b float32[2]
	// model.w float32[2,3]
}
