package augment

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/op/image" // filter
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// channel returns a channel of an image as a gray image.
func channel(t tensor.Tensor, c int) tensor.Tensor {
	n := t.Shape[2]
	out := tensor.New(tensor.Uint8, t.Shape[0], t.Shape[1], 1)
	out.Layout = "HWC"
	for i := range out.Data {
		out.Data[i] = t.Data[i*n+c]
	}
	return out
}

// TestGray: what treats each channel alone makes of a gray image what it makes of that channel in
// an image of three.
func TestGray(t *testing.T) {
	for _, suite := range [][]string{
		{"shear_x 0.1 0.3 signed", "shear_y 0.1 0.3", "rotate 5 30 signed", "translate_x 0.1 0.3", "translate_y_pixels 1 3"},
		{"brightness 0.5 1.5", "posterize 8 2", "solarize 20 200", "solarize_add 0 100", "invert"},
		{"equalize", "auto_contrast", "sharpness 0.5 2", "identity"},
	} {
		for _, pixels := range []string{"rounded", "truncated"} {
			in := pictures(30)
			args := op.Args{"augmentations": suite, "pixels": pixels, "fill_value": []float64{10, 200, 99}}
			whole := run(t, optest.Case{Op: "trivial_augment_wide", Seed: 3, Args: args, Inputs: [][]tensor.Tensor{in}})
			for c, fill := range []float64{10, 200, 99} {
				gray := make([]tensor.Tensor, len(in))
				for i := range in {
					gray[i] = channel(in[i], c)
				}
				args["fill_value"] = []float64{fill}
				got := run(t, optest.Case{Op: "trivial_augment_wide", Seed: 3, Args: args, Inputs: [][]tensor.Tensor{gray}})
				for i, g := range got.Outputs[0] {
					// sharpness rounds the last pixels of a row as the filter of a gray image does
					want := channel(whole.Outputs[0][i], c)
					if !alike(g.Data, want.Data, map[bool]int{true: 1}[suite[0] == "equalize" && pixels == "rounded"]) {
						t.Fatalf("%v, %s: channel %d of sample %d differs", suite, pixels, c, i)
					}
				}
			}
		}
	}
}

// alike reports whether bytes differ by at most a number.
func alike(a, b []byte, most int) bool {
	for i := range a {
		if d := int(a[i]) - int(b[i]); max(d, -d) > most {
			return false
		}
	}
	return len(a) == len(b)
}

// TestGrayColors: color leaves a gray image as it is, and contrast goes away from its mean.
func TestGrayColors(t *testing.T) {
	flat := tensor.FromSlice([]uint8{100, 140}, 1, 2, 1)
	for _, pixels := range []string{"rounded", "truncated"} {
		for text, want := range map[string][]byte{"color 0 0": {100, 140}, "color 1.9 1.9": {100, 140},
			"contrast 0 0": {120, 120}, "contrast 2 2": {80, 160}} {
			got := run(t, optest.Case{Op: "rand_augment", Inputs: [][]tensor.Tensor{{flat}},
				Args: op.Args{"n": 1, "m": 0, "augmentations": text, "pixels": pixels}})
			if !bytes.Equal(got.Outputs[0][0].Data, want) {
				t.Errorf("%s, %s: %v, want %v", text, pixels, got.Outputs[0][0].Data, want)
			}
		}
	}
}

