package crew

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// roll describes the data and options of a process for a meeting.
type roll struct {
	Failure *failure   `json:"failure,omitempty"`
	Terms   []term     `json:"terms,omitempty"`
	Items   []itemRoll `json:"items,omitempty"`
}

// term is an option that must be the same on all processes.
type term struct {
	Option string `json:"option"`
	Value  string `json:"value"`
}

type itemRoll struct {
	Name    string     `json:"name"`
	Handler string     `json:"handler,omitempty"`
	Tree    bool       `json:"tree,omitempty"`
	Leaves  []leafRoll `json:"leaves,omitempty"` // of a tree, in tree order
}

type leafRoll struct {
	Path  string `json:"path"`
	Is    string `json:"is"`              // in words: what it is, its dtype and shape
	Boxes []box  `json:"boxes,omitempty"` // for a leaf in shards, the shards of the process

	parts *writer.Parts // only on this process; nil for a leaf without shards
}

// box is the place of a shard.
type box struct {
	Origin []int `json:"origin"`
	Shape  []int `json:"shape"`
}

// rollOf describes the items of this process.
func rollOf(items []writer.Item, terms []term) (roll, error) {
	r := roll{Terms: terms}
	for _, it := range items {
		ir := itemRoll{Name: it.Name, Handler: it.Handler, Tree: it.Tree != nil}
		if it.Tree != nil {
			for _, e := range tree.Flatten(it.Tree) {
				l, err := leafOf(e, it.Foreign)
				if err != nil {
					return r, errs.Wrap("", it.Name, errs.Wrap("", e.Path.String(), err))
				}
				ir.Leaves = append(ir.Leaves, l)
			}
		}
		r.Items = append(r.Items, ir)
	}
	return r, nil
}

func leafOf(e tree.Entry, foreign map[*tree.Node]string) (leafRoll, error) {
	l := leafRoll{Path: e.Path.String()}
	if of, ok := foreign[e.Node]; ok {
		l.Is = "a leaf of " + of
		return l, nil
	}
	if e.Node.Kind != tree.Leaf {
		l.Is = "an empty " + e.Node.Kind.String()
		return l, nil
	}
	value := e.Node.Value
	if o, ok := value.(tree.Opaque); ok {
		value = o.TreeLeaf()
	}
	switch v := value.(type) {
	case nil:
		l.Is = "nil"
	case tensor.Tensor:
		l.Is = spec(v.DType, v.Shape)
	case writer.Key:
		l.Is = "keys of " + v.Impl + ", " + spec(v.Data.DType, v.Data.Shape)
	case writer.Lazy:
		l.Is = spec(v.DType, v.Shape)
	case writer.Parts:
		l.Is = spec(v.DType, v.Shape) + " in shards"
		l.parts = &v
		for _, p := range v.Parts {
			if p.Data.Len() > 0 {
				l.Boxes = append(l.Boxes, box{p.Origin, p.Data.Shape})
			}
		}
		return l, v.Check()
	default:
		l.Is = fmt.Sprintf("%T", v)
	}
	return l, nil
}

func spec(d tensor.DType, s tensor.Shape) string { return d.String() + s.String() }

// against compares the roll of process p with the roll of the primary.
func (r roll) against(want roll, primary, p int) error {
	for i, t := range want.Terms {
		if i >= len(r.Terms) || r.Terms[i] != t {
			got := "nothing"
			if i < len(r.Terms) {
				got = r.Terms[i].Value
			}
			return differ(t.Option, t.Value, got, primary, p)
		}
	}
	for _, it := range r.Items {
		if !slices.ContainsFunc(want.Items, func(w itemRoll) bool { return w.Name == it.Name }) {
			return differ("item "+strconv.Quote(it.Name), "nothing", it.String(), primary, p)
		}
	}
	for _, w := range want.Items {
		i := slices.IndexFunc(r.Items, func(it itemRoll) bool { return it.Name == w.Name })
		switch {
		case i >= 0 && (r.Items[i].Tree != w.Tree || r.Items[i].Handler != w.Handler):
			return differ("item "+strconv.Quote(w.Name), w.String(), r.Items[i].String(), primary, p)
		case i < 0 && w.Tree:
			return differ("item "+strconv.Quote(w.Name), w.String(), "nothing", primary, p)
		case i >= 0:
			if err := r.Items[i].against(w, primary, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (it itemRoll) String() string {
	if it.Tree {
		return "a tree of " + strconv.Itoa(len(it.Leaves)) + " leaves"
	}
	return it.Handler
}

// against compares the leaves of a tree with the leaves of the primary.
func (it itemRoll) against(want itemRoll, primary, p int) error {
	const nothing = "nothing"
	mine := make(map[string]string, len(it.Leaves))
	for _, l := range it.Leaves {
		mine[l.Path] = l.Is
	}
	for _, w := range want.Leaves {
		is, ok := mine[w.Path]
		if !ok {
			is = nothing
		}
		if is != w.Is {
			return differ("leaf "+it.Name+": "+w.Path, w.Is, is, primary, p)
		}
		delete(mine, w.Path)
	}
	for _, l := range it.Leaves {
		if is, more := mine[l.Path]; more {
			return differ("leaf "+it.Name+": "+l.Path, nothing, is, primary, p)
		}
	}
	return nil
}

func differ(subject, want, got string, primary, p int) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: subject,
		Want: want + ", as process " + strconv.Itoa(primary) + " has it", Got: got + " on process " + strconv.Itoa(p),
		Remedy: "give all processes the same tree: a process leaves out the shards that it does not hold, but not the leaf"}
}
