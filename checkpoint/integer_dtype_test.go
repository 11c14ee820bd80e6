package checkpoint_test

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// integers has a field of each type of integer, and an any.
type integers struct {
	I   int
	I8  int8
	I16 int16
	I32 int32
	I64 int64
	U   uint
	U8  uint8
	U16 uint16
	U32 uint32
	U64 uint64
	Map map[string]uint64
	Any any
}

// dtypeOf is the dtype in which each field of integers is stored.
var dtypeOf = map[string]tensor.DType{
	"I": tensor.Int64, "I8": tensor.Int64, "I16": tensor.Int64, "I32": tensor.Int64, "I64": tensor.Int64,
	"U": tensor.Uint64, "U8": tensor.Int64, "U16": tensor.Int64, "U32": tensor.Int64, "U64": tensor.Uint64,
	"Map.k": tensor.Uint64, "Any": tensor.Uint64,
}

func checkDTypes(t interface{ Errorf(string, ...any) }, info *checkpoint.Info, err error) {
	if err != nil {
		t.Errorf("Metadata: %v", err)
		return
	}
	seen := 0
	for _, item := range info.Items {
		for _, l := range item.Leaves {
			seen++
			if want := dtypeOf[l.Path.String()]; l.DType != want {
				t.Errorf("%s is stored as %v, want %v", l.Path, l.DType, want)
			}
		}
	}
	if seen != len(dtypeOf) {
		t.Errorf("%d leaves, want %d", seen, len(dtypeOf))
	}
}

// A field of Go has one dtype, whatever its value is, and keeps it when what was loaded
// without its type is saved again. The value comes back.
func TestIntegerHasOneDType(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		big := rapid.SampledFrom([]uint64{0, 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64})
		v := integers{
			I: rapid.Int().Draw(rt, "int"), I8: rapid.Int8().Draw(rt, "int8"), I16: rapid.Int16().Draw(rt, "int16"),
			I32: rapid.Int32().Draw(rt, "int32"), I64: rapid.Int64().Draw(rt, "int64"),
			U: uint(big.Draw(rt, "uint")), U8: rapid.Uint8().Draw(rt, "uint8"), U16: rapid.Uint16().Draw(rt, "uint16"),
			U32: rapid.Uint32().Draw(rt, "uint32"), U64: big.Draw(rt, "uint64"),
			Map: map[string]uint64{"k": big.Draw(rt, "map")}, Any: big.Draw(rt, "any"),
		}
		n++
		at := filepath.Join(dir, fmt.Sprint(n))
		var o checkpoint.SaveOptions
		o.Bivouac.Layout = rapid.SampledFrom([]options.Layout{options.OCDBTZarr3, options.PlainZarr2,
			options.SafetensorsLayout}).Draw(rt, "layout")
		if err := checkpoint.Save(t.Context(), at, &v, &o); err != nil {
			rt.Fatal(err)
		}
		info, err := checkpoint.Metadata(t.Context(), at, nil)
		checkDTypes(rt, info, err)
		got := integers{Map: map[string]uint64{}, Any: uint64(0)}
		if err := checkpoint.LoadInto(t.Context(), at, &got, nil); err != nil {
			rt.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(v) {
			rt.Errorf("got %v, want %v", got, v)
		}
		untyped, err := checkpoint.Load(t.Context(), at, nil)
		if err != nil {
			rt.Fatal(err)
		}
		if err := checkpoint.Save(t.Context(), at+"-again", untyped, nil); err != nil {
			rt.Fatal(err)
		}
		info, err = checkpoint.Metadata(t.Context(), at+"-again", nil)
		checkDTypes(rt, info, err)
	})
}

// Steps that were written when small values of uint64 were int64 leaves fill fields of
// uint64, and the other way round where the value fits.
func TestIntegerFromOtherDType(t *testing.T) {
	at := filepath.Join(t.TempDir(), "c")
	if err := checkpoint.Save(t.Context(), at, map[string]any{"a": int64(7), "b": uint64(8), "c": int64(-1)},
		nil); err != nil {
		t.Fatal(err)
	}
	var got struct {
		A uint64 `bivouac:"a"`
		B int64  `bivouac:"b"`
		C int64  `bivouac:"c"`
	}
	if err := checkpoint.LoadInto(t.Context(), at, &got, nil); err != nil || got.A != 7 || got.B != 8 || got.C != -1 {
		t.Errorf("got %+v, %v", got, err)
	}
	var negative struct {
		A uint64 `bivouac:"a"`
		B int64  `bivouac:"b"`
		C uint64 `bivouac:"c"`
	}
	if err := checkpoint.LoadInto(t.Context(), at, &negative, nil); errs.KindOf(err) != errs.Mismatch {
		t.Errorf("-1 into a uint64: %v", err)
	}
}
