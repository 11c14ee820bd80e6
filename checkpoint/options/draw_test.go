package options

import (
	"crypto/ed25519"
	"io/fs"
	"reflect"
	"time"

	"github.com/bivouac-ml/bivouac/tensor"
	"pgregory.net/rapid"
)

// draw returns a value of type t, of which its text form can tell all that it
// has; functions and the like stay nil.
func draw(t *rapid.T, typ reflect.Type) reflect.Value {
	out := reflect.New(typ).Elem()
	if !rapid.Bool().Draw(t, "set") {
		return out
	}
	pick := func(n int) uint64 { return uint64(rapid.IntRange(1, n).Draw(t, typ.String())) }
	switch typ {
	case reflect.TypeFor[Toggle]():
		out.SetUint(pick(2))
	case reflect.TypeFor[Layout]():
		out.SetUint(pick(5))
	case reflect.TypeFor[Compression](), reflect.TypeFor[CheckpointLayout](), reflect.TypeFor[PathwaysImpl]():
		out.SetUint(pick(3))
	case reflect.TypeFor[AtomicityMode]():
		out.Set(reflect.ValueOf(AtomicRename))
	case reflect.TypeFor[Limit](), reflect.TypeFor[FileSize]():
		out.SetInt(rapid.OneOf(rapid.Just(int64(Unlimited)), rapid.Int64Range(1, 1<<50)).Draw(t, "bytes"))
	case reflect.TypeFor[time.Duration]():
		out.SetInt(rapid.OneOf(rapid.Just(int64(Unlimited)), rapid.Int64Range(1, int64(1000*time.Hour))).Draw(t, "time"))
	case reflect.TypeFor[*Host]():
		out.Set(reflect.ValueOf(new(Host(rapid.IntRange(0, 3).Draw(t, "host")))))
	case reflect.TypeFor[fs.FileMode]():
		out.SetUint(0o700 | pick(0o77))
	case reflect.TypeFor[ed25519.PublicKey]():
		out.SetBytes(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "key"))
	case reflect.TypeFor[tensor.DType]():
		out.Set(reflect.ValueOf(rapid.SampledFrom(tensor.DTypes()).Draw(t, "dtype")))
	case reflect.TypeFor[map[string]string]():
		out.Set(reflect.ValueOf(rapid.MapOfN(rapid.StringN(1, 8, -1), rapid.String(), 0, 3).Draw(t, "map")))
	case reflect.TypeFor[[]int]():
		out.Set(reflect.ValueOf(rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 1, 3, rapid.ID[int]).Draw(t, "ints")))
	case reflect.TypeFor[[]LeafStorage]():
		s := reflect.MakeSlice(typ, rapid.IntRange(0, 2).Draw(t, "leaves"), 2)
		for i := range s.Len() {
			s.Index(i).Field(0).SetString(rapid.SampledFrom([]string{"**", "a/*", "x"}).Draw(t, "match"))
			s.Index(i).Field(1).Set(draw(t, reflect.TypeFor[Storage]()))
			s.Index(i).Field(2).Set(draw(t, reflect.TypeFor[Compression]()))
		}
		out.Set(s)
	case reflect.TypeFor[*int]():
		out.Set(reflect.ValueOf(new(rapid.IntRange(0, 3).Draw(t, "int"))))
	case reflect.TypeFor[*Regulator](): // refused
	default:
		switch typ.Kind() {
		case reflect.Struct:
			for i := range typ.NumField() {
				if typ.Field(i).Name == "Parity" {
					out.Field(i).SetInt(rapid.OneOf(rapid.Just(int64(-1)), rapid.Int64Range(1, 50)).Draw(t, "parity"))
					continue
				}
				out.Field(i).Set(draw(t, typ.Field(i).Type))
			}
		case reflect.String:
			out.SetString(rapid.StringMatching(`[a-z.]{1,6}x`).Draw(t, "string"))
		case reflect.Float64:
			out.SetFloat(rapid.SampledFrom([]float64{0.5, 1, 0.75}).Draw(t, "float"))
		case reflect.Int, reflect.Int64:
			out.SetInt(rapid.Int64Range(1, 1<<30).Draw(t, "int"))
		}
	}
	return out
}

// drawOptions draws options that Validate takes.
func drawOptions(t *rapid.T) Options {
	o := draw(t, reflect.TypeFor[Options]()).Interface().(Options)
	o.Multiprocessing.ActiveProcesses = nil
	if o.Safetensors.MaxOverReadRatio != 0 {
		o.Safetensors.MaxOverReadRatio += 1
	}
	for i := range o.Array.Loading.LoadAndBroadcast.MeshShape {
		o.Array.Loading.LoadAndBroadcast.MeshShape[i]++
	}
	if o.agreeLayout() != nil {
		o.Bivouac.Layout = DefaultLayout
	}
	if o.agreeCompression() != nil {
		o.Bivouac.Compression = DefaultCompression
	}
	if err := o.Validate(); err != nil {
		t.Fatalf("drew what Validate refuses: %v", err)
	}
	return o
}
