package tensor

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestLoss(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	float := func(v ...float64) Tensor { return FromSlice(v, len(v)) }
	integer := func(v ...int64) Tensor { return FromSlice(v, len(v)) }
	for _, c := range []struct {
		dst  DType
		src  Tensor
		want int
	}{
		{Int8, integer(127, -128, 128), 2},
		{Int8, integer(-129), 0},
		{Int4, integer(7, -8, 8), 2},
		{Uint8, integer(255, -1), 1},
		{Uint64, integer(math.MaxInt64, -1), 1},
		{Int64, FromSlice([]uint64{math.MaxInt64, 1 << 63}, 2), 1},
		{Uint32, FromSlice([]uint64{math.MaxUint32, 1 << 40}, 2), 1},
		{Bool, integer(0, 1, 2), 2},
		{Int64, FromSlice([]bool{true, false}, 2), -1},
		{Float8E8M0FNU, FromSlice([]bool{true, false}, 2), 1},
		{Int32, float(3, -4, 0, math.Copysign(0, -1), 1.5), 4},
		{Int32, float(math.MaxInt32, math.MaxInt32+1), 1},
		{Int64, float(1<<62, 1<<63), 1},
		{Uint64, float(1<<63, 1<<64), 1},
		{Uint8, float(-1), 0},
		{Int8, float(nan), 0},
		{Int8, float(inf), 0},
		{Bool, float(1, 0, 0.5), 2},
		{Float32, float(0.1, math.MaxFloat32, nan, inf, -inf, 1e39), 5},
		{BFloat16, float(1e38, 1, 1e-45, 3.4e38), 3},
		{Float16, integer(65504, 65536), 1},
		{Float8E4M3FN, float(448, nan, inf), 2},
		{Float8E5M2, float(57344, nan, inf, 1e6), 3},
		{Float4E2M1FN, float(6, 5.1, -6, 7), 3},
		{Float4E2M1FN, float(nan), 0},
		{Float8E8M0FNU, float(2, 3, 0), 2},
		{Float32, FromSlice([]complex64{1, 2, 1i}, 3), 2},
		{Int16, FromSlice([]complex128{1, 2.5}, 2), 1},
		{Complex64, FromSlice([]complex128{1 + 1i, complex(1, 1e300)}, 2), 1},
		{Complex64, float(1, 1e300), 1},
		{Complex128, float(1, 1e300), -1},
		{Bool, FromSlice([]complex64{1, 1 + 1i}, 2), 1},
		{Int64, FromSlice([]uint8{255}, 1), -1},
	} {
		out, err := Cast(c.dst, c.src)
		if err != nil {
			t.Fatal(err)
		}
		if got := Loss(c.dst, out.Data, c.src.DType, c.src.Data); got != c.want {
			t.Errorf("%v to %v: element %d, want %d", c.src, c.dst, got, c.want)
		}
	}
}

// Values that are not lost come back, and Loss finds the first loss at any index.
func TestLossLaw(t *testing.T) {
	all := DTypes()
	rapid.Check(t, func(t *rapid.T) {
		src, dst := rapid.SampledFrom(all).Draw(t, "src"), rapid.SampledFrom(all).Draw(t, "dst")
		n := rapid.IntRange(1, 3*castBlock).Draw(t, "n")
		zero := rapid.SliceOfN(rapid.ByteRange(0, 1), n*src.Size(), n*src.Size()).Draw(t, "bytes")
		in := Tensor{DType: src, Shape: Shape{n}, Data: zero}
		if src == Bool || in.Check() != nil {
			return
		}
		out, err := Cast(dst, in)
		if err != nil {
			t.Fatal(err)
		}
		first := Loss(dst, out.Data, src, in.Data)
		for i := range n {
			one := Loss(dst, out.Data[i*dst.Size():(i+1)*dst.Size()], src, in.Data[i*src.Size():(i+1)*src.Size()])
			if i < first || first < 0 {
				if one >= 0 {
					t.Fatalf("%v to %v: element %d is lost, first is %d", src, dst, i, first)
				}
			} else if i == first && one < 0 {
				t.Fatalf("%v to %v: element %d is not lost", src, dst, i)
			}
		}
		if first >= 0 || !src.IsInteger() || dst.IsFloat() || dst.IsComplex() {
			return
		}
		back, err := Cast(src, out)
		if err != nil || !back.Equal(in) {
			t.Fatalf("%v to %v and back: %v, %v", src, dst, back, err)
		}
	})
}
