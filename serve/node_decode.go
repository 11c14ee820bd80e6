package serve

import (
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// maxLevels bounds how deep trees are: more than trees of package tree, less than what the stack
// holds.
const maxLevels = 1024

// nodeReader makes a tree of JSON nodes. Its arrays are views of the arena.
type nodeReader struct {
	cursor
	arena  *arena // nil: no arrays
	dtypes map[string]tensor.DType
	leaves *handedTree // that leaves of leaf handlers belong to; nil: they are refused
}

// readTree reads a node with all that is below it.
func readTree(text []byte, a *arena) (*tree.Node, error) { return readHandedTree(text, a, nil) }

// readHandedTree is readTree for a tree that may have leaves of leaf handlers, which are noted in
// leaves.
func readHandedTree(text []byte, a *arena, leaves *handedTree) (*tree.Node, error) {
	r := &nodeReader{cursor: cursor{b: text}, arena: a, dtypes: map[string]tensor.DType{}, leaves: leaves}
	n := r.node(0)
	if r.err != nil {
		return nil, errs.Wrap("", "tree", r.err)
	}
	return n, nil
}

// refuse notes err as the first mistake.
func (r *nodeReader) refuse(err error) {
	if r.err == nil && err != nil {
		r.err = errs.Wrap("", "byte "+strconv.Itoa(r.at), err)
	}
}

func (r *nodeReader) node(level int) *tree.Node {
	if level > maxLevels {
		r.fail("at most " + strconv.Itoa(maxLevels) + " levels")
	}
	if r.err != nil {
		return &tree.Node{}
	}
	switch b := r.peek(); b {
	case '[':
		return r.tagged(level)
	case '"':
		return tree.NewLeaf(r.text())
	case 't', 'f':
		r.word()
		return tree.NewLeaf(b == 't')
	case 'n':
		r.word()
		return &tree.Node{}
	case '{', 0:
		r.fail("a node")
		return &tree.Node{}
	}
	return r.number()
}

// number reads an integer, or a float if it has a point or an exponent.
func (r *nodeReader) number() *tree.Node {
	from := r.at
	word := string(r.word())
	var v any
	var err error
	if isFloat(word) {
		v, err = strconv.ParseFloat(word, 64)
	} else {
		v, err = strconv.ParseInt(word, 10, 64)
	}
	if err != nil {
		r.at = from
		r.fail(`a number of 64 bits; ["u","…"] is an unsigned one`)
	}
	return tree.NewLeaf(v)
}

func isFloat(word string) bool {
	for i := range len(word) {
		if b := word[i]; b == '.' || b == 'e' || b == 'E' {
			return true
		}
	}
	return false
}

// tagged reads an array whose first element says what the node is.
func (r *nodeReader) tagged(level int) *tree.Node {
	r.enter('[')
	n := &tree.Node{}
	from := r.at
	switch tag := r.text(); tag {
	case "d":
		n.Kind, n.Keys, n.Items = tree.Dict, r.texts(), r.nodes(level)
	case "l":
		n.Kind, n.Items = tree.List, r.nodes(level)
	case "t":
		n.Kind, n.Items = tree.Tuple, r.nodes(level)
	case "n":
		n.Kind, n.Type, n.Keys, n.Items = tree.Named, r.text(), r.texts(), r.nodes(level)
	default:
		n.Value = r.leaf(tag, from)
	}
	if len(n.Keys) != len(n.Items) && (n.Kind == tree.Dict || n.Kind == tree.Named) {
		r.fail("as many keys as nodes")
	}
	r.leave()
	return n
}

func (r *nodeReader) nodes(level int) []*tree.Node {
	var out []*tree.Node
	for r.enter('['); r.err == nil && r.more(']'); {
		out = append(out, r.node(level+1))
	}
	return out
}

// leaf reads the value of a leaf, which follows its tag.
func (r *nodeReader) leaf(tag string, from int) any {
	switch tag {
	case "a":
		return r.array(r.dtype())
	case "m":
		return r.parts()
	case "k":
		return r.key()
	case "f":
		return r.special()
	case "u":
		u, err := strconv.ParseUint(r.text(), 10, 64)
		r.refuse(mistake("an unsigned integer of 64 bits", err))
		return u
	case "x":
		return checkpoint.Placeholder{}
	case "r":
		return r.reference()
	case "s":
		return r.abstract()
	case "y":
		return r.abstractScalar()
	case "h":
		return r.handed()
	}
	if r.err == nil {
		r.at = from
		r.fail("a kind of node")
	}
	return nil
}

// handed reads a leaf that a leaf handler of the client writes.
func (r *nodeReader) handed() any {
	typeString := r.text()
	if r.err != nil {
		return nil
	}
	if r.leaves == nil {
		r.refuse(&errs.Error{Kind: errs.Unsupported, Subject: "leaf of type " + typeString,
			Want:   "arrays, numbers, strings and None",
			Remedy: "save it in a tree with a directory of files, or as an item of files"})
		return nil
	}
	r.leaves.types[typeString] = true
	return clientLeaf{typeString: typeString, of: r.leaves}
}

// mistake is the error of a value that does not parse, or nil.
func mistake(want string, err error) error {
	if err == nil {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Want: want, Err: err}
}

func (r *nodeReader) dtype() tensor.DType {
	name := r.text()
	if d, ok := r.dtypes[name]; ok || r.err != nil {
		return d
	}
	d, err := tensor.ParseDType(name)
	r.refuse(err)
	r.dtypes[name] = d
	return d
}

// array reads shape and offset.
func (r *nodeReader) array(d tensor.DType) tensor.Tensor {
	t := tensor.Tensor{DType: d, Shape: r.extents()}
	offset := r.integer()
	if r.err != nil {
		return t
	}
	n, err := t.Shape.Bytes(d)
	if err == nil {
		t.Data, err = r.arena.slice(offset, int64(n))
	}
	r.refuse(err)
	return t
}

// parts reads an array that lies in several places.
func (r *nodeReader) parts() any {
	s := checkpoint.Shards{DType: r.dtype(), Shape: r.extents()}
	for r.enter('['); r.err == nil && r.more(']'); {
		r.enter('[')
		origin := r.extents()
		s.Parts = append(s.Parts, checkpoint.Shard{Origin: origin, Data: r.array(s.DType)})
		r.leave()
	}
	s.Sharding = r.sharding()
	if r.err != nil {
		return nil
	}
	return s.TreeLeaf()
}

// sharding reads where an array of JAX lies, or nothing at the end of the node.
func (r *nodeReader) sharding() string {
	if r.err != nil || r.peek() == ']' {
		return ""
	}
	return r.text()
}

func (r *nodeReader) key() any {
	k := checkpoint.Key{Impl: r.text(), Data: r.array(tensor.Uint32), Sharding: r.sharding()}
	if r.err != nil {
		return nil
	}
	return k.TreeLeaf()
}

// special reads a float that JSON has no word for.
func (r *nodeReader) special() any {
	switch r.text() {
	case "nan":
		return math.NaN()
	case "inf":
		return math.Inf(1)
	case "-inf":
		return math.Inf(-1)
	}
	r.fail(`"nan", "inf" or "-inf"`)
	return nil
}

// abstract reads an array that a load asks for.
func (r *nodeReader) abstract() any {
	var a checkpoint.Abstract
	if !r.isNull() {
		a.DType = r.dtype()
	}
	if !r.isNull() {
		a.Shape = r.extents()
	}
	if r.peek() == ']' {
		return a
	}
	a.Boxes = []checkpoint.Box{}
	for r.enter('['); r.err == nil && r.more(']'); {
		r.enter('[')
		a.Boxes = append(a.Boxes, checkpoint.Box{Origin: r.extents(), Shape: r.extents()})
		r.leave()
	}
	return a
}

// abstractScalar reads a number or string that a load asks for.
func (r *nodeReader) abstractScalar() any {
	switch r.text() {
	case "int":
		return checkpoint.TypeOf[int64]()
	case "float":
		return checkpoint.TypeOf[float64]()
	case "bool":
		return checkpoint.TypeOf[bool]()
	case "str":
		return checkpoint.TypeOf[string]()
	}
	r.fail(`"int", "float", "bool" or "str"`)
	return nil
}
