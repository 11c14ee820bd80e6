package augment

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// picture makes an image without an even part.
func picture(h, w, seed int) tensor.Tensor {
	t := tensor.New(tensor.Uint8, h, w, channels)
	t.Layout = "HWC"
	for i := range t.Data {
		t.Data[i] = byte((i*37+seed*11)^(i/7*(seed+3))) / 2
	}
	return t
}

func pictures(n int) []tensor.Tensor {
	list := make([]tensor.Tensor, n)
	for i := range list {
		list[i] = picture(7+i%5, 9+i%4, i)
	}
	return list
}

// programs are the three operators, with arguments.
var programs = []optest.Case{
	{Op: "rand_augment", Args: op.Args{"n": 3, "m": 9}},
	{Op: "rand_augment", Args: op.Args{"n": 2, "m": 9, "num_magnitude_bins": 11, "magnitude_deviation": 0.5, "probability": 0.5}},
	{Op: "rand_augment", Args: op.Args{"n": 2, "m": 6, "pixels": "truncated", "fill_value": []float64{124, 116, 104}}},
	{Op: "trivial_augment_wide", Args: op.Args{}},
	{Op: "trivial_augment_wide", Args: op.Args{"pixels": "truncated", "interp_type": op.InterpCubic}},
	{Op: "auto_augment", Args: op.Args{}},
	{Op: "auto_augment", Args: op.Args{"policy_name": "svhn", "max_translate_rel": 0.4}},
}

func run(t *testing.T, c optest.Case) optest.Result {
	t.Helper()
	r, err := optest.Run(c)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors) > 0 {
		t.Fatal(r.Errors)
	}
	return r
}

// TestPosition: a sample has the same pixels alone, in any block, and at the same place of another
// batch; most samples change, and the input does not.
func TestPosition(t *testing.T) {
	for _, c := range programs {
		t.Run(fmt.Sprint(c.Op, c.Args), func(t *testing.T) {
			in := pictures(40)
			c.Seed, c.Inputs = 5, [][]tensor.Tensor{in}
			before := make([]tensor.Tensor, len(in))
			for i := range in {
				before[i] = in[i].Clone()
			}
			whole, changed := run(t, c), 0
			for i, got := range whole.Outputs[0] {
				if !bytes.Equal(in[i].Data, before[i].Data) {
					t.Fatalf("sample %d: the input changed", i)
				}
				if !got.Shape.Equal(in[i].Shape) || got.Layout != "HWC" {
					t.Fatalf("sample %d: %v of %v", i, got, in[i])
				}
				if !bytes.Equal(got.Data, in[i].Data) {
					changed++
				}
			}
			if changed < 20 {
				t.Errorf("%d of 40 samples change", changed)
			}
			for _, block := range []int{1, 7} {
				c.Block = block
				for i, got := range run(t, c).Outputs[0] {
					if !bytes.Equal(got.Data, whole.Outputs[0][i].Data) {
						t.Fatalf("blocks of %d: sample %d differs", block, i)
					}
				}
			}
			c.Block, c.First, c.Inputs = 0, 23, [][]tensor.Tensor{in[23:24]}
			if got := run(t, c).Outputs[0][0]; !bytes.Equal(got.Data, whole.Outputs[0][23].Data) {
				t.Error("sample 23 alone differs")
			}
		})
	}
}

// TestDraws: every augmentation of a suite is drawn about as often as the others, with both signs.
func TestDraws(t *testing.T) {
	const n = 6000
	in := make([]tensor.Tensor, n)
	for i := range in {
		in[i] = picture(1, 1, 3)
	}
	suite := []string{"brightness 0.5 0.5", "solarize 1 1", "invert", "brightness 0.5 0.5 signed"}
	r := run(t, optest.Case{Op: "rand_augment", Seed: 9, Inputs: [][]tensor.Tensor{in},
		Args: op.Args{"n": 1, "m": 0, "augmentations": suite, "num_magnitude_bins": 1}})
	counts := map[byte]int{}
	for _, got := range r.Outputs[0] {
		counts[got.Data[1]]++
	}
	v := in[0].Data[1]
	half := byte(float64(v)/2 + 0.5)
	more := byte(float64(v)*1.5 + 0.5)
	for value, share := range map[byte]float64{half: 1./4 + 1./8, 255 - v: 2. / 4, more: 1. / 8} {
		if got := float64(counts[value]) / n; got < share-0.03 || got > share+0.03 {
			t.Errorf("%d in a share of %.3f, want %.3f", value, got, share)
		}
	}
}

