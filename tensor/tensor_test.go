package tensor

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestShapeBytes(t *testing.T) {
	for _, c := range []struct {
		shape Shape
		d     DType
		want  int
		kind  errs.Kind
	}{
		{nil, Float32, 4, errs.Other},
		{Shape{2, 3}, Float64, 48, errs.Other},
		{Shape{0, math.MaxInt}, Int8, 0, errs.Other},
		{Shape{math.MaxInt, 2}, Int8, 0, errs.Invalid},
		{Shape{math.MaxInt/4 + 1}, Float32, 0, errs.Invalid},
		{Shape{math.MaxInt / 4}, Float32, math.MaxInt / 4 * 4, errs.Other},
		{Shape{3, -1}, Int8, 0, errs.Invalid},
		{Shape{0, -1}, Int8, 0, errs.Invalid},
		{Shape{math.MinInt}, Int8, 0, errs.Invalid},
		{Shape{3}, Invalid, 0, errs.Invalid},
	} {
		got, err := c.shape.Bytes(c.d)
		if got != c.want || errs.KindOf(err) != c.kind {
			t.Errorf("%s%s: %d, %v", c.d, c.shape, got, err)
		}
	}
}

func TestFromSliceIsAView(t *testing.T) {
	v := []float32{1, 2, 3, 4, 5, 6}
	m := FromSlice(v, 2, 3)
	v[4] = 50
	back, err := Of[float32](m)
	if err != nil {
		t.Fatal(err)
	}
	back[5] = 60
	if diff := cmp.Diff([]float32{1, 2, 3, 4, 50, 60}, v); diff != "" {
		t.Error(diff)
	}
	row, err := Of[float32](m.Index(1))
	if diff := cmp.Diff([]float32{4, 50, 60}, row); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = Of[float32](m) }); allocs != 0 {
		t.Errorf("Of allocates %v times", allocs)
	}
}

func TestOf(t *testing.T) {
	half := New(BFloat16, 2)
	if _, err := Of[uint16](half); err != nil {
		t.Errorf("bfloat16 as its bits: %v", err)
	}
	if _, err := Of[int8](New(Int4, 2)); err != nil {
		t.Errorf("int4 as int8: %v", err)
	}
	if v, err := Of[float64](New(Float64, 0, 3)); err != nil || v == nil || len(v) != 0 {
		t.Errorf("empty: %v, %v", v, err)
	}
	for _, c := range []struct {
		name string
		kind errs.Kind
		err  func() error
	}{
		{"other type", errs.Mismatch, func() error { _, err := Of[int32](New(Float32, 1)); return err }},
		{"short data", errs.Mismatch, func() error {
			_, err := Of[int32](Tensor{DType: Int32, Shape: Shape{2}, Data: make([]byte, 7)})
			return err
		}},
		{"misaligned", errs.Invalid, func() error {
			_, err := Of[int32](Tensor{DType: Int32, Shape: Shape{1}, Data: New(Int8, 5).Data[1:]})
			return err
		}},
		{"bool of 2", errs.Corrupt, func() error {
			_, err := Of[bool](Tensor{DType: Bool, Shape: Shape{2}, Data: []byte{1, 2}})
			return err
		}},
		{"zero tensor", errs.Mismatch, func() error { _, err := Of[bool](Tensor{}); return err }},
	} {
		if err := c.err(); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestScalarOf(t *testing.T) {
	type celsius float32
	s := ScalarOf(celsius(1.5))
	if s.String() != "float32[]" || s.Len() != 1 {
		t.Errorf("%s", s)
	}
	v, err := Of[celsius](s)
	if err != nil || v[0] != 1.5 {
		t.Errorf("%v, %v", v, err)
	}
}

func TestViews(t *testing.T) {
	a := New(Uint16, 2, 3)
	a.Layout = "HW"
	if r := a.Index(1); r.Layout != "W" || r.String() != "uint16[3]" {
		t.Errorf("Index: %s %q", r, r.Layout)
	}
	if r, err := a.Reshape(3, 2); err != nil || r.String() != "uint16[3,2]" || r.Layout != "" {
		t.Errorf("Reshape: %s, %v", r, err)
	}
	if _, err := a.Reshape(7); !errors.Is(err, errs.Mismatch) {
		t.Errorf("Reshape: %v", err)
	}
	if r, err := a.As(BFloat16); err != nil || r.DType != BFloat16 || a.DType != Uint16 {
		t.Errorf("As: %s, %v", r, err)
	}
	if _, err := a.As(Float32); !errors.Is(err, errs.Mismatch) {
		t.Errorf("As: %v", err)
	}
	c := a.Clone()
	c.Data[0] = 1
	c.Shape[0] = 9
	if a.Data[0] != 0 || a.Shape[0] != 2 {
		t.Error("Clone shares memory")
	}
	if a.Equal(c) || !a.Equal(a.Clone()) {
		t.Error("Equal")
	}
	a.Layout = "HWC"
	if err := a.Check(); !errors.Is(err, errs.Mismatch) {
		t.Errorf("Check: %v", err)
	}
}

func TestPackGolden(t *testing.T) {
	for _, c := range []struct {
		d      DType
		src    []byte
		packed []byte
	}{
		{Float4E2M1FN, []byte{0x1, 0x2, 0xf}, []byte{0x21, 0x0f}},
		{Int4, []byte{0xff, 0x07}, []byte{0x7f}},
		{Int2, []byte{1, 0xfe, 0, 0xff}, []byte{0xc9}},
		{Float6E2M3FN, []byte{1, 2, 3, 4}, []byte{0x81, 0x30, 0x10}},
		{Int16, []byte{1, 2, 3, 4}, []byte{1, 2, 3, 4}},
	} {
		if diff := cmp.Diff(c.packed, Pack(nil, c.d, c.src)); diff != "" {
			t.Errorf("%s: %s", c.d, diff)
		}
	}
}

func TestPackLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom(DTypes()).Draw(t, "dtype")
		n := rapid.IntRange(0, 40).Draw(t, "n")
		src := make([]byte, n*d.Size())
		for i := range src {
			v := rapid.Byte().Draw(t, "v")
			if b := d.Bits(); b < 8 {
				v &= 1<<b - 1
				if d.IsInteger() && d.IsSigned() {
					v = byte(int8(v<<(8-b)) >> (8 - b))
				}
			}
			src[i] = v
		}
		packed := Pack([]byte("x"), d, src)[1:]
		if len(packed) != PackedSize(d, n) {
			t.Fatalf("%s: %d elements in %d bytes, want %d", d, n, len(packed), PackedSize(d, n))
		}
		back, err := Unpack(nil, d, packed, n)
		if err != nil || string(back) != string(src) {
			t.Fatalf("%s: %x -> %x -> %x, %v", d, src, packed, back, err)
		}
		if _, err := Unpack(nil, d, append(packed, 0), n); !errors.Is(err, errs.Mismatch) {
			t.Fatalf("a byte too many: %v", err)
		}
	})
	if _, err := Unpack(nil, Float6E2M3FN, nil, math.MaxInt); !errors.Is(err, errs.Mismatch) {
		t.Errorf("overflow: %v", err)
	}
}

// A nil Shape of a Spec is unknown; a nil Shape of a tensor is the shape of a scalar.
func TestSpecOfScalar(t *testing.T) {
	for _, scalar := range []Tensor{{DType: Uint8, Data: []byte{1}}, New(Uint8)} {
		if s := scalar.Spec(); s.Shape == nil || len(s.Shape) != 0 {
			t.Errorf("%v: shape %#v", scalar, s.Shape)
		}
	}
}