// TestManyChannels: shears, translations and rotations make of each of many channels what they make
// of a gray image; frames of sequences too.
func TestManyChannels(t *testing.T) {
	suite := []string{"shear_x 0.1 0.3 signed", "rotate 5 30 signed", "translate_x 0.1 0.3"}
	for _, n := range []int{2, 4, 5, 6, 7} {
		fill := make([]float64, n)
		for c := range fill {
			fill[c] = float64(20 * c)
		}
		image := tensor.New(tensor.Uint8, 2, 9, 11, n)
		image.Layout = "FHWC"
		for i := range image.Data {
			image.Data[i] = byte(i*i*7 + i*29)
		}
		args := op.Args{"augmentations": suite, "n": 2, "m": 20, "fill_value": fill}
		got := run(t, optest.Case{Op: "rand_augment", Seed: 8, Args: args, Inputs: [][]tensor.Tensor{{image}}}).Outputs[0][0]
		if bytes.Equal(got.Data, image.Data) {
			t.Errorf("%d channels do not change", n)
		}
		frame := func(t tensor.Tensor, i int) tensor.Tensor {
			size := len(t.Data) / 2
			return tensor.Tensor{DType: t.DType, Shape: t.Shape[1:], Layout: "HWC", Data: t.Data[i*size:][:size]}
		}
		for f := range 2 {
			for c := range n {
				args["fill_value"] = []float64{fill[c]}
				one := run(t, optest.Case{Op: "rand_augment", Seed: 8, Args: args,
					Inputs: [][]tensor.Tensor{{channel(frame(image, f), c)}}}).Outputs[0][0]
				if want := channel(frame(got, f), c); !bytes.Equal(one.Data, want.Data) {
					t.Errorf("%d channels: channel %d of frame %d differs", n, c, f)
				}
			}
		}
		args["fill_value"] = make([]float64, n+1)
		r, err := optest.Run(optest.Case{Op: "rand_augment", Args: args, Inputs: [][]tensor.Tensor{{image}}})
		if err == nil {
			err = r.Errors[0]
		}
		if err == nil || !strings.Contains(err.Error(), "argument fill_value") {
			t.Errorf("%d values for %d channels: %v", n+1, n, err)
		}
	}
}

// TestRecordedGray: with the draws of torchvision, the pixels "truncated" are what it makes of gray
// images of Pillow.
func TestRecordedGray(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "recipes", "gray.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Suite []string
		Cases []struct {
			Image   int
			Nearest bool
			Steps   [][3]any
		}
		Images []byte
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	r, err := zlib.NewReader(bytes.NewReader(file.Images))
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parseSuite(file.Suite)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, c := range file.Cases {
		var operations, signs []int32
		var levels []float32
		for _, s := range c.Steps {
			at := slices.IndexFunc(parsed, func(a augmentation) bool { return a.name() == s[0] })
			operations, signs = append(operations, int32(at)), append(signs, int32(s[2].(float64)))
			levels = append(levels, float32(s[1].(float64)))
			seen[s[0].(string)] = true
		}
		n := len(c.Steps)
		interp := op.InterpLinear
		if c.Nearest {
			interp = op.InterpNN
		}
		list := func(v tensor.Tensor) optest.Samples { return optest.Samples{v} }
		got := run(t, optest.Case{Op: "_augment.rand_augment", Inputs: [][]tensor.Tensor{{channel(recipeImage(c.Image), 1)}},
			Args: op.Args{"n": n, "m": 0, "augmentations": file.Suite, "pixels": "truncated", "interp_type": interp,
				"fill_value": 0.0, "operations": list(tensor.FromSlice(operations, n)), "signs": list(tensor.FromSlice(signs, n)),
				"magnitudes": list(tensor.FromSlice(levels, n))}}).Outputs[0][0].Data
		if !bytes.Equal(got, want[:len(got)]) {
			t.Errorf("case %d, image %d %v: pixels differ", i, c.Image, c.Steps)
		}
		want = want[len(got):]
	}
	if len(seen) != len(file.Suite) || len(file.Cases) < 50 || len(want) > 0 {
		t.Errorf("%d cases of %d augmentations, %d bytes too many", len(file.Cases), len(seen), len(want))
	}
}

var errOfTest = errors.New("too far for a test")

func init() {
	Register("add_of_a_test", true, func(out, in tensor.Tensor, magnitude float64) error {
		for i, v := range in.Data {
			out.Data[i] = v + byte(int(math.Round(magnitude)))
		}
		return nil
	})
	Register("mirror_of_a_test", false, func(out, in tensor.Tensor, _ float64) error {
		h, w, c := in.Shape[0], in.Shape[1], in.Shape[2]
		for y := range h {
			for x := range w {
				copy(out.Data[(y*w+x)*c:][:c], in.Data[(y*w+w-1-x)*c:][:c])
			}
		}
		return nil
	})
	Register("fail_of_a_test", true, func(_, _ tensor.Tensor, magnitude float64) error {
		if magnitude > 5 {
			return errOfTest
		}
		return nil
	})
}

