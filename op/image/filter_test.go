package image

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A filter sums its products in the order of the weights, whatever code makes them: rows that are
// made together, single rows, and images with infinities.
func TestFilterSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, w := rapid.IntRange(1, 14).Draw(t, "h"), rapid.IntRange(1, 40).Draw(t, "w")
		c := rapid.IntRange(1, 4).Draw(t, "c")
		kh, kw := rapid.IntRange(1, min(h, 6)).Draw(t, "kh"), rapid.IntRange(1, min(w, 6)).Draw(t, "kw")
		image := floatsOf(t, "HWC", h, w, c)
		zeros := rapid.IntRange(0, 2).Draw(t, "zeros")
		weights := floatsOf(t, "", kh, kw)
		list, _ := tensor.Of[float32](weights)
		for i := range list {
			if zeros > 0 && i%3 < zeros {
				list[i] = 0
			}
		}
		list[0] = 1 // not all are zero
		if pixels, _ := tensor.Of[float32](image); rapid.Bool().Draw(t, "infinite") {
			pixels[len(pixels)/2] = float32(math.Inf(1))
		}
		r, err := optest.Run(optest.Case{Op: "filter", Args: op.Args{"mode": "valid"},
			Inputs: [][]tensor.Tensor{{image}, {weights}}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := tensor.Of[float32](r.Outputs[0][0])
		if err != nil {
			t.Fatal(err)
		}
		pixels, _ := tensor.Of[float32](image)
		row := (w - kw + 1) * c
		for i := range got {
			y, x := i/row, i%row
			var sum float32
			for k, v := range list {
				if p := pixels[(y+k/kw)*w*c+k%kw*c+x]; v != 0 && x < row&^7 {
					sum = kernel.Fuse(v, p, sum)
				} else if v != 0 {
					sum += float32(v * p)
				}
			}
			if sum += 0; math.Float32bits(sum) != math.Float32bits(got[i]) && (sum == sum || got[i] == got[i]) {
				t.Fatalf("sum %d of row %d: got %v, want %v", x, y, got[i], sum)
			}
		}
	})
}

// floatsOf returns a tensor of numbers between -100 and 100.
func floatsOf(t *rapid.T, layout string, shape ...int) tensor.Tensor {
	x := tensor.New(tensor.Float32, shape...)
	x.Layout = layout
	list, err := tensor.Of[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	random := rapid.Uint64().Draw(t, "seed")
	for i := range list {
		random = random*6364136223846793005 + 1442695040888963407
		list[i] = float32(int64(random)>>40) / (1 << 17)
	}
	return x
}
