package tree

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Options change how From treats values. From uses the zero Options.
type Options struct {
	// KeepUnknown keeps values that have no place in a tree as leaves, for handlers of the caller.
	// Without it From returns an error for them.
	KeepUnknown bool
	// IsLeaf, if not nil, reports which Go types are leaves. With KeepUnknown, From keeps values of
	// these types and does not look inside.
	IsLeaf func(reflect.Type) bool
}

// Opaque is a Go value that is a leaf. With KeepUnknown, From keeps the result of TreeLeaf and does
// not look inside.
type Opaque interface{ TreeLeaf() any }

// From makes a tree from v by the table in the package comment. Slices of numbers, and arrays that
// are reached through a pointer or slice, become views of the caller's memory. Other arrays are
// copied, because Go gives no address for them.
//
// A tag `bivouac:"name"` names a field of a struct; without a tag the Go name counts. The tag has
// these options:
//   - "omitempty" leaves the field out if it is zero or empty.
//   - "-" instead of a name leaves the field out.
//   - "array" turns a slice of slices of numbers, such as [][]float32, into one array. The
//     array is a copy, and the rows must be equally long.
//
// Fields of embedded structs count as fields of the outer struct. Unexported fields are left out.
//
// Errors name the path. Their kind is errs.Unsupported for a value that has no place in a tree, and
// errs.Invalid for a malformed tag, tensor or node, or for a cycle.
func From(v any) (*Node, error) { return Options{}.From(v) }

// From works like the function From, with the options o.
func (o Options) From(v any) (*Node, error) {
	return o.from(reflect.ValueOf(v), nil)
}

var (
	nodeType   = reflect.TypeFor[*Node]()
	tensorType = reflect.TypeFor[tensor.Tensor]()
	opaqueType = reflect.TypeFor[Opaque]()
)

func (o Options) from(v reflect.Value, at Path) (*Node, error) {
	if len(at) > maxDepth {
		return nil, tooDeep("tree.From", at)
	}
	if !v.IsValid() {
		return &Node{}, nil
	}
	switch v.Type() {
	case nodeType:
		if v.IsNil() {
			return &Node{}, nil
		}
		n := v.Interface().(*Node)
		return n, o.check(n, at)
	case tensorType:
		n := &Node{Value: v.Interface()}
		return n, o.check(n, at)
	}
	if o.KeepUnknown && o.IsLeaf != nil && v.CanInterface() && o.IsLeaf(v.Type()) {
		return &Node{Value: v.Interface()}, nil
	}
	if leaf, ok := o.opaque(v); ok {
		return &Node{Value: leaf}, nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return &Node{}, nil
		}
		return o.fromElem(v, at)
	case reflect.Map:
		return o.fromMap(v, at)
	case reflect.Struct:
		return o.fromStruct(v, at)
	case reflect.Slice, reflect.Array:
		if t, ok := numeric(v); ok {
			return &Node{Value: t}, nil
		}
		n := &Node{Kind: List, Items: make([]*Node, v.Len())}
		for i := range n.Items {
			child, err := o.from(v.Index(i), append(at, n.Key(i)))
			if err != nil {
				return nil, err
			}
			n.Items[i] = child
		}
		return n, nil
	}
	if s, ok := scalar(v); ok {
		return &Node{Value: s, unsigned: isUnsigned(v)}, nil
	}
	return o.unknown(v, at)
}

// opaque returns the leaf of a value that is Opaque.
func (o Options) opaque(v reflect.Value) (any, bool) {
	if !o.KeepUnknown || v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface || !v.CanInterface() || !v.Type().Implements(opaqueType) {
		return nil, false
	}
	return v.Interface().(Opaque).TreeLeaf(), true
}

// fromElem follows a pointer or interface. A chain of them that leads back to itself is a cycle
// without containers, which a limit of the depth would not find.
func (o Options) fromElem(v reflect.Value, at Path) (*Node, error) {
	for range maxDepth {
		v = v.Elem()
		if k := v.Kind(); k != reflect.Pointer && k != reflect.Interface || v.IsNil() || v.Type() == nodeType {
			return o.from(v, at)
		}
	}
	return nil, &errs.Error{Kind: errs.Invalid, Op: "tree.From", Subject: at.String(), Got: "a cycle of pointers"}
}

func (o Options) unknown(v reflect.Value, at Path) (*Node, error) {
	if o.KeepUnknown && v.CanInterface() {
		return &Node{Value: v.Interface()}, nil
	}
	return nil, &errs.Error{Kind: errs.Unsupported, Op: "tree.From", Subject: at.String(),
		Want: "tensors, numbers, strings, maps, slices or structs", Got: v.Type().String()}
}

