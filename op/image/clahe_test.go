package image_test

import (
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
)

// What a limit of the mean count cuts is 255 times 16 here: each of the 256 bins gets 15, and the
// rest is spread. DALI gives the pixels below.
func TestCLAHESpreadsOver256Bins(t *testing.T) {
	pixels := slices.Repeat([]uint8{100}, 64*64)
	for i := range 16 {
		pixels[i] = uint8(16 * i)
	}
	in := optest.Of("HWC", []int{64, 64, 1}, pixels...)
	r := optest.MustRun(t, optest.Case{Op: "clahe", Inputs: optest.Inputs(in),
		Args: op.Args{"tiles_x": 1, "tiles_y": 1, "clip_limit": 1.0}})
	want := []byte{1, 17, 33, 49, 65, 81, 97, 114, 130, 146, 162, 178, 194, 210, 226, 241, 102}
	if got := r.Outputs[0][0].Data[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
