package tensor

import "testing"

func TestElement(t *testing.T) {
	half := func(d DType, bits uint16) Tensor {
		u, err := FromSlice([]uint16{bits}).As(d)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, c := range []struct {
		t    Tensor
		want string
	}{
		{FromSlice([]bool{true}), "true"},
		{FromSlice([]int8{-3}), "-3"},
		{FromSlice([]int64{-1 << 63}), "-9223372036854775808"},
		{FromSlice([]uint64{1<<64 - 1}), "18446744073709551615"},
		{FromSlice([]float32{0.1}), "0.1"},
		{FromSlice([]float64{0.1}), "0.1"},
		{FromSlice([]complex64{1 - 2i}), "(1-2i)"},
		{FromSlice([]complex128{2i}), "(0+2i)"},
		{half(BFloat16, 0x3fc0), "1.5"},
		{half(Float16, 0x3c00), "1"},
		{half(Float16, 0xc000), "-2"},
		{half(Float16, 0x0001), "5.9604645e-08"},
		{half(Float16, 0x7bff), "65504"},
		{half(Float16, 0xfc00), "-Inf"},
		{half(Float16, 0x7e00), "NaN"},
		{half(Float16, 0x8000), "-0"},
		{Tensor{DType: Float8E5M2, Shape: Shape{1}, Data: []byte{0x3c}}, "0x3c"},
		{Tensor{DType: Int4, Shape: Shape{1}, Data: []byte{0xff}}, "-1"},
	} {
		if got := c.t.Element(0); got != c.want {
			t.Errorf("%s: %s, want %s", c.t, got, c.want)
		}
	}
}
