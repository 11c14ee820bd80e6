package tree

import (
	"math"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Into fills dst from n: it is the inverse of From. dst is a pointer, a map that is not nil, or a
// slice of numbers to be filled in place. A *Node keeps its structure: its tensors are filled in
// place, and its scalars are replaced. A zero Node becomes n.
//
// The contents of dst fix the structure and give memory for reuse:
//   - A tensor, slice or array of numbers must agree in type and shape, and is filled in place.
//   - A struct, and a map or list that is not empty, must have the same keys or length.
//   - Zero values fix nothing: nil slices and maps are allocated, a zero tensor.Tensor becomes
//     a view of the leaf's memory, and an any gets the values of ToGo.
//
// A slice of slices in a field with the option array is filled from an array, or from a list of
// equally long rows. Structs are filled from Dict nodes as well. A field with omitempty may be
// missing and is then set to its zero value.
//
// Numbers are converted if the value is kept: integers to other widths and to floats, and a rank-0
// tensor to its element. float64 is rounded to float32, but not to infinity. Only pointers and
// interfaces can be set to nil.
//
// Errors are of kind errs.Mismatch and name the path, or of kind errs.Invalid for a dst that cannot
// be filled. After an error dst may be partly filled.
func Into(n *Node, dst any) error {
	v := reflect.ValueOf(dst)
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			break
		}
		if into, ok := dst.(*Node); ok {
			return intoNode(n, into, nil)
		}
		return into(n, v.Elem(), nil)
	case reflect.Map, reflect.Slice:
		if v.Len() > 0 || v.Kind() == reflect.Map && !v.IsNil() {
			return into(n, addressable(v), nil)
		}
	}
	return &errs.Error{Kind: errs.Invalid, Op: "tree.Into", Want: "a pointer, map or slice to fill", Got: describeGo(v)}
}

// addressable returns a settable variable with the value of v. A slice or map in it still shares
// its contents.
func addressable(v reflect.Value) reflect.Value {
	p := reflect.New(v.Type()).Elem()
	p.Set(v)
	return p
}

func describeGo(v reflect.Value) string {
	if !v.IsValid() {
		return "nil"
	}
	return "a " + v.Type().String()
}

func mismatch(at Path, want, got string) error {
	return &errs.Error{Kind: errs.Mismatch, Op: "tree.Into", Subject: at.String(), Want: want, Got: got}
}

// into fills the settable variable v.
func into(n *Node, v reflect.Value, at Path) error {
	if n == nil {
		return &errs.Error{Kind: errs.Invalid, Op: "tree.Into", Subject: at.String(), Want: "a node", Got: "nil"}
	}
	if len(at) > maxDepth {
		return tooDeep("tree.Into", at)
	}
	switch v.Type() {
	case nodeType:
		v.Set(reflect.ValueOf(n))
		return nil
	case tensorType:
		return intoTensor(n, v, at)
	case reflect.TypeOf(n.Value):
		v.Set(reflect.ValueOf(n.Value)) // also for values that KeepUnknown admits
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		return intoPointer(n, v, at)
	case reflect.Interface:
		return intoInterface(n, v, at)
	case reflect.Struct:
		return intoStruct(n, v, at)
	case reflect.Map:
		return intoMap(n, v, at)
	case reflect.Slice, reflect.Array:
		if _, _, ok := numericType(v.Type()); ok {
			return intoNumeric(n, v, at)
		}
		return intoList(n, v, at)
	}
	return intoScalar(n, v, at)
}

// intoNode fills a tree from another tree of the same structure.
func intoNode(n, dst *Node, at Path) error {
	switch {
	case n == nil || dst == nil:
		return &errs.Error{Kind: errs.Invalid, Op: "tree.Into", Subject: at.String(), Want: "a node", Got: "nil"}
	case n == dst:
		return nil
	case isNil(dst) && len(dst.Items) == 0:
		*dst = *n
		return nil
	case dst.Kind == Leaf && isNil(n):
		dst.Value = nil
		return nil
	case n.Kind == Leaf && dst.Kind == Leaf:
		return intoLeaf(n, dst, at)
	case n.Len() != dst.Len() || n.Kind.keyed() != dst.Kind.keyed() || n.Kind == Leaf || dst.Kind == Leaf:
		return mismatch(at, dst.String(), n.String())
	}
	for i, child := range dst.Items {
		from := n.Get(dst.Key(i).Name)
		if from == nil {
			return mismatch(append(at, dst.Key(i)), child.String(), "no such node")
		}
		if err := intoNode(from, child, append(at, dst.Key(i))); err != nil {
			return err
		}
	}
	return nil
}

