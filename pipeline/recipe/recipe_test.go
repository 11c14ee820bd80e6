package recipe_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/recipe"
	"github.com/bivouac-ml/bivouac/tensor"
)

const good = `
about: Numbers.
settings: {low: 3, shape: [2], type: int32}
inputs: [given]
steps:
  - {name: first, op: random.uniform, args: {range: [0, 1], shape: $shape}}
  - {name: same, op: random.uniform, args: {range: [0, 1], shape: $shape}, draws: first}
  - {name: sum, apply: add, of: [given, low]}
  - {name: [sum], apply: mul, of: [sum, 2.5]}
  - {name: cast, op: cast, of: sum, args: {dtype: $type}}
outputs: [first, same, cast]
`

// run appends a recipe to a pipeline that is given 4, and returns the outputs of the first sample.
func run(t *testing.T, r *recipe.Recipe, set map[string]any) ([]tensor.Tensor, error) {
	t.Helper()
	def, err := pipeline.Define(pipeline.Options{BatchSize: 1}, func(b *pipeline.Builder) []pipeline.Node {
		given := b.Constant(pipeline.Constant{Value: int32(4)})
		return r.Append(b, set, given)
	})
	if err != nil {
		return nil, err
	}
	p, err := def.New(t.Context(), nil)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	batch, err := p.Next(t.Context())
	if err != nil {
		return nil, err
	}
	var out []tensor.Tensor
	for _, o := range batch.Outputs {
		out = append(out, o.Sample(0).Clone())
	}
	return out, nil
}

// TestRun: steps are appended in their order, names may occur again, settings can be changed.
func TestRun(t *testing.T) {
	r, err := recipe.Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if r.About() != "Numbers." || !slices.Equal(r.Inputs(), []string{"given"}) || !slices.Equal(r.Outputs(),
		[]string{"first", "same", "cast"}) ||
		r.Settings()["low"] != 3 {
		t.Errorf("%q %v %v %v", r.About(), r.Inputs(), r.Outputs(), r.Settings())
	}
	for _, c := range []struct {
		set  map[string]any
		want string
	}{{nil, "int32 [18]"}, {map[string]any{"low": 5}, "int32 [23]"}, {map[string]any{"type": "uint8"}, "uint8 [18]"},
		{map[string]any{"type": tensor.Uint8}, "uint8 [18]"}} {
		out, err := run(t, r, c.set)
		if err != nil {
			t.Fatal(err)
		}
		v := fmt.Sprint(out[2].DType, " [", out[2].Data[0], "]")
		if v != c.want {
			t.Errorf("%v: %s, want %s", c.set, v, c.want)
		}
		if !slices.Equal(out[0].Data, out[1].Data) || len(out[0].Data) != 8 {
			t.Errorf("%v and %v", out[0], out[1])
		}
	}
}