// TestMagnitudes: bins are spread evenly, whole distances are truncated.
func TestMagnitudes(t *testing.T) {
	for _, c := range []struct {
		text  string
		level float64
		bins  int
		want  float64
	}{
		{"rotate 0 30 signed", 0, 31, 0}, {"rotate 0 30", 15, 31, 15}, {"rotate 0 30", 30, 31, 30}, {"rotate 7 30", 0, 1, 7},
		{"posterize 8 4", 15, 31, 6}, {"posterize 4 0 whole", 9, 11, 1}, {"solarize 256 0 whole", 9, 11, 26},
		{"translate_x 0 -0.5 signed", 10, 11, -0.5}, {"rotate 0 30", 4.5, 11, 13.5},
	} {
		a, err := parseAugmentation(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.magnitude(c.level, c.bins); got != c.want {
			t.Errorf("%s at %v of %d: %v, want %v", c.text, c.level, c.bins, got, c.want)
		}
	}
}

// TestRefused: an error names the operator, the argument, and what to do.
func TestRefused(t *testing.T) {
	in := [][]tensor.Tensor{{picture(4, 4, 1)}}
	gray, float := tensor.New(tensor.Uint8, 4, 4, 2), tensor.New(tensor.Float32, 4, 4, 3)
	gray.Layout = "HWC"
	planes := tensor.New(tensor.Uint8, 3, 4, 4)
	planes.Layout = "CHW"
	for _, c := range []struct {
		op   string
		args op.Args
		in   tensor.Tensor
		want string
	}{
		{"rand_augment", op.Args{"n": -1, "m": 3}, in[0][0], "argument n"},
		{"rand_augment", op.Args{"n": 1}, in[0][0], "argument m"},
		{"rand_augment", op.Args{"n": 1, "m": 31}, in[0][0], "argument m: invalid: want a number from 0 to num_magnitude_bins - 1, which is 30"},
		{"rand_augment", op.Args{"n": 1, "m": -1}, in[0][0], "argument m"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "num_magnitude_bins": 0}, in[0][0], "argument num_magnitude_bins"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "probability": 1.5}, in[0][0], "argument probability"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "magnitude_deviation": -1.0}, in[0][0], "argument magnitude_deviation"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "excluded": "rotat"}, in[0][0], `did you mean "rotate"`},
		{"rand_augment", op.Args{"n": 1, "m": 0, "augmentations": "rotate"}, in[0][0], "no range"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "augmentations": "rotate 0 x"}, in[0][0], "x in the range"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "augmentations": "sheer_x 0 1"}, in[0][0], `did you mean "shear_x"`},
		{"rand_augment", op.Args{"n": 1, "m": 0, "augmentations": "shear_x 0 1 singed"}, in[0][0], `did you mean "signed"`},
		{"rand_augment", op.Args{"n": 1, "m": 0, "augmentations": "invert 0 1"}, in[0][0], "leave the range out"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "augmentations": ""}, in[0][0], "no name"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "augmentations": "solarize_add 0 128"}, in[0][0], "less than 128"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "augmentations": "solarize_add -1 3"}, in[0][0], "less than 128"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "augmentations": "invert", "max_translate_abs": 3.0}, in[0][0], "put the ranges into"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "augmentations": "invert", "excluded": "invert"}, in[0][0], "at least one"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "max_translate_abs": 3.0, "max_translate_rel": 0.1}, in[0][0], "leave one out"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "max_translate_abs": 3.0, "shape": []int{4, 4}}, in[0][0], "use max_translate_rel"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "max_translate_rel": []float64{1, 2, 3}}, in[0][0], "argument max_translate_rel"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "interp_type": op.InterpCubic}, in[0][0], "argument interp_type"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "pixels": "truncate"}, in[0][0], `did you mean "truncated"`},
		{"rand_augment", op.Args{"n": 1, "m": 0, "clamp": true, "fill_value": 3.0}, in[0][0], "leave clamp out"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "fill_value": []float64{1, 2}}, in[0][0], "argument fill_value"},
		{"auto_augment", op.Args{"policy_name": "imagenet"}, in[0][0], `did you mean "image_net"`},
		{"auto_augment", op.Args{"policy_name": "svhn", "policy": "invert 1"}, in[0][0], "leave one out"},
		{"auto_augment", op.Args{"policy_name": "reduced_image_net", "max_translate_abs": 3.0}, in[0][0], "leave these arguments out"},
		{"auto_augment", op.Args{"policy": []string{}}, in[0][0], "at least one sub-policy"},
		{"auto_augment", op.Args{"policy": "invert"}, in[0][0], "sub-policy 0"},
		{"auto_augment", op.Args{"policy": []string{"invert 1", "inverse 1"}}, in[0][0], "sub-policy 1"},
		{"auto_augment", op.Args{"policy": "invert 1.5"}, in[0][0], "a probability from 0 to 1"},
		{"auto_augment", op.Args{"policy": "invert 1 3"}, in[0][0], "no bin"},
		{"auto_augment", op.Args{"policy": "rotate 1"}, in[0][0], "a bin, because"},
		{"auto_augment", op.Args{"policy": "rotate 1 11"}, in[0][0], "a bin from 0 to 10"},
		{"trivial_augment_wide", op.Args{}, gray, "want one channel or three, which brightness needs, got 2 channels"},
		{"trivial_augment_wide", op.Args{}, tensor.New(tensor.Uint8, 4, 4, 0), "got 0 channels"},
		{"rand_augment", op.Args{"n": 1, "m": 0, "augmentations": "rotate 0 3"}, tensor.New(tensor.Uint8, 4, 4, 0), "got 0 channels"},
		{"trivial_augment_wide", op.Args{}, planes, wantImages},
		{"trivial_augment_wide", op.Args{}, float, "augment before the images become floats"},
	} {
		r, err := optest.Run(optest.Case{Op: c.op, Args: c.args, Inputs: [][]tensor.Tensor{{c.in}}, Static: true})
		if err == nil {
			err = r.Errors[0]
		}
		var own *errs.Error
		if !errors.As(err, &own) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v, want %q", c.op, c.args, err, c.want)
			continue
		}
		if !strings.Contains(err.Error(), c.op) {
			t.Errorf("no operator in %v", err)
		}
	}
}

