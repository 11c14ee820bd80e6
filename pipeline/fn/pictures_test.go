package fn_test

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/codec/jpeg/encode"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Pictures of docs/operators: what an operator gets and what it makes, side by side. The operators
// themselves make them, and the file is written by encoders.jpeg, so they are the same everywhere.

// onPhoto are the arguments of operators on images.
var onPhoto = map[string]op.Args{
	"auto_augment":                  {},
	"brightness":                    {"brightness": 1.5},
	"brightness_contrast":           {"brightness": 1.2, "contrast": 1.8},
	"clahe":                         {"tiles_x": 6, "tiles_y": 6, "clip_limit": 4.0},
	"color_space_conversion":        {"image_type": op.RGB, "output_type": op.Gray},
	"color_twist":                   {"hue": 60.0, "saturation": 1.4, "contrast": 1.2},
	"contrast":                      {"contrast": 2.0},
	"crop":                          {"crop": []float64{64, 64}, "crop_pos_x": 0.3},
	"equalize":                      nil,
	"erase":                         {"anchor": []float64{20, 30}, "shape": []float64{40, 50}, "axis_names": "HW", "fill_value": []float64{200}},
	"experimental.warp_perspective": {"matrix": []float64{1.3, 0.2, -20, 0.1, 1.3, -10, 0.002, 0.001, 1}},
	"flip":                          nil,
	"gaussian_blur":                 {"sigma": []float64{3}},
	"grid_mask":                     {"ratio": 0.4, "tile": 24},
	"hsv":                           {"hue": 90.0, "saturation": 1.5},
	"hue":                           {"hue": 120.0},
	"jpeg_compression_distortion":   {"quality": 4},
	"laplacian":                     {"window_size": []int{5}, "dtype": tensor.Uint8},
	"noise.gaussian":                {"stddev": 40.0},
	"noise.salt_and_pepper":         {"prob": 0.15},
	"noise.shot":                    {"factor": 30.0},
	"paste":                         {"ratio": 1.5, "fill_value": []int{240, 240, 240}, "paste_x": 0.2, "paste_y": 0.8},
	"rand_augment":                  {"n": 2, "m": 20},
	"random_erase":                  {"probability": 1.0},
	"random_resized_crop":           {"size": []int{96, 128}, "random_area": []float64{0.2, 0.4}},
	"resize":                        {"size": []float64{24, 32}, "interp_type": op.InterpNN},
	"rotate":                        {"angle": 25.0, "fill_value": 255.0},
	"saturation":                    {"saturation": 0.2},
	"slice":                         {"rel_start": []float64{0.2, 0.3}, "rel_end": []float64{0.8, 0.9}, "axis_names": "HW"},
	"sphere":                        nil,
	"transpose":                     {"perm": []int{1, 0, 2}},
	"trivial_augment_wide":          {},
	"warp_affine":                   {"matrix": []float64{0.8, 0.4, 0, -0.1, 1.1, 10}, "fill_value": 255.0},
	"water":                         {"ampl_x": 6.0, "ampl_y": 6.0},
}

// seeds are for operators that show little with the seed 0.
var seeds = map[string]uint64{"auto_augment": 4, "trivial_augment_wide": 3}

// ofSound are the arguments of operators whose result is drawn as a picture of times and
// frequencies, and what they get: the sound, or the result of another operator.
var ofSound = map[string]struct {
	args op.Args
	from string
}{
	"freq_mask":       {op.Args{"max_width": 30}, "log_mel"},
	"log_mel":         {op.Args{"sample_rate": 16000.0}, ""},
	"mel_filter_bank": {op.Args{"sample_rate": 16000.0, "nfilter": 64}, "spectrogram"},
	"mfcc":            {nil, "log_mel"},
	"spectrogram":     {op.Args{"nfft": 256, "window_length": 256, "window_step": 128}, ""},
	"time_mask":       {op.Args{"max_width": 30}, "log_mel"},
	"to_decibels":     {nil, "spectrogram"},
}

// draws are the arguments of operators whose results are drawn as a histogram.
var draws = map[string]op.Args{
	"random.beta":    {"alpha": 2.0, "beta": 5.0},
	"random.normal":  nil,
	"random.uniform": {"range": []float64{-1, 1}},
}

