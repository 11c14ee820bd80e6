package fields_test

import (
	"hash/maphash"
	"math"
	"reflect"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic/internal/fields"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// allKinds has a field of every type that arguments have.
type allKinds struct {
	Name    string          `op:",name"`
	Flag    bool            `op:"flag"`
	Count   int             `op:"count"`
	Ratio   float64         `op:"ratio"`
	DType   tensor.DType    `op:"dtype"`
	Size    []int           `op:"size"`
	Files   []string        `op:"files"`
	Angle   op.Arg[float64] `op:"angle"`
	Filter  op.Arg[op.InterpType]
	Crop    op.Arg[[]float64] `op:"crop"`
	Caption op.Arg[string]    `op:"caption"`
}

type someValue struct{ n int }

func (*someValue) OpValue() {}

func TestFields(t *testing.T) {
	f, err := fields.Of(reflect.TypeFor[allKinds]())
	if err != nil {
		t.Fatal(err)
	}
	v, w := &someValue{1}, &someValue{2}
	full := func(change func(a *allKinds)) allKinds {
		a := allKinds{
			Name: "n", Flag: true, Count: 3, Ratio: 0.5, DType: tensor.Int8, Size: []int{1, 2}, Files: []string{"a", "b"},
			Angle: op.Const(2.0), Filter: op.Const(op.InterpNN), Crop: op.Const([]float64{3, 4}), Caption: op.Const("x"),
		}
		change(&a)
		return a
	}
	// The structs of one list are equal to each other and differ from every struct of another list.
	groups := [][]any{
		{allKinds{}, allKinds{}},
		{full(func(*allKinds) {}), full(func(*allKinds) {})},
		{full(func(a *allKinds) { a.Name = "m" })},
		{full(func(a *allKinds) { a.Flag = false })},
		{full(func(a *allKinds) { a.Count = 4 })},
		{full(func(a *allKinds) { a.Ratio = math.NaN() }), full(func(a *allKinds) { a.Ratio = math.NaN() })},
		{full(func(a *allKinds) { a.DType = tensor.Int16 })},
		{full(func(a *allKinds) { a.Size = []int{1, 3} })},
		{full(func(a *allKinds) { a.Size = []int{1} })},
		{full(func(a *allKinds) { a.Size = nil })},
		{full(func(a *allKinds) { a.Size = []int{} })},
		{full(func(a *allKinds) { a.Files = []string{"a", "c"} })},
		{full(func(a *allKinds) { a.Files = []string{"a"} })},
		{full(func(a *allKinds) { a.Files = nil })},
		{full(func(a *allKinds) { a.Files = []string{} })},
		{full(func(a *allKinds) { a.Angle = op.Const(3.0) })},
		{full(func(a *allKinds) { a.Angle = op.Arg[float64]{} })},
		{full(func(a *allKinds) { a.Angle = op.Of[float64](v) }), full(func(a *allKinds) { a.Angle = op.Of[float64](w) })},
		{full(func(a *allKinds) { a.Filter = op.Const(op.InterpLinear) })},
		{full(func(a *allKinds) { a.Crop = op.Const([]float64{3, 5}) })},
		{full(func(a *allKinds) { a.Caption = op.Const("y") })},
	}
	seed := maphash.MakeSeed()
	for i, g := range groups {
		for j, h := range groups {
			for _, x := range g {
				for _, y := range h {
					if got := f.Equal(x, y); got != (i == j) {
						t.Errorf("Equal(%+v, %+v) = %v", x, y, got)
					}
					if i == j && f.Hash(seed, x) != f.Hash(seed, y) {
						t.Errorf("hashes of %+v and %+v differ", x, y)
					}
				}
			}
		}
	}
	both := full(func(a *allKinds) { a.Angle, a.Crop = op.Of[float64](v), op.Of[[]float64](w) })
	if got := f.Values(nil, both); len(got) != 2 || got[0] != v || got[1] != w {
		t.Errorf("values %v", got)
	}
	kept := f.Detached(both).(allKinds)
	if !f.Equal(kept, both) || !f.Equal(f.Detached(groups[1][0]), groups[1][0]) ||
		!f.Equal(f.Detached(allKinds{}), allKinds{}) {
		t.Errorf("what is kept of %+v is %+v", both, kept)
	}
	both.Size[1], both.Files[0] = 9, "z"
	if kept.Size[1] != 2 || kept.Files[0] != "a" || cap(kept.Size) != 2 {
		t.Errorf("what is kept has changed: %+v", kept)
	}
	for _, held := range f.Values(nil, kept) {
		if held == op.Value(v) || held == op.Value(w) {
			t.Error("a value is held")
		}
	}
	if n := testing.AllocsPerRun(100, func() { f.Equal(groups[1][0], groups[1][1]); f.Hash(seed, groups[1][0]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestFieldsRefuses(t *testing.T) {
	for _, v := range []any{3, struct{ M map[string]int }{}, struct{ P *int }{}, struct{ F func() }{}} {
		if _, err := fields.Of(reflect.TypeOf(v)); err == nil {
			t.Errorf("%T is taken", v)
		}
	}
	if _, err := fields.Of(nil); err == nil {
		t.Error("nil is taken")
	}
}
