package dalivec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

func openSet(t *testing.T) *Set {
	t.Helper()
	dir, _, ok := Find()
	if !ok {
		t.Skip("the vectors are not there")
	}
	set, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// What is recorded of an output is decoded to the bytes of the recorded hash, if there is a hash,
// and every input and argument can be made.
func TestEverythingIsDecoded(t *testing.T) {
	set := openSet(t)
	groups, err := set.Groups()
	if err != nil || len(groups) == 0 {
		t.Fatal(groups, err)
	}
	for _, g := range groups {
		cases, err := set.Cases(g)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if (c.Op == "") == (c.Expr == "") || (c.Error == nil) == (len(c.Outputs) == 0) {
				t.Errorf("%s: neither or both of operator and expression, or of error and outputs", c.Name)
			}
			if _, err := set.Batches(c.Inputs); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			if _, err := c.arguments(); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
			for i := range c.Outputs {
				o := &c.Outputs[i]
				a, ok, err := set.Tensor(&o.Value, "ops/"+g+"/"+c.Name)
				sum := sha256.Sum256(a.Data)
				if err != nil || ok && o.SHA256 != "" && hex.EncodeToString(sum[:]) != o.SHA256 {
					t.Errorf("%s: output %d: %v, or another hash", c.Name, i, err)
				}
			}
		}
	}
}

// No rule leaves more elements to chance than the share that bounds all.
func TestRulesHaveShares(t *testing.T) {
	set := openSet(t)
	named := 0
	for i := range set.rules {
		if r := set.rules[i].tolerance; r.Rounding > 0 && (r.Rounding > 1 || r.Bias == nil || *r.Bias > 0.05) {
			t.Errorf("rule %d: roundings of %g with a bias of %v", i, r.Rounding, r.Bias)
		}
		if m := set.rules[i].tolerance.Mismatch; m != nil {
			named++
			if *m > largestShare {
				t.Errorf("rule %d: a share of %g", i, *m)
			}
		}
	}
	if named < 10 {
		t.Errorf("%d rules name a share", named)
	}
}

