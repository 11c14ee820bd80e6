package loader_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/proof/logtest"
	"github.com/bivouac-ml/bivouac/tensor"
)

type point struct {
	X, Y  float32
	Name  string
	inner int
}

type points struct {
	X    tensor.Tensor
	Name []string
}

func TestDefaultCollate(t *testing.T) {
	numbers := tensor.FromSlice[int64]
	check := func(name string, got any, err error, want any) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got, cmp.AllowUnexported(point{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	a, err := loader.DefaultCollate[int, tensor.Tensor]([]int{1, -2})
	check("int", a, err, numbers([]int64{1, -2}))
	b, err := loader.DefaultCollate[bool, any]([]bool{true, false})
	check("bool", b, err, tensor.FromSlice([]bool{true, false}))
	c, err := loader.DefaultCollate[[]float32, tensor.Tensor]([][]float32{{1, 2, 3}, {4, 5, 6}})
	check("rows", c, err, tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3))
	d, err := loader.DefaultCollate[string, []string]([]string{"a", "b"})
	check("text", d, err, []string{"a", "b"})
	e, err := loader.DefaultCollate[[]byte, any]([][]byte{{1}, {2, 3}})
	check("bytes", e, err, [][]byte{{1}, {2, 3}})
	f, err := loader.DefaultCollate[any, any]([]any{[]any{int64(1), "x"}, []any{int64(2), "y"}})
	check("list", f, err, []any{numbers([]int64{1, 2}), []string{"x", "y"}})
	g, err := loader.DefaultCollate[map[string]any, map[string]any]([]map[string]any{{"a": 1.5,
		"b": map[string]any{"c": int64(3)}}, {"a": 2.5, "b": map[string]any{"c": int64(4)}}})
	check("map", g, err, map[string]any{"a": tensor.FromSlice([]float64{1.5, 2.5}),
		"b": map[string]any{"c": numbers([]int64{3, 4})}})
	list := []point{{1, 2, "p", 0}, {3, 4, "q", 0}}
	h, err := loader.DefaultCollate[point, any](list)
	check("struct", h, err, map[string]any{"X": tensor.FromSlice([]float32{1, 3}), "Y": tensor.FromSlice([]float32{2, 4}),
		"Name": []string{"p", "q"}})
	i, err := loader.DefaultCollate[*point, points]([]*point{&list[0], &list[1]})
	check("struct to struct", i, err, points{tensor.FromSlice([]float32{1, 3}), []string{"p", "q"}})
	j, err := loader.DefaultCollate[tensor.Tensor, tensor.Tensor]([]tensor.Tensor{numbers([]int64{1, 2}),
		numbers([]int64{3, 4})})
	check("stack", j, err, numbers([]int64{1, 2, 3, 4}, 2, 2))
	k, err := loader.DefaultCollate[[2]complex64, any]([][2]complex64{{1, 2i}})
	check("array", k, err, tensor.FromSlice([]complex64{1, 2i}, 1, 2))
	l, err := loader.DefaultCollate[uint16, any]([]uint16{7})
	check("uint16", l, err, tensor.FromSlice([]uint16{7}))
}

func TestDefaultCollateNamesThePath(t *testing.T) {
	for want, c := range map[string]struct {
		samples []any
		kind    errs.Kind
	}{
		"sample[a] of sample 1":       {[]any{map[string]any{"a": 1}, map[string]any{}}, errs.Mismatch},
		"sample[a][1]":                {[]any{map[string]any{"a": []any{1, nil}}, map[string]any{"a": []any{1, 2}}}, errs.Invalid},
		"sample of sample 1":          {[]any{1, "x"}, errs.Mismatch},
		"a length of 2":               {[]any{[]any{1, 2}, []any{1}}, errs.Mismatch},
		"int64[1], as in the first":   {[]any{tensor.New(tensor.Int64, 1), tensor.New(tensor.Int64, 2)}, errs.Mismatch},
		"sample: invalid":             {[]any{func() {}}, errs.Invalid},
		"one sample, got no sample":   {nil, errs.Invalid},
		"sample[0]: invalid: want nu": {[]any{[]any{make(chan int)}}, errs.Invalid},
	} {
		_, err := loader.DefaultCollate[any, any](c.samples)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := loader.DefaultCollate[int, string]([]int{1}); !errors.Is(err, errs.Invalid) {
		t.Errorf("a batch of text: %v", err)
	}
	if _, err := loader.DefaultCollate[string, map[string]int]([]string{"a"}); !errors.Is(err, errs.Invalid) {
		t.Errorf("a batch of a map: %v", err)
	}
}

// Without batching samples come as they are; B must be able to hold them.
func TestNoBatching(t *testing.T) {
	l, err := loader.New[int64, int64](ids(3), loader.Options[int64, int64]{BatchSize: loader.NoBatching, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for want := range int64(3) {
		if got, err := l.Next(context.Background()); err != nil || got != want {
			t.Errorf("%d, %v", got, err)
		}
	}
	if _, err := loader.New(ids(3), options{BatchSize: loader.NoBatching}); !errors.Is(err, errs.Invalid) {
		t.Errorf("tensors of numbers: %v", err)
	}
}

// custom is a batch that pins itself.
type custom struct{ data []byte }

func (c *custom) Pin(alloc func(int) ([]byte, error)) (any, error) {
	mem, err := alloc(len(c.data))
	copy(mem, c.data)
	return &custom{mem}, err
}

func TestPinMemory(t *testing.T) {
	type batch struct {
		Image tensor.Tensor
		More  map[string]any
		List  []tensor.Tensor
		Own   *custom
		Text  []string
		Any   any
	}
	aligned := func(b []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%arena.MaxAlign == 0 }
	var warnings []string
	l, err := loader.New(ids(12), loader.Options[int64, batch]{BatchSize: 2, Pinned: true, Workers: 2,
		Log: logtest.New(func(m string) { warnings = append(warnings, m) }),
		Collate: func(s []int64) (batch, error) {
			v := tensor.FromSlice(append([]int64(nil), s...))
			return batch{v, map[string]any{"a": v}, []tensor.Tensor{v, v}, &custom{v.Clone().Data}, []string{"t"}, nil}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 2 {
		n := int64(0)
		for b, err := range l.Epoch(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			want := tensor.FromSlice([]int64{n, n + 1})
			parts := []tensor.Tensor{b.Image, b.More["a"].(tensor.Tensor), b.List[0], b.List[1],
				{DType: tensor.Int64, Shape: tensor.Shape{2}, Data: b.Own.data}}
			for i, p := range parts {
				if !p.Equal(want) || !aligned(p.Data) {
					t.Errorf("part %d: %v at %p", i, p.Data, p.Data)
				}
			}
			if b.Text[0] != "t" {
				t.Error("text is gone")
			}
			n += 2
		}
		if n != 12 {
			t.Errorf("%d samples", n)
		}
	}
	if len(warnings) > 1 {
		t.Errorf("warned %d times", len(warnings))
	}
}