// TestRefused: a mistake has its line and what is known.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"about: Numbers.", "about: [1]", "a text"},
		{"about: Numbers.", "abuot: x", `did you mean "about"`},
		{"about: Numbers.", "inputs: [a]", "each name once"},
		{"inputs: [given]\n", "", "the field inputs"},
		{"outputs: [first, same, cast]\n", "", "the field outputs"},
		{"outputs: [first", "outputs: [fist", `did you mean "first"`},
		{"low: 3", "low: {a: 1}", "line 3"},
		{"low: 3", "low: null", "line 3"},
		{"op: cast", "op: casts", "line 10"},
		{"args: {dtype: $type}", "args: {dtipe: $type}", `did you mean "dtype"`},
		{"args: {dtype: $type}", "args: {dtype: $tipe}", `did you mean "type"`},
		{"args: {dtype: $type}", "args: {dtype: int31}", "line 10"},
		{"args: {dtype: $type}", "args: {dtype: 3}", "a name"},
		{"args: {dtype: $type}", "args: 3", "a mapping"},
		{"range: [0, 1], shape: $shape}}", "range: x}}", "argument range"},
		{"draws: first", "draws: frist", `did you mean "first"`},
		{"of: sum", "of: some", "an earlier step"},
		{"name: cast, ", "", "the field name"},
		{"op: cast, ", "", "op or apply"},
		{"op: cast, ", "op: cast, apply: add, ", "op or apply"},
		{"apply: add", "apply: ad", `did you mean "add"`},
		{"apply: add", "apply: sqrt", "line 8"},
		{"of: [given, low]}", "of: given}", "a list of operands"},
		{"of: [given, low]}", "of: [low, 3]}", "at least one name of a step"},
		{"of: [given, low]}", "of: [given, true]}", "a name or a number"},
		{"of: [given, low]}", "of: [given, low], args: {a: 1}}", "no args"},
		{"name: first", "name: low", "a name that no setting has"},
		{"steps:\n", "steps: &a\n", ""},
		{"[sum, 2.5]", "*x", "YAML"},
		{good, "", "an empty document"},
		{good, "a: [", "YAML"},
		{good, good + "---\n{}\n", "a second document"},
		{good, strings.Repeat("#", 1<<20+1), "at most"},
		{good, "- 1", "a mapping"},
	} {
		text := strings.Replace(good, c.from, c.to, 1)
		if text == good {
			t.Fatalf("%q is not in the document", c.from)
		}
		_, err := recipe.Parse([]byte(text))
		if c.want == "" {
			if err != nil {
				t.Errorf("%q: %v", c.to, err)
			}
			continue
		}
		var own *errs.Error
		if !errors.As(err, &own) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.to, err, c.want)
		}
	}
	var b strings.Builder
	b.WriteString("inputs: []\noutputs: [a]\nsteps:\n")
	for range 1001 {
		b.WriteString("  - {name: a, op: random.coin_flip}\n")
	}
	if _, err := recipe.Parse([]byte(b.String())); err == nil || !strings.Contains(err.Error(), "at most 1000 steps") {
		t.Errorf("%v", err)
	}
}

// TestAppendRefused: mistakes that show when a recipe is appended.
func TestAppendRefused(t *testing.T) {
	r, err := recipe.Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for want, set := range map[string]map[string]any{
		`did you mean "low"`:   {"lov": 3},
		"setting type":         {"type": "int31"},
		"line 6: argument sha": {"shape": "x"},
	} {
		if _, err := run(t, r, set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", set, err, want)
		}
	}
	_, err = pipeline.Define(pipeline.Options{BatchSize: 1},
		func(b *pipeline.Builder) []pipeline.Node { return r.Append(b, nil) })
	if err == nil || !strings.Contains(err.Error(), "inputs") {
		t.Errorf("no inputs: %v", err)
	}
	many, err := recipe.Parse([]byte(strings.Replace(good, "name: cast", "name: [cast, more]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, many, nil); err == nil || !strings.Contains(err.Error(), "at most 1 names") {
		t.Errorf("two names: %v", err)
	}
}

// TestRead: a file, no file, a directory and a file that is too large.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r.yaml")
	if err := os.WriteFile(path, []byte(good), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := recipe.Read(path); err != nil {
		t.Error(err)
	}
	if _, err := recipe.Read(filepath.Join(dir, "none.yaml")); errs.KindOf(err) != errs.NotFound {
		t.Errorf("%v", err)
	}
	if _, err := recipe.Read(dir); err == nil {
		t.Error("a directory")
	}
	if err := os.Truncate(path, 1<<20+1); err != nil {
		t.Fatal(err)
	}
	if _, err := recipe.Read(path); errs.KindOf(err) != errs.Exhausted {
		t.Errorf("%v", err)
	}
}

// FuzzParse: no document makes Parse panic.
func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add("inputs: &a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := recipe.Parse([]byte(text)); err == nil && r == nil {
			t.Error("no recipe and no error")
		}
	})
}

