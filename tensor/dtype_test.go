package tensor

import (
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestDTypeTable(t *testing.T) {
	if got := len(DTypes()); got != 30 {
		t.Fatalf("%d types", got)
	}
	for _, d := range DTypes() {
		i := d.info()
		if i.name == "" || i.size == 0 || i.bits == 0 || i.class == classOther || !i.carrier.Valid() {
			t.Errorf("%d: incomplete row %+v", d, *i)
		}
		if int(i.bits) != 8*int(i.size) && i.size != 1 {
			t.Errorf("%s: %d bits in %d bytes", d, i.bits, i.size)
		}
		if i.carrier.Size() != d.Size() {
			t.Errorf("%s: carrier %s has another size", d, i.carrier)
		}
		if got, err := ParseDType(d.String()); err != nil || got != d {
			t.Errorf("ParseDType(%s) = %v, %v", d, got, err)
		}
		if n, ok := d.Zarr(); ok {
			if got, ok := FromZarr(n); !ok || got != d {
				t.Errorf("FromZarr(%q) = %v", n, got)
			}
			if n != d.String() {
				t.Errorf("%s: zarr v3 calls it %q", d, n)
			}
		}
		if n, ok := d.ZarrV2(); ok {
			if got, big, ok := FromZarrV2(n); !ok || big || got != d {
				t.Errorf("FromZarrV2(%q) = %v, %v", n, got, big)
			}
		}
		if n, ok := d.Safetensors(); ok {
			if got, ok := FromSafetensors(n); !ok || got != d {
				t.Errorf("FromSafetensors(%q) = %v", n, got)
			}
		}
		if n, ok := d.DALI(); ok {
			if got, ok := FromDALI(n); !ok || got != d {
				t.Errorf("FromDALI(%q) = %v", n, got)
			}
		}
	}
}

func TestDTypeNames(t *testing.T) {
	for _, c := range []struct {
		d                   DType
		size, bits          int
		name, v2, safe, dal string
	}{
		{Bool, 1, 8, "bool", "|b1", "BOOL", "BOOL"},
		{Int4, 1, 4, "int4", "int4", "", ""},
		{Uint4, 1, 4, "uint4", "", "", ""},
		{BFloat16, 2, 16, "bfloat16", "bfloat16", "BF16", ""},
		{Float32, 4, 32, "float32", "<f4", "F32", "FLOAT"},
		{Complex128, 16, 128, "complex128", "<c16", "", ""},
		{Float8E4M3FN, 1, 8, "float8_e4m3fn", "float8_e4m3fn", "F8_E4M3", ""},
		{Float8E4M3, 1, 8, "float8_e4m3", "", "", ""},
		{Float4E2M1FN, 1, 4, "float4_e2m1fn", "float4_e2m1fn", "F4", ""},
		{Float6E3M2FN, 1, 6, "float6_e3m2fn", "", "F6_E3M2", ""},
		{Invalid, 0, 0, "invalid", "", "", ""},
		{DType(200), 0, 0, "invalid", "", "", ""},
	} {
		v2, _ := c.d.ZarrV2()
		safe, _ := c.d.Safetensors()
		dal, _ := c.d.DALI()
		if c.d.Size() != c.size || c.d.Bits() != c.bits || c.d.String() != c.name || v2 != c.v2 || safe != c.safe || dal != c.dal {
			t.Errorf("%s: size %d bits %d v2 %q safetensors %q DALI %q", c.d, c.d.Size(), c.d.Bits(), v2, safe, dal)
		}
	}
	if d, big, ok := FromZarrV2(">f4"); d != Float32 || !big || !ok {
		t.Errorf("FromZarrV2(>f4) = %v, %v, %v", d, big, ok)
	}
	for _, name := range []string{"", ">", ">bfloat16", ">b1", "f4"} {
		if d, _, ok := FromZarrV2(name); ok {
			t.Errorf("FromZarrV2(%q) = %v", name, d)
		}
	}
	for _, name := range []string{"", "invalid", "FLOAT32", "float"} {
		if _, err := ParseDType(name); !errors.Is(err, errs.Invalid) {
			t.Errorf("ParseDType(%q): %v", name, err)
		}
	}
}

func TestDTypeClasses(t *testing.T) {
	for _, c := range []struct {
		d                              DType
		float, integer, signed, cmplex bool
	}{
		{Bool, false, false, false, false},
		{Int2, false, true, true, false},
		{Uint64, false, true, false, false},
		{BFloat16, true, false, true, false},
		{Float8E8M0FNU, true, false, false, false},
		{Complex64, false, false, false, true},
		{Invalid, false, false, false, false},
	} {
		if c.d.IsFloat() != c.float || c.d.IsInteger() != c.integer || c.d.IsSigned() != c.signed || c.d.IsComplex() != c.cmplex {
			t.Errorf("%s: float %v integer %v signed %v complex %v", c.d, c.d.IsFloat(), c.d.IsInteger(), c.d.IsSigned(), c.d.IsComplex())
		}
	}
}

func FuzzParseDType(f *testing.F) {
	for _, d := range DTypes() {
		f.Add(d.String())
	}
	f.Add("<f4")
	f.Fuzz(func(t *testing.T, name string) {
		d, err := ParseDType(name)
		if (err == nil) != d.Valid() || d.Valid() && d.String() != name {
			t.Fatalf("%q: %v, %v", name, d, err)
		}
		if d, ok := FromSafetensors(name); ok != d.Valid() {
			t.Fatalf("%q: %v", name, d)
		}
		if d, big, ok := FromZarrV2(name); ok != d.Valid() || big && name[0] != '>' {
			t.Fatalf("%q: %v", name, d)
		}
	})
}
