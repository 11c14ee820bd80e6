package pt

import (
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/pickle"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

const (
	maxDepth = 200
	// A value that is shared becomes a node in each place, so a short pickle could become a large
	// tree. A tree has at most freeNodes nodes, and nodesPerByte for each byte of its pickle.
	freeNodes    = 4096
	nodesPerByte = 4
)

// builder makes a tree of a pickled value.
type builder struct {
	nodes   int // that the tree may still have
	storage func(key string) (*Storage, error)
	at      tree.Path
}

// build makes a tree of the value of a pickle of size bytes.
func build(v any, size int, storage func(key string) (*Storage, error)) (*tree.Node, error) {
	b := &builder{nodes: freeNodes + nodesPerByte*size, storage: storage}
	n, err := b.node(v)
	if err != nil && len(b.at) > 0 {
		err = errs.Wrap("", b.at.String(), err)
	}
	return n, err
}

func unsupported(v any) error {
	return &errs.Error{Kind: errs.Unsupported,
		Want: "tensors, numbers, texts, bytes, None, and dicts, lists and tuples of them", Got: pickle.Kind(v)}
}

// node makes the node of a value. After an error, at is the path of the value.
func (b *builder) node(v any) (*tree.Node, error) {
	if b.nodes--; b.nodes < 0 {
		return nil, &errs.Error{Kind: errs.Exhausted, Want: "a value in proportion to its pickle",
			Got: "a value that repeats itself too often"}
	}
	if len(b.at) > maxDepth {
		return nil, &errs.Error{Kind: errs.Exhausted, Want: "at most " + strconv.Itoa(maxDepth) + " levels", Got: "more"}
	}
	switch v := v.(type) {
	case nil, bool, int64, float64, string:
		return tree.NewLeaf(v), nil
	case *big.Int:
		if v.IsUint64() {
			return tree.NewLeaf(v.Uint64()), nil
		}
	case []byte:
		return &tree.Node{Value: v}, nil
	case *pickle.List:
		return b.sequence(tree.List, v.Items)
	case *pickle.Tuple:
		return b.sequence(tree.Tuple, v.Items)
	case *pickle.Dict:
		return b.dict(v)
	case *pickle.Object:
		return b.object(v)
	}
	return nil, unsupported(v)
}

// below makes the node of a child.
func (b *builder) below(v any, k tree.Key) (*tree.Node, error) {
	b.at = append(b.at, k)
	n, err := b.node(v)
	if err == nil {
		b.at = b.at[:len(b.at)-1]
	}
	return n, err
}

func (b *builder) sequence(kind tree.Kind, items []any) (*tree.Node, error) {
	out := &tree.Node{Kind: kind}
	for i, v := range items {
		n, err := b.below(v, tree.Key{Name: strconv.Itoa(i), Kind: tree.KeyIndex})
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, n)
	}
	return out, nil
}

func (b *builder) dict(d *pickle.Dict) (*tree.Node, error) {
	out, number := tree.NewDict(), map[string]bool{}
	for i, k := range d.Keys {
		var key string
		n, isNumber := k.(int64)
		switch k := k.(type) {
		case string:
			key = k
		case int64:
			key = strconv.FormatInt(n, 10)
		default:
			return nil, &errs.Error{Kind: errs.Unsupported, Want: "keys that are texts or integers", Got: pickle.Kind(k)}
		}
		if was, twice := number[key]; twice && was != isNumber {
			return nil, &errs.Error{Kind: errs.Unsupported, Want: "keys that differ as texts",
				Got: strconv.Quote(key) + " twice"}
		}
		number[key] = isNumber
		child, err := b.below(d.Values[i], tree.Key{Name: key})
		if err != nil {
			return nil, err
		}
		out.Set(key, child)
	}
	return out, nil
}

// object makes what the call of a listed name stands for.
func (b *builder) object(o *pickle.Object) (*tree.Node, error) {
	switch of := o.Of.String(); of {
	case "collections.OrderedDict", "collections.defaultdict":
		if len(o.Items) == 0 {
			return b.dict(&o.Dict)
		}
	case "torch.Size":
		if t, ok := argument[*pickle.Tuple](o, 0); ok && len(o.Args) == 1 {
			return b.sequence(tree.Tuple, t.Items)
		}
	case "builtins.complex", "__builtin__.complex":
		re, ok := argument[float64](o, 0)
		im, also := argument[float64](o, 1)
		if ok && also {
			c := tensor.New(tensor.Complex128)
			binary.LittleEndian.PutUint64(c.Data, math.Float64bits(re))
			binary.LittleEndian.PutUint64(c.Data[8:], math.Float64bits(im))
			return tree.NewLeaf(c), nil
		}
	case "numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct",
		"numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar":
		a, err := numpyArray(o)
		if err != nil {
			return nil, err
		}
		return tree.NewLeaf(a), nil
	default:
		if raw, ok := bytesOf(o); ok {
			return &tree.Node{Value: raw}, nil
		}
		if strings.HasPrefix(of, "torch._utils.") || strings.HasPrefix(of, "torch._tensor.") {
			t, err := b.tensor(o, 0)
			if err != nil {
				return nil, err
			}
			return &tree.Node{Value: t}, nil
		}
	}
	return nil, unsupported(o)
}

// argument returns the argument i of a call, if it has the type T.
func argument[T any](o *pickle.Object, i int) (v T, ok bool) {
	if i < len(o.Args) {
		v, ok = o.Args[i].(T)
	}
	return v, ok
}