// TestBadDraws: draws that an argument brings and that do not fit fail the sample.
func TestBadDraws(t *testing.T) {
	ints := func(v ...int32) optest.Samples { return optest.Samples{tensor.FromSlice(v, len(v))} }
	for want, c := range map[string]optest.Case{
		"numbers from 0 to 13": {Op: "_augment.rand_augment", Args: op.Args{"n": 1, "m": 3, "operations": ints(14), "signs": ints(0)}},
		"2 numbers each":       {Op: "_augment.rand_augment", Args: op.Args{"n": 2, "m": 3, "operations": ints(1), "signs": ints(0)}},
		"numbers from 0 to 30": {Op: "_augment.trivial_augment_wide", Args: op.Args{"operations": ints(1), "signs": ints(0), "magnitudes": ints(31)}},
		"a number from 0 to 24": {Op: "_augment.auto_augment", Args: op.Args{"signs": ints(0, 0), "sub_policy": ints(-1),
			"runs": optest.Samples{tensor.FromSlice([]float32{0, 0}, 2)}}},
		"height and width": {Op: "_augment.rand_augment", Args: op.Args{"n": 1, "m": 3, "operations": ints(0), "signs": ints(0), "shape": ints(3)}},
	} {
		c.Inputs = [][]tensor.Tensor{{picture(4, 4, 1)}}
		r, err := optest.Run(c)
		if err != nil {
			t.Fatal(err)
		}
		if r.Errors[0] == nil || !strings.Contains(r.Errors[0].Error(), want) {
			t.Errorf("%v: %v, want %q", c.Args, r.Errors[0], want)
		}
	}
	if _, err := optest.Run(optest.Case{Op: "_augment.rand_augment", Args: op.Args{"n": 1, "m": 3},
		Inputs: [][]tensor.Tensor{pictures(1)}}); err == nil {
		t.Error("no draws: no error")
	}
}

