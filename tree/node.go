package tree

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/enum"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Kind says what a node is. The zero Kind is Leaf.
type Kind uint8

// The kinds. Named is a struct, dataclass or namedtuple: its keys are attributes.
const (
	Leaf Kind = iota
	Dict
	List
	Tuple
	Named
)

// String returns the kind in lower case.
func (k Kind) String() string {
	return enum.Name(k, []string{"leaf", "dict", "list", "tuple", "struct"}, "kind %d")
}

// keyed reports whether children have names; otherwise they have positions.
func (k Kind) keyed() bool { return k == Dict || k == Named }

// Node is a leaf or a container. Dict and Named have one key in Keys for each item in Items, in
// insertion order and without duplicates. List and Tuple have Items only. Set adds keys. Get and
// Set remember where keys are: a caller that renames a key must give the node a new slice of Keys.
//
// The Value of a leaf is nil, bool, int64, uint64 (only above the range of int64), float64, string
// or tensor.Tensor. Options.KeepUnknown admits other values. The dtype in which a number is stored
// does not depend on its value; see Number.
type Node struct {
	Kind  Kind
	Value any // the value of a Leaf
	Keys  []string
	Items []*Node
	Type  string // the type name of a Named; may be empty

	unsigned bool           // an integer that is stored as uint64 for any value
	index    unsafe.Pointer // *keyIndex if there are many keys, or nil
	searched uint32         // how many searches had no index
}

// NewLeaf returns a leaf of v, with integers and floats widened as From does.
func NewLeaf(v any) *Node { return &Node{Value: widen(v), unsigned: isUnsigned(reflect.ValueOf(v))} }

// Number returns the value of a leaf that is a bool, an integer or a float, as the rank-0 tensor in
// which it is stored. Its dtype follows from the Go type: bool, int64 for signed integers and for
// uint8 to uint32, uint64 for uint and uint64, and float64 for floats.
func (n *Node) Number() (tensor.Tensor, bool) {
	switch v := n.Value.(type) {
	case bool:
		return tensor.ScalarOf(v), true
	case int64:
		if n.unsigned && v >= 0 {
			return tensor.ScalarOf(uint64(v)), true
		}
		return tensor.ScalarOf(v), true
	case uint64:
		return tensor.ScalarOf(v), true
	case float64:
		return tensor.ScalarOf(v), true
	}
	return tensor.Tensor{}, false
}

// StoreUnsigned makes an integer be stored as uint64 for any value, as From does for values of type
// uint and uint64.
func (n *Node) StoreUnsigned() { n.unsigned = true }

// NewDict returns an empty dictionary.
func NewDict() *Node { return &Node{Kind: Dict} }

// NewList returns a list of items.
func NewList(items ...*Node) *Node { return &Node{Kind: List, Items: items} }

// Set adds a child, or replaces the child with that key in its place, and returns n. It panics if n
// is not a Dict or Named.
func (n *Node) Set(key string, child *Node) *Node {
	if !n.Kind.keyed() {
		panic("tree: Set on a " + n.Kind.String())
	}
	if i := n.find(key); i >= 0 {
		n.Items[i] = child
	} else {
		n.add(key, child)
	}
	return n
}

// Get returns the child with the given key, or nil. The keys of lists and tuples are their indices
// in decimal. Several goroutines may call Get.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	if n.Kind.keyed() {
		if i := n.find(key); i >= 0 {
			return n.Items[i]
		}
		return nil
	}
	if i, ok := index(key); ok && i < len(n.Items) {
		return n.Items[i]
	}
	return nil
}

// At returns the node at the end of the path, or nil.
func (n *Node) At(p Path) *Node {
	for _, k := range p {
		n = n.Get(k.Name)
	}
	return n
}

// Equal makes package cmp compare nodes with the function Equal.
func (n *Node) Equal(other *Node) bool { return Equal(n, other) }

// Len returns the number of children; 0 for a leaf.
func (n *Node) Len() int { return len(n.Items) }

// IsEmpty reports whether n is a container without children.
func (n *Node) IsEmpty() bool { return n.Kind != Leaf && len(n.Items) == 0 }

// Key returns the key of child i.
func (n *Node) Key(i int) Key {
	switch n.Kind {
	case Dict:
		return Key{Name: n.Keys[i], Kind: KeyDict}
	case Named:
		return Key{Name: n.Keys[i], Kind: KeyAttr}
	default:
		return Key{Name: strconv.Itoa(i), Kind: KeyIndex}
	}
}

// Tensor returns the tensor of a leaf; ok is false if the leaf is not a tensor.
func (n *Node) Tensor() (t tensor.Tensor, ok bool) {
	t, ok = n.Value.(tensor.Tensor)
	return t, ok && n.Kind == Leaf
}

