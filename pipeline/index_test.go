package pipeline_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// grid is 0 … 11 in three rows, layout HW.
func grid(p *pipeline.Builder) pipeline.Node {
	return p.Constant(pipeline.Constant{Value: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, Shape: []int{3, 4},
		Layout: "HW"})
}

func TestIndex(t *testing.T) {
	type r = pipeline.Range
	for _, c := range []struct {
		what         string
		indices      []any
		want, layout string
	}{
		{"a row", []any{1}, "int32[4] 4 5 6 7", "W"},
		{"the last row", []any{-1}, "int32[4] 8 9 10 11", "W"},
		{"a column", []any{r{}, 2}, "int32[3] 2 6 10", "H"},
		{"an element", []any{2, 3}, "int32[] 11", ""},
		{"rows", []any{r{Start: 1}}, "int32[2,4] 4 5 6 7 8 9 10 11", "HW"},
		{"columns", []any{r{}, r{Start: -3, Stop: 3}}, "int32[3,2] 1 2 5 6 9 10", "HW"},
		{"mirrored", []any{r{Step: -1}, r{Step: -2}}, "int32[3,2] 11 9 7 5 3 1", "HW"},
		{"backwards", []any{0, r{Start: 2, Stop: 0, Step: -1}}, "int32[2] 2 1", "W"},
		{"none", []any{r{Start: 2, Stop: 1}}, "int32[0,4] ", "HW"},
		{"no index", nil, "int32[3,4] 0 1 2 3 4 5 6 7 8 9 10 11", "HW"},
		{"all", []any{r{}, r{}}, "int32[3,4] 0 1 2 3 4 5 6 7 8 9 10 11", "HW"},
		{"a new axis", []any{r{}, pipeline.NewAxis{}, 2}, "int32[3,1] 2 6 10", ""},
		{"a named axis", []any{pipeline.NewAxis{Name: "C"}, 1}, "int32[1,4] 4 5 6 7", "CW"},
		{"a new axis behind", []any{r{}, r{}, pipeline.NewAxis{Name: "C"}}, "int32[3,4,1] 0 1 2 3 4 5 6 7 8 9 10 11", "HWC"},
	} {
		out := once(t, func(p *pipeline.Builder) []pipeline.Node { return []pipeline.Node{grid(p).Index(c.indices...)} })
		if got := text(out[0]); got != c.want || out[0].Layout != c.layout {
			t.Errorf("%s: %s %q, want %s %q", c.what, got, out[0].Layout, c.want, c.layout)
		}
	}
}

// Each sample is indexed by its own number.
func TestIndexPerSample(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 6}, func(p *pipeline.Builder) []pipeline.Node {
		row := fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{DType: tensor.Int32})
		return []pipeline.Node{row, grid(p).Index(row, pipeline.Range{Start: row})}
	})
	for range 5 {
		b := next(t, p)
		for s := range 6 {
			want := "int32[4] 0 1 2 3"
			if b.Outputs[0].Sample(s).Data[0] == 1 {
				want = "int32[3] 5 6 7"
			}
			if got := text(b.Outputs[1].Sample(s)); got != want {
				t.Errorf("sample %d: %s, want %s", s, got, want)
			}
		}
	}
}

