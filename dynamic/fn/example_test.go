package fn_test

import (
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op"
)

// A batch of images, each made brighter by a number of its own.
func Example() {
	ctx := context.Background()
	images := dynamic.BatchOf([][1][2][3]uint8{{{{10, 20, 30}, {40, 50, 60}}}, {{{1, 2, 3}, {4, 5, 6}}}}, dynamic.Form{Layout: "HWC"})
	factors := dynamic.BatchOf([]float32{2, 10})

	brighter := fn.Brightness(ctx, images, fn.BrightnessArgs{Brightness: op.Of[float64](factors)})
	for i, image := range brighter.Tensors() {
		pixels, err := dynamic.Slice[uint8](ctx, image)
		fmt.Println(i, pixels, err)
	}
	// Output:
	// 0 [20 40 60 80 100 120] <nil>
	// 1 [10 20 30 40 50 60] <nil>
}

// Numbers that DALI's dynamic mode draws with the same generator.
func Example_random() {
	ctx := context.Background()
	g := random.New(7)
	flips := random.CoinFlipBatch(ctx, g, 4, random.CoinFlipArgs{})
	mirrored := fn.Flip(ctx, dynamic.BatchOf([][1][2][1]uint8{{{{1}, {2}}}, {{{1}, {2}}}, {{{1}, {2}}}, {{{1}, {2}}}}, dynamic.Form{Layout: "HWC"}),
		fn.FlipArgs{Horizontal: op.Of[int](flips)})
	for i, image := range mirrored.Tensors() {
		pixels, err := dynamic.Slice[uint8](ctx, image)
		fmt.Println(i, pixels, err)
	}
	fmt.Println(g.State())
	// Output:
	// 0 [1 2] <nil>
	// 1 [2 1] <nil>
	// 2 [1 2] <nil>
	// 3 [1 2] <nil>
	// Philox_0000000000000007_0000000000000000:0000000000000001_3
}
