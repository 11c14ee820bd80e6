package op_test

import (
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	_ "github.com/bivouac-ml/bivouac/pipeline" // its operators
	"github.com/bivouac-ml/bivouac/tensor"
)

// noise returns pictures of a layout whose axes have the given extents.
func noise(layout string, seed int, shape ...int) tensor.Tensor {
	t := tensor.New(tensor.Uint8, shape...)
	t.Layout = layout
	for i := range t.Data {
		t.Data[i] = byte(i*i*7 + i*31 + seed*97)
	}
	return t
}

// values returns numbers of a layout.
func values(layout string, shape []int, v ...float32) tensor.Tensor {
	t := tensor.FromSlice(v, shape...)
	t.Layout = layout
	return t
}

// TestFramesAreSamples: a frame with its value is the picture that the operator makes of the frame
// alone with the value alone. It does not depend on the samples of a block.
func TestFramesAreSamples(t *testing.T) {
	for name, c := range map[string]struct {
		arg    string
		layout string
		shape  []int
		value  []int // its shape
		more   op.Args
	}{
		"brightness":                    {"brightness", "FHWC", []int{3, 5, 4, 3}, nil, nil},
		"hsv":                           {"hue", "FHWC", []int{3, 5, 4, 3}, nil, nil},
		"gaussian_blur":                 {"sigma", "FHWC", []int{3, 5, 7, 2}, []int{2}, nil},
		"laplacian":                     {"scale", "FCHW", []int{3, 2, 5, 7}, []int{2}, nil},
		"rotate":                        {"angle", "FHWC", []int{3, 5, 4, 1}, nil, op.Args{"size": []float64{5, 7}}},
		"warp_affine":                   {"matrix", "FHWC", []int{3, 5, 4, 3}, []int{2, 3}, nil},
		"experimental.warp_perspective": {"matrix", "FHWC", []int{3, 5, 4, 3}, []int{3, 3}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			count := 1
			for _, d := range c.value {
				count *= d
			}
			n := c.shape[0]
			run := func(block int, layout string, in, arg []tensor.Tensor) [][]byte {
				args := op.Args{c.arg: optest.Samples(arg)}
				for k, v := range c.more {
					args[k] = v
				}
				r, err := optest.New(optest.Case{Op: name, Inputs: [][]tensor.Tensor{in}, Args: args, Block: block})
				if err == nil {
					err = r.Run()
				}
				if err != nil || len(r.Result.Errors) > 0 {
					t.Fatal(err, r.Result.Errors)
				}
				var out [][]byte
				for s, v := range r.Result.Outputs[0] {
					if v.Layout != layout || len(v.Shape) != len(layout) {
						t.Fatalf("sample %d is %s of layout %q, want %q", s, v, v.Layout, layout)
					}
					out = append(out, v.Data)
				}
				return out
			}
			var in, arg, frames, alone []tensor.Tensor
			for s := range 2 {
				video := noise(c.layout, s, c.shape...)
				list := make([]float32, n*count)
				for i := range list {
					list[i] = 0.25 + float32((i*5+s)%7)/4
				}
				in = append(in, video)
				arg = append(arg, values("F"+strings.Repeat("*", len(c.value)), append([]int{n}, c.value...), list...))
				for f := range n {
					size := len(video.Data) / n
					frames = append(frames, tensor.Tensor{DType: video.DType, Layout: c.layout[1:], Shape: c.shape[1:],
						Data: video.Data[f*size : (f+1)*size]})
					alone = append(alone, values("", c.value, list[f*count:(f+1)*count]...))
				}
			}
			want := run(0, c.layout[1:], frames, alone)
			for block := range 3 {
				for s, got := range run(block, c.layout, in, arg) {
					if whole := strings.Join(texts(want[s*n:(s+1)*n]), ""); whole != string(got) {
						t.Errorf("sample %d in blocks of %d differs from its frames alone", s, block)
					}
				}
			}
		})
	}
}

func texts(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}

// TestFramesRefused: an error names the argument, what is expected and what was given.
func TestFramesRefused(t *testing.T) {
	video, picture, empty := noise("FHWC", 0, 3, 4, 5, 3), noise("HWC", 0, 4, 5, 3), noise("FHWC", 0, 0, 4, 5, 3)
	for name, c := range map[string]struct {
		in, arg tensor.Tensor
		want    string
	}{
		"too few":   {video, values("F", []int{2}, 1, 2), "got 2 (give one value for each frame)"},
		"too many":  {video, values("F", []int{4}, 1, 2, 3, 4), "want 3 frames, as in input 0, got 4"},
		"none":      {video, values("F", []int{0}), "argument brightness: invalid: want at least one frame"},
		"empty":     {empty, values("F", []int{1}, 1), "input 0: invalid: want at least one frame"},
		"a picture": {picture, values("F", []int{3}, 1, 2, 3), "want a value for the sample, because no input is a sequence"},
		"two each":  {video, values("F*", []int{3, 2}, 1, 2, 3, 4, 5, 6), "frame 0"},
		"unmarked": {video, values("*", []int{3}, 1, 2, 3), "argument brightness: invalid: want float, " +
			"got a tensor of shape [3] per sample"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := optest.New(optest.Case{Op: "brightness", Inputs: [][]tensor.Tensor{{c.in}},
				Args: op.Args{"brightness": optest.Samples{c.arg}}})
			if err == nil {
				err = r.Run()
			}
			if err == nil {
				err = r.Result.Errors[0]
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
