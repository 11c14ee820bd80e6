package dali_test

import (
	"context"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A region that another operator draws: the values that DALI 2.4.0 gave. The reader gets its seed
// after that operator, although a node behind the reader takes the region.
func TestDrawnRegion(t *testing.T) {
	t.Chdir("../../testdata/readers/data")
	o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: 3, Seed: 5, Workers: 1}}
	def, err := dali.Define(o, func(p *pipeline.Builder) []pipeline.Node {
		start := p.Op("random.uniform", op.Args{"range": []float64{0, 2.4}, "shape": []int{2}, "dtype": tensor.Int32})
		return append(p.Op("readers.numpy", op.Args{"files": []string{"npy/A.npy", "npy/F.npy"}, "roi_start": start[0],
			"roi_shape": []int{2, 3}, "out_of_bounds_policy": "pad", "fill_value": 2.5}), start...)
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := def.New(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, want := range [][][]float32{
		{{4, 5, 6, 8, 9, 10}, {1, 2, 3, 5, 6, 7}, {0, 1, 2, 4, 5, 6}},
		{{2, 3, 2.5, 6, 7, 2.5}, {5, 6, 7, 9, 10, 11}, {5, 6, 7, 9, 10, 11}},
	} {
		batch, err := p.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range want {
			if got, err := tensor.Of[float32](batch.Outputs[0].Sample(i)); err != nil || !slices.Equal(got, w) {
				t.Errorf("sample %d: got %v, %v, want %v", i, got, err, w)
			}
		}
	}
}