func TestRulesAreFound(t *testing.T) {
	set := openSet(t)
	enum := func(name string) map[string]any { return map[string]any{"type": name} }
	fraction, hundredth := 0.02, 0.01
	oneLevel := Tolerance{Abs: 1, Mismatch: &fraction}
	for name, c := range map[string]struct {
		x    Subject
		want Tolerance
	}{
		"nothing fits":          {Subject{Group: "tensor", Op: "flip", DType: "UINT8"}, Tolerance{}},
		"section":               {Subject{Section: "order", Op: "random.normal", DType: "FLOAT"}, Tolerance{}},
		"section and op":        {Subject{Section: "rng", Op: "noise.shot", DType: "UINT8"}, Tolerance{Mismatch: &hundredth, Unbounded: true}},
		"other dtype":           {Subject{Group: "resize", Op: "resize", DType: "INT32"}, Tolerance{Abs: 2, Mismatch: &fraction}},
		"unsolved":              {Subject{Group: "resize", Op: "resize", DType: "FLOAT", Case: "0398_GAUSSIAN_f32"}, Tolerance{RelMax: 5e-6}},
		"argument":              {Subject{Group: "resize", Op: "resize", DType: "UINT8", Args: map[string]any{"interp_type": enum("INTERP_NN")}}, Tolerance{}},
		"other argument":        {Subject{Group: "resize", Op: "resize", DType: "UINT8", Args: map[string]any{"interp_type": enum("INTERP_LINEAR")}}, oneLevel},
		"any value":             {Subject{Group: "audio", Op: "decoders.audio", DType: "FLOAT", File: "a.ogg", Args: map[string]any{"sample_rate": json.Number("8000")}}, Tolerance{Abs: 4e-4, Rel: 1e-6}},
		"argument absent":       {Subject{Group: "audio", Op: "decoders.audio", DType: "FLOAT", File: "a.ogg"}, Tolerance{Abs: 2e-4}},
		"true":                  {Subject{Group: "decode", Op: "decoders.image", Args: map[string]any{"use_fast_idct": true}}, Tolerance{Abs: 6}},
		"pattern of op":         {Subject{Group: "decode", Op: "decoders.image_crop", DType: "FLOAT"}, Tolerance{Abs: 2e-7, Rel: 2e-7}},
		"pattern of files":      {Subject{Group: "decode", Op: "decoders.image", File: "x_cmyk.jpg", Args: map[string]any{"output_type": enum("GRAY")}}, Tolerance{Abs: 1}},
		"expression":            {Subject{Group: "arith", Expr: "math.tan(a)", DType: "FLOAT"}, Tolerance{Abs: 1e-7, Rel: 1e-6}},
		"expression, other":     {Subject{Group: "arith", Expr: "a+b", DType: "FLOAT"}, Tolerance{}},
		"output":                {Subject{Section: "graph", Graph: "g03_train", Output: 1}, Tolerance{}},
		"output that is listed": {Subject{Section: "graph", Graph: "g03_train", Output: 0}, Tolerance{Abs: 0.016, Mismatch: &fraction}},
	} {
		got := set.Tolerance(c.x)
		got.Why = ""
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestCompare(t *testing.T) {
	f := func(v ...float32) tensor.Tensor { return tensor.FromSlice(v, len(v)) }
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	half, all := 0.5, 1.0
	for name, c := range map[string]struct {
		got, want tensor.Tensor
		tol       Tolerance
		fails     string // part of the text; empty: equal
	}{
		"same":                {f(1, nan, inf), f(1, nan, inf), Tolerance{}, ""},
		"zeros and NaNs":      {f(0, -nan), f(float32(math.Copysign(0, -1)), nan), Tolerance{}, ""},
		"last bit":            {f(1), f(math.Nextafter32(1, 2)), Tolerance{}, "1 of 1 elements differ"},
		"absolute":            {f(1.5, 3), f(1, 3), Tolerance{Abs: 0.5, Mismatch: &half}, ""},
		"one of a few":        {f(1.5, 3), f(1, 3), Tolerance{Abs: 0.5}, "a share of 0.5 by more than rounding"},
		"beyond absolute":     {f(3, 1.6), f(3, 1), Tolerance{Abs: 0.5}, "at [1] got 1.6, want 1"},
		"relative":            {f(110), f(100), Tolerance{Rel: 0.1, Mismatch: &all}, ""},
		"relative to largest": {f(10, 200), f(0, 200), Tolerance{RelMax: 0.05, Mismatch: &half}, ""},
		"infinite is no max":  {f(10, inf), f(0, inf), Tolerance{RelMax: 0.05}, "1 beyond"},
		"NaN for a number":    {f(nan), f(1), Tolerance{Abs: 100}, "1 beyond"},
		"number for NaN":      {f(1), f(nan), Tolerance{Abs: 100}, "1 beyond"},
		"infinity":            {f(1), f(inf), Tolerance{Abs: 100}, "1 beyond"},
		"few differ":          {f(1, 2), f(2, 2), Tolerance{Abs: 1, Mismatch: &half}, ""},
		"too many differ":     {f(1, 1), f(2, 2), Tolerance{Abs: 1, Mismatch: &half}, "2 of 2 elements differ, 0 beyond"},
		"unbounded":           {f(1, 900), f(1, 2), Tolerance{Mismatch: &half, Unbounded: true}, ""},
		"large integers": {
			tensor.FromSlice([]int64{1 << 60}, 1), tensor.FromSlice([]int64{1<<60 + 1}, 1), Tolerance{}, "got 1152921504606846976, want 1152921504606846977",
		},
		"position": {tensor.FromSlice([]uint8{1, 2, 3, 4, 5, 6}, 2, 3), tensor.FromSlice([]uint8{1, 2, 3, 4, 9, 6}, 2, 3), Tolerance{}, "at [1 1] got 5, want 9"},
	} {
		err := Compare(c.got, c.want, c.tol)
		if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s: got %v, want %q", name, err, c.fails)
		}
	}
}

// A tolerance of one level is for rounding. A formula with an error of one level everywhere, or
// always in one direction, is within the tolerance at every element, and must fail. A formula that
// is off at few elements, by a little and always the same, must fail too.
func TestCompareHasBoundsOnAllElements(t *testing.T) {
	const n = 1000
	levels := func(off func(i int) int) (got, want tensor.Tensor) {
		want = tensor.New(tensor.Uint8, n)
		got = tensor.New(tensor.Uint8, n)
		for i := range n {
			want.Data[i] = 100
			got.Data[i] = uint8(100 + off(i))
		}
		return got, want
	}
	floats := func(off func(i int) float32) (got, want tensor.Tensor) {
		a, b := make([]float32, n), make([]float32, n)
		for i := range n {
			b[i] = 1 + float32(i%7)/8
			a[i] = b[i] + off(i)
		}
		return tensor.FromSlice(a, n), tensor.FromSlice(b, n)
	}
	every := func(k, up, down int) func(int) int {
		return func(i int) int {
			switch {
			case i%k != 0:
				return 0
			case i/k%2 == 0:
				return up
			}
			return down
		}
	}
	share, bias := 0.6, 0.5
	for name, c := range map[string]struct {
		off   func(i int) int
		tol   Tolerance
		fails string
	}{
		"rounding, both ways":         {every(60, 1, -1), Tolerance{Abs: 1}, ""},
		"a tenth, both ways":          {every(10, 1, -1), Tolerance{Abs: 1}, "a share of 0.1 "},
		"a tenth, as the rule allows": {every(10, 1, -1), Tolerance{Abs: 1, Mismatch: &share}, ""},
		"few, all one way":            {every(50, 1, 1), Tolerance{Abs: 1}, "a signed mean of 0.02"},
		"half, all one way":           {every(2, 1, 1), Tolerance{Abs: 1, Mismatch: &share}, "a signed mean of 0.5"},
		"a level that is rounding":    {every(2, 1, 1), Tolerance{Abs: 2, Rounding: 1, Bias: &bias}, ""},
		"a bias beside the rounding":  {every(1, 1, 1), Tolerance{Abs: 2, Rounding: 1, Bias: &bias}, "signed mean"},
		"a bias that the rule allows": {every(2, 1, 1), Tolerance{Abs: 1, Mismatch: &share, Bias: &bias}, ""},
	} {
		got, want := levels(c.off)
		if err := Compare(got, want, c.tol); c.fails == "" && err != nil ||
			c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s: got %v, want %q", name, err, c.fails)
		}
	}
	for name, c := range map[string]struct {
		off   func(i int) float32
		fails string
	}{
		"last bits":           {func(i int) float32 { return float32(i%3-1) * 0x1p-22 }, ""},
		"last bits, one way":  {func(int) float32 { return 0x1p-22 }, ""},
		"a small bias":        {func(int) float32 { return 1e-5 }, "by more than rounding"},
		"a few that are off":  {func(i int) float32 { return map[bool]float32{i%100 == 0: 1e-3}[true] }, ""},
		"many that are off":   {func(i int) float32 { return map[bool]float32{i%20 == 0: 1e-3}[true] }, "a share of 0.05"},
		"few, large, one way": {func(i int) float32 { return map[bool]float32{i%52 == 0: 9e-3}[true] }, "a signed mean"},
	} {
		got, want := floats(c.off)
		if err := Compare(got, want, Tolerance{Abs: 0.01}); c.fails == "" && err != nil ||
			c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Errorf("%s: got %v, want %q", name, err, c.fails)
		}
	}
}