func TestIndexIsWhatGoTakes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(r, "length")
		values := make([]int, n)
		for i := range values {
			values[i] = 10 * i
		}
		var rng pipeline.Range
		lo, hi, step := 0, n, 1
		if rapid.Bool().Draw(r, "has step") {
			step = rapid.SampledFrom([]int{-3, -2, -1, 1, 2, 3}).Draw(r, "step")
			rng.Step = step
		}
		if step < 0 {
			lo, hi = n-1, -1
		}
		if rapid.Bool().Draw(r, "has start") {
			lo = rapid.IntRange(0, n-1).Draw(r, "start")
			rng.Start = lo
			if rapid.Bool().Draw(r, "from the end") {
				rng.Start = lo - n
			}
		}
		if rapid.Bool().Draw(r, "has stop") {
			hi = rapid.IntRange(0, n-1).Draw(r, "stop")
			rng.Stop = hi
		}
		want := []int{}
		for i := lo; step > 0 && i < hi || step < 0 && i > hi; i += step {
			want = append(want, values[i])
		}
		out := once(t, func(p *pipeline.Builder) []pipeline.Node {
			return []pipeline.Node{p.Constant(pipeline.Constant{Value: values}).Index(rng)}
		})
		got := []int{}
		for i := 0; i < len(out[0].Data); i += 4 {
			got = append(got, int(int32(binary.LittleEndian.Uint32(out[0].Data[i:]))))
		}
		if d := cmp.Diff(want, got); d != "" {
			r.Fatalf("%+v of %d (-want +got):\n%s", rng, n, d)
		}
	})
}

func TestShapeAndProperty(t *testing.T) {
	out := once(t, func(p *pipeline.Builder) []pipeline.Node {
		x := grid(p)
		return []pipeline.Node{x.Shape(), x.ShapeAs(tensor.Float32), x.Property("layout")}
	})
	for i, want := range []string{"int64[2] 3 4", "float32[2] 3 4", "uint8[2] 72 87"} {
		if got := text(out[i]); got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
	dir := dataset(t, 3)
	p := start(t, pipeline.Options{BatchSize: 2}, func(p *pipeline.Builder) []pipeline.Node {
		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: dir})
		images := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
		return []pipeline.Node{jpegs.Property("source_info"), images.Add(1).Property("source_info"),
			labels.Property("source_info")}
	})
	b := next(t, p)
	for i, want := range []string{"ant/0000.jpg", "ant/0000.jpg", ""} {
		if got := string(b.Outputs[i].Sample(0).Data); got != want {
			t.Errorf("output %d is from %q, want %q", i, got, want)
		}
	}
}

func TestIndexMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		of   func(p *pipeline.Builder) pipeline.Node
		says string
	}{
		"float":           {func(p *pipeline.Builder) pipeline.Node { return grid(p).Index(1.5) }, "index 0"},
		"text":            {func(p *pipeline.Builder) pipeline.Node { return grid(p).Index(0, "1") }, "index 1"},
		"a float node":    {func(p *pipeline.Builder) pipeline.Node { return grid(p).Index(uniform(p, "")) }, "at_0"},
		"start":           {func(p *pipeline.Builder) pipeline.Node { return grid(p).Index(pipeline.Range{Start: 1.5}) }, "index 0"},
		"too many":        {func(p *pipeline.Builder) pipeline.Node { return grid(p).Index(0, 0, 0) }, "3"},
		"too many ranges": {func(p *pipeline.Builder) pipeline.Node { r := pipeline.Range{}; return grid(p).Index(r, r, r) }, "3"},
		"outside":         {func(p *pipeline.Builder) pipeline.Node { return grid(p).Index(3) }, "3"},
		"step 0":          {func(p *pipeline.Builder) pipeline.Node { return grid(p).Index(pipeline.Range{Step: 0}) }, "step"},
		"some names": {func(p *pipeline.Builder) pipeline.Node {
			return grid(p).Index(pipeline.NewAxis{Name: "A"}, pipeline.NewAxis{})
		}, "names of new axes"},
		"unknown property": {func(p *pipeline.Builder) pipeline.Node { return grid(p).Property("colour") }, "colour"},
	} {
		_, err := pipeline.Define(pipeline.Options{},
			func(p *pipeline.Builder) []pipeline.Node { return []pipeline.Node{c.of(p)} })
		if !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want one that says %q", name, err, c.says)
		}
	}
	if n := (pipeline.Node{}); n.Index(0).Shape().Property("layout") != n {
		t.Error("of nothing comes something")
	}
}
