package op_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

type value struct{}

func (value) OpValue() {}

func TestArguments(t *testing.T) {
	type args struct {
		Name  string          `op:",name"`
		Plain int             `op:"plain"`
		List  []float64       `op:"list"`
		A     op.Arg[float64] `op:"a"`
		B     op.Arg[float64] `op:"b"`
		C     op.Arg[bool]    `op:"c"`
	}
	name, set, err := op.Arguments(args{Name: "n", List: []float64{1}, A: op.Const(0.0), C: op.Of[bool](value{})})
	want := map[string]op.Argument{"list": {Const: []float64{1}}, "a": {Const: 0.0}, "c": {From: value{}}}
	if d := cmp.Diff(want, set); err != nil || name != "n" || d != "" {
		t.Errorf("name %q, arguments (-want +got):\n%s", name, d)
	}
	name, set, err = op.Arguments(op.Args{"x": 3, "y": value{}, "name": "node"})
	if d := cmp.Diff(map[string]op.Argument{"x": {Const: 3}, "y": {From: value{}}}, set); err != nil || name != "node" || d != "" {
		t.Errorf("untyped (-want +got):\n%s", d)
	}
	if _, _, err := op.Arguments(3); !errors.Is(err, errs.Invalid) {
		t.Errorf("a number as arguments: %v", err)
	}
}

func schema() *op.Schema {
	return &op.Schema{Name: "thing", Module: []string{"test"}, Params: []op.Parameter{
		{Name: "size", Type: op.Ints, Required: true},
		{Name: "factor", Type: op.Float, Default: 1.0, PerSample: true},
		{Name: "path", Type: op.String, Tuning: true},
		{Name: "shape", Type: op.Ints},
	}}
}

func TestResolve(t *testing.T) {
	c, inputs, err := op.Resolve(schema(), "node", 1, map[string]op.Argument{
		"size": {Const: 3}, "factor": {From: value{}}, "path": {Const: "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"factor"}, inputs); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int{3}, op.Get[[]int](c, "size")); d != "" {
		t.Error(d)
	}
	if c.Has("shape") || !c.Has("factor") || op.Get[string](c, "path") != "x" {
		t.Error("Has or Get is wrong")
	}
	if got, want := c.Canonical(func(int) string { return "other" }), "size=[3] factor=other"; got != want {
		t.Errorf("canonical %q, want %q", got, want)
	}
	for _, set := range []map[string]op.Argument{
		{},
		{"size": {Const: "big"}},
		{"size": {Const: 1.5}},
		{"size": {From: value{}}},
		{"size": {Const: 1}, "factr": {Const: 1.0}},
	} {
		if _, _, err := op.Resolve(schema(), "node", 1, set); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "node node") {
			t.Errorf("%v: got %v", set, err)
		}
	}
	_, _, err = op.Resolve(schema(), "node", 1, map[string]op.Argument{"size": {Const: 1}, "factr": {Const: 1.0}})
	if err == nil || !strings.Contains(err.Error(), `did you mean "factor"?`) {
		t.Errorf("no proposal: %v", err)
	}
}

func TestCheckArgument(t *testing.T) {
	c, _, err := op.Resolve(schema(), "node", 1, map[string]op.Argument{"size": {Const: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		param string
		spec  tensor.Spec
		ok    bool
	}{
		{"factor", tensor.Spec{DType: tensor.Float32, Shape: tensor.Shape{}}, true},
		{"factor", tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{1}}, true},
		{"factor", tensor.Spec{DType: tensor.Float32}, true},
		{"factor", tensor.Spec{DType: tensor.Float32, Shape: tensor.Shape{-1}}, true},
		{"factor", tensor.Spec{DType: tensor.Float32, Shape: tensor.Shape{2}}, false},
		{"factor", tensor.Spec{DType: tensor.Complex64, Shape: tensor.Shape{}}, false},
		{"size", tensor.Spec{DType: tensor.Float32, Shape: tensor.Shape{2}}, false},
		{"size", tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{2}}, true},
		{"size", tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{2, 2}}, true},
	} {
		p, _ := c.Schema.Param(x.param)
		if err := c.CheckArgument(p, x.spec); (err == nil) != x.ok {
			t.Errorf("%s of %+v: got %v", x.param, x.spec, err)
		}
	}
}

func TestLookup(t *testing.T) {
	_, err := op.Lookup("decoders.imag")
	if !errors.Is(err, errs.NotFound) {
		t.Errorf("got %v", err)
	}
	for name, want := range map[string]string{"crp": "crop", "crop_h": "crop_w", "image": "decoders.image", "zzzzzz": ""} {
		got := op.Nearest(name, []string{"crop", "crop_w", "decoders.image", "cast"})
		if want != "" && !strings.Contains(got, `"`+want+`"`) || want == "" && got != "" {
			t.Errorf("nearest to %s: %s", name, got)
		}
	}
}

func TestRegisterRefuses(t *testing.T) {
	for what, s := range map[string]op.Schema{
		"no name":    {Outputs: []op.Port{{}}},
		"no outputs": {Name: "x"},
		"no kernel":  {Name: "x", Outputs: []op.Port{{}}},
		"bad default": {Name: "x", Outputs: []op.Port{{}}, Reader: true,
			Params: []op.Parameter{{Name: "a", Type: op.Int, Default: "b"}}},
		"twice": {Name: "x", Outputs: []op.Port{{}}, Reader: true,
			Params: []op.Parameter{{Name: "a", Type: op.Int}, {Name: "a", Type: op.Int}}},
	} {
		if err := s.Validate(); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func TestSaturate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64().Draw(t, "v")
		if got, want := op.Saturate[int8](v), int8(min(max(v, -128), 127)); got != want {
			t.Fatalf("int8 of %d: %d, want %d", v, got, want)
		}
		if got, want := op.Saturate[uint16](v), uint16(min(max(v, 0), 65535)); got != want {
			t.Fatalf("uint16 of %d: %d, want %d", v, got, want)
		}
		if got, want := op.Saturate[uint64](v), uint64(max(v, 0)); got != want {
			t.Fatalf("uint64 of %d: %d, want %d", v, got, want)
		}
		if f := float64(int32(v)); op.Round[int32](f) != int32(v) {
			t.Fatalf("round of %g: %d", f, op.Round[int32](f))
		}
	})
}

// lone is a kernel of single samples.
type lone struct{}

func (lone) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in, nil }
func (lone) Sample(*op.Block, int) error                   { return nil }

// Kernels of single samples that say more than Each passes on.
type (
	batched  struct{ lone }
	named    struct{ lone }
	regional struct{ lone }
	windowed struct{ lone }
)

func (batched) Batched() bool                                           { return true }
func (named) Identity() string                                          { return "with another decoder" }
func (regional) Region(*op.Block, int, int, int) (r op.Region, ok bool) { return r, false }
func (windowed) Windowed() bool                                         { return true }

func TestEachHidesNothing(t *testing.T) {
	if k := op.Each(lone{}); op.IsBatched(k) {
		t.Error("a kernel of single samples is batched")
	}
	for _, k := range []op.SampleKernel{batched{}, named{}, regional{}, windowed{}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Each took %T and hides what it implements", k)
				}
			}()
			op.Each(k)
		}()
	}
}