// Dtype, shape and layout are exact, whatever the tolerance.
func TestCompareValueLooksAtWhatSurroundsTheNumbers(t *testing.T) {
	want := &Value{DType: "FLOAT", Shape: tensor.Shape{1, 2}, Layout: "HW", F32: []string{"3f800000", "40000000"}}
	good := tensor.FromSlice([]float32{1, 2}, 1, 2)
	good.Layout = "HW"
	for name, change := range map[string]func(*tensor.Tensor){
		"":       func(*tensor.Tensor) {},
		"dtype":  func(x *tensor.Tensor) { x.DType = tensor.Int32 },
		"shape":  func(x *tensor.Tensor) { x.Shape = tensor.Shape{2, 1} },
		"rank":   func(x *tensor.Tensor) { x.Shape = tensor.Shape{2} },
		"layout": func(x *tensor.Tensor) { x.Layout = "WH" },
	} {
		got := good.Clone()
		change(&got)
		if err := (&Set{}).CompareValue(got, want, "", Tolerance{Abs: 100}); (err == nil) != (name == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
	hash := sha256.Sum256(good.Data)
	want.F32, want.SHA256 = nil, hex.EncodeToString(hash[:])
	other := good.Clone()
	other.Data[0]++
	for name, c := range map[string]struct {
		got  tensor.Tensor
		tol  Tolerance
		same bool
	}{"hash": {good, Tolerance{}, true}, "another": {other, Tolerance{}, false}, "another, within a tolerance that nothing can be measured by": {other, Tolerance{Abs: 1}, false}} {
		if err := (&Set{}).CompareValue(c.got, want, "", c.tol); (err == nil) != c.same {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSpecialNumbersOfPython(t *testing.T) {
	const text = `{"a": [NaN, -Infinity, -1, Infinity], "NaN \"Infinity": "-Infinity\\"}`
	want := `{"a": ["NaN", "-Infinity", -1, "Infinity"], "NaN \"Infinity": "-Infinity\\"}`
	if got := string(quoteSpecials([]byte(text))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got, err := Literal([]any{"NaN", "-Infinity", json.Number("0.1"), true}, "float32")
	if err != nil || Compare(got, tensor.FromSlice([]float32{float32(math.NaN()), float32(math.Inf(-1)), 0.1, 1}, 4), Tolerance{}) != nil {
		t.Errorf("got %v %v, %v", got, got.Data, err)
	}
}

func TestLiteralsThatAreNone(t *testing.T) {
	for name, v := range map[string]any{
		"ragged": []any{[]any{json.Number("1")}, []any{}}, "word": "one", "fraction": json.Number("1.5"), "object": map[string]any{},
	} {
		if x, err := Literal(v, "int32"); err == nil {
			t.Errorf("%s: got %v", name, x)
		}
	}
	if x, err := Literal([]any{}, "int32"); err != nil || !slices.Equal(x.Shape, []int{0}) {
		t.Errorf("got %v, %v", x, err)
	}
}

func TestConstants(t *testing.T) {
	in := map[string]any{
		"int": json.Number("3"), "float": json.Number("3.0"), "list": []any{json.Number("1"), json.Number("0.5")}, "text": "x", "flag": true,
		"dtype": map[string]any{"type": "FLOAT16"}, "image": map[string]any{"type": "YCbCr"}, "interp": map[string]any{"type": "INTERP_CUBIC"},
		"enums": map[string]any{"types": []any{"INT8", "BOOL"}},
	}
	want := map[string]any{
		"int": 3, "float": 3.0, "list": []any{1, 0.5}, "text": "x", "flag": true,
		"dtype": tensor.Float16, "image": op.YCbCr, "interp": op.InterpCubic, "enums": []any{tensor.Int8, tensor.Bool},
	}
	for name, v := range in {
		if got, err := Constant(v); err != nil || !cmp.Equal(got, want[name]) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	for _, v := range []any{map[string]any{"type": "HALF"}, map[string]any{}} {
		if got, err := Constant(v); err == nil {
			t.Errorf("%v: got %v", v, got)
		}
	}
}

func TestVerdicts(t *testing.T) {
	set, one := &Set{}, tensor.ScalarOf(uint8(1))
	invalid := &errs.Error{Kind: errs.Invalid}
	expects := []Output{{Value: Value{DType: "UINT8", Shape: tensor.Shape{}, Data: []any{json.Number("1")}}}}
	jp2 := [][]Sample{{{File: "k.jp2"}}}
	for name, c := range map[string]struct {
		c    Case
		got  Results
		err  error
		want Status
	}{
		"same":               {Case{Outputs: expects}, Results{{{one}}}, nil, Passed},
		"other":              {Case{Outputs: expects}, Results{{{tensor.ScalarOf(uint8(2))}}}, nil, Failed},
		"absent":             {Case{Outputs: expects}, Results{{}}, nil, Failed},
		"one more output":    {Case{Outputs: expects}, Results{{{one}, {one}}}, nil, Failed},
		"one more sample":    {Case{Outputs: expects}, Results{{{one, one}}}, nil, Failed},
		"refused":            {Case{Outputs: expects}, nil, invalid, Failed},
		"expected error":     {Case{Error: &Raised{Type: "RuntimeError"}}, nil, invalid, Passed},
		"RuntimeError, I/O":  {Case{Error: &Raised{Type: "RuntimeError"}}, nil, &errs.Error{Kind: errs.IO}, Failed},
		"decoder, invalid":   {Case{Error: &Raised{Type: "RuntimeError", Message: "Failed to decode sample #0"}}, nil, invalid, Failed},
		"decoder, corrupt":   {Case{Error: &Raised{Type: "RuntimeError", Message: "Failed to decode sample #0"}}, nil, &errs.Error{Kind: errs.Corrupt}, Passed},
		"no file":            {Case{Error: &Raised{Type: "RuntimeError", Message: "File mapping failed: x"}}, nil, &errs.Error{Kind: errs.NotFound}, Passed},
		"a type of no kind":  {Case{Error: &Raised{Type: "AssertionError"}}, nil, &errs.Error{Kind: errs.Corrupt}, Failed},
		"another kind":       {Case{Error: &Raised{Type: "ValueError"}}, nil, &errs.Error{Kind: errs.IO}, Failed},
		"no kind":            {Case{Error: &Raised{Type: "RuntimeError"}}, nil, errors.New("x"), Failed},
		"no error":           {Case{Error: &Raised{Type: "RuntimeError"}}, Results{{{one}}}, nil, Failed},
		"DALI crashed":       {Case{Error: &Raised{Type: "CRASH"}}, Results{{{one}}}, nil, Passed},
		"DALI crashed, too":  {Case{Error: &Raised{Type: "CRASH"}}, nil, invalid, Passed},
		"no codec":           {Case{Inputs: jp2, Outputs: expects}, nil, &errs.Error{Kind: errs.Unsupported}, Skipped},
		"other error, codec": {Case{Inputs: jp2, Outputs: expects}, nil, invalid, Failed},
		"nothing expected":   {Case{}, Results{{{one}}}, nil, Failed},
	} {
		if got := set.Judge(&c.c, func() (Results, error) { return c.got, c.err }); got.Status != c.want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	v := set.Judge(&Case{Error: &Raised{Type: "CRASH"}}, func() (Results, error) { panic("x") })
	if v.Status != Failed || !strings.Contains(v.Reason, "panic: x") {
		t.Errorf("a panic: %+v", v)
	}
}

// The seed of the operator, or else the first word of the pipeline's, is the key; a
// later batch goes on where the sequences of the one before ended.
func TestKeyer(t *testing.T) {
	c := &Case{Args: map[string]any{"seed": json.Number("7")}}
	want := rng.NewPhilox(7, 4+2*65537, 0)
	if got := c.keyer().Stream(6, 2, 0, 0); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if a, b := (&Case{}).keyer(), (&Case{Args: map[string]any{"seed": json.Number("-1")}}).keyer(); a != b ||
		a.seed>>32 != 0 {
		t.Errorf("got %v and %v", a, b)
	}
}

func TestFindWalksUp(t *testing.T) {
	dir, _, ok := Find()
	if ok && !filepath.IsAbs(dir) {
		t.Errorf("got %s", dir)
	}
	t.Chdir(t.TempDir())
	if dir, _, ok := Find(); ok {
		t.Errorf("found %s outside of the repository", dir)
	}
}
