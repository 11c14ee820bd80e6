package bivouac_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// inner is embedded in states, and a type with a name and tags.
type inner struct {
	Rate  float32 `bivouac:"rate"`
	Count uint64
	Notes []string `bivouac:"notes,omitempty"`
	//lint:ignore U1000 a field that is not exported is not saved
	inert int
}

// level is a type of a number.
type level int16

// leafTypes are types that no other types are in.
var leafTypes = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[level](), reflect.TypeFor[int32](), reflect.TypeFor[int64](),
	reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](),
	reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[complex64](), reflect.TypeFor[complex128](), reflect.TypeFor[string](),
	reflect.TypeFor[any](), reflect.TypeFor[tensor.Tensor](), reflect.TypeFor[*tree.Node](), reflect.TypeFor[inner](),
	reflect.TypeFor[[]float32](), reflect.TypeFor[[3]int16](), reflect.TypeFor[[][2]float64](), reflect.TypeFor[[]bool](), reflect.TypeFor[[][]float32](),
	reflect.TypeFor[func()](), reflect.TypeFor[chan int](), reflect.TypeFor[uintptr](), reflect.TypeFor[error](), // which no file could hold
}

// stateType draws a type.
func stateType(t *rapid.T, depth int) reflect.Type {
	if depth == 0 || rapid.IntRange(0, 2).Draw(t, "leaf") == 0 {
		return rapid.SampledFrom(leafTypes).Draw(t, "type")
	}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return reflect.SliceOf(stateType(t, depth-1))
	case 1:
		return reflect.ArrayOf(rapid.IntRange(0, 3).Draw(t, "len"), stateType(t, depth-1))
	case 2:
		return reflect.PointerTo(stateType(t, depth-1))
	case 3:
		key := rapid.SampledFrom([]reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[uint8](), reflect.TypeFor[level]()}).Draw(t, "key")
		return reflect.MapOf(key, stateType(t, depth-1))
	}
	return structType(t, depth)
}

// structType draws the type of a struct.
func structType(t *rapid.T, depth int) reflect.Type {
	fields := make([]reflect.StructField, rapid.IntRange(0, 4).Draw(t, "fields"))
	for i := range fields {
		fields[i] = reflect.StructField{Name: fmt.Sprint("F", i), Type: stateType(t, depth-1)}
		tags := []string{"", fmt.Sprintf(`bivouac:"f.%d"`, i), `bivouac:"-"`}
		switch fields[i].Type.Kind() {
		case reflect.Struct, reflect.Array, reflect.Pointer: // not zero when there is an empty slice in it, or nil behind it
		default:
			tags = append(tags, `bivouac:",omitempty"`)
		}
		fields[i].Tag = reflect.StructTag(rapid.SampledFrom(tags).Draw(t, "tag"))
	}
	return reflect.StructOf(fields)
}

// valueOf fills v with what the structure, and the contents, are drawn from: two values
// of one structure differ in their contents only.
func valueOf(structure, contents *rapid.T, v reflect.Value) {
	size := func(most int) int { return rapid.IntRange(0, most).Draw(structure, "size") }
	switch v.Type() {
	case reflect.TypeFor[tensor.Tensor]():
		x := make([]float32, size(5))
		valueOf(structure, contents, reflect.ValueOf(&x).Elem())
		v.Set(reflect.ValueOf(tensor.FromSlice(x, len(x))))
		return
	case reflect.TypeFor[*tree.Node]():
		made, err := tree.From(map[string]any{"w": []float32{rapid.Float32().Draw(contents, "w")},
			"n": rapid.Int64().Draw(contents, "n")})
		if err != nil {
			panic(err)
		}
		v.Set(reflect.ValueOf(made))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(contents, "bool"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(contents, "int") >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		v.SetUint(rapid.Uint64().Draw(contents, "uint") >> (64 - v.Type().Bits()))
	case reflect.Float32:
		v.SetFloat(float64(rapid.Float32().Draw(contents, "float")))
	case reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.Float64(), rapid.Just(math.Inf(1))).Draw(contents, "float"))
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(complex(float64(rapid.Float32().Draw(contents, "real")),
			float64(rapid.Float32().Draw(contents, "imaginary"))))
	case reflect.String:
		v.SetString(rapid.String().Draw(contents, "string"))
	case reflect.Interface:
		if v.NumMethod() > 0 {
			return
		}
		switch size(3) {
		case 1:
			v.Set(reflect.ValueOf(rapid.Int64().Draw(contents, "int")))
		case 2:
			v.Set(reflect.ValueOf(map[string]any{"s": rapid.String().Draw(contents, "string"),
				"x": []int32{rapid.Int32().Draw(contents, "int")}}))
		case 3:
			v.Set(reflect.ValueOf(inner{Count: rapid.Uint64().Draw(contents, "uint")}))
		}
	case reflect.Slice:
		if n := size(4); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n-1, n-1))
		}
		for i := range v.Len() {
			valueOf(structure, contents, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			valueOf(structure, contents, v.Index(i))
		}
	case reflect.Pointer:
		if size(2) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			valueOf(structure, contents, v.Elem())
		}
	case reflect.Map:
		if n := size(4); n > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n - 1 {
				key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				valueOf(structure, structure, key)
				valueOf(structure, contents, elem)
				v.SetMapIndex(key, elem)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				valueOf(structure, contents, v.Field(i))
			}
		}
	}
}

// cloned returns a pointer to a deep copy of what p points to.
func cloned(p reflect.Value) reflect.Value {
	out := reflect.New(p.Type().Elem())
	copyOf(out.Elem(), p.Elem())
	return out
}