// intoLeaf fills a leaf. A tensor is filled in place, and a scalar is replaced by a scalar of the
// same type.
func intoLeaf(n, dst *Node, at Path) error {
	if t, ok := dst.Value.(tensor.Tensor); ok {
		return intoTensor(n, reflect.ValueOf(&t).Elem(), at)
	}
	v := reflect.New(reflect.TypeOf(dst.Value)).Elem()
	if err := into(n, v, at); err != nil {
		if n.Kind != Leaf || reflect.TypeOf(n.Value) == nil || !isInteger(n.Value) || !isInteger(dst.Value) {
			return err
		}
		v = reflect.ValueOf(n.Value) // int64 and uint64 are one type: "int"
	}
	dst.Value = v.Interface()
	return nil
}

func isInteger(v any) bool {
	switch v.(type) {
	case int64, uint64:
		return true
	}
	return false
}

func isNil(n *Node) bool { return n.Kind == Leaf && n.Value == nil }

func intoPointer(n *Node, v reflect.Value, at Path) error {
	if isNil(n) {
		v.SetZero()
		return nil
	}
	if !v.IsNil() {
		return into(n, v.Elem(), at)
	}
	p := reflect.New(v.Type().Elem())
	if err := into(n, p.Elem(), at); err != nil {
		return err
	}
	v.Set(p)
	return nil
}

// intoInterface keeps the type of the present value, if there is one.
func intoInterface(n *Node, v reflect.Value, at Path) error {
	if isNil(n) {
		v.SetZero()
		return nil
	}
	if v.IsNil() {
		if v.NumMethod() > 0 {
			return mismatch(at, describeGo(v)+" that holds a value", "nil to fill with "+n.String())
		}
		v.Set(reflect.ValueOf(ToGo(n)))
		return nil
	}
	elem := addressable(v.Elem())
	if err := into(n, elem, at); err != nil {
		return err
	}
	v.Set(elem)
	return nil
}

func intoStruct(n *Node, v reflect.Value, at Path) error {
	fields, err := structFields(v.Type())
	if err != nil {
		return errs.Wrap("tree.Into", at.String(), err)
	}
	if !n.Kind.keyed() || len(fields) == 0 && v.NumField() > 0 {
		return mismatch(at, describeGo(v), n.String())
	}
	used := 0
	for _, f := range fields {
		fv, child := v.FieldByIndex(f.index), n.Get(f.name)
		if child == nil {
			if !f.omitEmpty {
				return mismatch(append(at, Key{f.name, KeyAttr}), describeGo(fv), "no such key")
			}
			fv.SetZero()
			continue
		}
		used++
		fill := into
		if f.array {
			fill = intoRectangle
		}
		if err := fill(child, fv, append(at, Key{f.name, KeyAttr})); err != nil {
			return err
		}
	}
	if used == n.Len() {
		return nil
	}
	names := make(map[string]bool, len(fields))
	for _, f := range fields {
		names[f.name] = true
	}
	return extraKey(n, at, func(k string) bool { return names[k] }, "a field of "+v.Type().String())
}

// extraKey returns the error for the first key of n that is not known.
func extraKey(n *Node, at Path, known func(string) bool, want string) error {
	for i, k := range n.Keys {
		if !known(k) {
			return mismatch(append(at, n.Key(i)), want, "an unknown key, "+n.Items[i].String())
		}
	}
	return mismatch(at, "each key at most once", "a key that is twice")
}

