package dynamic_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// must ends an example that cannot go on.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// numbers writes n files whose contents are their numbers, and returns their directory.
func numbers(n int) string {
	dir, err := os.MkdirTemp("", "numbers-")
	must(err)
	must(os.MkdirAll(filepath.Join(dir, "class"), 0o777))
	for i := range n {
		must(os.WriteFile(filepath.Join(dir, "class", fmt.Sprintf("%02d.jpg", i)), []byte{byte(i)}, 0o666))
	}
	return dir
}

// Operators are functions, arithmetic is too, and values are looked at when they are wanted.
func Example() {
	ctx := context.Background()
	image := dynamic.TensorOf([][][]uint8{{{10, 20, 30}, {40, 50, 60}}}, dynamic.Form{Layout: "HWC"})
	mirrored := fn.Flip(ctx, image, fn.FlipArgs{})
	bright := dynamic.Cast(ctx, fn.Add(ctx, fn.Mul(ctx, mirrored, 2), 1), mirrored.DType())
	pixels, err := dynamic.Slice[uint8](ctx, bright)
	must(err)
	fmt.Println(bright.Shape(), bright.Layout(), pixels)

	batch := dynamic.BatchOf([][]float32{{1, 2, 3}, {4, 5}})
	for i, sum := range fn.ReductionsSum(ctx, batch, fn.ReductionsSumArgs{}).Tensors() {
		v, err := dynamic.Item[float32](ctx, sum)
		fmt.Println(i, v, err)
	}
	// Output:
	// [1,2,3] HWC [81 101 121 21 41 61]
	// 0 6 <nil>
	// 1 9 <nil>
}

// An error belongs to the value, and says where the call was made.
func ExampleWithMode() {
	ctx := context.Background()
	x := dynamic.TensorOf([]int32{1, 2, 3})
	for _, mode := range []dynamic.Mode{dynamic.Sync, dynamic.Eager, dynamic.Deferred} {
		ctx := dynamic.WithMode(ctx, mode)
		wrong := dynamic.Index(ctx, x, 7)
		after := fn.Mul(ctx, wrong, 2)
		err := after.Evaluate(ctx)
		fmt.Println(mode, errors.Is(err, errs.Invalid), strings.Contains(err.Error(), "_test.go"))
	}
	// Output:
	// sync true true
	// eager true true
	// deferred true true
}

// A checkpoint captures reader and generator between two batches.
func Example_checkpoint() {
	ctx := context.Background()
	dir := numbers(4)
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory

	program := func(saved *checkpoint.Checkpoint, batches int) {
		reader, err := readers.NewFile(opargs.ReadersFile{FileRoot: dir, RandomShuffle: true, Seed: op.Const(7)}, readers.Options{})
		must(err)
		defer reader.Close() //nolint:errcheck // it has been read
		generator := random.New(42)
		_, err = saved.Register(reader, "reader") // applies what was loaded
		must(err)
		_, err = saved.Register(generator, "generator")
		must(err)
		for batch, err := range reader.NextEpoch(ctx, 1) {
			must(err)
			file, err := dynamic.Item[uint8](ctx, dynamic.Index(ctx, batch[0].At(0), 0))
			must(err)
			flip, err := dynamic.Item[int32](ctx, random.CoinFlip(ctx, generator, random.CoinFlipArgs{}))
			must(err)
			fmt.Println("file", file, "flip", flip)
			if batches--; batches == 0 {
				break
			}
		}
		must(saved.Collect())
	}

	pattern := filepath.Join(dir, "state_{seq:04d}.json")
	first := checkpoint.New()
	program(first, 2)
	path, err := first.Save(ctx, pattern)
	must(err)
	fmt.Println("saved", filepath.Base(path))

	second := checkpoint.New()
	_, err = second.Load(pattern)
	must(err)
	program(second, 2)
	// Output:
	// file 0 flip 0
	// file 2 flip 0
	// saved state_0000.json
	// file 1 flip 1
	// file 3 flip 0
}

