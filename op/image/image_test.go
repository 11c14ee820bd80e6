package image

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

func values(t *testing.T, x tensor.Tensor) []float64 {
	t.Helper()
	var out []float64
	switch x.DType {
	case tensor.Uint8:
		for _, v := range x.Data {
			out = append(out, float64(v))
		}
	case tensor.Int8:
		for _, v := range x.Data {
			out = append(out, float64(int8(v)))
		}
	case tensor.Float32:
		v, err := tensor.Of[float32](x)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range v {
			out = append(out, float64(v))
		}
	default:
		t.Fatalf("unexpected %s", x)
	}
	return out
}

func perSample[T float32 | int32](v ...T) optest.Samples {
	var s optest.Samples
	for _, x := range v {
		s = append(s, tensor.ScalarOf(x))
	}
	return s
}

func roundAway(v float64, lo, hi float64) float64 { return min(max(math.Round(v), lo), hi) }

func TestCropMirrorNormalize(t *testing.T) {
	images := []tensor.Tensor{img(1, 9, 11, 3), img(2, 14, 8, 3)}
	mean, std := []float64{123.675, 116.28, 103.53}, []float64{58.395, 57.12, 57.375}
	mirror := []int32{0, 1}
	for _, dtype := range []tensor.DType{tensor.Float32, tensor.Uint8, tensor.Int8} {
		for _, layout := range []string{"CHW", "HWC"} {
			for _, floats := range []bool{false, true} {
				in := images
				if floats {
					in = []tensor.Tensor{asFloats(images[0]), asFloats(images[1])}
				}
				r := optest.MustRun(t, optest.Case{Op: "crop_mirror_normalize", Inputs: [][]tensor.Tensor{in}, Args: op.Args{
					"crop": []int{6, 5}, "mean": mean, "std": std, "mirror": perSample(mirror...), "crop_pos_x": 0.25, "crop_pos_y": 1,
					"dtype": dtype, "output_layout": layout, "scale": 3, "shift": 1.5}})
				for s, out := range r.Outputs[0] {
					h, w := images[s].Shape[0], images[s].Shape[1]
					y0, x0 := h-6, int(math.Round(0.25*float64(w-5)))
					got := values(t, out)
					for y := range 6 {
						for x := range 5 {
							for c := range 3 {
								from := x
								if mirror[s] != 0 {
									from = 4 - x
								}
								want := 3*(float64(images[s].Data[((y0+y)*w+x0+from)*3+c])-mean[c])/std[c] + 1.5
								switch dtype {
								case tensor.Uint8:
									want = roundAway(want, 0, 255)
								case tensor.Int8:
									want = roundAway(want, -128, 127)
								}
								at := (c*6+y)*5 + x
								if layout == "HWC" {
									at = (y*5+x)*3 + c
								}
								if math.Abs(got[at]-want) > 1e-5 {
									t.Fatalf("%s %s floats=%t sample %d at %d,%d,%d: got %g, want %g", dtype, layout, floats, s, y, x, c, got[at], want)
								}
							}
						}
					}
				}
			}
		}
	}
}

func TestWindowBounds(t *testing.T) {
	in := img(5, 4, 4, 3)
	c := optest.Case{Op: "crop_mirror_normalize", Inputs: [][]tensor.Tensor{{in}}, Args: op.Args{"crop": []int{6, 2}}}
	r, err := optest.Run(c)
	if err != nil || !errors.Is(r.Errors[0], errs.Invalid) {
		t.Errorf("a window that leaves the image: got %v, %v", r.Errors, err)
	}
	c.Args = op.Args{"crop": []int{6, 2}, "out_of_bounds_policy": "trim_to_shape"}
	if r := optest.MustRun(t, c); !r.Outputs[0][0].Shape.Equal(tensor.Shape{3, 4, 2}) {
		t.Errorf("trimmed: got %s", r.Outputs[0][0])
	}
	c.Args = op.Args{"crop": []int{6, 2}, "out_of_bounds_policy": "pad", "fill_values": []float64{7, 8, 9}, "pad_output": true, "mirror": 1}
	r = optest.MustRun(t, c)
	if !r.Outputs[0][0].Shape.Equal(tensor.Shape{4, 6, 2}) {
		t.Fatalf("padded: got %s", r.Outputs[0][0])
	}
	got := values(t, r.Outputs[0][0])
	for ch := range 4 {
		for y := range 6 {
			for x := range 2 {
				want := []float64{7, 8, 9, 0}[ch]
				if y >= 1 && y < 5 && ch < 3 {
					want = float64(in.Data[((y-1)*4+1+1-x)*3+ch])
				}
				if v := got[(ch*6+y)*2+x]; v != want {
					t.Fatalf("padded: channel %d, row %d, column %d: got %g, want %g", ch, y, x, v, want)
				}
			}
		}
	}
	for _, dtype := range []bool{false, true} {
		x := in
		if dtype {
			x = asFloats(in)
		}
		r := optest.MustRun(t, optest.Case{Op: "crop", Inputs: [][]tensor.Tensor{{x}}, Args: op.Args{"crop_h": 6, "crop_w": 6, "out_of_bounds_policy": "pad", "fill_values": 3}})
		got := values(t, r.Outputs[0][0])
		for y := range 6 {
			for x := range 6 {
				want := 3.0
				if y >= 1 && y < 5 && x >= 1 && x < 5 {
					want = float64(in.Data[((y-1)*4+x-1)*3])
				}
				if got[(y*6+x)*3] != want {
					t.Fatalf("crop with padding at %d,%d: got %g, want %g", y, x, got[(y*6+x)*3], want)
				}
			}
		}
	}
}

