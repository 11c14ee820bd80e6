package dynamic_test

import (
	"context"
	"errors"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// taken returns the array that a Tensor is.
func taken(t *testing.T, x *dynamic.Tensor) tensor.Tensor {
	t.Helper()
	v, err := x.Tensor(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Check(); err != nil {
		t.Fatal(err)
	}
	return v
}

func hwc(t tensor.Tensor) tensor.Tensor {
	t.Layout = "HWC"
	return t
}

func TestTensorOf(t *testing.T) {
	gray := image.NewGray(image.Rect(1, 1, 3, 2))
	gray.SetGray(1, 1, color.Gray{7})
	gray.SetGray(2, 1, color.Gray{9})
	rgb := image.NewRGBA(image.Rect(0, 0, 1, 2))
	rgb.Set(0, 1, color.RGBA{1, 2, 3, 255})
	type celsius float32
	for _, c := range []struct {
		name string
		data any
		form []dynamic.Form
		want tensor.Tensor
	}{
		{"int", 3, nil, tensor.ScalarOf(int32(3))},
		{"float64", 0.5, nil, tensor.ScalarOf(float32(0.5))},
		{"bool", true, nil, tensor.ScalarOf(true)},
		{"int64", int64(1 << 40), nil, tensor.ScalarOf(int64(1 << 40))},
		{"a float of another name", celsius(1.5), nil, tensor.ScalarOf(float32(1.5))},
		{"complex", complex64(1 + 2i), nil, tensor.ScalarOf(complex64(1 + 2i))},
		{"ints", []int{1, -2}, nil, tensor.FromSlice([]int32{1, -2})},
		{"uints", []uint{1, 2}, nil, tensor.FromSlice([]uint32{1, 2})},
		{"matrix", [][]uint16{{1, 2, 3}, {4, 5, 6}}, nil, tensor.FromSlice([]uint16{1, 2, 3, 4, 5, 6}, 2, 3)},
		{"arrays", [2][1]float32{{1}, {2}}, nil, tensor.FromSlice([]float32{1, 2}, 2, 1)},
		{"nothing", []float32{}, nil, tensor.FromSlice([]float32{}, 0)},
		{"rows of nothing", [][]int8{{}, {}}, nil, tensor.FromSlice([]int8{}, 2, 0)},
		{"a string", "abc", nil, tensor.FromSlice([]byte("abc"))},
		{"a wider type", []int{1 << 40}, []dynamic.Form{{DType: tensor.Int64}}, tensor.FromSlice([]int64{1 << 40})},
		{"another type", []float32{1.75}, []dynamic.Form{{DType: tensor.Int8}}, tensor.FromSlice([]int8{1})},
		{"a layout", []uint8{1, 2}, []dynamic.Form{{Layout: "W"}}, tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{2}, Layout: "W", Data: []byte{1, 2}}},
		{"an array", tensor.FromSlice([]float64{1, 2}), nil, tensor.FromSlice([]float64{1, 2})},
		{"an image", rgb, nil, hwc(tensor.FromSlice([]byte{0, 0, 0, 1, 2, 3}, 2, 1, 3))},
		{"a grey image", gray, nil, hwc(tensor.FromSlice([]byte{7, 9}, 1, 2, 1))},
		{"a Tensor", dynamic.TensorOf(3), []dynamic.Form{{DType: tensor.Float64}}, tensor.ScalarOf(float64(3))},
	} {
		x := dynamic.TensorOf(c.data, c.form...)
		if got := taken(t, x); !got.Equal(c.want) {
			t.Errorf("%s: %v %x, want %v %x", c.name, got, got.Data, c.want, c.want.Data)
		}
		if x.DType() != c.want.DType || !x.Shape().Equal(c.want.Shape) || x.Size() != c.want.Len() ||
			x.NBytes() != len(c.want.Data) ||
			x.NDim() != len(c.want.Shape) || x.Layout() != c.want.Layout || x.Device() != "cpu" {
			t.Errorf("%s: %v", c.name, x)
		}
	}
	x := dynamic.TensorOf(3)
	if dynamic.TensorOf(x) != x {
		t.Error("a Tensor is copied")
	}
}

func TestTensorOfRefuses(t *testing.T) {
	for name, data := range map[string]any{
		"nil": nil, "a map": map[string]int{}, "ragged": [][]int{{1}, {2, 3}}, "too large": []int{1 << 40}, "structs": []struct{ A int }{{1}},
		"pointer": new(int), "a broken array": tensor.Tensor{DType: tensor.Int32, Shape: tensor.Shape{3}}, "nil Tensor": (*dynamic.Tensor)(nil), "any": []any{1},
	} {
		x := dynamic.TensorOf(data)
		if kind := errs.KindOf(x.Err()); kind != errs.Invalid && kind != errs.Mismatch {
			t.Errorf("%s: %v", name, x.Err())
		}
		if err := fn.Add(context.Background(), x, 1).Evaluate(context.Background()); err != x.Err() {
			t.Errorf("%s: what is computed of it: %v", name, err)
		}
	}
	if err := dynamic.TensorOf([]int{1}, dynamic.Form{Layout: "HW"}).Err(); !errors.Is(err, errs.Invalid) {
		t.Errorf("a layout of two axes for one: %v", err)
	}
}

// Data from Go is copied unless that is waived.
func TestCopies(t *testing.T) {
	for _, keep := range []bool{false, true} {
		bytes, list, whole := []byte{1}, []tensor.Tensor{tensor.FromSlice([]byte{1})}, tensor.NewBatch(tensor.Uint8, 1, 1)
		form := dynamic.Form{NoCopy: keep}
		values := []*dynamic.Tensor{dynamic.TensorOf(bytes, form), dynamic.BatchOf(list, form).At(0),
			dynamic.BatchOf(whole, form).At(0), dynamic.TensorOf(list[0], form)}
		bytes[0], list[0].Data[0], whole.Data[0] = 9, 9, 9
		for i, x := range values {
			if changed := slice[byte](t, x)[0] == 9; changed != keep {
				t.Errorf("%d: changed: %v, NoCopy: %v", i, changed, keep)
			}
		}
	}
}

func TestBatchOf(t *testing.T) {
	scalars := tensor.NewBatch(tensor.Int16, 2)
	for _, c := range []struct {
		name string
		data any
		form []dynamic.Form
		want []tensor.Tensor
	}{
		{"bytes", [][]byte{{1}, {2, 3}}, nil, []tensor.Tensor{tensor.FromSlice([]byte{1}), tensor.FromSlice([]byte{2, 3})}},
		{"strings", []string{"a", ""}, nil, []tensor.Tensor{tensor.FromSlice([]byte{'a'}), tensor.FromSlice([]byte{})}},
		{"numbers", []float64{1, 2}, nil, []tensor.Tensor{tensor.ScalarOf(float32(1)), tensor.ScalarOf(float32(2))}},
		{"matrices", [][][]int8{{{1, 2}}, {{3}, {4}}}, nil, []tensor.Tensor{tensor.FromSlice([]int8{1, 2}, 1, 2), tensor.FromSlice([]int8{3, 4}, 2, 1)}},
		{"arrays", []tensor.Tensor{tensor.ScalarOf(int8(1))}, nil, []tensor.Tensor{tensor.ScalarOf(int8(1))}},
		{"rows", tensor.FromSlice([]int8{1, 2, 3, 4}, 2, 2), nil, []tensor.Tensor{tensor.FromSlice([]int8{1, 2}), tensor.FromSlice([]int8{3, 4})}},
		{"a batch", scalars, nil, []tensor.Tensor{tensor.ScalarOf(int16(0)), tensor.ScalarOf(int16(0))}},
		{"Tensors", []*dynamic.Tensor{dynamic.TensorOf(1), dynamic.TensorOf(2)}, []dynamic.Form{{DType: tensor.Int8}}, []tensor.Tensor{tensor.ScalarOf(int8(1)), tensor.ScalarOf(int8(2))}},
		{"a Batch", dynamic.BatchOf([]int8{1}), []dynamic.Form{{DType: tensor.Int32}}, []tensor.Tensor{tensor.ScalarOf(int32(1))}},
		{"nothing", [][]byte{}, []dynamic.Form{{DType: tensor.Uint8}}, nil},
	} {
		b := dynamic.BatchOf(c.data, c.form...)
		got, err := b.Samples(context.Background())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(c.want, got, cmp.Comparer(tensor.Tensor.Equal)); d != "" && len(c.want)+len(got) > 0 {
			t.Errorf("%s: %s", c.name, d)
		}
		if b.Len() != len(c.want) || len(b.Shapes()) != len(c.want) {
			t.Errorf("%s: %v", c.name, b)
		}
	}
	for name, data := range map[string]any{
		"nil": nil, "a number": 3, "nothing": [][]byte{}, "two types": []tensor.Tensor{tensor.ScalarOf(int8(1)), tensor.ScalarOf(int16(1))},
		"two ranks": []any{[]int8{1}, int8(1)}, "a scalar": tensor.ScalarOf(1), "Batches": []*dynamic.Batch{dynamic.BatchOf([]int{1})},
		"a failed Tensor": []*dynamic.Tensor{dynamic.TensorOf(nil)}, "nil among them": []any{nil}, "nil Batch": (*dynamic.Batch)(nil),
	} {
		if kind := errs.KindOf(dynamic.BatchOf(data).Err()); kind != errs.Invalid && kind != errs.Mismatch {
			t.Errorf("%s: %v", name, dynamic.BatchOf(data).Err())
		}
	}
}

// A batch without samples goes through operators.
func TestEmptyBatch(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		b := fn.Div(ctx, dynamic.BatchOf([][]int16{}, dynamic.Form{DType: tensor.Int16}),
			dynamic.TensorOf(float64(2), dynamic.Form{DType: tensor.Float64}))
		if err := b.Evaluate(ctx); err != nil || b.Len() != 0 || b.DType() != tensor.Float64 || b.NDim() != 1 {
			t.Errorf("%v: %v", b, err)
		}
	})
}