// bytesOf returns bytes as any protocol writes them. Protocol 2, the default of torch.save, encodes
// text as Latin-1.
func bytesOf(v any) (raw []byte, ok bool) {
	switch v := v.(type) {
	case []byte:
		return v, true
	case *pickle.Object:
		switch v.Of.String() {
		case "builtins.bytes", "__builtin__.bytes", "builtins.bytearray", "__builtin__.bytearray":
			if len(v.Args) == 0 {
				return nil, true
			}
			if inner, ok := argument[*pickle.Object](v, 0); ok && inner.Of.Name == "encode" {
				return bytesOf(inner)
			}
			return argument[[]byte](v, 0)
		case "_codecs.encode":
			text, ok := argument[string](v, 0)
			if name, also := argument[string](v, 1); !ok || !also || name != "latin1" {
				return nil, false
			}
			for _, r := range text {
				if r > 0xff {
					return nil, false
				}
				raw = append(raw, byte(r))
			}
			return raw, true
		}
	}
	return nil, false
}

// ints returns the extents or strides of a tuple.
func ints(v any) ([]int, bool) {
	if o, ok := v.(*pickle.Object); ok && o.Of.String() == "torch.Size" && len(o.Args) == 1 {
		v = o.Args[0]
	}
	t, ok := v.(*pickle.Tuple)
	if !ok {
		return nil, false
	}
	out := make([]int, len(t.Items))
	for i, item := range t.Items {
		n, ok := item.(int64)
		if !ok || n < 0 {
			return nil, false
		}
		out[i] = int(n)
	}
	return out, true
}

// tensor makes a Tensor of the call that rebuilds it. depth counts calls within calls.
func (b *builder) tensor(o *pickle.Object, depth int) (*Tensor, error) {
	malformed := corrupt("arguments of " + o.Of.String() + " that make no tensor")
	if depth > 4 {
		return nil, malformed
	}
	switch o.Of.Name {
	case "_rebuild_parameter", "_rebuild_parameter_with_state":
		if inner, ok := argument[*pickle.Object](o, 0); ok {
			return b.tensor(inner, depth+1)
		}
		return nil, malformed
	case "_rebuild_from_type_v2":
		by, ok := argument[pickle.Global](o, 0)
		args, also := argument[*pickle.Tuple](o, 2)
		if !ok || !also {
			return nil, malformed
		}
		if by.Name == "_rebuild_wrapper_subclass" {
			return b.part(o, depth+1)
		}
		return b.tensor(&pickle.Object{Of: by, Args: args.Items}, depth+1)
	case "_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3":
	default:
		return nil, unsupported(o)
	}
	ref, ok := argument[*pickle.Persistent](o, 0)
	first, has := argument[int64](o, 1)
	if !ok || !has || len(o.Args) < 4 {
		return nil, malformed
	}
	shape, ok := ints(o.Args[2])
	strides, also := ints(o.Args[3])
	if !ok || !also || first < 0 {
		return nil, malformed
	}
	t := &Tensor{Shape: shape, Strides: strides, First: int(first)}
	next := 6 // the argument behind the ones that all versions have
	if o.Of.Name == "_rebuild_tensor_v3" {
		g, ok := argument[pickle.Global](o, next)
		if !ok {
			return nil, malformed
		}
		if t.DType, ok = dtypes[g.Name]; !ok {
			return nil, &errs.Error{Kind: errs.Unsupported, Want: "a tensor of a known type", Got: g.String()}
		}
		next++
	}
	if marks, ok := argument[*pickle.Dict](o, next); ok {
		for _, mark := range []string{"conj", "neg"} {
			if on, _ := marks.Get(mark); on == true {
				return nil, &errs.Error{Kind: errs.Unsupported, Want: "a tensor whose elements are stored as they are",
					Got: "a view marked " + mark, Remedy: "save it after resolve_" + mark + "()"}
			}
		}
	}
	if err := b.store(t, ref); err != nil {
		return nil, err
	}
	return t, t.check()
}

// store finds the storage of a tensor: ("storage", class, key, device, elements).
func (b *builder) store(t *Tensor, ref *pickle.Persistent) error {
	id, ok := ref.ID.(*pickle.Tuple)
	if !ok || len(id.Items) < 5 || id.Items[0] != "storage" {
		return corrupt("a tensor without a storage")
	}
	class, ok := id.Items[1].(pickle.Global)
	key, also := id.Items[2].(string)
	count, has := id.Items[4].(int64)
	if !ok || !also || !has || count < 0 {
		return corrupt("a storage without a key or a size")
	}
	d, known := storages[class.Name]
	if !known {
		return &errs.Error{Kind: errs.Unsupported, Want: "a tensor of a known type", Got: "a storage of " + class.String()}
	}
	size := int64(1)
	switch {
	case d == tensor.Invalid: // count is in bytes
	case t.DType == tensor.Invalid:
		t.DType, size = d, int64(d.Size())
	default:
		size = int64(d.Size())
	}
	if t.DType == tensor.Invalid {
		return corrupt("a tensor without a type")
	}
	s, err := b.storage(key)
	if err != nil {
		return err
	}
	if s.Size/size != count || s.Size%size != 0 {
		return &errs.Error{Kind: errs.Corrupt, Subject: "storage " + strconv.Quote(key),
			Want: strconv.FormatInt(count, 10) + " elements of " + strconv.FormatInt(size, 10) + " bytes",
			Got:  strconv.FormatInt(s.Size, 10) + " bytes"}
	}
	t.Storage = s
	return nil
}
