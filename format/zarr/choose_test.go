package zarr

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// What Orbax 0.12.8 chose.
func TestChooseChunkAsOrbax(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "testdata", "orbax-pure", "chunks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Global tensor.Shape `json:"global_shape"`
		Write  tensor.Shape `json:"write_shape"`
		DType  string       `json:"dtype"`
		Target int          `json:"target_byte_size"`
		Axes   []int        `json:"shard_axes"`
		Result tensor.Shape `json:"result"`
		Error  string       `json:"error"`
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) == 0 {
		t.Fatal(len(cases), err)
	}
	for i, c := range cases {
		d, err := tensor.ParseDType(c.DType)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ChooseChunk(c.Global, c.Write, d, ChunkOptions{Bytes: c.Target, Axes: c.Axes})
		if (c.Error != "") != (errs.KindOf(err) == errs.Invalid) || !got.Equal(c.Result) {
			t.Errorf("case %d, %+v: got %v, %v", i, c, got, err)
		}
	}
}

func TestChooseChunkRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		shape, part tensor.Shape
		d           tensor.DType
		o           ChunkOptions
	}{
		"rank":           {tensor.Shape{2}, tensor.Shape{2, 1}, tensor.Int8, ChunkOptions{}},
		"negative axis":  {tensor.Shape{2}, tensor.Shape{2}, tensor.Int8, ChunkOptions{Axes: []int{-1}}},
		"axis":           {tensor.Shape{2}, tensor.Shape{2}, tensor.Int8, ChunkOptions{Axes: []int{1}}},
		"below one":      {tensor.Shape{2}, tensor.Shape{2}, tensor.Int32, ChunkOptions{Bytes: 3}},
		"negative bytes": {tensor.Shape{2}, tensor.Shape{2}, tensor.Int32, ChunkOptions{Bytes: -1}},
		"dtype":          {tensor.Shape{2}, tensor.Shape{2}, tensor.Invalid, ChunkOptions{}},
		"negative":       {tensor.Shape{-2}, tensor.Shape{2}, tensor.Int8, ChunkOptions{}},
		"too much":       {tensor.Shape{1 << 62}, tensor.Shape{1}, tensor.Int32, ChunkOptions{}},
	} {
		if got, err := ChooseChunk(c.shape, c.part, c.d, c.o); errs.KindOf(err) != errs.Invalid || got != nil {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

// A chunk divides the part, takes at most the bound, and is 1 along the axes asked for; without a
// bound it is the part, except along these axes.
func TestChooseChunkLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := tensor.Shape(rapid.SliceOfN(rapid.IntRange(0, 300), 0, 4).Draw(t, "part"))
		shape := part.Clone()
		for i := range shape {
			shape[i] *= rapid.IntRange(1, 3).Draw(t, "parts")
		}
		o := ChunkOptions{Bytes: rapid.IntRange(4, 4096).Draw(t, "bytes")}
		if rapid.Bool().Draw(t, "no bound") {
			o.Bytes = 0
		}
		if len(part) > 0 {
			o.Axes = rapid.SliceOfN(rapid.IntRange(0, len(part)-1), 0, 3).Draw(t, "axes")
		}
		chunk, err := ChooseChunk(shape, part, tensor.Float32, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range chunk {
			if n < 1 || max(1, part[i])%n != 0 {
				t.Fatalf("%v does not divide %v", chunk, part)
			}
		}
		for _, axis := range o.Axes {
			if chunk[axis] != 1 {
				t.Fatalf("%v is not cut along %d", chunk, axis)
			}
		}
		if o.Bytes > 0 && chunk.Len()*4 > o.Bytes {
			t.Fatalf("%v takes more than %d bytes", chunk, o.Bytes)
		}
		if o.Bytes == 0 && len(o.Axes) == 0 && chunk.Len() < part.Len() {
			t.Fatalf("%v without a bound of %v", chunk, part)
		}
	})
}
