package recipes_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/recipes"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestPresets: with settings that leave nothing to draw, the recipes give what torchvision and timm
// give, except for roundings when an image is resized: Pillow rounds after each of two passes.
func TestPresets(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "testdata", "recipes", "presets.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Recipe      string
			Image       int
			Size, Shape []int
			Set         map[string]any
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
	center, std := [3]float32{123.675, 116.28, 103.53}, [3]float32{58.395, 57.12, 57.375}
	for i, c := range file.Cases {
		rec, err := recipes.Get(c.Recipe)
		if err != nil {
			t.Fatal(err)
		}
		def, err := pipeline.Define(pipeline.Options{BatchSize: 1, Seed: 3}, func(b *pipeline.Builder) []pipeline.Node {
			source := pipeline.SampleFunc(func(context.Context, pipeline.SampleInfo) ([]tensor.Tensor, error) {
				_, file := made(c.Image, c.Size[0], c.Size[1])
				return []tensor.Tensor{file, tensor.New(tensor.Uint8, c.Size[0], c.Size[1], 1)}[:len(rec.Inputs())], nil
			})
			specs := []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}, {DType: tensor.Uint8,
				Shape: tensor.Shape{-1, -1, 1}, Layout: "HWC"}}
			return rec.Append(b, settings(rec.Settings(), c.Set), pipeline.ExternalSource(b, source, pipeline.SourceOptions{
				Outputs: len(rec.Inputs()), Specs: specs[:len(rec.Inputs())]})...)
		})
		if err != nil {
			t.Fatalf("case %d, %s %v: %v", i, c.Recipe, c.Set, err)
		}
		p, err := def.New(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		batch, err := p.Next(t.Context())
		if err != nil {
			t.Fatalf("case %d, %s %v: %v", i, c.Recipe, c.Set, err)
		}
		got := batch.Outputs[0].Sample(0)
		h, w := c.Shape[0], c.Shape[1]
		if !got.Shape.Equal(tensor.Shape{3, h, w}) {
			t.Fatalf("case %d, %s %v: %v, want %v", i, c.Recipe, c.Set, got, c.Shape)
		}
		values, err := tensor.Of[float32](got)
		if err != nil {
			t.Fatal(err)
		}
		worst, differ, sum := 0, 0, 0
		for ch := range 3 {
			for j := range h * w {
				v := int(values[ch*h*w+j]*std[ch] + center[ch] + 0.5)
				d := max(v-int(want[j*3+ch]), int(want[j*3+ch])-v)
				worst, sum = max(worst, d), sum+d
				if d > 0 {
					differ++
				}
			}
		}
		most, mean := 0, 0.0 // of the differences
		if resized := c.Size[0] != h || c.Size[1] != w; resized {
			// Pixels at the border differ more: Pillow's filter ends there, ours repeats the border.
			most, mean = 16, 0.7
			if c.Recipe == "torchvision-eval" { // takes the middle
				most = 1
			}
		}
		if worst > most || float64(sum) > mean*float64(h*w*3) {
			t.Errorf("case %d, %s %v, image %d of %v: %d of %d bytes differ, by up to %d, by %.3f on average", i, c.Recipe,
				c.Set["augmentations"], c.Image, c.Size, differ, h*w*3, worst, float64(sum)/float64(h*w*3))
		}
		if worst > 0 {
			t.Logf("%s %v to %v: by up to %d, by %.3f on average", c.Recipe, c.Size, c.Shape, worst, float64(sum)/float64(h*w*3))
		}
		want = want[h*w*3:]
		p.Close()
	}
}

// settings returns the settings of a case that the recipe has.
func settings(known, set map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range set {
		if _, ok := known[k]; ok {
			out[k] = whole(v)
		}
	}
	return out
}

// whole returns v with integers for numbers that are whole.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int(v)) {
			return int(v)
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = whole(v[i])
		}
		return list
	}
	return v
}

// TestSuites: the suites and the policy of the recipes are the ones that the tests of the operators
// hold against torchvision and timm.
func TestSuites(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "testdata", "recipes", "augment.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Suites map[string][]string
		Policy []string
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	for name, suite := range map[string]string{
		"torchvision-train-rand": "torchvision rand", "torchvision-train-trivial": "torchvision trivial",
		"torchvision-train-auto": "torchvision auto", "timm-train": "timm rand",
	} {
		r, err := recipes.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		got, want := fmt.Sprint(r.Settings()["augmentations"]), fmt.Sprint(file.Suites[suite])
		if got != want || len(want) < 20 {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if policy, ok := r.Settings()["policy"]; ok && fmt.Sprint(policy) != fmt.Sprint(file.Policy) {
			t.Errorf("%s: %s, want %s", name, policy, file.Policy)
		}
	}
}
