package recipes_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/recipes"
	"github.com/bivouac-ml/bivouac/tensor"
)

const samples = 24

// made returns picture k of a size as numbers, and as a PNG file. tools/recipes/images.py makes the
// same numbers.
func made(k, h, w int) (pixels []byte, file tensor.Tensor) {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			var p [3]byte
			for c := range 3 {
				v := [...]int{
					x*255/max(w-1, 1)/(c+1) + y*3, (x*7 + y*13 + c*29 + x*y*5 + k*31) ^ (x * (c + 3)),
					100 + (x+y*2+c)%7*9, 40 + 50*c + k, (x*x + y*y*3 + 17*c) % 251,
				}[k%5]
				p[c] = byte(v)
			}
			pixels = append(pixels, p[:]...)
			img.SetNRGBA(x, y, color.NRGBA{p[0], p[1], p[2], 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err) // of a made picture
	}
	return pixels, tensor.FromSlice(b.Bytes(), b.Len())
}

// input is what a recipe gets for an input.
func input(name string, k int) tensor.Tensor {
	switch name {
	case "files":
		_, file := made(k, 40+k%3, 50+k%4)
		return file
	case "images", "partners":
		if name == "partners" {
			k += 7
		}
		pixels, _ := made(k, 12, 16)
		return tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{12, 16, 3}, Layout: "HWC", Data: pixels}
	case "boxes":
		return tensor.FromSlice([]float32{0.1, 0.2, 0.5, 0.6, 0.4, 0.1, 0.9, 0.95}, 2, 4)
	case "masks":
		h, w := 40+k%3, 50+k%4
		m := tensor.New(tensor.Uint8, h, w, 1)
		m.Layout = "HWC"
		for i := range m.Data {
			m.Data[i] = byte(i / w % 3)
		}
		return m
	case "labels":
		return tensor.FromSlice([]float32{1, 0, 0}, 3)
	}
	return tensor.FromSlice([]float32{0, 0, 1}, 3)
}

// define makes the definition of a recipe over made samples.
func define(name string, set map[string]any, o pipeline.Options) (*pipeline.Definition, error) {
	r, err := recipes.Get(name)
	if err != nil {
		return nil, err
	}
	return pipeline.Define(o, func(b *pipeline.Builder) []pipeline.Node {
		var inputs []pipeline.Node
		for _, in := range r.Inputs() {
			source := pipeline.SampleFunc(func(_ context.Context, at pipeline.SampleInfo) ([]tensor.Tensor, error) {
				t := input(in, int(at.IdxInEpoch))
				if name == "torchvision-ssd" && in == "labels" {
					t = tensor.FromSlice([]int32{3, 4}, 2)
				}
				return []tensor.Tensor{t}, nil
			})
			spec := input(in, 0).Spec()
			if name == "torchvision-ssd" && in == "labels" {
				spec = tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{2}}
			}
			for i := range spec.Shape {
				spec.Shape[i] = -1
			}
			inputs = append(inputs, pipeline.ExternalSource(b, source, pipeline.SourceOptions{Specs: []tensor.Spec{spec}})[0])
		}
		return r.Append(b, set, inputs...)
	})
}

// run returns what the recipe makes of the samples: [output][sample].
func run(t *testing.T, name string, set map[string]any, o pipeline.Options, state []byte, n int) [][]tensor.Tensor {
	t.Helper()
	def, err := define(name, set, o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := def.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if state != nil {
		if err := p.SetState(state); err != nil {
			t.Fatal(err)
		}
	}
	var out [][]tensor.Tensor
	for got := 0; got < n; {
		batch, err := p.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out = slices.Grow(out, len(batch.Outputs))[:len(batch.Outputs)]
		for i, o := range batch.Outputs {
			for s := range o.NumSamples() {
				out[i] = append(out[i], o.Sample(s).Clone())
			}
		}
		got += batch.Outputs[0].NumSamples()
	}
	return out
}

// small makes the outputs of every recipe small.
func small(t *testing.T, name string) map[string]any {
	t.Helper()
	r, err := recipes.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]any{}
	for k := range r.Settings() {
		switch k {
		case "size":
			set[k] = 24
		case "shorter":
			if set[k] = 30; name == "torchvision-segmentation" {
				set[k] = []any{13, 50}
			}
		}
	}
	return set
}

// TestEach: every recipe runs, and a sample is the same in another batch, with another number of
// workers, and after a resume in the middle.
func TestEach(t *testing.T) {
	names := recipes.Names()
	if len(names) < 13 {
		t.Fatalf("%v", names)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			set := small(t, name)
			whole := run(t, name, set, pipeline.Options{BatchSize: 4, Workers: 2, Seed: 9}, nil, samples)
			others := run(t, name, set, pipeline.Options{BatchSize: 6, Workers: 1, Seed: 9,
				Prefetch: pipeline.NoPrefetch}, nil, samples)
			different := 0
			for i := range whole {
				for s := range samples {
					a, b := whole[i][s], others[i][s]
					if !a.Shape.Equal(b.Shape) || !bytes.Equal(a.Data, b.Data) {
						t.Fatalf("output %d of sample %d differs in another batch", i, s)
					}
					if !bytes.Equal(a.Data, whole[i][0].Data) {
						different++
					}
				}
			}
			if different == 0 {
				t.Error("all samples are alike")
			}
			if images := whole[0][0]; images.DType == tensor.Float32 {
				sum := 0.0
				values, _ := tensor.Of[float32](images)
				for _, v := range values {
					sum += math.Abs(float64(v))
				}
				if !(sum > 0) || math.IsInf(sum, 0) {
					t.Errorf("values that sum to %v", sum)
				}
			}
			resumed(t, name, set, whole)
		})
	}
}

// resumed takes a state after half of the samples and goes on.
func resumed(t *testing.T, name string, set map[string]any, whole [][]tensor.Tensor) {
	t.Helper()
	o := pipeline.Options{BatchSize: 4, Workers: 2, Seed: 9}
	def, err := define(name, set, o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := def.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range samples / 8 {
		if _, err := p.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	state, err := p.AppendState(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, list := range run(t, name, set, o, state, samples/2) {
		for s := range list {
			if !bytes.Equal(list[s].Data, whole[i][samples/2+s].Data) {
				t.Fatalf("after a resume, output %d of sample %d differs", i, s)
			}
		}
	}
}

// TestRanks: two ranks have the samples of one.
func TestRanks(t *testing.T) {
	const name = "timm-train"
	set := small(t, name)
	whole := run(t, name, set, pipeline.Options{BatchSize: 8, Seed: 9}, nil, samples)
	for rank := range 2 {
		got := run(t, name, set, pipeline.Options{BatchSize: 8, Seed: 9, Rank: rank, World: 2}, nil, samples/2)
		for i, s := range got[0] {
			at := i/4*8 + rank*4 + i%4
			if !bytes.Equal(s.Data, whole[0][at].Data) {
				t.Fatalf("rank %d: sample %d is not sample %d of one rank", rank, i, at)
			}
		}
	}
}

// TestUnknown: an unknown recipe, and an unknown setting.
func TestUnknown(t *testing.T) {
	if _, err := recipes.Get("torchvision-eva"); !errors.Is(err, errs.NotFound) {
		t.Errorf("%v", err)
	}
	if _, err := define("torchvision-eval", map[string]any{"sice": 3},
		pipeline.Options{BatchSize: 1}); !errors.Is(err, errs.Invalid) {
		t.Errorf("%v", err)
	}
}
