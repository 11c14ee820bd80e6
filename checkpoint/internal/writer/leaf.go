package writer

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// leaf is one entry of a tree in its stored form: an array, a string, or nothing but its entry.
type leaf struct {
	entry   *orbax.Entry
	param   string
	isArray bool
	number  bool       // a number in Go; its stored type cannot be chosen
	node    *tree.Node // node of a leaf that a handler writes
	source  *source    // until the array is planned
	text    string
	keyImpl string // implementation of typed PRNG keys

	sharding string // of an array of JAX; "" for other arrays, and for keys on the first device
	sub      []int  // shape of a sub-chunk, if it is an array of JAX
}

// leaves lists the entries of a tree. It returns an error for entries that the format cannot hold.
func leaves(n *tree.Node, foreign map[*tree.Node]string) ([]leaf, []orbax.Entry, error) {
	if n.IsEmpty() || n.Kind == tree.Leaf && n.Value == nil {
		return nil, nil, &errs.Error{Kind: errs.Invalid, Got: "an empty tree",
			Remedy: "save at least one leaf, or do not save"}
	}
	entries := tree.Flatten(n)
	if err := tree.Collisions(entries); err != nil {
		return nil, nil, err
	}
	out, listed := make([]leaf, len(entries)), make([]orbax.Entry, len(entries))
	for i, e := range entries {
		if typeString, ok := foreign[e.Node]; ok {
			listed[i] = orbax.Entry{Path: e.Path, ValueType: typeString}
			out[i] = leaf{entry: &listed[i], param: e.Path.Param(), node: e.Node}
			continue
		}
		l, err := newLeaf(e, &listed[i])
		if err != nil {
			return nil, nil, errs.Wrap("", e.Path.String(), err)
		}
		out[i] = l
	}
	return out, listed, nil
}

// stored decides how the array of a leaf is stored, and casts it to that type.
func (l *leaf) stored(o *Options) (Storage, error) {
	how, err := o.storageOf(l.entry.Path, l.source.Spec())
	if err == nil && how.DType != tensor.Invalid && how.DType != l.source.DType && !l.number && l.keyImpl == "" {
		*l.source = l.source.castTo(how.DType)
		_, err = l.source.Shape.Bytes(how.DType)
	}
	return how, err
}

// newLeaf makes the leaf and the entry of e.
func newLeaf(e tree.Entry, entry *orbax.Entry) (leaf, error) {
	*entry = orbax.Entry{Path: e.Path}
	l := leaf{entry: entry, param: e.Path.Param()}
	for _, k := range e.Path {
		if !utf8.ValidString(k.Name) {
			return l, &errs.Error{Kind: errs.Invalid, Subject: "key " + strconv.Quote(k.Name), Want: "UTF-8"}
		}
	}
	empty := func(valueType string) (leaf, error) {
		l.entry.ValueType, l.entry.Skip = valueType, true
		return l, nil
	}
	switch e.Node.Kind {
	case tree.Dict:
		return empty(orbax.TypeDict)
	case tree.List:
		return empty(orbax.TypeList)
	case tree.Tuple:
		return empty(orbax.TypeTuple)
	case tree.Named:
		return empty(orbax.TypeNamedTuple)
	}
	scalar := func(t tensor.Tensor) (leaf, error) {
		l.entry.ValueType, l.isArray, l.number, l.source = orbax.TypeScalar, true, true, &source{Tensor: t}
		return l, nil
	}
	value := e.Node.Value
	if o, ok := value.(tree.Opaque); ok { // in a node that the caller made
		value = o.TreeLeaf()
	}
	switch v := value.(type) {
	case nil:
		return empty(orbax.TypeNone)
	case bool, int64, uint64, float64:
		n := tree.NewLeaf(v)
		if value == e.Node.Value {
			n = e.Node
		}
		t, _ := n.Number()
		return scalar(t)
	case complex128: // Orbax has no complex scalars
		l.entry.ValueType, l.isArray, l.number, l.source = orbax.TypeNumpy, true, true, &source{Tensor: tensor.ScalarOf(v)}
		return l, nil
	case string:
		if !utf8.ValidString(v) {
			return l, &errs.Error{Kind: errs.Invalid, Want: "a string in UTF-8", Remedy: "save bytes as []byte"}
		}
		l.entry.ValueType, l.text = orbax.TypeString, v
		return l, nil
	}
	switch value.(type) {
	case big.Int, *big.Int:
		return l, &errs.Error{Kind: errs.Unsupported, Got: "a big.Int", Want: "an integer of 64 bits",
			Remedy: "save it in a JSON item (handler.JSON)"}
	}
	src, ok, err := newSource(value)
	if !ok {
		return l, &errs.Error{Kind: errs.Unsupported, Got: fmt.Sprintf("a leaf of type %T", value),
			Want: "tensors, numbers, strings, bytes, nil"}
	}
	l.entry.ValueType, l.isArray, l.source = orbax.TypeNumpy, true, &src
	l.entry.WriteShape = src.cells()
	switch v := value.(type) {
	case Lazy:
		l.keyImpl = v.KeyImpl
	case Key:
		l.keyImpl, l.sharding = v.Impl, v.Sharding
	case Parts:
		l.sharding = v.Sharding
	}
	if l.ofJAX() {
		l.entry.ValueType = orbax.TypeJAX
		if l.entry.WriteShape == nil {
			l.entry.WriteShape = src.Shape
		}
	}
	if err == nil && l.sharding != "" {
		err = checkSharding(l.sharding)
	}
	return l, err
}

// ofJAX reports whether Orbax loads the leaf as an array of JAX.
func (l *leaf) ofJAX() bool { return l.keyImpl != "" || l.sharding != "" }

// checkSharding returns an error unless the text is a JSON object.
func checkSharding(text string) error {
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Subject: "sharding", Want: "a JSON object", Got: strconv.Quote(text)}
}
