package tensor

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestBatchRagged(t *testing.T) {
	var b Batch
	b.Reset(Uint8, 2, "HW")
	m, err := b.Grow(2, 3)
	if err != nil {
		t.Fatal(err)
	}
	copy(m, "abcdef")
	if err := b.Append(FromSlice([]byte("xyz"), 3, 1)); err != nil {
		t.Fatal(err)
	}
	if b.NumSamples() != 2 || b.Uniform() || string(b.Sample(0).Data) != "abcdef" || string(b.Sample(1).Data) != "xyz" {
		t.Errorf("%d samples, %v", b.NumSamples(), b)
	}
	if s := b.Sample(1); s.String() != "uint8[3,1]" || s.Layout != "HW" {
		t.Errorf("%s", s)
	}
	if _, err := b.Tensor(); !errors.Is(err, errs.Mismatch) {
		t.Errorf("Tensor: %v", err)
	}
	if err := b.Check(); err != nil {
		t.Error(err)
	}
	for _, err := range []error{
		b.Append(FromSlice([]byte("x"))),
		b.Append(FromSlice([]int8{1}, 1, 1)),
		b.Append(Tensor{DType: Uint8, Shape: Shape{1, 1}}),
	} {
		if !errors.Is(err, errs.Mismatch) {
			t.Errorf("Append: %v", err)
		}
	}
	if _, err := b.Grow(1, -1); !errors.Is(err, errs.Invalid) {
		t.Errorf("Grow: %v", err)
	}
	if b.NumSamples() != 2 {
		t.Error("a refused sample was kept")
	}
}

func TestBatchUniform(t *testing.T) {
	b := NewBatch(Float32, 3, 2)
	b.Layout = "C"
	if !b.Uniform() || b.Check() != nil {
		t.Fatal("not uniform")
	}
	all, err := b.Tensor()
	if err != nil || all.String() != "float32[3,2]" || all.Layout != "NC" {
		t.Fatalf("%s, %v", all, err)
	}
	v, err := Of[float32](b.Sample(2))
	if err != nil {
		t.Fatal(err)
	}
	v[1] = 7
	flat, err := Of[float32](all)
	if diff := cmp.Diff([]float32{0, 0, 0, 0, 0, 7}, flat); diff != "" || err != nil {
		t.Error(diff, err)
	}
	c := b.Clone()
	c.Data[0], c.Dims[0], c.Offsets[1] = 1, 9, 9
	if b.Data[0] != 0 || b.Dims[0] != 2 || b.Offsets[1] != 8 {
		t.Error("Clone shares memory")
	}
	var none Batch
	if none.Uniform() || none.NumSamples() != 0 || none.Check() != nil {
		t.Error("zero batch")
	}
}

func TestBatchCheck(t *testing.T) {
	good := func() *Batch { return NewBatch(Int16, 2, 3) }
	for name, spoil := range map[string]func(*Batch){
		"dims":     func(b *Batch) { b.Dims = b.Dims[:1] },
		"order":    func(b *Batch) { b.Offsets[1] = 100 },
		"outside":  func(b *Batch) { b.Offsets[2] = 100 },
		"negative": func(b *Batch) { b.Offsets[0] = -1 },
		"size":     func(b *Batch) { b.Offsets[1]-- },
		"rank":     func(b *Batch) { b.NDim = -1 },
	} {
		b := good()
		spoil(b)
		if err := b.Check(); !errors.Is(err, errs.Mismatch) && errs.KindOf(err) != errs.Mismatch {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBatchReusesMemory(t *testing.T) {
	var b Batch
	fill := func() {
		b.Reset(Float32, 3, "HWC")
		for range 16 {
			if _, err := b.Grow(8, 8, 3); err != nil {
				t.Fatal(err)
			}
		}
	}
	if allocs := testing.AllocsPerRun(100, fill); allocs != 0 {
		t.Errorf("%v allocations a batch", allocs)
	}
}