// TestOwn: functions of a program take part in suites and policies, with magnitudes and signs, for
// any number of channels.
func TestOwn(t *testing.T) {
	for _, shape := range [][]int{{2, 3, 1}, {2, 3, 3}, {2, 3, 4}, {2, 2, 3, 5}} {
		in := tensor.New(tensor.Uint8, shape...)
		for i := range in.Data {
			in.Data[i] = byte(50 + i)
		}
		got := run(t, optest.Case{Op: "rand_augment", Inputs: [][]tensor.Tensor{{in}}, Args: op.Args{"n": 2, "m": 15,
			"augmentations": []string{"add_of_a_test 0 10"}}}).Outputs[0][0]
		for i, v := range got.Data {
			if v != in.Data[i]+10 { // twice 5
				t.Fatalf("%v: %v", shape, got.Data)
			}
		}
		got = run(t, optest.Case{Op: "auto_augment", Inputs: [][]tensor.Tensor{{in}}, Args: op.Args{
			"augmentations": []string{"add_of_a_test 0 20", "mirror_of_a_test"},
			"policy":        "mirror_of_a_test 1; add_of_a_test 1 5; mirror_of_a_test 1"}}).Outputs[0][0]
		for i, v := range got.Data {
			if v != in.Data[i]+10 {
				t.Fatalf("%v: %v", shape, got.Data)
			}
		}
	}
	signs := map[byte]bool{}
	in := make([]tensor.Tensor, 40)
	for i := range in {
		in[i] = tensor.FromSlice([]uint8{100, 100, 100}, 1, 1, 3)
	}
	for _, got := range run(t, optest.Case{Op: "trivial_augment_wide", Inputs: [][]tensor.Tensor{in}, Args: op.Args{
		"augmentations": "add_of_a_test 7 7 signed"}}).Outputs[0] {
		signs[got.Data[0]] = true
	}
	if len(signs) != 2 || !signs[93] || !signs[107] {
		t.Errorf("%v", signs)
	}
}

// TestOwnMistakes: an error of a function fails its sample and names it, and names are checked.
func TestOwnMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"fail_of_a_test 9 9":   "augmentation fail_of_a_test: too far for a test",
		"mirror_of_a_test 1 2": "leave the range out", "add_of_a_test": "no range", "add_of_a_tes 0 1": `"add_of_a_test"`,
	} {
		r, err := optest.Run(optest.Case{Op: "rand_augment", Inputs: [][]tensor.Tensor{pictures(1)},
			Args: op.Args{"n": 1, "m": 0, "augmentations": text}})
		if err == nil {
			err = r.Errors[0]
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	apply := func(out, in tensor.Tensor, _ float64) error { return nil }
	for _, c := range []struct {
		name  string
		apply Func
	}{{"", apply}, {"two words", apply}, {"Warm", apply}, {"a;b", apply}, {"warm_pixels", apply}, {"rotate", apply},
		{"add_of_a_test", apply}, {"warm", nil}} {
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(v.(string), "augment.Register") {
					t.Errorf("%q: %v", c.name, v)
				}
			}()
			Register(c.name, false, c.apply)
		}()
	}
}

// TestGraySharpness: sharpness of a gray image is what the filter operator computes of it.
func TestGraySharpness(t *testing.T) {
	kernel := tensor.FromSlice(make([]float32, 9), 3, 3)
	values, err := tensor.Of[float32](kernel)
	if err != nil {
		t.Fatal(err)
	}
	amount := float32(0.75)
	for i := range values {
		values[i] = -amount * (float32(1) / 13)
	}
	values[4] = float32(-amount*(float32(5)/13)) + (1 + amount)
	for i, in := range pictures(20) {
		gray := channel(in, 0)
		want := run(t, optest.Case{Op: "filter", Inputs: [][]tensor.Tensor{{gray}, {kernel}}})
		got := run(t, optest.Case{Op: "rand_augment", Inputs: [][]tensor.Tensor{{gray}},
			Args: op.Args{"n": 1, "m": 0, "augmentations": "sharpness 1.75 1.75"}})
		if !bytes.Equal(got.Outputs[0][0].Data, want.Outputs[0][0].Data) {
			t.Fatalf("image %d: %v, want %v", i, got.Outputs[0][0].Data, want.Outputs[0][0].Data)
		}
	}
}
