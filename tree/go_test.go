package tree

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

type level int16

type common struct {
	Step int `bivouac:"step"`
}

type layer struct {
	W      [][2]float32 `bivouac:"w"`
	B      []float32    `bivouac:"b,omitempty"`
	Active bool
}

type model struct {
	common
	Layers []layer         `bivouac:"layers"`
	ByID   map[int]*layer  `bivouac:"by_id"`
	Name   string          `bivouac:"name"`
	LR     float32         `bivouac:"lr"`
	Level  level           `bivouac:"level"`
	Seed   uint64          `bivouac:"seed"`
	Next   *layer          `bivouac:"next"`
	Any    any             `bivouac:"any"`
	Mean   tensor.Tensor   `bivouac:"mean"`
	Raw    *Node           `bivouac:"raw"`
	Moment [2][3]float64   `bivouac:"moment"`
	Extra  map[string]bool `bivouac:"extra"`
	Cache  chan int        `bivouac:"-"`
	hidden int
}

func example() *model {
	return &model{
		common: common{Step: 7},
		Layers: []layer{{W: [][2]float32{{1, 2}, {3, 4}, {5, 6}}, Active: true}, {W: [][2]float32{}, B: []float32{9}}},
		ByID:   map[int]*layer{10: {B: []float32{1}}, 9: {}, -1: nil},
		Name:   "digits", LR: 0.1, Level: -3, Seed: math.MaxUint64,
		Any:    []any{int64(1), "x", nil, map[string]any{"k": 0.5}},
		Mean:   tensor.FromSlice([]uint8{1, 2}, 2),
		Raw:    NewList(NewLeaf(1)),
		Moment: [2][3]float64{{1, 2, 3}, {4, 5, 6}},
		Extra:  map[string]bool{},
		hidden: 1,
	}
}