func TestBrightnessContrast(t *testing.T) {
	in := img(3, 5, 6, 3)
	brightness, contrast := []float32{1.3, 0.6}, []float32{0.7, 1.9}
	r := optest.MustRun(t, optest.Case{Op: "brightness_contrast", Inputs: [][]tensor.Tensor{{in, in}}, Block: 1,
		Args: op.Args{"brightness": perSample(brightness...), "contrast": perSample(contrast...), "brightness_shift": 0.1}})
	for s, out := range r.Outputs[0] {
		b, c := float64(brightness[s]), float64(contrast[s])
		for i, v := range in.Data {
			exact := 0.1*255 + b*(128+c*(float64(v)-128))
			if want := roundAway(exact, 0, 255); math.Abs(float64(out.Data[i])-want) > 0 && math.Abs(exact-math.Floor(exact)-0.5) > 1e-3 {
				t.Fatalf("sample %d, value %d: got %d, want %g", s, v, out.Data[i], want)
			}
		}
	}
	r = optest.MustRun(t, optest.Case{Op: "brightness_contrast", Inputs: [][]tensor.Tensor{{asFloats(in)}},
		Args: op.Args{"brightness": 2, "contrast": 0.5, "contrast_center": 10, "dtype": tensor.Uint8}})
	for i, v := range in.Data {
		if want := roundAway(2*(10+0.5*(float64(v)-10)), 0, 255); float64(r.Outputs[0][0].Data[i]) != want {
			t.Fatalf("value %d: got %d, want %g", v, r.Outputs[0][0].Data[i], want)
		}
	}
	r = optest.MustRun(t, optest.Case{Op: "brightness_contrast", Inputs: [][]tensor.Tensor{{in}}})
	if &r.Outputs[0][0].Data[0] != &in.Data[0] {
		t.Error("an operation without effect copied its input")
	}
}

// TestBlocks shows that neither the company of a sample nor the worker's memory of
// earlier ones changes it.
func TestBlocks(t *testing.T) {
	var images []tensor.Tensor
	for i := range 7 {
		images = append(images, img(uint64(i), 5+3*i, 30-2*i, 3))
	}
	for _, c := range []optest.Case{
		{Op: "random_resized_crop", Args: op.Args{"size": []int{12, 9}}},
		{Op: "random_resized_crop", Args: op.Args{"size": 8, "dtype": tensor.Float32, "antialias": false}},
		{Op: "crop", Args: op.Args{"crop": []int{4, 4}}},
		{Op: "brightness_contrast", Args: op.Args{"brightness": 1.2}},
		{Op: "crop_mirror_normalize", Args: op.Args{"std": 3, "mean": []float64{1, 2, 3}}},
	} {
		c.Inputs, c.Seed, c.First = [][]tensor.Tensor{images}, 3, 40
		want := optest.MustRun(t, c)
		for _, block := range []int{1, 2, 5} {
			c.Block = block
			got := optest.MustRun(t, c)
			for s := range images {
				if !got.Outputs[0][s].Equal(want.Outputs[0][s]) {
					t.Errorf("%s: sample %d differs in blocks of %d", c.Op, s, block)
				}
			}
		}
	}
}

