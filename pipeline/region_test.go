package pipeline_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A region that differs per sample is cut out of what the reader read.
func TestRegionPerSample(t *testing.T) {
	ctx := context.Background()
	_, args, err := readertest.Numpy(t.TempDir(), 8) // i%4+1 rows of 3
	if err != nil {
		t.Fatal(err)
	}
	starts := pipeline.SampleFunc(func(_ context.Context, s pipeline.SampleInfo) ([]tensor.Tensor, error) {
		return []tensor.Tensor{tensor.FromSlice([]int32{int32(s.IdxInEpoch % 3)}, 1)}, nil
	})
	define := func(more op.Args) (*pipeline.Definition, error) {
		return pipeline.Define(pipeline.Options{BatchSize: 4}, func(p *pipeline.Builder) []pipeline.Node {
			all := op.Args{"name": "r", "file_root": args["file_root"]}
			for k, v := range more {
				all[k] = v
			}
			if all["roi_start"] == nil {
				all["roi_start"] = pipeline.ExternalSource(p, starts, pipeline.SourceOptions{})[0]
			}
			return p.Op("readers.numpy", all)
		})
	}
	for _, c := range []struct {
		name  string
		args  op.Args
		shape func(i int) []int
	}{
		{"columns", op.Args{"roi_axes": []int{1}}, func(i int) []int { return []int{i%4 + 1, 3 - i%3} }},
		{"one column", op.Args{"roi_axes": []int{-1}, "roi_shape": []int{1}}, func(i int) []int { return []int{i%4 + 1, 1} }},
		{"rows, filled", op.Args{"roi_axes": []int{0}, "roi_shape": 5, "out_of_bounds_policy": "pad", "fill_value": -1.0},
			func(int) []int { return []int{5, 3} }},
	} {
		def, err := define(c.args)
		if err != nil {
			t.Fatal(c.name, err)
		}
		p, err := def.New(ctx, nil)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if len(p.Readers()) != 1 || p.Readers()[0].Name != "r" {
			t.Errorf("%s: readers %+v", c.name, p.Readers())
		}
		for first := 0; first < 8; first += 4 {
			batch, err := p.Next(ctx)
			if err != nil {
				t.Fatal(c.name, err)
			}
			for s := range 4 {
				i, got := first+s, batch.Outputs[0].Sample(s)
				values, err := tensor.Of[int32](got)
				if err != nil || !slices.Equal([]int(got.Shape), c.shape(i)) {
					t.Errorf("%s, sample %d: %v, %v, want %v", c.name, i, got, err, c.shape(i))
					continue
				}
				inside := func(v int32) bool { return v == int32(i) }
				if c.name == "rows, filled" {
					rows := max(0, i%4+1-i%3)
					for k, v := range values {
						if want := k < 3*rows; inside(v) != want || !want && v != -1 {
							t.Errorf("%s, sample %d: %v", c.name, i, values)
							break
						}
					}
				} else if len(values) > 0 && slices.ContainsFunc(values, func(v int32) bool { return !inside(v) }) {
					t.Errorf("%s, sample %d: %v", c.name, i, values)
				}
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	both := op.Args{"roi_axes": []int{1}, "roi_end": []int{1}, "roi_shape": []int{1}}
	if _, err := define(both); !errors.Is(err, errs.Invalid) {
		t.Errorf("end and shape: %v", err)
	}
	if _, err := define(op.Args{"roi_axes": "x"}); !errors.Is(err, errs.Invalid) {
		t.Errorf("axes that are a text: %v", err)
	}
}
