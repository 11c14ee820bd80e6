package checkpoint

import (
	"reflect"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Abstract is a leaf of LoadOptions.Abstract that asks for an array; the zero
// value is one of any type and shape, as it was saved.
type Abstract struct {
	// DType is the type to which the elements are cast; Invalid is as saved.
	DType tensor.DType
	// Shape is the shape of the whole array; nil is as saved. A shape other than the saved one is
	// errs.Mismatch, unless padding or truncation is on.
	Shape tensor.Shape
	// Boxes are the parts of the array to load, as in Want.
	Boxes []Box
}

// TreeLeaf makes Abstract a leaf of a tree.
func (a Abstract) TreeLeaf() any { return a }

// TreeLeaf makes Placeholder a leaf of a tree.
func (p Placeholder) TreeLeaf() any { return p }

// LeafType is a leaf of LoadOptions.Abstract that asks for a type and nothing
// else; TypeOf makes it.
type LeafType struct {
	form   form
	dtype  tensor.DType // Invalid: as saved
	name   string
	goType reflect.Type // the type that was asked for; nil if metadata asked
}

// TreeLeaf makes LeafType a leaf of a tree.
func (l LeafType) TreeLeaf() any { return l }

// String returns the name of the type.
func (l LeafType) String() string { return l.name }

// TypeOf asks for a leaf that is a T:
//
//	bool, numbers            a scalar that T can hold, cast to it
//	string                   a string
//	tensor.Tensor            an array of any type and shape
//	slices of numbers        an array of that type, of any shape, cast to it
//	Key                      PRNG keys
//	any                      whatever was saved
//	the type of a leaf with a leaf handler   such a leaf
//
// What no leaf can be is errs.Unsupported when it is loaded.
func TypeOf[T any]() LeafType {
	t := reflect.TypeFor[T]()
	l := LeafType{name: t.String(), goType: t}
	switch {
	case t == reflect.TypeFor[tensor.Tensor]():
		l.form = asArray
	case t == reflect.TypeFor[Key]():
		l.form = asKey
	case t.Kind() == reflect.String:
		l.form = asString
	case t.Kind() == reflect.Interface && t.NumMethod() == 0:
		l.form = asSaved
	case t.Kind() == reflect.Slice:
		l.form = asArray
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
			t = t.Elem()
		}
		l.dtype = dtypeOf(t, &l.form)
	default:
		l.form = asScalar
		l.dtype = dtypeOf(t, &l.form)
	}
	return l
}

// dtypeOf returns the dtype of elements of the Go type t. If there is no such dtype, it sets the
// form to asNothing.
func dtypeOf(t reflect.Type, f *form) tensor.DType {
	d, ok := tensor.FromReflect(t)
	if !ok {
		*f = asNothing
	}
	return d
}

// form is the form that the value of a leaf must have.
type form uint8

const (
	asSaved form = iota
	asArray
	asScalar
	asString
	asKey
	asNothing // no value has this form
)

var formNames = [...]string{"anything", "an array", "a scalar", "a string", "PRNG keys", "nothing"}

// String returns the form with its article.
func (f form) String() string { return formNames[f] }

// abstractTree returns the tree that LoadOptions.Abstract stands for, or nil for everything as
// saved. Values of types that have leaf handlers, and values that describe such leaves, are leaves
// of the tree.
func abstractTree(abstract any, item string, handlers *handler.LeafRegistry) (*tree.Node, error) {
	const subject = "LoadOptions.Abstract"
	switch a := abstract.(type) {
	case nil:
		return nil, nil
	case *Info:
		if a == nil {
			return nil, nil
		}
		it, ok := a.Item(item)
		if !ok {
			return nil, &errs.Error{Kind: errs.NotFound, Subject: subject, Want: "metadata with item " + strconv.Quote(item),
				Got: "metadata without it"}
		}
		return it.abstract()
	case Info:
		return abstractTree(&a, item, handlers)
	case *ItemInfo:
		if a == nil {
			return nil, nil
		}
		return a.abstract()
	case ItemInfo:
		return a.abstract()
	}
	n, err := tree.Options{KeepUnknown: true, IsLeaf: handlers.Describes}.From(abstract)
	return n, errs.Wrap("", subject, err)
}

// abstract returns the abstract tree that asks for the item as its metadata describes it.
func (it *ItemInfo) abstract() (*tree.Node, error) {
	entries := make([]tree.Entry, len(it.Leaves))
	for i, l := range it.Leaves {
		n := &tree.Node{}
		if l.Err != nil {
			return nil, errs.Wrap("", "leaf "+strconv.Quote(l.Param), l.Err)
		}
		switch l.Kind {
		case ArrayLeaf:
			n.Value = Abstract{DType: l.DType, Shape: append(tensor.Shape{}, l.Shape...)}
		case ScalarLeaf:
			n.Value = LeafType{form: asScalar, dtype: l.DType, name: l.DType.String()}
		case StringLeaf:
			n.Value = TypeOf[string]()
		case KeyLeaf:
			n.Value = TypeOf[Key]()
		case HandledLeaf:
			n.Value = l.Abstract
		default:
			n = emptyNode(l.Kind)
		}
		entries[i] = tree.Entry{Path: l.Path, Node: n}
	}
	return tree.Unflatten(entries)
}

// emptyNode is the node of a kind of leaf that has no value.
func emptyNode(k LeafKind) *tree.Node {
	switch k {
	case EmptyDict:
		return tree.NewDict()
	case EmptyList:
		return tree.NewList()
	case EmptyTuple:
		return &tree.Node{Kind: tree.Tuple}
	case EmptyNamed:
		return &tree.Node{Kind: tree.Named}
	}
	return &tree.Node{}
}
