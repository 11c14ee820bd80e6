package surgery

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// leaf is a leaf or an empty container with its name.
type leaf struct {
	name string // the keys of the path, joined with "."
	path []step
	node *tree.Node
}

// step is a key on the way to a leaf.
type step struct {
	name  string
	of    *tree.Node // the container of a source that has this key, or nil
	index bool       // it numbers the parts that an array was cut into
}

// newLeaf returns the leaf of a source, below the given steps.
func newLeaf(at []step, root *tree.Node, e tree.Entry) leaf {
	path := slices.Clone(at)
	n := root
	for _, k := range e.Path {
		path = append(path, step{name: k.Name, of: n})
		n = n.Get(k.Name)
	}
	return leaf{joinedName(path), path, e.Node}
}

func joinedName(path []step) string {
	names := make([]string, len(path))
	for i, s := range path {
		names[i] = s.name
	}
	return strings.Join(names, ".")
}

// indexMark stands for an index in a name until the name is split at its dots.
const indexMark = "\x00"

// renamed returns the leaf under another name, in which indexMark is replaced by the index. Keys
// that both names share at the beginning or the end keep their containers.
func (l leaf) renamed(name string, index int) (leaf, error) {
	names := strings.Split(name, ".")
	path := make([]step, len(names))
	for i, n := range names {
		path[i].name = strings.ReplaceAll(n, indexMark, strconv.Itoa(index))
		path[i].index = n == indexMark
		if n == "" {
			return leaf{}, &errs.Error{Kind: errs.Invalid, Subject: "leaf " + strconv.Quote(l.name),
				Want: "a name without empty keys", Got: strconv.Quote(name)}
		}
	}
	was, is := len(l.path), len(path)
	for i := 0; i < min(was, is) && l.path[i].name == path[i].name && !path[i].index; i++ {
		path[i] = l.path[i]
	}
	for i := 1; i <= min(was, is) && l.path[was-i].name == path[is-i].name && !path[is-i].index; i++ {
		path[is-i] = l.path[was-i]
	}
	return leaf{joinedName(path), path, l.node}, nil
}

// with returns the leaf with the array as its value.
func (l leaf) with(a checkpoint.Lazy) leaf {
	l.node = tree.NewLeaf(a)
	return l
}

// describe returns kind, dtype and shape of the leaf in words.
func (l leaf) describe() string {
	if a, ok := l.node.Value.(checkpoint.Lazy); ok {
		if a.KeyImpl != "" {
			return a.KeyImpl + " keys " + a.Shape.String()
		}
		return a.String()
	}
	if h, ok := l.node.Value.(checkpoint.Handled); ok {
		return h.String()
	}
	return l.node.String()
}

// array returns the array of the leaf, or its number as an array of rank 0. Other leaves are
// errs.Mismatch, including PRNG keys, whose bits mean nothing by themselves.
func (l leaf) array() (checkpoint.Lazy, error) {
	switch v := l.node.Value.(type) {
	case checkpoint.Lazy:
		if v.KeyImpl == "" {
			return v, nil
		}
	case tensor.Tensor:
		return checkpoint.LazyOf(v), nil
	}
	if t, ok := l.node.Number(); ok {
		return checkpoint.LazyOf(t), nil
	}
	return checkpoint.Lazy{}, l.mismatch("an array", l.describe())
}

// mismatch returns the error for a rule that cannot be applied to the leaf.
func (l leaf) mismatch(want, got string) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: "leaf " + strconv.Quote(l.name), Want: want, Got: got}
}

// grow builds a tree from the leaves.
func grow(leaves []leaf) (*tree.Node, error) {
	if len(leaves) == 0 {
		return tree.NewDict(), nil
	}
	return branch(leaves, 0)
}

// branch builds the container of leaves that have the first depth steps in common.
func branch(leaves []leaf, depth int) (*tree.Node, error) {
	if len(leaves) == 1 && len(leaves[0].path) == depth {
		return leaves[0].node, nil
	}
	n := tree.NewDict()
	below := map[string][]leaf{}
	for _, l := range leaves {
		if len(l.path) == depth {
			return nil, &errs.Error{Kind: errs.Exists, Subject: "leaf " + strconv.Quote(l.name), Want: "a leaf",
				Got: "also leaves below it: " + others(leaves, l)}
		}
		name := l.path[depth].name
		if below[name] == nil {
			n.Keys = append(n.Keys, name)
		}
		below[name] = append(below[name], l)
	}
	n.Kind, n.Type = container(leaves, depth, n.Keys)
	if n.Kind == tree.List || n.Kind == tree.Tuple {
		for i := range n.Keys {
			n.Keys[i] = strconv.Itoa(i)
		}
	}
	for _, name := range n.Keys {
		c, err := branch(below[name], depth+1)
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, c)
	}
	if n.Kind == tree.List || n.Kind == tree.Tuple {
		n.Keys = nil
	}
	return n, nil
}

// container returns the kind of container for the keys at a depth: the container of a source that
// has all of them, a list for the parts of an array, or else a dictionary.
func container(leaves []leaf, depth int, keys []string) (tree.Kind, string) {
	of, counts := leaves[0].path[depth].of, true
	for _, l := range leaves {
		s := l.path[depth]
		if s.of != of {
			of = nil
		}
		i, err := strconv.Atoi(s.name)
		counts = counts && s.index && err == nil && i < len(keys)
	}
	switch {
	case of != nil && of.Len() == len(keys):
		return of.Kind, of.Type
	case counts:
		return tree.List, ""
	}
	return tree.Dict, ""
}

// others names the leaves other than l.
func others(leaves []leaf, l leaf) string {
	for _, o := range leaves {
		if o.name != l.name {
			return strconv.Quote(o.name)
		}
	}
	return ""
}