// TestSpatial: one step of a recipe transforms an image and all that belongs to it.
func TestSpatial(t *testing.T) {
	r, err := recipe.Parse([]byte(`
about: One transform.
inputs: [image]
steps:
  - {name: mask, op: reductions.max, of: image, args: {axes: [2]}}
  - {name: mirror, op: random.coin_flip, args: {probability: 1}}
  - name: [image, mask]
    op: spatial
    of: [image, mask]
    args: {targets: [image, mask], horizontal: $mirror, size: [2, 4]}
outputs: [image, mask]
`))
	if err != nil {
		t.Fatal(err)
	}
	def, err := pipeline.Define(pipeline.Options{BatchSize: 1}, func(b *pipeline.Builder) []pipeline.Node {
		return r.Append(b, nil, b.Constant(pipeline.Constant{Value: []uint8{1, 2}, Shape: []int{1, 2, 1}, Layout: "HWC"}))
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := def.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	batch, err := p.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := batch.Outputs[1].Sample(0).Data; !slices.Equal(got, []byte{2, 2, 1, 1, 2, 2, 1, 1}) {
		t.Errorf("the mask is %v", got)
	}
	if got := batch.Outputs[0].Sample(0).Shape; !slices.Equal(got, []int{2, 4, 1}) {
		t.Errorf("the image has the shape %v", got)
	}
}

// TestParseValue: a setting of a command line has the type that YAML gives it.
func TestParseValue(t *testing.T) {
	for text, want := range map[string]any{"3": 3, "0.5": 0.5, "true": true, "[1, 2.5]": []any{1, 2.5}, "a b": "a b",
		`"3"`: "3"} {
		if v, err := recipe.ParseValue(text); err != nil || fmt.Sprintf("%T %v", v, v) != fmt.Sprintf("%T %v", want, want) {
			t.Errorf("%s: %T %v, %v", text, v, v, err)
		}
	}
	for _, text := range []string{"", "{a: 1}", "[", "null", "[{a: 1}]", "2020-01-01"} {
		if v, err := recipe.ParseValue(text); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v, %v", text, v, err)
		}
	}
}

// TestNormalization: the last crop_mirror_normalize of an output says its mean and deviation.
func TestNormalization(t *testing.T) {
	r, err := recipe.Parse([]byte("settings: {deviation: [2, 3, 4], low: 1}\ninputs: [files]\nsteps:\n" +
		"  - {name: images, op: decoders.image, of: files}\n" +
		"  - {name: a, op: crop_mirror_normalize, of: images, args: {mean: 5, std: $deviation}}\n" +
		"  - {name: b, op: crop_mirror_normalize, of: images}\n" +
		"  - {name: drawn, op: random.uniform}\n" +
		"  - {name: c, op: crop_mirror_normalize, of: images, args: {mean: $drawn}}\noutputs: [a, b, c, images]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		output string
		set    map[string]any
		want   string
	}{{"a", nil, "[5] [2 3 4] true"}, {"a", map[string]any{"deviation": 7}, "[5] [7] true"}, {"b", nil, "[0] [1] true"},
		{"a", map[string]any{"deviation": "x"}, "[] [] false"}, {"c", nil, "[] [] false"}, {"images", nil, "[] [] false"}} {
		mean, std, ok := r.Normalization(c.output, c.set)
		if got := fmt.Sprint(mean, std, ok); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.output, c.set, got, c.want)
		}
	}
}

// TestDecodes: an input is decoded if its first step is a decoder.
func TestDecodes(t *testing.T) {
	r, err := recipe.Parse([]byte("inputs: [files, masks, unused]\nsteps:\n" +
		"  - {name: images, op: decoders.image, of: files}\n  - {name: masks, op: flip, of: masks}\noutputs: [images]\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"files": true, "masks": false, "unused": false, "images": false} {
		if r.Decodes(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}