// hasPicture reports whether an operator has a picture.
func hasPicture(name string) bool {
	_, photo := onPhoto[name]
	_, sound := ofSound[name]
	_, drawn := draws[name]
	return photo || sound || drawn
}

// canvas is an RGB image.
type canvas struct {
	w, h int
	pix  []byte
}

func newCanvas(w, h int) canvas {
	return canvas{w, h, bytes.Repeat([]byte{255}, 3*w*h)}
}

func (c canvas) set(x, y int, r, g, b byte) { copy(c.pix[3*(y*c.w+x):], []byte{r, g, b}) }

// beside puts canvases next to each other.
func beside(list ...canvas) canvas {
	const gap = 6
	w, h := -gap, 0
	for _, c := range list {
		w, h = w+gap+c.w, max(h, c.h)
	}
	out, x := newCanvas(w, h), 0
	for _, c := range list {
		for y := range c.h {
			copy(out.pix[3*(y*w+x):], c.pix[3*y*c.w:3*(y+1)*c.w])
		}
		x += c.w + gap
	}
	return out
}

// shown runs an operator on one sample.
func shown(t *testing.T, name string, args op.Args, in ...tensor.Tensor) tensor.Tensor {
	t.Helper()
	r, err := optest.Run(optest.Case{Op: name, Args: args, Inputs: optest.Inputs(in...), Seed: seeds[name]})
	if err == nil {
		err = r.Errors[0]
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	out := r.Outputs[0][0]
	out.Layout = r.Specs[0].Layout
	return out
}

// picture returns a uint8 image of one or three channels as a canvas.
func picture(t *testing.T, name string, in tensor.Tensor) canvas {
	t.Helper()
	if in.DType != tensor.Uint8 || len(in.Shape) != 3 || in.Shape[2] != 1 && in.Shape[2] != 3 {
		t.Fatalf("%s makes no picture: %v", name, in)
	}
	c := newCanvas(in.Shape[1], in.Shape[0])
	for i := range c.w * c.h {
		for k := range 3 {
			c.pix[3*i+k] = in.Data[i*in.Shape[2]+k%in.Shape[2]]
		}
	}
	return c
}

// powers are operators whose results are drawn by their fifth root, because they differ by powers
// of ten.
var powers = []string{"mel_filter_bank", "spectrogram"}

// heat draws an array of frequencies and times, the lowest frequency below. The 2 of 100 lowest and
// highest numbers have the colours of the rest.
func heat(t *testing.T, name string, in tensor.Tensor) canvas {
	t.Helper()
	list, err := tensor.Of[float32](in)
	if err != nil || len(in.Shape) != 2 {
		t.Fatalf("%s: %v, %v", name, in, err)
	}
	list = slices.Clone(list)
	if slices.Contains(powers, name) {
		for i, v := range list {
			list[i] = float32(math.Pow(float64(v), 0.2))
		}
	}
	sorted := slices.Sorted(slices.Values(list))
	low, high := sorted[len(list)/50], sorted[len(list)-1-len(list)/50]
	rows, columns := in.Shape[0], in.Shape[1]
	scale := max(1, 96/rows)
	c := newCanvas(2*columns, scale*rows)
	for y := range c.h {
		for x := range c.w {
			v := float64((list[(rows-1-y/scale)*columns+x/2] - low) / max(high-low, 1e-9))
			c.set(x, y, level(1.6*v-0.3), level(1.4*v*v), level(0.25+1.2*v*(1-v)))
		}
	}
	return c
}

func level(v float64) byte { return byte(math.Round(255 * min(max(v, 0), 1))) }

// wave draws a sound.
func wave(list []float32) canvas {
	const w, h = 250, 96
	c := newCanvas(w, h)
	for x := range w {
		part := list[x*len(list)/w : (x+1)*len(list)/w]
		top, bottom := slices.Max(part), slices.Min(part)
		for y := range h {
			if v := float32(1 - 2*float64(y)/(h-1)); v <= top+0.01 && v >= bottom-0.01 {
				c.set(x, y, 31, 90, 160)
			}
		}
	}
	return c
}

// histogram draws how often numbers came.
func histogram(list []float32) canvas {
	const w, h, bins = 244, 96, 61
	low, high := slices.Min(list), slices.Max(list)
	var counts [bins]int
	for _, v := range list {
		counts[min(int(float64(v-low)/float64(high-low)*bins), bins-1)]++
	}
	most := slices.Max(counts[:])
	c := newCanvas(w, h)
	for x := range w {
		for y := range counts[x/4] * (h - 4) / most {
			if x%4 < 3 {
				c.set(x, h-1-y, 31, 90, 160)
			}
		}
	}
	return c
}

// sound returns a tone that rises, beside a chord, at 16 kHz. Sums are rounded to 16 bits, so that
// every machine has the same.
func sound() tensor.Tensor {
	list := make([]float32, 16000)
	for i := range list {
		s := float64(i) / 16000
		v := 0.4 * math.Sin(2*math.Pi*(300*s+1500*s*s))
		if i%8000 < 4000 {
			v += 0.2*math.Sin(2*math.Pi*880*s) + 0.2*math.Sin(2*math.Pi*2640*s)
		}
		list[i] = float32(math.Round(v*32767) / 32768)
	}
	return tensor.FromSlice(list)
}

func drawPictures(t *testing.T) map[string]canvas {
	file, err := os.ReadFile("../../testdata/photos/flower.jpg")
	if err != nil {
		t.Fatal(err)
	}
	photo := shown(t, "decoders.image", nil, tensor.FromSlice(file))
	photo.Layout = "HWC"
	photo = shown(t, "resize", op.Args{"size": []float64{96, 128}}, photo)
	photo.Layout = "HWC"
	before, all := picture(t, "photo", photo), map[string]canvas{}
	for name, args := range onPhoto {
		all[name] = beside(before, picture(t, name, shown(t, name, args, photo)))
	}
	tone := sound()
	samples, _ := tensor.Of[float32](tone)
	heard := func(name string) tensor.Tensor {
		of := ofSound[name]
		if of.from == "" {
			return shown(t, name, of.args, tone)
		}
		from := shown(t, of.from, ofSound[of.from].args, tone)
		from.Layout = "ft"
		return shown(t, name, of.args, from)
	}
	for name, of := range ofSound {
		left := wave(samples)
		if of.from != "" {
			left = heat(t, of.from, heard(of.from))
		}
		all[name] = beside(left, heat(t, name, heard(name)))
	}
	for name, args := range draws {
		withShape := maps.Clone(args)
		if withShape == nil {
			withShape = op.Args{}
		}
		withShape["shape"], withShape["dtype"] = []int{20000}, tensor.Float32
		r, err := optest.Run(optest.Case{Op: name, Args: withShape, Count: 1, Seed: 7})
		if err != nil || r.Errors[0] != nil {
			t.Fatal(name, err, r.Errors[0])
		}
		list, err := tensor.Of[float32](r.Outputs[0][0])
		if err != nil {
			t.Fatal(err)
		}
		all[name] = histogram(list)
	}
	return all
}

// TestPictures makes the pictures of docs/operators.
func TestPictures(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "operators", "pictures")
	var e encode.Encoder
	known := map[string]bool{}
	for name, c := range drawPictures(t) {
		if _, err := op.Lookup(name); err != nil {
			t.Error(err)
		}
		file, err := e.Append(nil, c.pix, c.w, c.h, 3, encode.Options{Quality: 85, FullColour: true})
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, name+".jpg")
		known[name+".jpg"] = true
		if *update {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, file, 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := os.ReadFile(at); err != nil || !bytes.Equal(got, file) {
			t.Errorf("%s is not what the operator makes (run go generate ./pipeline/fn): %v", at, err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !known[f.Name()] {
			t.Errorf("%s belongs to no operator", filepath.Join(dir, f.Name()))
		}
	}
}

func pictureLine(name string) string {
	if !hasPicture(name) {
		return ""
	}
	return fmt.Sprintf("![%s](pictures/%s.jpg)\n\n", name, name)
}