func TestFrom(t *testing.T) {
	m := example()
	n, err := From(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Check(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range Flatten(n) {
		got = append(got, e.Path.String()+" = "+e.Node.String())
	}
	want := []string{
		"step = int 7",
		"layers[0].w = float32[3,2]", "layers[0].Active = bool true",
		"layers[1].w = float32[0,2]", "layers[1].b = float32[1]", "layers[1].Active = bool false",
		"by_id.-1 = nil", "by_id.9.w = float32[0,2]", "by_id.9.Active = bool false",
		"by_id.10.w = float32[0,2]", "by_id.10.b = float32[1]", "by_id.10.Active = bool false",
		`name = "digits"`, "lr = float 0.10000000149011612", "level = int -3", "seed = int 18446744073709551615",
		"next = nil", "any[0] = int 1", `any[1] = "x"`, "any[2] = nil", "any[3].k = float 0.5",
		"mean = uint8[2]", "raw[0] = int 1", "moment = float64[2,3]", "extra = dict of 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	w, _ := n.Get("layers").Get("0").Get("w").Tensor()
	v, err := tensor.Of[float32](w)
	if err != nil {
		t.Fatal(err)
	}
	m.Layers[0].W[1][0] = 30
	if v[2] != 30 {
		t.Error("a slice was copied")
	}
	moment, _ := n.Get("moment").Tensor()
	m.Moment[1][2] = 60
	if f, _ := tensor.Of[float64](moment); f[5] != 60 {
		t.Error("an array behind a pointer was copied")
	}
}

func TestIntoRoundTrip(t *testing.T) {
	src := example()
	n, err := From(src)
	if err != nil {
		t.Fatal(err)
	}
	for name, dst := range map[string]*model{"empty": {}, "same structure": example()} {
		if name != "empty" {
			dst.Step, dst.Layers[0].W[0][0], dst.Mean.Data[0], dst.Name = 0, 0, 0, ""
		}
		for _, tree := range []*Node{n, Untyped(n)} {
			if err := Into(tree, dst); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			back, err := From(dst)
			if err != nil {
				t.Fatal(err)
			}
			if diff := FormatDiff(Diff(n, back)); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
		}
	}
}

func TestIntoInPlace(t *testing.T) {
	n, err := From(map[string]any{"w": []float32{1, 2}, "t": []int8{3}, "n": 4})
	if err != nil {
		t.Fatal(err)
	}
	w, tt := []float32{0, 0}, tensor.New(tensor.Int8, 1)
	dst := map[string]any{"w": w, "t": tt, "n": int32(0)}
	if err := Into(n, dst); err != nil {
		t.Fatal(err)
	}
	if w[1] != 2 || tt.Data[0] != 3 || dst["n"] != int32(4) {
		t.Errorf("%v %v %v", w, tt.Data, dst["n"])
	}
	if err := Into(n.Get("w"), w); err != nil {
		t.Error(err)
	}
	var free any
	if err := Into(Untyped(n), &free); err != nil {
		t.Error(err)
	}
	if m, ok := free.(map[string]any); !ok || len(m) != 3 || m["n"] != int64(4) {
		t.Errorf("%v", free)
	}
}

func TestIntoErrors(t *testing.T) {
	type s struct{ A, B int }
	f32 := tensor.FromSlice([]float32{1, 2})
	for name, c := range map[string]struct {
		src     any
		dst     any
		kind    errs.Kind
		mention string
	}{
		"nil":              {1, nil, errs.Invalid, "nil"},
		"value":            {1, 3, errs.Invalid, "int"},
		"nil map":          {1, map[string]int(nil), errs.Invalid, "map"},
		"missing":          {map[string]int{"A": 1}, &s{}, errs.Mismatch, "B"},
		"extra":            {map[string]int{"A": 1, "B": 2, "C": 3}, &s{}, errs.Mismatch, "C"},
		"list in struct":   {[]any{1}, &s{}, errs.Mismatch, "list of 1"},
		"overflow":         {300, new(int8), errs.Mismatch, "int 300"},
		"negative":         {-1, new(uint), errs.Mismatch, "int -1"},
		"inexact":          {1<<53 + 1, new(float64), errs.Mismatch, "9007199254740993"},
		"inexact 32":       {1<<24 + 1, new(float32), errs.Mismatch, "16777217"},
		"too large":        {1e300, new(float32), errs.Mismatch, "1e+300"},
		"float to int":     {1.0, new(int), errs.Mismatch, "float 1"},
		"text":             {"x", new(int), errs.Mismatch, `"x"`},
		"nil into int":     {nil, new(int), errs.Mismatch, "nil"},
		"shape":            {f32, &[]any{make([]float32, 3)}[0], errs.Mismatch, "want float32[3], got float32[2]"},
		"dtype":            {f32, &[]any{make([]int32, 2)}[0], errs.Mismatch, "want int32[2], got float32[2]"},
		"tensor shape":     {f32, ptr(tensor.New(tensor.Float32, 2, 1)), errs.Mismatch, "want float32[2,1]"},
		"tensor for int":   {3, ptr(tensor.Tensor{}), errs.Mismatch, "a tensor"},
		"array":            {f32, new([3]float32), errs.Mismatch, "float32[3]"},
		"list length":      {[]any{1, 2}, &[]any{1}, errs.Mismatch, "1 items"},
		"map key":          {map[string]int{"x": 1}, &map[int]int{}, errs.Mismatch, `"x"`},
		"map key form":     {map[string]int{"01": 1}, &map[int]int{}, errs.Mismatch, `"01"`},
		"map missing":      {map[string]int{}, map[string]int{"k": 1}, errs.Mismatch, "k"},
		"map extra":        {map[string]int{"k": 1, "j": 2}, map[string]int{"k": 1}, errs.Mismatch, "j"},
		"map kind":         {1, map[string]int{"k": 1}, errs.Mismatch, "int 1"},
		"full interface":   {1, &[]error{nil}[0], errs.Mismatch, "int 1"},
		"float map":        {map[string]int{"1": 1}, &map[float64]int{}, errs.Invalid, "map[float64]int"},
		"bad bool":         {tensor.Tensor{DType: tensor.Bool, Shape: tensor.Shape{1}, Data: []byte{7}}, make([]bool, 1), errs.Mismatch, "7"},
		"struct without":   {map[string]int{}, &time.Time{}, errs.Mismatch, "time.Time"},
		"vector to scalar": {f32, new(float32), errs.Mismatch, "float32[2]"},
	} {
		n, err := From(c.src)
		if err != nil {
			t.Fatal(name, err)
		}
		err = Into(n, c.dst)
		if errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.mention) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Into(nil, new(int)); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

func ptr[T any](v T) *T { return &v }

func TestIntoScalars(t *testing.T) {
	var f float32
	if err := Into(NewLeaf(0.1), &f); err != nil || f != 0.1 {
		t.Errorf("%v, %v", f, err)
	}
	if err := Into(NewLeaf(math.Inf(-1)), &f); err != nil || !math.IsInf(float64(f), -1) {
		t.Errorf("%v, %v", f, err)
	}
	var i int
	if err := Into(NewLeaf(tensor.ScalarOf(int16(-5))), &i); err != nil || i != -5 {
		t.Errorf("%v, %v", i, err)
	}
	var c complex64
	if err := Into(NewLeaf(tensor.ScalarOf(complex64(2i))), &c); err != nil || c != 2i {
		t.Errorf("%v, %v", c, err)
	}
	p := &i
	if err := Into(NewLeaf(nil), &p); err != nil || p != nil {
		t.Errorf("%v, %v", p, err)
	}
}

func TestFromErrors(t *testing.T) {
	type tagged struct {
		A int `bivouac:"a,omitzero"`
	}
	type twice struct {
		A int `bivouac:"x"`
		B int `bivouac:"x"`
	}
	type hidden struct {
		a int `bivouac:"a"` //nolint
	}
	type node struct{ Next *node }
	loop := &node{}
	loop.Next = loop
	var self any
	self = &self
	for name, c := range map[string]struct {
		v       any
		kind    errs.Kind
		mention string
	}{
		"chan":     {map[string]any{"k": []any{make(chan int)}}, errs.Unsupported, "k[0]"},
		"func":     {func() {}, errs.Unsupported, "func()"},
		"complex":  {1i, errs.Unsupported, "complex128"},
		"time":     {map[string]any{"at": time.Time{}}, errs.Unsupported, "at"},
		"float":    {map[float64]int{}, errs.Unsupported, "map[float64]int"},
		"option":   {tagged{}, errs.Invalid, "omitzero"},
		"twice":    {twice{}, errs.Invalid, "x"},
		"hidden":   {hidden{a: 1}, errs.Invalid, "unexported"},
		"cycle":    {loop, errs.Invalid, "cycle"},
		"pointers": {self, errs.Invalid, "cycle"},
		"tensor":   {[]tensor.Tensor{{}}, errs.Invalid, "[0]"},
		"node":     {[]*Node{{Kind: 7}}, errs.Invalid, "[0]"},
	} {
		_, err := From(c.v)
		if errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.mention) {
			t.Errorf("%s: %v", name, err)
		}
	}
	n, err := Options{KeepUnknown: true}.From(map[string]any{"at": time.Unix(5, 0)})
	if err != nil {
		t.Fatal(err)
	}
	var back struct{ At time.Time }
	if err := Into(NewDict().Set("At", n.Get("at")), &back); err != nil || !back.At.Equal(time.Unix(5, 0)) {
		t.Errorf("%v, %v", back, err)
	}
}

func TestToGoLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := genTree(3).Draw(t, "tree")
		back, err := From(ToGo(n))
		if err != nil {
			t.Fatal(err)
		}
		if diff := FormatDiff(Diff(Untyped(n), back)); diff != "" {
			t.Fatal(diff)
		}
		var v any
		if err := Into(n, &v); err != nil {
			t.Fatal(err)
		}
		if again, err := From(v); err != nil || !Equal(again, back) {
			t.Fatalf("%v: %s", err, FormatDiff(Diff(back, again)))
		}
	})
}
