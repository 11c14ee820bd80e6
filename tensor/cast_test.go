package tensor

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestCast(t *testing.T) {
	src := FromSlice([]float32{1, -2.5, 300, float32(math.NaN())}, 2, 2)
	src.Layout = "HW"
	got, err := Cast(Int8, src)
	want := FromSlice([]int8{1, -2, 44, 0}, 2, 2)
	want.Layout = "HW"
	if err != nil || !got.Equal(want) {
		t.Errorf("got %v %v, %v", got, got.Data, err)
	}
	same, err := Cast(Float32, src)
	if err != nil || &same.Data[0] != &src.Data[0] {
		t.Errorf("the same type was copied: %v", err)
	}
	if empty, err := Cast(BFloat16, New(Float32, 0, 3)); err != nil || !empty.Shape.Equal(Shape{0, 3}) || len(empty.Data) != 0 {
		t.Errorf("empty: %v, %v", empty, err)
	}
}

func TestCastRefuses(t *testing.T) {
	if _, err := Cast(Invalid, New(Int8, 1)); errs.KindOf(err) != errs.Invalid {
		t.Errorf("to no type: %v", err)
	}
	if _, err := Cast(Int8, Tensor{DType: Int16, Shape: Shape{2}, Data: make([]byte, 3)}); errs.KindOf(err) != errs.Mismatch {
		t.Errorf("malformed: %v", err)
	}
	mem := make([]byte, 64)
	for name, c := range map[string]struct {
		dst, src DType
		out, in  []byte
		want     errs.Kind
	}{
		"no type":        {Int8, DType(200), mem[:1], mem[32:33], errs.Invalid},
		"lengths":        {Int16, Int8, mem[:3], mem[32:34], errs.Mismatch},
		"part of one":    {Int16, Int32, mem[:2], mem[32:35], errs.Mismatch},
		"overlap inside": {Int16, Int8, mem[:16], mem[4:12], errs.Invalid},
		"overlap":        {Int8, Int8, mem[:8], mem[4:12], errs.Invalid},
	} {
		before := bytes.Clone(mem)
		if err := CastInto(c.dst, c.out, c.src, c.in); errs.KindOf(err) != c.want || !bytes.Equal(mem, before) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Any pair gives the same whole, in parts, and in memory shared at either end.
func TestCastInPlace(t *testing.T) {
	all := DTypes()
	rapid.Check(t, func(t *rapid.T) {
		from, to := rapid.SampledFrom(all).Draw(t, "from"), rapid.SampledFrom(all).Draw(t, "to")
		n := rapid.SampledFrom([]int{0, 1, 2, 255, 256, 257, 1023, 1500}).Draw(t, "elements")
		in := make([]byte, n*from.Size())
		r := rapid.Uint64().Draw(t, "seed")
		for i := range in {
			in[i] = byte(splitmix(r + uint64(i)))
		}
		cast := func(out, in []byte) []byte {
			if err := CastInto(to, out, from, in); err != nil {
				t.Fatal(err)
			}
			return out
		}
		want := cast(make([]byte, n*to.Size()), in)
		cut := rapid.IntRange(0, n).Draw(t, "cut")
		parts := make([]byte, len(want))
		cast(parts[:cut*to.Size()], in[:cut*from.Size()])
		cast(parts[cut*to.Size():], in[cut*from.Size():])
		if !bytes.Equal(parts, want) {
			t.Fatal("parts differ")
		}
		mem := make([]byte, max(len(in), len(want)))
		copy(mem, in)
		if !bytes.Equal(cast(mem[:len(want)], mem[:len(in)]), want) {
			t.Fatal("from the beginning of the memory")
		}
		copy(mem[len(mem)-len(in):], in)
		if !bytes.Equal(cast(mem[len(mem)-len(want):], mem[len(mem)-len(in):]), want) {
			t.Fatal("from the end of the memory")
		}
	})
}

// Pairs that numpy refuses go by the float32 that either side is made of.
func TestCastWhereNumpyRefuses(t *testing.T) {
	for _, d := range DTypes() {
		if d.Size() != 1 || d == Float8E8M0FNU {
			continue
		}
		in := castElements(d)
		direct, between, over := make([]byte, len(in)), make([]byte, 4*len(in)), make([]byte, len(in))
		for _, err := range []error{CastInto(Float8E8M0FNU, direct, d, in), CastInto(Float32, between, d, in), CastInto(Float8E8M0FNU, over, Float32, between)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(direct, over) {
			t.Errorf("%s: got %x, want %x", d, direct, over)
		}
	}
	for _, c := range []struct {
		from, to DType
		in, want []byte
	}{
		{Int2, Uint4, []byte{0xff, 1}, []byte{15, 1}},
		{Uint4, Int4, []byte{15, 7}, []byte{0xff, 7}},
		{Int4, Uint2, []byte{0xff, 6}, []byte{3, 2}},
	} {
		got := make([]byte, 2)
		if err := CastInto(c.to, got, c.from, c.in); err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("%s to %s: got %x, %v", c.from, c.to, got, err)
		}
	}
}

func TestCastAllocates(t *testing.T) {
	in, out := make([]byte, 4<<12), make([]byte, 16<<12)
	for _, from := range DTypes() {
		for _, to := range []DType{Bool, Int4, Int64, BFloat16, Float16, Float32, Complex128, Float8E4M3FN} {
			n := len(in) / from.Size() / 4
			if a := testing.AllocsPerRun(1, func() {
				if err := CastInto(to, out[:n*to.Size()], from, in[:n*from.Size()]); err != nil {
					t.Fatal(err)
				}
			}); a > 0 {
				t.Errorf("%s to %s: %v allocations", from, to, a)
			}
		}
	}
}

func BenchmarkCastInto(b *testing.B) {
	const n = 1 << 20
	in, out := make([]byte, 16*n), make([]byte, 16*n)
	for i := range in {
		in[i] = byte(splitmix(uint64(i)))
	}
	for _, p := range [][2]DType{
		{Float32, BFloat16}, {BFloat16, Float32}, {Float32, Float16}, {Float16, Float32}, {Float64, Float32},
		{Float16, BFloat16}, {Float8E4M3FN, Float32}, {Float32, Float8E4M3FN}, {Int64, Int32}, {Int32, Float32}, {Float32, Int32},
	} {
		b.Run(p[0].String()+"-"+p[1].String(), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(n * (p[0].Size() + p[1].Size())))
			for b.Loop() {
				if err := CastInto(p[1], out[:n*p[1].Size()], p[0], in[:n*p[0].Size()]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