func TestRefused(t *testing.T) {
	image := img(1, 4, 4, 3)
	for _, c := range []struct {
		op   string
		args op.Args
		in   tensor.Tensor
		kind errs.Kind
	}{
		{"random_resized_crop", op.Args{}, image, errs.Invalid},
		{"random_resized_crop", op.Args{"size": []int{1, 2, 3}}, image, errs.Invalid},
		{"random_resized_crop", op.Args{"size": -3}, image, errs.Invalid},
		{"random_resized_crop", op.Args{"size": 4, "random_area": []float64{0.5, 0.2}}, image, errs.Invalid},
		{"random_resized_crop", op.Args{"size": 4, "colour": 4}, image, errs.Invalid},
		{"crop", op.Args{"crop": []int{4, 4}, "crop_h": 3, "crop_w": 2}, image, errs.Invalid},
		{"crop", op.Args{"crop_h": 3}, image, errs.Invalid},
		{"crop", op.Args{"crop": "big"}, image, errs.Invalid},
		{"crop", op.Args{"rounding": "up"}, image, errs.Invalid},
		{"crop_mirror_normalize", op.Args{"mean": []float64{1, 2}}, image, errs.Invalid},
		{"crop_mirror_normalize", op.Args{"dtype": tensor.Int64}, image, errs.Unsupported},
		{"crop_mirror_normalize", op.Args{}, tensor.New(tensor.Uint8, 5), errs.Invalid},
	} {
		_, err := optest.Run(optest.Case{Op: c.op, Args: c.args, Inputs: [][]tensor.Tensor{{c.in}}, Static: true})
		if !errors.Is(err, c.kind) {
			t.Errorf("%s%v: got %v, want kind %v", c.op, c.args, err, c.kind)
		}
	}
}

