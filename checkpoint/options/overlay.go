package options

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
)

// Overlay returns the fields of over, and for each field that over leaves unset the field of under.
// Maps are joined key by key; slices are taken whole. Overlay is associative, and the zero Options
// change nothing.
//
// An option with two spellings gets one spelling first: a Bivouac.Layout becomes CheckpointLayout,
// UseOCDBT and UseZarr3. So either spelling in over takes precedence over either spelling in under.
func Overlay(over, under Options) Options {
	over, under = over.canonical(), under.canonical()
	var out Options
	overlay(reflect.ValueOf(&out).Elem(), reflect.ValueOf(over), reflect.ValueOf(under))
	if over.agreeCompression() == nil && under.agreeCompression() == nil &&
		out.Array.Saving.UseCompression == On && out.Bivouac.Compression == Uncompressed {
		out.Bivouac.Compression = Zstd // on again, in a scope above one that switched it off
	}
	return out
}

// own reports whether values of t are parts of Options, which are overlaid and copied deeply.
// Pointers to other types are shared.
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

// copied returns a copy that shares with v no slice and no pointer to a part of Options.
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

// field is one option: a leaf of the groups.
type field struct {
	name  string // dotted, as Orbax spells it
	text  bool   // has a text form
	value reflect.Value
}

// keyOf returns the name of a struct field in Orbax, and whether the field has a text form.
func keyOf(f reflect.StructField) (name string, text bool) {
	if name = f.Tag.Get("json"); name != "-" {
		return name, true
	}
	return f.Tag.Get("orbax"), false
}

// isGroup reports whether t is a group of options rather than an option.
func isGroup(t reflect.Type) bool { return t.Kind() == reflect.Struct && own(t) }

// walk calls visit for the options of o in their order until it returns false.
func walk(o Options, visit func(field) bool) { walkValue(reflect.ValueOf(o), "", visit) }

func walkValue(v reflect.Value, at string, visit func(field) bool) bool {
	for i := range v.NumField() {
		name, text := keyOf(v.Type().Field(i))
		name = join(at, name)
		if isGroup(v.Field(i).Type()) {
			if !walkValue(v.Field(i), name, visit) {
				return false
			}
		} else if !visit(field{name, text, v.Field(i)}) {
			return false
		}
	}
	return true
}

func join(at, name string) string {
	return strings.TrimPrefix(at+"."+name, ".")
}

type contextKey struct{}

// With returns a context for calls of package checkpoint: they inherit o, and what o leaves unset
// from ctx. Later changes of o have no effect on the context.
func With(ctx context.Context, o Options) context.Context {
	return context.WithValue(ctx, contextKey{}, Overlay(o, From(ctx)))
}

// From returns the Options that With put into ctx, or the zero Options.
func From(ctx context.Context) Options {
	o, _ := ctx.Value(contextKey{}).(Options)
	return o
}

// process is the last scope. It is nil until Configure is called.
var process atomic.Pointer[Options]

// Configure makes o the last scope of all calls in this process, in place of the Options of an
// earlier Configure. Options that Validate refuses change nothing. restore, which works once,
// restores the earlier Options; several restores must be called in reverse order. Calls that have
// begun keep their options.
func Configure(o Options) (restore func(), err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = Overlay(o, Options{})
	before := process.Swap(&o)
	var once sync.Once
	return func() { once.Do(func() { process.Store(before) }) }, nil
}

// Configured returns the Options of the last Configure, or the zero Options.
func Configured() Options {
	if o := process.Load(); o != nil {
		return *o
	}
	return Options{}
}

// Resolve returns the options of one call: each field from the first scope that sets it, in the
// order call, ctx, checkpointer, process and Default. It fails as Validate does, and names the
// scope if one scope alone is wrong. Call it once at the entry of a call: work that the call
// started must not see later changes.
func Resolve(ctx context.Context, call, checkpointer Options) (Options, error) {
	scopes := []struct {
		name string
		o    Options
	}{
		{"the call", call}, {"the context", From(ctx)}, {"the checkpointer", checkpointer}, {"the process", Configured()},
	}
	out, said := Options{}, false
	for _, s := range scopes {
		if reflect.ValueOf(s.o).IsZero() {
			continue // the usual case
		}
		if err := s.o.Validate(); err != nil {
			return Options{}, errs.Wrap("options.Resolve", "options of "+s.name, err)
		}
		out, said = Overlay(out, s.o), true
	}
	if !said {
		return Default().canonical(), nil
	}
	out = Overlay(out, Default())
	if err := out.complete(); err != nil {
		return Options{}, errs.Wrap("options.Resolve", "options of all scopes together", err)
	}
	return out, nil
}
