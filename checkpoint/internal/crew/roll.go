package crew

import (
	"bytes"
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

// itemRoll describes an item. Every process reads the rolls of all, and of a thousand processes
// nearly all have the same leaves. So the list of leaves is packed, and is unpacked only if its
// checksum differs from the checksum of the reader's own list. The places of the shards differ:
// they are a few bytes each.
type itemRoll struct {
	Name    string `json:"name"`
	Handler string `json:"handler,omitempty"`
	Tree    bool   `json:"tree,omitempty"`
	Sum     []byte `json:"sum,omitempty"` // SHA-256 of the list of leaves
	// The numbers of bytes after the message that are the list, see packLeaves, and the places.
	Packed int `json:"leaves,omitempty"`
	Placed int `json:"places,omitempty"`

	leaves []leafRoll // of a tree, in tree order
	packed []byte     // leaves
	places places     // of the shards of the process, leaf by leaf
}

type leafRoll struct {
	Path string `json:"path"`
	Is   string `json:"is"` // in words: what it is, its dtype and shape

	parts *writer.Parts // only on this process; nil for a leaf without shards
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
				ir.leaves = append(ir.leaves, l)
				ir.places.add(l.parts)
			}
			var err error
			if ir.packed, ir.Sum, err = packLeaves(ir.leaves); err != nil {
				return r, errs.Wrap("", it.Name, err)
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
		return "a tree of " + strconv.Itoa(len(it.leaves)) + " leaves"
	}
	return it.Handler
}

// against compares the leaves of a tree with the leaves of the primary.
func (it itemRoll) against(want itemRoll, primary, p int) error {
	const nothing = "nothing"
	if same(it.leaves, want.leaves) {
		return nil
	}
	mine := make(map[string]string, len(it.leaves))
	for _, l := range it.leaves {
		mine[l.Path] = l.Is
	}
	for _, w := range want.leaves {
		is, ok := mine[w.Path]
		if !ok {
			is = nothing
		}
		if is != w.Is {
			return differ("leaf "+it.Name+": "+w.Path, w.Is, is, primary, p)
		}
		delete(mine, w.Path)
	}
	for _, l := range it.leaves {
		if is, more := mine[l.Path]; more {
			return differ("leaf "+it.Name+": "+l.Path, nothing, is, primary, p)
		}
	}
	return nil
}

// same reports whether two lists of leaves are one in memory, as equal lists are after unpack.
func same(a, b []leafRoll) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// pack returns the bytes that follow the roll in its message.
func (r *roll) pack() (tail []byte) {
	for i := range r.Items {
		it := &r.Items[i]
		if !it.Tree {
			continue
		}
		at := len(tail)
		tail = append(tail, it.packed...)
		it.Packed = len(it.packed)
		tail = it.places.append(tail)
		it.Placed = len(tail) - at - it.Packed
	}
	return tail
}

// unpack completes a roll of another process with the bytes after its message. Lists of leaves that
// are equal to a list of own are taken from there.
func (r *roll) unpack(tail []byte, own roll) error {
	rest := numbers{b: tail}
	for i := range r.Items {
		it := &r.Items[i]
		if !it.Tree {
			continue
		}
		it.packed = rest.bytes(it.Packed)
		placed := rest.bytes(it.Placed)
		mine := slices.IndexFunc(own.Items, func(o itemRoll) bool { return o.Name == it.Name && bytes.Equal(o.Sum, it.Sum) })
		if mine >= 0 {
			it.leaves = own.Items[mine].leaves
		} else if err := it.unpackLeaves(); err != nil {
			return errs.Wrap("", it.Name, err)
		}
		it.packed = nil
		if !it.places.parse(placed, len(it.leaves)) {
			return errs.Wrap("", it.Name, damaged("places of shards"))
		}
	}
	if rest.err != nil || len(rest.b) > 0 {
		return damaged("plan")
	}
	return nil
}

func differ(subject, want, got string, primary, p int) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: subject,
		Want: want + ", as process " + strconv.Itoa(primary) + " has it", Got: got + " on process " + strconv.Itoa(p),
		Remedy: "give all processes the same tree: a process leaves out the shards that it does not hold, but not the leaf"}
}