// String describes the node without its contents: "float32[2,3]", "dict of 4",
// `"text"`, "int 7".
func (n *Node) String() string {
	if n == nil {
		return "nothing"
	}
	if n.Kind != Leaf {
		s := n.Kind.String()
		if n.Type != "" {
			s += " " + n.Type
		}
		return fmt.Sprintf("%s of %d", s, len(n.Items))
	}
	switch v := n.Value.(type) {
	case nil:
		return "nil"
	case tensor.Tensor:
		return v.String()
	case string:
		const longest = 40
		if len(v) > longest {
			return strconv.Quote(v[:longest]) + "…"
		}
		return strconv.Quote(v)
	case bool:
		return "bool " + strconv.FormatBool(v)
	case int64:
		return "int " + strconv.FormatInt(v, 10)
	case uint64:
		return "int " + strconv.FormatUint(v, 10)
	case float64:
		return "float " + strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprintf("%T", n.Value)
}

// Check returns an error that names the path of the first malformed node. Its kind is errs.Invalid,
// or errs.Unsupported for the value of a leaf.
func (n *Node) Check() error { return Options{}.check(n, nil) }

func (o Options) check(n *Node, at Path) error {
	fail := func(kind errs.Kind, want, got string) error {
		return &errs.Error{Kind: kind, Op: "tree.Check", Subject: at.String(), Want: want, Got: got}
	}
	if n == nil {
		return fail(errs.Invalid, "a node", "nil")
	}
	if len(at) > maxDepth {
		return tooDeep("tree.Check", at)
	}
	switch n.Kind {
	case Leaf:
		switch v := n.Value.(type) {
		case nil, bool, int64, float64, string:
		case uint64:
			if v <= math.MaxInt64 {
				return fail(errs.Invalid, "int64 for "+strconv.FormatUint(v, 10), "uint64")
			}
		case tensor.Tensor:
			if err := v.Check(); err != nil {
				return errs.Wrap("tree.Check", at.String(), err)
			}
		default:
			if !o.KeepUnknown {
				return fail(errs.Unsupported, "a tensor or scalar", fmt.Sprintf("%T", v))
			}
		}
		if len(n.Items) > 0 {
			return fail(errs.Invalid, "a leaf without children", strconv.Itoa(len(n.Items))+" children")
		}
		return nil
	case Dict, Named:
		if len(n.Keys) != len(n.Items) {
			return fail(errs.Invalid, strconv.Itoa(len(n.Items))+" keys", strconv.Itoa(len(n.Keys)))
		}
		seen := make(map[string]bool, len(n.Keys))
		for _, k := range n.Keys {
			if seen[k] {
				return fail(errs.Invalid, "each key at most once", strconv.Quote(k)+" twice")
			}
			seen[k] = true
		}
	case List, Tuple:
		if len(n.Keys) > 0 {
			return fail(errs.Invalid, "no keys", strconv.Itoa(len(n.Keys)))
		}
	default:
		return fail(errs.Invalid, "a kind", n.Kind.String())
	}
	for i, child := range n.Items {
		if err := o.check(child, append(at, n.Key(i))); err != nil {
			return err
		}
	}
	return nil
}

// Untyped returns the tree with tuples as lists and structs as dictionaries, like Orbax for
// checkpoints without type information. Leaves are shared.
func Untyped(n *Node) *Node {
	if n == nil || n.Kind == Leaf {
		return n
	}
	u := &Node{Kind: List, Keys: n.Keys, Items: make([]*Node, len(n.Items))}
	if n.Kind.keyed() {
		u.Kind = Dict
	}
	for i, child := range n.Items {
		u.Items[i] = Untyped(child)
	}
	return u
}

// ToGo returns the tree in plain Go values: map[string]any, []any and the values of leaves.
func ToGo(n *Node) any {
	switch {
	case n == nil:
		return nil
	case n.Kind == Leaf:
		return n.Value
	case n.Kind.keyed():
		m := make(map[string]any, len(n.Items))
		for i, k := range n.Keys {
			m[k] = ToGo(n.Items[i])
		}
		return m
	default:
		l := make([]any, len(n.Items))
		for i, child := range n.Items {
			l[i] = ToGo(child)
		}
		return l
	}
}

// maxDepth is far above any real tree and far below what overflows a stack.
const maxDepth = 1000

func tooDeep(op string, at Path) error {
	return &errs.Error{Kind: errs.Invalid, Op: op, Subject: at[:4].String() + "…",
		Want: fmt.Sprintf("at most %d levels", maxDepth), Got: "more levels", Remedy: "check the value for a cycle"}
}