func clonedNode(n *tree.Node) *tree.Node {
	out := *n
	if t, ok := n.Value.(tensor.Tensor); ok {
		out.Value = t.Clone()
	}
	out.Items = nil
	for _, c := range n.Items {
		out.Items = append(out.Items, clonedNode(c))
	}
	return &out
}

func copyOf(dst, src reflect.Value) {
	switch x := src.Interface().(type) {
	case tensor.Tensor:
		dst.Set(reflect.ValueOf(x.Clone()))
		return
	case *tree.Node:
		if x != nil {
			dst.Set(reflect.ValueOf(clonedNode(x)))
		}
		return
	}
	switch src.Kind() {
	case reflect.Interface, reflect.Pointer:
		if src.IsNil() {
			return
		}
		elem := reflect.New(src.Elem().Type())
		copyOf(elem.Elem(), src.Elem())
		if src.Kind() == reflect.Interface {
			elem = elem.Elem()
		}
		dst.Set(elem)
	case reflect.Slice:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
		fallthrough
	case reflect.Array:
		for i := range src.Len() {
			copyOf(dst.Index(i), src.Index(i))
		}
	case reflect.Map:
		if src.IsNil() {
			return
		}
		dst.Set(reflect.MakeMap(src.Type()))
		for _, k := range src.MapKeys() {
			elem := reflect.New(src.Type().Elem()).Elem()
			copyOf(elem, src.MapIndex(k))
			dst.SetMapIndex(k, elem)
		}
	case reflect.Struct:
		for i := range src.NumField() {
			if src.Type().Field(i).IsExported() {
				copyOf(dst.Field(i), src.Field(i))
			}
		}
	default:
		dst.Set(src)
	}
}

// zeroed sets all numbers and strings to zero and keeps the structure.
func zeroed(v reflect.Value) {
	switch x := v.Interface().(type) {
	case tensor.Tensor:
		clear(x.Data)
		return
	case *tree.Node:
		return
	}
	switch v.Kind() {
	case reflect.Interface: // a value of another type would be another structure
	case reflect.Pointer:
		if !v.IsNil() {
			zeroed(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			zeroed(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			elem := reflect.New(v.Type().Elem()).Elem()
			copyOf(elem, v.MapIndex(k))
			zeroed(elem)
			v.SetMapIndex(k, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				zeroed(v.Field(i))
			}
		}
	default:
		v.SetZero()
	}
}

// once opens a job, does a step and closes it.
func once(st store.Store, state any, steps int64) error {
	ctx := context.Background()
	job, err := bivouac.Open(ctx, "run", &counter{Seed: 1},
		bivouac.Options{State: state, Steps: steps, Store: st, Grace: bivouac.Never})
	if err != nil {
		return err
	}
	for _, err := range job.Steps(ctx) {
		if err != nil {
			return errors.Join(err, job.Close())
		}
	}
	return job.Close()
}

// Whatever Open accepts as a state is saved, and restored equal, into a zero value of its
// type and into one that has the structure already.
func TestAcceptedStatesAreRestored(t *testing.T) {
	accepted, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		state := reflect.New(stateType(rt, 3))
		valueOf(rt, rt, state.Elem())
		want := cloned(state)
		st := local.New(vfstest.NewMem(), "/", nil)
		if err := once(st, state.Interface(), 1); err != nil {
			switch errs.KindOf(err) {
			case errs.Invalid, errs.Unsupported, errs.Mismatch:
			default:
				rt.Fatalf("%v: %v", state.Type(), err)
			}
			if _, err := st.Stat(context.Background(), "run/1"); errs.KindOf(err) != errs.NotFound {
				rt.Fatalf("%v was refused and saved: %v", state.Type(), err)
			}
			refused++
			return
		}
		accepted++
		node, err := tree.From(want.Interface())
		if err != nil {
			rt.Fatal(err)
		}
		blank := cloned(want)
		zeroed(blank.Elem())
		for how, into := range map[string]reflect.Value{"a zero value": reflect.New(want.Type().Elem()), "a value of the structure": blank} {
			if _, err := tree.From(into.Interface()); err != nil {
				continue // such as the zero tensor.Tensor, which the first Open refuses as well
			}
			if err := once(st, into.Interface(), 1); err != nil {
				rt.Fatalf("%v into %s: %v", state.Type(), how, err)
			}
			got, err := tree.From(into.Interface())
			if err != nil {
				rt.Fatal(err)
			}
			if d := tree.Diff(tree.Untyped(node), tree.Untyped(got)); len(d) > 0 {
				rt.Fatalf("%v into %s: %s", state.Type(), how, tree.FormatDiff(d))
			}
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("%d states accepted and %d refused: the law says nothing", accepted, refused)
	}
}

// A state by value, of which the job could only save copies, is refused by the first Open,
// before anything is written.
func TestStatesThatAreRefused(t *testing.T) {
	m := newModel()
	var none *model
	for name, state := range map[string]any{
		"struct": m, "number": 1, "string": "s", "array": [2]float32{}, "nil pointer": none, "nil map": map[string]any(nil), "nil slice": []float32(nil),
		"struct in a slice by value": [1]model{m}, "tensor by value": tensor.ScalarOf(int64(1)), "function": func() {},
	} {
		st := local.New(vfstest.NewMem(), "/", nil)
		if err := once(st, state, 1); errs.KindOf(err) != errs.Invalid && errs.KindOf(err) != errs.Unsupported {
			t.Errorf("%s: %v", name, err)
		}
		for e, err := range st.List(t.Context(), "run") {
			if errs.KindOf(err) != errs.NotFound {
				t.Errorf("%s: there is %q, %v", name, e.Name, err)
			}
		}
	}
}