// TestEdges: images of one pixel, of one row and without pixels, sequences, and nothing to do.
func TestEdges(t *testing.T) {
	for _, c := range programs {
		for _, shape := range [][]int{{1, 1, 1}, {5, 6, 1}, {0, 4, 1}, {1, 1, 3}, {1, 9, 3}, {9, 1, 3}, {0, 4, 3},
			{2, 5, 6, 3}, {0, 5, 6, 3}} {
			in := make([]tensor.Tensor, 30)
			for i := range in {
				in[i] = tensor.New(tensor.Uint8, shape...)
				in[i].Layout = map[int]string{3: "HWC", 4: "FHWC"}[len(shape)]
				for j := range in[i].Data {
					in[i].Data[j] = byte(j * (i + 1))
				}
			}
			c.Inputs = [][]tensor.Tensor{in}
			if fill, ok := c.Args.(op.Args)["fill_value"].([]float64); ok && len(fill) != shape[len(shape)-1] {
				continue
			}
			for i, got := range run(t, c).Outputs[0] {
				if !slices.Equal(got.Shape, shape) {
					t.Fatalf("%s: sample %d: %v, want %v", c.Op, i, got, shape)
				}
			}
		}
	}
	in := pictures(3)
	r := run(t, optest.Case{Op: "rand_augment", Args: op.Args{"n": 0, "m": 0}, Inputs: [][]tensor.Tensor{in}})
	for i, got := range r.Outputs[0] {
		if &got.Data[0] != &in[i].Data[0] {
			t.Error("n = 0 copies the image")
		}
	}
}

// TestFrames: all frames of a sequence take the same augmentations as a picture.
func TestFrames(t *testing.T) {
	for _, c := range programs {
		single := pictures(20)
		double := make([]tensor.Tensor, len(single))
		for i, s := range single {
			double[i] = tensor.Tensor{DType: tensor.Uint8, Shape: append(tensor.Shape{2}, s.Shape...), Layout: "FHWC",
				Data: append(slices.Clone(s.Data), s.Data...)}
		}
		c.Inputs = [][]tensor.Tensor{single}
		one := run(t, c)
		c.Inputs = [][]tensor.Tensor{double}
		for i, got := range run(t, c).Outputs[0] {
			if want := one.Outputs[0][i].Data; !bytes.Equal(got.Data[:len(want)], want) ||
				!bytes.Equal(got.Data[len(want):], want) {
				t.Fatalf("%s: sample %d differs", c.Op, i)
			}
		}
	}
}

// TestAllocations: a worker that has seen the sizes allocates nothing.
func TestAllocations(t *testing.T) {
	for _, c := range programs {
		c.Inputs = [][]tensor.Tensor{pictures(20)}
		r, err := optest.New(c)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(5, func() {
			if err := r.Run(); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s %v: %v allocations", c.Op, c.Args, n)
		}
	}
}

// TestExtremes: magnitudes that no suite has neither fail nor leave the range of bytes.
func TestExtremes(t *testing.T) {
	for k := range kinds {
		if !kinds[k].ranged || kind(k) == solarizeAdd {
			continue
		}
		for _, text := range []string{
			"-3e38 3e38", "1e30 1e30 signed", "0 0", "-1e9 -1e9 whole", "1e-30 1e-40", "65536 70000 single",
		} {
			for _, pixels := range []string{"rounded", "truncated"} {
				for _, interp := range []op.InterpType{op.InterpNN, op.InterpLinear} {
					run(t, optest.Case{Op: "trivial_augment_wide", Inputs: [][]tensor.Tensor{pictures(6)}, Args: op.Args{
						"augmentations": kinds[k].name + " " + text, "pixels": pixels, "interp_type": interp, "num_magnitude_bins": 3}})
				}
			}
		}
	}
}
