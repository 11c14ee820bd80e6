// Package fields compares structs of arguments of operators without reflection.
package fields

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// Fields knows where the arguments of one struct type of op/opargs lie, so that structs of that
// type can be compared without reflection. A caller that runs operators one by one uses it to find
// what it made before for the same arguments. Fields is immutable.
//
// Constants are compared by value, and floats by their bits. If an argument is an [op.Value], only
// this fact counts: all such values are equal.
type Fields struct {
	typ   reflect.Type
	steps []fieldStep
}

// Same reports whether both are of one type.
func (f *Fields) Same(g *Fields) bool { return f.typ == g.typ }

// fieldStep is a part of the struct.
type fieldStep struct {
	kind   fieldKind
	offset uintptr
	size   uintptr // of the plain memory, or of an element of a list
}

type fieldKind uint8

const (
	plainField   fieldKind = iota // memory without pointers and gaps
	stringField                   // a string
	listField                     // a slice of plain elements
	stringsField                  // a []string
	valueField                    // a Value, or nil
)

// Of returns the Fields of a struct type. It returns an error that names the field if an argument
// cannot have the type of a field.
func Of(t reflect.Type) (*Fields, error) {
	if t == nil || t.Kind() != reflect.Struct {
		return nil, &errs.Error{Kind: errs.Invalid, Want: "a struct of op/opargs", Got: fmt.Sprint(t)}
	}
	f := &Fields{typ: t}
	if err := f.add(t, 0); err != nil {
		return nil, err
	}
	return f, nil
}

var valueType = reflect.TypeFor[op.Value]()

// add appends the steps of a struct that lies at offset.
func (f *Fields) add(t reflect.Type, offset uintptr) error {
	for i := range t.NumField() {
		field := t.Field(i)
		at, of := offset+field.Offset, field.Type
		switch {
		case of == valueType:
			f.steps = append(f.steps, fieldStep{valueField, at, 0})
		case of.Kind() == reflect.String:
			f.steps = append(f.steps, fieldStep{stringField, at, 0})
		case isPlain(of):
			f.addPlain(at, of.Size())
		case of.Kind() == reflect.Slice && isPlain(of.Elem()):
			f.steps = append(f.steps, fieldStep{listField, at, of.Elem().Size()})
		case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.String:
			f.steps = append(f.steps, fieldStep{stringsField, at, 0})
		case of.Kind() == reflect.Struct:
			if err := f.add(of, at); err != nil {
				return err
			}
		default:
			return &errs.Error{Kind: errs.Invalid, Subject: t.String() + "." + field.Name,
				Want: "a number, a bool, a string, a list of these, or an op.Arg", Got: of.String()}
		}
	}
	return nil
}

// addPlain appends plain memory. It extends the last step if that step ends at the same address.
func (f *Fields) addPlain(at, size uintptr) {
	if n := len(f.steps); n > 0 {
		if last := &f.steps[n-1]; last.kind == plainField && last.offset+last.size == at {
			last.size += size
			return
		}
	}
	f.steps = append(f.steps, fieldStep{plainField, at, size})
}

func isPlain(t reflect.Type) bool {
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128
}

// at returns the address of args, a struct of the type of f. It panics if args has another type.
func (f *Fields) at(args any) unsafe.Pointer {
	if reflect.TypeOf(args) != f.typ {
		panic(fmt.Sprintf("fields: Fields of %v asked about %T", f.typ, args))
	}
	// An interface holds a type and, for a struct that is not a single pointer, its address.
	return (*[2]unsafe.Pointer)(unsafe.Pointer(&args))[1]
}