// A compiled loop runs ahead of its consumer and gives what its calls would give.
func ExampleCompile() {
	ctx := context.Background()
	dir := numbers(6)
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	reader, err := readers.NewFile(opargs.ReadersFile{FileRoot: dir}, readers.Options{EnableCheckpointing: true})
	must(err)
	defer reader.Close() //nolint:errcheck // it has been read
	generator := random.New(1)

	body := func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
		files := in[0].(*dynamic.Batch)
		noise := random.UniformBatch(ctx, generator, files.Len(), random.UniformArgs{Range: op.Const([]float64{0, 0.5})})
		return []dynamic.Value{fn.Add(ctx, files, noise)}
	}
	loop, err := dynamic.Compile(ctx, reader.Root(2), body, dynamic.LoopOptions{Prefetch: 3})
	must(err)
	defer loop.Close()                         //nolint:errcheck // never fails
	for values, err := range loop.Steps(ctx) { // one epoch
		must(err)
		samples, err := values[0].(*dynamic.Batch).Stack(ctx)
		must(err)
		fmt.Println(samples.Shape, generator.State())
	}
	fmt.Println(loop.Statistics().Steps, "steps")

	_, err = dynamic.Compile(ctx, nil, func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
		x := random.Uniform(ctx, generator, random.UniformArgs{})
		if v, err := dynamic.Item[float32](ctx, x); err == nil && v > 0 { // has no value yet
			return nil
		}
		return []dynamic.Value{x}
	}, dynamic.LoopOptions{})
	fmt.Println(errors.Is(err, errs.Unsupported))
	// Output:
	// [2,1] Philox_0000000000000001_0000000000000000:0000000000000001_3
	// [2,1] Philox_0000000000000001_0000000000000000:0000000000000003_2
	// [2,1] Philox_0000000000000001_0000000000000000:0000000000000005_1
	// 3 steps
	// true
}

func ExampleIndex() {
	ctx := context.Background()
	x := dynamic.TensorOf([][]int{{1, 2, 3}, {4, 5, 6}})
	all := dynamic.Range{}
	for _, part := range []*dynamic.Tensor{
		dynamic.Index(ctx, x, 1),
		dynamic.Index(ctx, x, all, -1),
		dynamic.Index(ctx, x, all, dynamic.Range{Step: -2}),
		dynamic.Index(ctx, x, dynamic.NewAxis{}, 0),
	} {
		list, _ := dynamic.Slice[int32](ctx, part)
		fmt.Println(part.Shape(), list)
	}
	// Output:
	// [3] [4 5 6]
	// [2] [3 6]
	// [2,2] [3 1 6 4]
	// [1,3] [1 2 3]
}

// One transform goes to an image and to its mask, its boxes and its keypoints. per_frame
// marks values for the frames of a sequence.
func Example_spatial() {
	ctx := context.Background()
	image := dynamic.TensorOf([][][]uint8{{{1}, {2}, {3}}, {{4}, {5}, {6}}}, dynamic.Form{Layout: "HWC"})
	mask := dynamic.TensorOf([][]uint8{{0, 0, 9}, {0, 0, 9}}, dynamic.Form{Layout: "HW"})
	boxes := dynamic.TensorOf([][]float32{{2, 0, 3, 2}})
	points := dynamic.TensorOf([][]float32{{2.5, 1.5, 2}})
	out := fn.Spatial(ctx, nil, fn.SpatialArgs{Targets: []string{"image", "mask", "bboxes", "keypoints"},
		Normalized: op.Const(false), Horizontal: op.Const(1)}, image, mask, boxes, points)
	for _, v := range out[:2] {
		pixels, err := dynamic.Slice[uint8](ctx, v)
		fmt.Println(pixels, err)
	}
	for _, v := range out[2:] {
		numbers, err := dynamic.Slice[float32](ctx, v)
		fmt.Println(numbers, err)
	}

	video := dynamic.TensorOf([][][][]uint8{{{{10}}}, {{{10}}}}, dynamic.Form{Layout: "FHWC"})
	factors := fn.PerFrame(ctx, dynamic.TensorOf([]float32{1, 2}), fn.PerFrameArgs{})
	video = fn.Brightness(ctx, video, fn.BrightnessArgs{Brightness: op.Of[float64](factors)})
	bright, err := dynamic.Slice[uint8](ctx, video)
	fmt.Println(bright, err)
	// Output:
	// [3 2 1 6 5 4] <nil>
	// [9 0 0 9 0 0] <nil>
	// [0 0 1 2] <nil>
	// [0.5 1.5 2] <nil>
	// [10 20] <nil>
}