func intoMap(n *Node, v reflect.Value, at Path) error {
	if !n.Kind.keyed() {
		return mismatch(at, describeGo(v), n.String())
	}
	present, ok := sortedKeys(v)
	if !ok {
		return &errs.Error{Kind: errs.Invalid, Op: "tree.Into", Subject: at.String(),
			Want: "a map with string or integer keys", Got: v.Type().String()}
	}
	if len(present) > 0 {
		names := make(map[string]bool, n.Len())
		for _, name := range n.Keys {
			names[name] = true
		}
		for _, k := range present {
			if name := keyName(k); !names[name] {
				return mismatch(append(at, Key{name, KeyDict}), describeGo(v.MapIndex(k)), "no such key")
			}
		}
		if len(present) != n.Len() {
			return extraKey(n, at, func(name string) bool {
				k, err := parseKey(name, v.Type().Key())
				return err == nil && v.MapIndex(k).IsValid()
			}, "a key of the map")
		}
	}
	if v.IsNil() {
		v.Set(reflect.MakeMapWithSize(v.Type(), n.Len()))
	}
	for i, name := range n.Keys {
		key, err := parseKey(name, v.Type().Key())
		if err != nil {
			return mismatch(append(at, n.Key(i)), "a key of type "+v.Type().Key().String(), strconv.Quote(name))
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		if old := v.MapIndex(key); old.IsValid() {
			elem.Set(old)
		}
		if err := into(n.Items[i], elem, append(at, n.Key(i))); err != nil {
			return err
		}
		v.SetMapIndex(key, elem)
	}
	return nil
}

// parseKey is the inverse of keyName. Only the canonical form of an integer is its name, so two
// different names are never the same key.
func parseKey(name string, t reflect.Type) (reflect.Value, error) {
	k := reflect.New(t).Elem()
	switch {
	case k.CanInt():
		i, err := strconv.ParseInt(name, 10, t.Bits())
		if err != nil {
			return k, err
		}
		k.SetInt(i)
	case k.CanUint():
		u, err := strconv.ParseUint(name, 10, t.Bits())
		if err != nil {
			return k, err
		}
		k.SetUint(u)
	default:
		k.SetString(name)
	}
	if keyName(k) != name {
		return k, strconv.ErrSyntax
	}
	return k, nil
}

func intoList(n *Node, v reflect.Value, at Path) error {
	if n.Kind != List && n.Kind != Tuple {
		e := &errs.Error{Kind: errs.Mismatch, Op: "tree.Into", Subject: at.String(), Want: describeGo(v), Got: n.String()}
		_, array := n.Tensor()
		if _, _, _, ok := rectangle(v.Type()); ok && array {
			e.Remedy = asArray
		}
		return e
	}
	if v.Len() == 0 && v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), n.Len(), n.Len()))
	} else if v.Len() != n.Len() {
		return mismatch(at, strconv.Itoa(v.Len())+" items", n.String())
	}
	for i, child := range n.Items {
		if err := into(child, v.Index(i), append(at, n.Key(i))); err != nil {
			return err
		}
	}
	return nil
}

func intoTensor(n *Node, v reflect.Value, at Path) error {
	dst := v.Addr().Interface().(*tensor.Tensor)
	want := "a tensor"
	if dst.DType.Valid() {
		want = dst.String()
	}
	src, ok := n.Tensor()
	if !ok {
		return mismatch(at, want, n.String())
	}
	if !dst.DType.Valid() {
		*dst = src
		return nil
	}
	if err := dst.Check(); err != nil {
		return mismatch(at, "a well-formed target", err.Error())
	}
	if src.DType != dst.DType || !src.Shape.Equal(dst.Shape) || len(src.Data) != len(dst.Data) {
		return mismatch(at, want, src.String())
	}
	fill(dst.Data, src.Data)
	return nil
}

// fill copies src to dst, which has the same length. It does nothing if both are the same memory.
func fill(dst, src []byte) {
	if len(src) > 0 && &dst[0] != &src[0] {
		copy(dst, src)
	}
}

