package element_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The expected results come from DALI 2.4.0.
func TestHalf(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		v    float32
		want float64
	}{
		{1 + 1.0/(1<<11), 1.0009765625}, {1 + 3.0/(1<<11), 1.001953125}, {1.0 / (1 << 25), 5.960464477539063e-08},
		{3.0 / (1 << 25), 1.1920928955078125e-07}, {1.0 / (1 << 26), 0}, {65519.996, 65504}, {65520, math.Inf(1)},
		{6.103e-5, 6.103515625e-05}, {-2.5, -2.5}, {inf, math.Inf(1)}, {-inf, math.Inf(-1)}, {0, 0}, {2049, 2050}, {1e10, math.Inf(1)},
	} {
		if got := tensor.Float16.DecodeFloat(uint64(element.Half(c.v))); got != c.want {
			t.Errorf("%g: %g, want %g", c.v, got, c.want)
		}
	}
	if got := tensor.Float16.DecodeFloat(uint64(element.Half(float32(math.NaN())))); got == got {
		t.Errorf("NaN became %g", got)
	}
}

// TestHalfIsNearest compares all finite halves and the numbers half way between them.
func TestHalfIsNearest(t *testing.T) {
	for h := uint16(0); h < 0x7bff; h++ {
		lo, hi := tensor.Float16.DecodeFloat(uint64(h)), tensor.Float16.DecodeFloat(uint64(h+1))
		middle := float32((lo + hi) / 2)
		if got := element.Half(float32(lo)); got != h {
			t.Fatalf("%g: %#x, want %#x", lo, got, h)
		}
		if got := element.Half(middle); got != h+1 {
			t.Fatalf("%g: %#x, want %#x", middle, got, h+1)
		}
		if got := element.Half(-math.Nextafter32(middle, 0)); got != h|0x8000 {
			t.Fatalf("below %g: %#x, want %#x", middle, got, h)
		}
	}
}

// define converts one element the slow way: v as an integer of the source, or as a float.
func define(to tensor.DType, v float64, integer bool) float64 {
	lo, hi := 0.0, math.Ldexp(1, to.Bits())-1
	if to.IsSigned() {
		lo, hi = -math.Ldexp(1, to.Bits()-1), math.Ldexp(1, to.Bits()-1)-1
	}
	switch to {
	case tensor.Bool:
		if integer && v != 0 || math.Round(v) != 0 {
			return 1
		}
		return 0
	case tensor.Float64:
		return v
	case tensor.Float32:
		return float64(float32(v))
	case tensor.Float16:
		return tensor.Float16.DecodeFloat(uint64(element.Half(float32(v))))
	}
	return min(max(math.Round(v), lo), hi)
}

func TestConvertLaw(t *testing.T) {
	types := element.Types()
	rapid.Check(t, func(t *rapid.T) {
		from, to := rapid.SampledFrom(types).Draw(t, "from"), rapid.SampledFrom(types).Draw(t, "to")
		values := rapid.SliceOfN(rapid.Float64Range(-1<<20, 1<<20), 0, 600).Draw(t, "values")
		in, out := tensor.New(from, len(values)), tensor.New(to, len(values))
		if err := element.Convert(in, tensor.FromSlice(values)); err != nil {
			t.Fatal(err)
		}
		if err := element.Convert(out, in); err != nil {
			t.Fatal(err)
		}
		for i := range values {
			v, _ := in.Float64(i)
			got, _ := out.Float64(i)
			if want := define(to, v, !from.IsFloat()); got != want {
				t.Fatalf("%s to %s of %g: %g, want %g", from, to, v, got, want)
			}
		}
	})
}

func TestConvertSpecial(t *testing.T) {
	nan := tensor.FromSlice([]float64{math.NaN()})
	for to, want := range map[tensor.DType]float64{
		tensor.Uint8: 0, tensor.Int8: 0, tensor.Uint16: 0, tensor.Int16: 0, tensor.Uint32: 0, tensor.Int32: math.MinInt32,
		tensor.Int64: math.MinInt64, tensor.Uint64: 1 << 63, tensor.Bool: 1,
	} {
		out := tensor.New(to, 1)
		if err := element.Convert(out, nan); err != nil {
			t.Fatal(err)
		}
		if got, _ := out.Float64(0); got != want {
			t.Errorf("NaN to %s: %g, want %g", to, got, want)
		}
	}
	small := tensor.FromSlice([]float32{0.3, -0.49, 0.5, -0.5, 1e20, float32(math.Inf(-1))})
	out := tensor.New(tensor.Bool, 6)
	if err := element.Convert(out, small); err != nil || string(out.Data) != "\x00\x00\x01\x01\x01\x01" {
		t.Errorf("floats to bool: %v %v", out.Data, err)
	}
	if got := op.Round[uint64](1 << 63); got != 1<<63 {
		t.Errorf("2^63 to uint64: %d", got)
	}
}

func TestConvertRefuses(t *testing.T) {
	a := tensor.New(tensor.Float32, 2)
	if err := element.Convert(tensor.New(tensor.Uint8, 3), a); !errors.Is(err, errs.Mismatch) {
		t.Error(err)
	}
	if err := element.Convert(tensor.New(tensor.Complex64, 2), a); !errors.Is(err, errs.Unsupported) {
		t.Error(err)
	}
}

func BenchmarkConvert(b *testing.B) {
	in := tensor.New(tensor.Float32, 224*224*3)
	out := tensor.New(tensor.Uint8, 224*224*3)
	b.SetBytes(int64(len(in.Data)))
	for b.Loop() {
		if err := element.Convert(out, in); err != nil {
			b.Fatal(err)
		}
	}
}