// Views see what package tensor sees.
func TestViews(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		rapid.Check(t, func(r *rapid.T) {
			n := rapid.IntRange(1, 6).Draw(r, "samples")
			whole := tensor.New(tensor.Int16, n, 2, rapid.IntRange(0, 3).Draw(r, "width"))
			for i := range whole.Data {
				whole.Data[i] = byte(i)
			}
			whole.Layout = "NHW"
			b := dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "copy", Inputs: []dynamic.Value{dynamic.BatchOf(whole)}})
			if got, err := b.Stack(ctx); err != nil || !got.Equal(whole) {
				r.Fatalf("%v, want %v: %v", got, whole, err)
			}
			if b.DType() != tensor.Int16 || b.NDim() != 2 || b.Layout() != "HW" || b.NBytes() != len(whole.Data) {
				r.Fatalf("%v", b)
			}
			pick := rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 5).Draw(r, "pick")
			chosen := b.Select(pick...)
			for i, x := range chosen.Tensors() {
				if got := taken(t, x); !got.Equal(whole.Index(pick[i])) || !taken(t, b.At(pick[i])).Equal(got) {
					r.Fatalf("sample %d: %v", i, got)
				}
			}
			if got, err := chosen.Batch(ctx); err != nil || got.NumSamples() != len(pick) || got.Check() != nil {
				r.Fatalf("%v: %v", got, err)
			}
			many := dynamic.Broadcast(b.At(0), 3)
			if got := taken(t, many.At(2)); !got.Equal(whole.Index(0)) || many.Len() != 3 {
				r.Fatalf("broadcast: %v", got)
			}
		})
	})
	b := dynamic.BatchOf([]int{1, 2})
	for name, v := range map[string]dynamic.Value{"behind": b.At(2), "before": b.At(-1), "select": b.Select(0, 2), "broadcast": dynamic.Broadcast(b.At(0), 0)} {
		if !errors.Is(v.Err(), errs.Invalid) {
			t.Errorf("%s: %v", name, v.Err())
		}
	}
	if _, err := dynamic.BatchOf([][]int{{1}, {2, 3}}).Stack(context.Background()); !errors.Is(err, errs.Mismatch) {
		t.Errorf("ragged: %v", err)
	}
	if _, err := dynamic.Item[int32](context.Background(), dynamic.TensorOf([]int{1, 2})); !errors.Is(err, errs.Invalid) {
		t.Errorf("an item of two: %v", err)
	}
	if _, err := dynamic.Item[int8](context.Background(), dynamic.TensorOf(1)); !errors.Is(err, errs.Mismatch) {
		t.Errorf("an item of another type: %v", err)
	}
}

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "1"), filepath.Join(dir, "2")
	for path, text := range map[string]string{one: "first", two: "2nd"} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	every(t, func(t *testing.T, ctx context.Context) {
		if got := string(slice[byte](t, dynamic.ReadFile(ctx, one))); got != "first" {
			t.Error(got)
		}
		if got := string(slice[byte](t, dynamic.ReadFiles(ctx, one, two).At(1))); got != "2nd" {
			t.Error(got)
		}
		if err := dynamic.ReadFiles(ctx, one, filepath.Join(dir, "3")).Evaluate(ctx); !errors.Is(err, errs.NotFound) {
			t.Error(err)
		}
	})
}
