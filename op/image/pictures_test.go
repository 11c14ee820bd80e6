package image

import (
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestPictures compares the operators with the results of DALI that testdata/dali/ops/pictures
// keeps. A case that is left out would be an operator that is not there.
func TestPictures(t *testing.T) {
	set, err := dalivec.Open("../../testdata/dali")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := set.Cases("pictures")
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, c := range cases {
		if c.Op == "experimental.warp_perspective" {
			continue // of op/geometry
		}
		switch v := set.Run(c); v.Status {
		case dalivec.Skipped:
			t.Errorf("%s: skipped: %s", c.Name, v.Reason)
		case dalivec.Failed:
			t.Errorf("%s %v %s: %s", c.Name, c.Args, c.Inputs[0][0].Layout, v.Reason)
		case dalivec.Passed:
			ran[c.Op]++
		}
	}
	for name, n := range ran {
		if n < 15 {
			t.Errorf("%s: %d cases, want at least 15", name, n)
		}
	}
	t.Log(ran)
}

// Filters and colours allocate nothing once they have run.
func TestPicturesAllocateNothing(t *testing.T) {
	raw := img(3, 24, 32, 1)
	weights := optest.Of[float32]("", []int{2, 3}, 1, 2, 0, -1, 0.5, 3)
	var cases []optest.Case
	for name, args := range map[string]op.Args{
		"color_space_conversion": {"image_type": op.RGB, "output_type": op.YCbCr}, "equalize": {},
		"clahe": {"tiles_x": 3, "tiles_y": 2, "clip_limit": 2}, "laplacian": {"window_size": perSample[int32](5)},
		"jpeg_compression_distortion": {"quality": perSample[int32](30)},
	} {
		cases = append(cases, optest.Case{Op: name, Args: args, Inputs: [][]tensor.Tensor{{img(4, 21, 30, 3)}}})
	}
	for _, algorithm := range []string{"bilinear_ocv", "edgeaware_ocv", "vng_ocv", "gray_ocv"} {
		cases = append(cases, optest.Case{Op: "debayer", Inputs: [][]tensor.Tensor{{raw}},
			Args: op.Args{"algorithm": algorithm, "blue_position": []int{0, 1}}})
	}
	for _, in := range []tensor.Tensor{raw, asFloats(raw)} {
		cases = append(cases, optest.Case{Op: "filter", Args: op.Args{"border": "wrap"},
			Inputs: [][]tensor.Tensor{{in}, {weights}}})
	}
	optest.CheckAllocations(t, cases)
}
