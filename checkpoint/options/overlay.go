package options

import "reflect"

// Overlay returns, field by field, what over says, and what under says where
// over inherits. Maps are joined key by key, slices taken whole. It is
// associative, and the zero Options change nothing.
//
// What has two spellings is made one first: a Bivouac.Layout becomes
// CheckpointLayout, UseOCDBT and UseZarr3, so that either spelling of a scope
// goes before either of the next.
func Overlay(over, under Options) Options {
	over, under = over.canonical(), under.canonical()
	var out Options
	overlay(reflect.ValueOf(&out).Elem(), reflect.ValueOf(over), reflect.ValueOf(under))
	if over.agreeCompression() == nil && under.agreeCompression() == nil &&
		out.Array.Saving.UseCompression == On && out.Bivouac.Compression == Uncompressed {
		out.Bivouac.Compression = Zstd // switched on again above a scope that switched it off
	}
	return out
}

// own reports whether values of t are parts of Options, so that they are
// overlaid and copied in depth. Pointers to others are shared.
func own(t reflect.Type) bool {
	return t.PkgPath() == reflect.TypeFor[Options]().PkgPath() || t.PkgPath() == ""
}

func overlay(out, over, under reflect.Value) {
	switch {
	case over.Kind() == reflect.Struct && own(over.Type()):
		for i := range over.NumField() {
			overlay(out.Field(i), over.Field(i), under.Field(i))
		}
	case over.Kind() == reflect.Map:
		if over.IsNil() && under.IsNil() {
			return
		}
		out.Set(reflect.MakeMap(over.Type()))
		for _, from := range []reflect.Value{under, over} {
			for it := from.MapRange(); it.Next(); {
				out.SetMapIndex(it.Key(), it.Value())
			}
		}
	case over.IsZero():
		out.Set(copied(under))
	default:
		out.Set(copied(over))
	}
}

// copied returns a copy that shares no slice with v, nor a pointer to a part of Options.
func copied(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || !own(v.Type().Elem()) {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(copied(v.Elem()))
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(copied(v.Index(i)))
		}
		return out
	case reflect.Struct:
		if !own(v.Type()) {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		for i := range v.NumField() {
			out.Field(i).Set(copied(v.Field(i)))
		}
		return out
	}
	return v
}
