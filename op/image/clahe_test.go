package image_test

import (
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
)

// What the limit cuts off is 255 times 16 here. Each of the 256 bins gets 15, and the rest is
// spread. DALI gives 102.
func TestCLAHESpreadsOver256Bins(t *testing.T) {
	in := optest.Of("HWC", []int{64, 64, 1}, slices.Repeat([]uint8{100}, 64*64)...)
	r := optest.MustRun(t, optest.Case{Op: "clahe", Inputs: optest.Inputs(in),
		Args: op.Args{"tiles_x": 1, "tiles_y": 1, "clip_limit": 1.0}})
	for i, v := range r.Outputs[0][0].Data {
		if v != 102 {
			t.Fatalf("pixel %d is %d", i, v)
		}
	}
}
