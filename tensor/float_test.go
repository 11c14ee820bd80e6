package tensor

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Every floating-point type has a format, and every value of a narrow one is
// encoded as itself.
func TestFloatFormats(t *testing.T) {
	for d := Invalid; d < DType(64); d++ {
		if d.Size() == 0 {
			continue
		}
		f, ok := floatFormats[d]
		if ok != d.IsFloat() {
			t.Errorf("%v: IsFloat %v, format %v", d, d.IsFloat(), ok)
		}
		if !ok || d.Size() > 2 {
			continue
		}
		width := f.width()
		if !f.unsigned {
			width++
		}
		for bits := range uint64(1) << width {
			x := d.DecodeFloat(bits)
			back, ok := d.EncodeFloat(x)
			same := back == bits || math.IsNaN(x) && math.IsNaN(d.DecodeFloat(back))
			if !ok || !same {
				t.Fatalf("%v: %#x is %v, which is encoded as %#x (%v)", d, bits, x, back, ok)
			}
		}
	}
}

func TestFloatKnownValues(t *testing.T) {
	for _, c := range []struct {
		d    DType
		bits uint64
		want float64
	}{
		{Float16, 0x3c00, 1}, {Float16, 0x0001, 0x1p-24}, {Float16, 0x7bff, 65504}, {Float16, 0xfc00, math.Inf(-1)},
		{BFloat16, 0x3f80, 1}, {BFloat16, 0xc049, -3.140625},
		{Float8E4M3FN, 0x7e, 448}, {Float8E4M3FN, 0x01, 0x1p-9}, {Float8E5M2, 0x7b, 57344}, {Float8E4M3FNUZ, 0x7f, 240},
		{Float8E8M0FNU, 0x7f, 1}, {Float8E8M0FNU, 0x00, 0x1p-127}, {Float4E2M1FN, 0x7, 6}, {Float4E2M1FN, 0x9, -0.5},
		{Float6E2M3FN, 0x1f, 7.5}, {Float6E3M2FN, 0x1f, 28},
	} {
		if got := c.d.DecodeFloat(c.bits); got != c.want {
			t.Errorf("%v %#x: got %v, want %v", c.d, c.bits, got, c.want)
		}
	}
	if _, ok := Int8.EncodeFloat(1); ok {
		t.Error("int8 is no float")
	}
	if _, ok := Float8E4M3FN.EncodeFloat(1e9); ok {
		t.Error("beyond the largest value")
	}
	// Ties go to the even neighbour.
	if b, _ := BFloat16.EncodeFloat(1 + 0x1p-8); b != 0x3f80 {
		t.Errorf("halfway down: %#x", b)
	}
	if b, _ := BFloat16.EncodeFloat(1 + 3*0x1p-8); b != 0x3f82 {
		t.Errorf("halfway up: %#x", b)
	}
}

// The general decoder agrees with the machine.
func TestFloat32Float64(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := r.Uint32()
		want := math.Float32frombits(b)
		if got := Float32.DecodeFloat(uint64(b)); got != float64(want) && want == want {
			t.Fatalf("%#x: got %v, want %v", b, got, want)
		}
		x := r.NormFloat64() * math.Pow(10, float64(r.IntN(60)-30))
		if got, ok := Float32.EncodeFloat(x); !ok || uint32(got) != math.Float32bits(float32(x)) {
			t.Fatalf("%v: got %#x (%v), want %#x", x, got, ok, math.Float32bits(float32(x)))
		}
	}
}

func TestTensorFloat64(t *testing.T) {
	for _, c := range []struct {
		t    Tensor
		want float64
	}{
		{ScalarOf(int8(-3)), -3}, {ScalarOf(uint64(1 << 40)), 1 << 40}, {ScalarOf(int64(-5)), -5}, {ScalarOf(true), 1},
		{ScalarOf(float32(0.5)), 0.5}, {ScalarOf(2.25), 2.25}, {Tensor{DType: BFloat16, Data: []byte{0x80, 0x3f}}, 1}, {Tensor{DType: Int4, Data: []byte{0xff}}, -1},
	} {
		if got, ok := c.t.Float64(0); !ok || got != c.want {
			t.Errorf("%v: got %v, %v, want %v", c.t, got, ok, c.want)
		}
	}
	if _, ok := ScalarOf(complex(1, 2)).Float64(0); ok {
		t.Error("a complex number is no float64")
	}
}
