package dali_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// augmentCase is a case of tools/interop/augment.py.
type augmentCase struct {
	Function                        string
	Batch, Iterations, Seed, Frames int
	Args                            map[string]any
	Numbers                         [][2]float64
	Images                          []byte // deflated
}

func augmentCases(t *testing.T) []augmentCase {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "dali-augment", "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		DALI  string
		Cases []augmentCase
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	return file.Cases
}

// augmentImage is image k of tools/interop/augment.py.
func augmentImage(k, frames int) tensor.Tensor {
	size := [][2]int{{9, 13}, {16, 12}, {1, 1}, {7, 24}, {1, 9}, {21, 2}}[k%6]
	h, w := size[0], size[1]
	out := tensor.New(tensor.Uint8, max(frames, 1), h, w, 3)
	out.Layout = "FHWC"
	i := 0
	for f := range max(frames, 1) {
		for y := range h {
			for x := range w {
				for c := range 3 {
					v := [...]int{
						x*255/max(w-1, 1)/(c+1) + y*3,
						(x*7 + y*13 + c*29 + x*y*5 + k*31) ^ (x * (c + 3)),
						100 + (x+y*2+c)%7*9,
						40 + 50*c + k,
						(x*x + y*y*3 + 17*c) % 251,
					}[k%5] + f*11
					out.Data[i] = byte(v)
					i++
				}
			}
		}
	}
	if frames == 0 {
		out.Shape, out.Layout = out.Shape[1:], "HWC"
	}
	return out
}

// declare appends the function of the case.
func (c *augmentCase) declare(b *pipeline.Builder, images pipeline.Node) pipeline.Node {
	number := func(name string) int { v, _ := c.Args[name].(float64); return int(v) }
	numbers := func(name string) (list []float64) {
		switch v := c.Args[name].(type) {
		case float64:
			list = []float64{v}
		case []any:
			for _, x := range v {
				list = append(list, x.(float64))
			}
		}
		return list
	}
	words := func(name string) (list []string) {
		v, _ := c.Args[name].([]any)
		for _, x := range v {
			list = append(list, x.(string))
		}
		return list
	}
	common := dali.AugmentArgs{MaxTranslateAbs: numbers("max_translate_abs"),
		MaxTranslateRel: numbers("max_translate_rel"),
		Clamp:           c.Args["clamp"] != nil}
	if c.Args["seed"] != nil {
		common.Seed = op.Const(number("seed"))
	}
	if c.Args["fill_value"] != nil {
		common.FillValue = op.Const(number("fill_value"))
	}
	if c.Args["interp_type"] != nil {
		common.InterpType = op.Const(op.InterpNN)
	}
	switch shape := c.Args["shape"].(type) {
	case string:
		common.Shape = op.Of[[]int](images.Shape())
	case []any:
		common.Shape = op.Const([]int{int(shape[0].(float64)), int(shape[1].(float64))})
	}
	bins := number("num_magnitude_bins")
	switch c.Function {
	case "rand_augment":
		return dali.RandAugment(b, images, dali.RandAugmentArgs{N: number("n"), M: number("m"), NumMagnitudeBins: bins,
			NonMonotonic: c.Args["monotonic_mag"] == false, Excluded: words("excluded"), AugmentArgs: common})
	case "trivial_augment_wide":
		return dali.TrivialAugmentWide(b, images, dali.TrivialAugmentArgs{NumMagnitudeBins: bins,
			Excluded: words("excluded"), AugmentArgs: common})
	}
	policy, _ := c.Args["policy"].([]any)
	a := dali.AutoAugmentArgs{NumMagnitudeBins: bins, AugmentArgs: common}
	a.PolicyName, _ = c.Args["policy_name"].(string)
	for _, sub := range policy {
		var stages []string
		for _, s := range sub.([]any) {
			s := s.([]any)
			text := fmt.Sprint(s[0], " ", s[1])
			if s[2] != nil {
				text += fmt.Sprint(" ", s[2])
			}
			stages = append(stages, text)
		}
		a.Policy = append(a.Policy, strings.Join(stages, "; "))
	}
	return dali.AutoAugment(b, images, a)
}