func TestStaticSpecs(t *testing.T) {
	in := img(1, 10, 12, 3)
	for _, c := range []struct {
		op   string
		args op.Args
		want tensor.Shape
	}{
		{"random_resized_crop", op.Args{"size": []int{7, 5}}, tensor.Shape{7, 5, 3}},
		{"crop", op.Args{"crop": []int{0, 5}}, tensor.Shape{10, 5, 3}},
		{"crop_mirror_normalize", op.Args{"crop_h": 4, "crop_w": 6, "pad_output": true}, tensor.Shape{4, 4, 6}},
		{"brightness_contrast", nil, tensor.Shape{10, 12, 3}},
	} {
		r := optest.MustRun(t, optest.Case{Op: c.op, Args: c.args, Inputs: [][]tensor.Tensor{{in}}, Static: true})
		if d := cmp.Diff(c.want, r.Specs[0].Shape); d != "" {
			t.Errorf("%s promised (-want +got):\n%s", c.op, d)
		}
		if !r.Outputs[0][0].Shape.Equal(r.Specs[0].Shape) {
			t.Errorf("%s promised %s and gave %s", c.op, r.Specs[0].Shape, r.Outputs[0][0].Shape)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	images := []tensor.Tensor{img(1, 40, 50, 3), img(2, 33, 47, 3)}
	cases := []optest.Case{
		{Op: "random_resized_crop", Args: op.Args{"size": 24}},
		{Op: "resize", Args: op.Args{"size": []int{20, 31}, "roi_start": []float64{1, 2}, "roi_end": []float64{20, 30}, "max_size": 25}},
		{Op: "resize_crop_mirror", Args: op.Args{"resize_shorter": 20, "crop": []int{10, 10}, "interp_type": op.InterpNN}},
		{Op: "gaussian_blur", Args: op.Args{"sigma": perSample[float32](1.5, 0.5)}},
		{Op: "flip", Args: op.Args{"vertical": 1}},
		{Op: "color_twist", Args: op.Args{"hue": perSample[float32](10, 20)}},
		{Op: "slice", Args: op.Args{"start": []int{1, 2}, "shape": []int{10, 30}}},
		{Op: "brightness_contrast", Args: op.Args{"brightness": perSample[float32](1.5, 0.5)}},
		{Op: "crop_mirror_normalize", Args: op.Args{"crop": []int{20, 20}, "mirror": perSample[int32](1, 0), "mean": []float64{1, 2, 3}}},
		{Op: "crop", Args: op.Args{"crop": []int{20, 20}}},
	}
	for i := range cases {
		cases[i].Inputs = [][]tensor.Tensor{images}
	}
	optest.CheckAllocations(t, cases)
}

// img returns an HWC image of random bytes.
func img(seed uint64, h, w, c int) tensor.Tensor {
	random := rand.New(rand.NewPCG(seed, 9))
	t := tensor.New(tensor.Uint8, h, w, c)
	t.Layout = layoutHWC
	for i := range t.Data {
		t.Data[i] = uint8(random.IntN(256))
	}
	return t
}

// asFloats returns an image with the same values in float32.
func asFloats(in tensor.Tensor) tensor.Tensor {
	t := tensor.New(tensor.Float32, in.Shape...)
	t.Layout = in.Layout
	v, _ := tensor.Of[float32](t)
	for i, b := range in.Data {
		v[i] = float32(b)
	}
	return t
}

func TestTooLarge(t *testing.T) {
	for _, c := range []optest.Case{
		{Op: "resize", Args: op.Args{"size": []float64{1e6, 1e6}}},
		{Op: "resize_crop_mirror", Args: op.Args{"size": 10, "crop": []int{1 << 20, 1 << 20}}},
		{Op: "crop", Args: op.Args{"crop": []int{1 << 20, 1 << 20}, "out_of_bounds_policy": "pad"}},
		{Op: "crop_mirror_normalize", Args: op.Args{"crop": []int{1 << 20, 1 << 20}, "out_of_bounds_policy": "pad"}},
		{Op: "slice", Args: op.Args{"start": []int{0, 0}, "end": []int{1 << 20, 1 << 20}, "out_of_bounds_policy": "pad"}},
	} {
		c.Inputs = [][]tensor.Tensor{{img(1, 4, 4, 3)}}
		r, err := optest.Run(c)
		if err != nil || !errors.Is(r.Errors[0], errs.Exhausted) {
			t.Errorf("%s: got %v, %v", c.Op, err, r.Errors)
		}
	}
}

// TestRegions shows that pixels outside the region that an operator asks for do not change its
// results.
func TestRegions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, w := rapid.IntRange(6, 40).Draw(t, "h"), rapid.IntRange(6, 40).Draw(t, "w")
		pair := func(name string, lo, hi float64) []float64 {
			return []float64{rapid.Float64Range(lo, hi).Draw(t, name+" y"), rapid.Float64Range(lo, hi).Draw(t, name+" x")}
		}
		filter := rapid.SampledFrom([]op.InterpType{op.InterpNN, op.InterpLinear, op.InterpCubic, op.InterpLanczos3, op.InterpGaussian}).Draw(t, "filter")
		antialias, mirror := rapid.Bool().Draw(t, "antialias"), rapid.IntRange(0, 3).Draw(t, "mirror")
		crop := []int{rapid.IntRange(1, 6).Draw(t, "crop h"), rapid.IntRange(1, 6).Draw(t, "crop w")}
		position := pair("position", 0, 1)
		cases := []optest.Case{
			{Op: "random_resized_crop", Args: op.Args{"size": crop, "interp_type": filter, "antialias": antialias}},
			{Op: "resize", Args: op.Args{"size": pair("size", 1, 50), "roi_start": pair("start", -0.3, 1.3), "roi_end": pair("end", -0.3, 1.3), "roi_relative": true, "interp_type": filter, "antialias": antialias}},
			{Op: "resize_crop_mirror", Args: op.Args{"size": pair("resized", 6, 50), "crop": crop, "crop_pos_y": position[0], "crop_pos_x": position[1], "mirror": mirror, "interp_type": filter, "antialias": antialias}},
			{Op: "crop", Args: op.Args{"crop": crop, "crop_pos_y": position[0], "crop_pos_x": position[1]}},
			{Op: "crop_mirror_normalize", Args: op.Args{"crop": crop, "crop_pos_y": position[0], "crop_pos_x": position[1], "mirror": mirror}},
		}
		whole := img(rapid.Uint64().Draw(t, "seed"), h, w, 3)
		for _, c := range cases {
			c.Inputs = [][]tensor.Tensor{{whole}}
			runner, err := optest.New(c)
			if err != nil {
				t.Fatal(err)
			}
			if err := runner.Run(); err != nil {
				t.Fatal(err)
			}
			want := runner.Result.Outputs[0][0].Clone()
			r, ok := runner.Region(h, w)
			if !ok {
				continue
			}
			part := tensor.New(tensor.Uint8, h, w, 3)
			part.Layout = layoutHWC
			for i := range part.Data {
				part.Data[i] = 0x55
			}
			for y := r.Y; y < r.Y+r.H; y++ {
				copy(part.Data[(y*w+r.X)*3:(y*w+r.X+r.W)*3], whole.Data[(y*w+r.X)*3:])
			}
			c.Inputs = [][]tensor.Tensor{{part}}
			again, err := optest.New(c)
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Run(); err != nil {
				t.Fatal(err)
			}
			if !again.Result.Outputs[0][0].Equal(want) {
				t.Fatalf("%s %v: what lies outside %+v of %dx%d enters the result", c.Op, c.Args, r, h, w)
			}
		}
	})
}

// TestVectors compares the operators with results of DALI.
func TestVectors(t *testing.T) {
	for group, ops := range map[string][]string{
		"crop":   {"crop", "slice"},
		"cmn":    {"crop_mirror_normalize"},
		"resize": {"resize", "random_resized_crop", "resize_crop_mirror", "tensor_resize"},
		"tensor": {"flip", "erase"},
		"filter": {"gaussian_blur"},
		"color": {"brightness", "contrast", "brightness_contrast", "color_twist", "hsv", "hue", "saturation", "color_space_conversion",
			"equalize", "experimental.equalize", "clahe"},
	} {
		t.Run(group, func(t *testing.T) { dalivec.Run(t, group, ops...) })
	}
}