func (o Options) fromMap(v reflect.Value, at Path) (*Node, error) {
	keys, ok := sortedKeys(v)
	if !ok {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "tree.From", Subject: at.String(),
			Want: "a map with string or integer keys", Got: v.Type().String()}
	}
	n := &Node{Kind: Dict, Keys: make([]string, len(keys)), Items: make([]*Node, len(keys))}
	for i, k := range keys {
		n.Keys[i] = keyName(k)
		child, err := o.from(v.MapIndex(k), append(at, n.Key(i)))
		if err != nil {
			return nil, err
		}
		n.Items[i] = child
	}
	return n, nil
}

// sortedKeys returns the keys of a map in order. ok is false if they are neither strings nor
// integers.
func sortedKeys(v reflect.Value) (keys []reflect.Value, ok bool) {
	k := reflect.Zero(v.Type().Key())
	if !k.CanInt() && !k.CanUint() && k.Kind() != reflect.String {
		return nil, false
	}
	keys = v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		switch {
		case a.CanInt():
			return cmp.Compare(a.Int(), b.Int())
		case a.CanUint():
			return cmp.Compare(a.Uint(), b.Uint())
		default:
			return cmp.Compare(a.String(), b.String())
		}
	})
	return keys, true
}

func keyName(k reflect.Value) string {
	switch {
	case k.CanInt():
		return strconv.FormatInt(k.Int(), 10)
	case k.CanUint():
		return strconv.FormatUint(k.Uint(), 10)
	default:
		return k.String()
	}
}

func (o Options) fromStruct(v reflect.Value, at Path) (*Node, error) {
	fields, err := structFields(v.Type())
	if err != nil {
		return nil, errs.Wrap("tree.From", at.String(), err)
	}
	if len(fields) == 0 && v.NumField() > 0 {
		return o.unknown(v, at) // such as time.Time, whose fields would all be lost
	}
	n := &Node{Kind: Named, Type: v.Type().Name()}
	for _, f := range fields {
		fv := v.FieldByIndex(f.index)
		if f.omitEmpty && isEmpty(fv) {
			continue
		}
		from := o.from
		if f.array {
			from = fromRectangle
		}
		child, err := from(fv, append(at, Key{Name: f.name, Kind: KeyAttr}))
		if err != nil {
			return nil, err
		}
		n.Keys = append(n.Keys, f.name)
		n.Items = append(n.Items, child)
	}
	return n, nil
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		return v.Len() == 0
	}
	return v.IsZero()
}

// scalar returns the value of a leaf for a bool, integer, float or string.
func scalar(v reflect.Value) (any, bool) {
	switch {
	case v.Kind() == reflect.Bool:
		return v.Bool(), true
	case v.Kind() == reflect.String:
		return v.String(), true
	case v.CanInt():
		return v.Int(), true
	case v.Kind() == reflect.Uintptr:
		return nil, false
	case v.CanUint():
		if u := v.Uint(); u > math.MaxInt64 {
			return u, true
		}
		return int64(v.Uint()), true
	case v.CanFloat():
		return v.Float(), true
	}
	return nil, false
}

// isUnsigned reports whether the type of v has values above the range of int64.
func isUnsigned(v reflect.Value) bool { return v.Kind() == reflect.Uint || v.Kind() == reflect.Uint64 }

func widen(v any) any {
	if s, ok := scalar(reflect.ValueOf(v)); ok {
		return s
	}
	return v
}

// numeric returns a tensor for a slice or array of numbers, or of arrays of numbers. It is a view
// if the memory of v has an address.
func numeric(v reflect.Value) (tensor.Tensor, bool) {
	d, dims, ok := numericType(v.Type())
	if !ok {
		return tensor.Tensor{}, false
	}
	if v.Kind() == reflect.Array && !v.CanAddr() {
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		v = p.Elem()
	}
	shape := append(tensor.Shape{v.Len()}, dims...)
	return tensor.Tensor{DType: d, Shape: shape, Data: memory(v)}, true
}

// numericType returns the dtype of a slice or array and the extents of all axes after the first.
func numericType(t reflect.Type) (d tensor.DType, dims tensor.Shape, ok bool) {
	for e := t.Elem(); ; e = e.Elem() {
		if d, ok = tensor.FromReflect(e); ok {
			return d, dims, true
		}
		if e.Kind() != reflect.Array {
			return tensor.Invalid, nil, false
		}
		dims = append(dims, e.Len())
	}
}

// memory returns the bytes of a slice, or of an addressable array, of numbers.
func memory(v reflect.Value) []byte {
	n := v.Len() * int(v.Type().Elem().Size())
	if n == 0 {
		return []byte{}
	}
	p := unsafe.Pointer(nil)
	if v.Kind() == reflect.Slice {
		p = v.UnsafePointer()
	} else {
		p = v.Addr().UnsafePointer()
	}
	return unsafe.Slice((*byte)(p), n)
}