// run runs the case and returns the images and the numbers that other operators draw.
func (c *augmentCase) run(t *testing.T) (images []tensor.Tensor, numbers [][2]float64) {
	t.Helper()
	source := pipeline.SampleFunc(func(_ context.Context, at pipeline.SampleInfo) ([]tensor.Tensor, error) {
		return []tensor.Tensor{augmentImage(int(at.IdxInEpoch), c.Frames)}, nil
	})
	spec := augmentImage(0, c.Frames).Spec()
	for i := range spec.Shape {
		spec.Shape[i] = -1
	}
	def, err := dali.Define(dali.PipelineOptions{Options: pipeline.Options{BatchSize: c.Batch, Workers: 2,
		Seed: uint64(c.Seed)}},
		func(b *pipeline.Builder) []pipeline.Node {
			data := pipeline.ExternalSource(b, source, pipeline.SourceOptions{Specs: []tensor.Spec{spec}})[0]
			before := fn.RandomUniform(b, fn.RandomUniformArgs{Range: op.Const([]float64{0, 1})})
			out := c.declare(b, data)
			return []pipeline.Node{out, fn.RandomCoinFlip(b, fn.RandomCoinFlipArgs{}), before}
		})
	if err != nil {
		t.Fatal(err)
	}
	p, err := def.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for range c.Iterations {
		batch, err := p.Run(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Batch {
			image, after, before := batch.Outputs[0].Sample(i), batch.Outputs[1].Sample(i), batch.Outputs[2].Sample(i)
			images = append(images, image.Clone())
			a, _ := op.Number(after, 0)
			v, _ := op.Number(before, 0)
			numbers = append(numbers, [2]float64{v, a})
		}
	}
	return images, numbers
}

// TestRecordedAugmentations: the images and the numbers of other operators are DALI's.
func TestRecordedAugmentations(t *testing.T) {
	cases := augmentCases(t)
	if len(cases) < 150 {
		t.Fatalf("%d cases", len(cases))
	}
	for i, c := range cases {
		t.Run(fmt.Sprint(i, c.Function, c.Args), func(t *testing.T) {
			r, err := zlib.NewReader(bytes.NewReader(c.Images))
			if err != nil {
				t.Fatal(err)
			}
			want, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			images, numbers := c.run(t)
			if !slices.Equal(numbers, c.Numbers) {
				t.Errorf("numbers %v, want %v", numbers, c.Numbers)
			}
			for k, got := range images {
				n := len(got.Data)
				if len(want) < n || !bytes.Equal(got.Data, want[:n]) {
					t.Fatalf("image %d, %v:\n%v\nwant\n%v", k, got, got.Data, want[:min(n, len(want))])
				}
				want = want[n:]
			}
		})
	}
}

// TestAugmentRefused: what DALI refuses is refused, with the argument.
func TestAugmentRefused(t *testing.T) {
	type declare func(b *pipeline.Builder, in pipeline.Node) pipeline.Node
	rand := func(a dali.RandAugmentArgs) declare {
		return func(b *pipeline.Builder, in pipeline.Node) pipeline.Node { return dali.RandAugment(b, in, a) }
	}
	auto := func(a dali.AutoAugmentArgs) declare {
		return func(b *pipeline.Builder, in pipeline.Node) pipeline.Node { return dali.AutoAugment(b, in, a) }
	}
	relative := dali.AugmentArgs{MaxTranslateRel: []float64{0.3}}
	absolute := dali.AugmentArgs{MaxTranslateAbs: []float64{3}, Shape: op.Const([]int{4, 4})}
	shaped := dali.AugmentArgs{Shape: op.Const([]int{4, 4})}
	for want, d := range map[string]declare{
		"argument n: invalid":           rand(dali.RandAugmentArgs{N: -1, M: 3}),
		"argument m: invalid":           rand(dali.RandAugmentArgs{N: 1, M: 31}),
		"argument num_magnitude_bins":   rand(dali.RandAugmentArgs{N: 1, NumMagnitudeBins: -1}),
		`did you mean "equalize"`:       rand(dali.RandAugmentArgs{N: 1, Excluded: []string{"equalise"}}),
		"set Shape, or use":             rand(dali.RandAugmentArgs{N: 1, AugmentArgs: relative}),
		"use max_translate_rel":         rand(dali.RandAugmentArgs{N: 1, AugmentArgs: absolute}),
		`did you mean "image_net"`:      auto(dali.AutoAugmentArgs{PolicyName: "imagenet"}),
		"leave these arguments out":     auto(dali.AutoAugmentArgs{PolicyName: "reduced_image_net", AugmentArgs: shaped}),
		"sub-policy 0":                  auto(dali.AutoAugmentArgs{Policy: []string{"rotate 1 11"}}),
		"a probability from 0 to 1":     auto(dali.AutoAugmentArgs{Policy: []string{"invert 2"}}),
		"policy or policy_name, got bo": auto(dali.AutoAugmentArgs{PolicyName: "svhn", Policy: []string{"invert 1"}}),
	} {
		o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: 1}}
		_, err := dali.Define(o, func(b *pipeline.Builder) []pipeline.Node {
			in := pipeline.ExternalSource(b, pipeline.Source{}, pipeline.SourceOptions{})[0]
			return []pipeline.Node{d(b, in)}
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestAugmentResumes: a pipeline in DALI mode, and one in Bivouac's, go on from a state in the
// middle.
func TestAugmentResumes(t *testing.T) {
	for _, native := range []bool{false, true} {
		def, err := dali.Define(dali.PipelineOptions{Options: pipeline.Options{BatchSize: 4, Seed: 5}, Native: native,
			EnableCheckpointing: !native}, func(b *pipeline.Builder) []pipeline.Node {
			source := pipeline.SampleFunc(func(_ context.Context, at pipeline.SampleInfo) ([]tensor.Tensor, error) {
				return []tensor.Tensor{augmentImage(int(at.IdxInEpoch)%2, 0)}, nil
			})
			in := pipeline.ExternalSource(b, source, pipeline.SourceOptions{})[0]
			in = dali.RandAugment(b, in, dali.RandAugmentArgs{N: 2, M: 9})
			in = dali.TrivialAugmentWide(b, in, dali.TrivialAugmentArgs{})
			return []pipeline.Node{dali.AutoAugment(b, in, dali.AutoAugmentArgs{})}
		})
		if err != nil {
			t.Fatal(err)
		}
		take := func(p *dali.Pipeline, n int) (images [][]byte) {
			for range n {
				batch, err := p.Run(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				for i := range 4 {
					images = append(images, slices.Clone(batch.Outputs[0].Sample(i).Data))
				}
			}
			return images
		}
		first, err := def.New(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		take(first, 3)
		state, err := first.AppendState(nil)
		if err != nil {
			t.Fatal(err)
		}
		second, err := def.New(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		if err := second.SetState(state); err != nil {
			t.Fatal(err)
		}
		if got, want := take(second, 3), take(first, 3); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("native %v: other images after a resume", native)
		}
	}
}