// Hash returns a number that is the same for equal structs.
func (f *Fields) Hash(seed maphash.Seed, args any) uint64 {
	base := f.at(args)
	var h uint64
	for _, s := range f.steps {
		p := unsafe.Add(base, s.offset)
		switch s.kind {
		case plainField:
			h = mixed(h, maphash.Bytes(seed, unsafe.Slice((*byte)(p), s.size)))
		case stringField:
			if text := *(*string)(p); text != "" {
				h = mixed(h, maphash.String(seed, text))
			}
		case listField:
			if list := listAt(p, s.size); len(list) > 0 {
				h = mixed(h, maphash.Bytes(seed, list))
			}
		case stringsField:
			for _, text := range *(*[]string)(p) {
				h = mixed(h, maphash.String(seed, text))
			}
		case valueField:
			if *(*op.Value)(p) != nil {
				h = mixed(h, uint64(s.offset))
			}
		}
	}
	return h
}

// mixed joins two hashes; the order matters.
func mixed(h, x uint64) uint64 { return (h<<5 | h>>59) ^ x*0x9E3779B97F4A7C15 }

// Equal reports whether two structs set the same arguments to the same constants.
func (f *Fields) Equal(x, y any) bool {
	a, b := f.at(x), f.at(y)
	for _, s := range f.steps {
		if !s.equal(unsafe.Add(a, s.offset), unsafe.Add(b, s.offset)) {
			return false
		}
	}
	return true
}

func (s *fieldStep) equal(p, q unsafe.Pointer) bool {
	switch s.kind {
	case plainField:
		return string(unsafe.Slice((*byte)(p), s.size)) == string(unsafe.Slice((*byte)(q), s.size))
	case stringField:
		return *(*string)(p) == *(*string)(q)
	case listField: // nil and empty lists differ: one is not set
		return (*(*[]byte)(p) == nil) == (*(*[]byte)(q) == nil) && string(listAt(p, s.size)) == string(listAt(q, s.size))
	case stringsField:
		x, y := *(*[]string)(p), *(*[]string)(q)
		if len(x) != len(y) || (x == nil) != (y == nil) {
			return false
		}
		for i := range x {
			if x[i] != y[i] {
				return false
			}
		}
		return true
	}
	return (*(*op.Value)(p) == nil) == (*(*op.Value)(q) == nil)
}

// Detached returns a copy of args that the caller may keep. The copy has its own lists. In place of
// every per-sample value it holds someValue, so that it keeps no value alive.
func (f *Fields) Detached(args any) any {
	box := reflect.New(f.typ)
	box.Elem().Set(reflect.ValueOf(args))
	base := box.UnsafePointer()
	for _, s := range f.steps {
		p := unsafe.Add(base, s.offset)
		switch s.kind {
		case listField:
			if list := listAt(p, s.size); len(list) > 0 {
				own := make([]uint64, (len(list)+7)/8) // aligned for all elements
				copy(unsafe.Slice((*byte)(unsafe.Pointer(&own[0])), len(list)), list)
				n := uintptr(len(list)) / s.size
				*(*[]byte)(p) = unsafe.Slice((*byte)(unsafe.Pointer(&own[0])), n)
			}
		case stringsField:
			*(*[]string)(p) = slices.Clone(*(*[]string)(p))
		case valueField:
			if v := (*op.Value)(p); *v != nil {
				*v = someValue{}
			}
		}
	}
	return box.Elem().Interface()
}

// someValue stands for a value where only its presence matters.
type someValue struct{}

// OpValue implements op.Value.
func (someValue) OpValue() {}

// listAt returns the memory of the elements of a slice, each of size bytes.
func listAt(p unsafe.Pointer, size uintptr) []byte {
	list := *(*[]byte)(p) // of its length, in elements
	return unsafe.Slice(unsafe.SliceData(list), uintptr(len(list))*size)
}

// Values appends the values that arguments take for each sample to dst, in the order of the fields.
func (f *Fields) Values(dst []op.Value, args any) []op.Value {
	base := f.at(args)
	for _, s := range f.steps {
		if s.kind != valueField {
			continue
		}
		if v := *(*op.Value)(unsafe.Add(base, s.offset)); v != nil {
			dst = append(dst, v)
		}
	}
	return dst
}