func intoNumeric(n *Node, v reflect.Value, at Path) error {
	d, dims, _ := numericType(v.Type())
	src, ok := n.Tensor()
	allocate := v.Kind() == reflect.Slice && v.Len() == 0
	shape := append(tensor.Shape{v.Len()}, dims...)
	if ok && allocate && len(src.Shape) > 0 {
		shape[0] = src.Shape[0]
	}
	want := tensor.Tensor{DType: d, Shape: shape}.String()
	switch {
	case !ok:
		return mismatch(at, want, n.String())
	case src.DType != d || !src.Shape.Equal(shape):
		return mismatch(at, want, src.String())
	}
	if err := src.Check(); err != nil {
		return mismatch(at, want, err.Error())
	}
	if d == tensor.Bool { // Go must never see a bool that is neither 0 nor 1
		if _, err := tensor.Of[bool](src); err != nil {
			return mismatch(at, want, err.Error())
		}
	}
	if allocate {
		v.Set(reflect.MakeSlice(v.Type(), shape[0], shape[0]))
	}
	fill(memory(v), src.Data)
	return nil
}

// intoScalar fills a bool, number or string.
func intoScalar(n *Node, v reflect.Value, at Path) error {
	value := n.Value
	if t, ok := n.Tensor(); ok && len(t.Shape) == 0 {
		value = Scalar(t)
	}
	if n.Kind == Leaf && setScalar(v, value) {
		return nil
	}
	return mismatch(at, describeGo(v), n.String())
}

// setScalar reports whether v could take the value without changing it beyond
// the rounding of a float.
func setScalar(v reflect.Value, value any) bool {
	switch x := value.(type) {
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(x)
			return true
		}
	case string:
		if v.Kind() == reflect.String {
			v.SetString(x)
			return true
		}
	case int64:
		switch {
		case v.CanInt() && !v.OverflowInt(x):
			v.SetInt(x)
			return true
		case v.CanUint() && x >= 0 && !v.OverflowUint(uint64(x)):
			v.SetUint(uint64(x))
			return true
		case v.CanFloat():
			return setExact(v, float64(x), func(f float64) bool { return f < math.MaxInt64 && int64(f) == x })
		}
	case uint64:
		switch {
		case v.CanUint() && !v.OverflowUint(x):
			v.SetUint(x)
			return true
		case v.CanFloat():
			return setExact(v, float64(x), func(f float64) bool { return f < math.MaxUint64 && uint64(f) == x })
		}
	case float64:
		if v.CanFloat() && (math.IsInf(x, 0) || !v.OverflowFloat(x)) {
			v.SetFloat(x)
			return true
		}
	case complex128:
		if v.CanComplex() && (v.Kind() == reflect.Complex128 || complex128(complex64(x)) == x) {
			v.SetComplex(x)
			return true
		}
	}
	return false
}

// setExact sets a float to an integer if the float holds it exactly.
func setExact(v reflect.Value, f float64, same func(float64) bool) bool {
	if v.Kind() == reflect.Float32 {
		f = float64(float32(f))
	}
	if !same(f) {
		return false
	}
	v.SetFloat(f)
	return true
}

// Scalar returns the one element of a rank-0 tensor as the value of a leaf, or nil if Go has no
// such type.
func Scalar(t tensor.Tensor) any {
	const alignment = 8 // the alignment of the widest type
	if uintptr(unsafe.Pointer(unsafe.SliceData(t.Data)))%alignment != 0 {
		t = t.Clone()
	}
	switch t.DType {
	case tensor.Bool:
		return first[bool](t)
	case tensor.Int8:
		return first[int8](t)
	case tensor.Int16:
		return first[int16](t)
	case tensor.Int32:
		return first[int32](t)
	case tensor.Int64:
		return first[int64](t)
	case tensor.Uint8:
		return first[uint8](t)
	case tensor.Uint16:
		return first[uint16](t)
	case tensor.Uint32:
		return first[uint32](t)
	case tensor.Uint64:
		return first[uint64](t)
	case tensor.Float32:
		return first[float32](t)
	case tensor.Float64:
		return first[float64](t)
	case tensor.Complex64:
		if v, err := tensor.Of[complex64](t); err == nil {
			return complex128(v[0])
		}
	case tensor.Complex128:
		return first[complex128](t)
	}
	return nil
}

func first[T tensor.Element](t tensor.Tensor) any {
	v, err := tensor.Of[T](t)
	if err != nil || len(v) != 1 {
		return nil
	}
	return widen(v[0])
}
