package handler

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
)

// LeafRegistry holds leaf handlers by type. The zero value is empty and ready to
// use, from several goroutines.
type LeafRegistry struct {
	mu      sync.RWMutex
	entries []leafEntry
}

type leafEntry struct {
	*AnyLeaf
	secondary []string
}

// Add registers a handler for its leaf type and abstract type. secondary are
// type strings under which others have recorded such leaves. Where either type,
// or the type string, has a handler already, override removes that; else it is
// errs.Exists. errs.Invalid: no handler, a type string that is not dotted or is
// one of Orbax's own, and types that every tree is made of (any, []any,
// map[string]any).
func (r *LeafRegistry) Add(h *AnyLeaf, override bool, secondary ...string) error {
	if err := h.check(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	conflicts := func(e leafEntry) bool {
		return e.leaf == h.leaf || e.abstract == h.abstract || e.typeString == h.typeString
	}
	if i := slices.IndexFunc(r.entries, conflicts); i >= 0 && !override {
		e := r.entries[i]
		return &errs.Error{Kind: errs.Exists, Op: "handler.LeafRegistry.Add",
			Subject: h.leaf.String() + " as " + h.abstract.String(),
			Got:     e.typeString + " for " + e.leaf.String() + " as " + e.abstract.String(),
			Remedy:  "override it, or give it types and a type string of its own"}
	}
	r.entries = append(slices.DeleteFunc(r.entries, conflicts), leafEntry{h, slices.Clone(secondary)})
	return nil
}

// check refuses what no leaf could be found again by.
func (h *AnyLeaf) check() error {
	bad := func(subject, want, got, remedy string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "handler.LeafRegistry.Add", Subject: subject, Want: want, Got: got,
			Remedy: remedy}
	}
	if h == nil {
		return bad("", "a handler", "nil", "make one with handler.Leaf")
	}
	for _, t := range []reflect.Type{h.leaf, h.abstract} {
		if t == reflect.TypeFor[any]() || t == reflect.TypeFor[[]any]() || t == reflect.TypeFor[map[string]any]() {
			return bad("leaf handler "+h.typeString, "leaf and abstract types of its own", t.String(), "define a type")
		}
	}
	switch {
	case h.typeString == "":
		return bad("leaf handler of "+h.leaf.String(), "a type string", "none", "")
	case h.typeString == orbax.TypeJAX, h.typeString == orbax.TypeNumpy, !strings.Contains(h.typeString, "."):
		return bad("leaf handler of "+h.leaf.String(), "a type string with a dot that is not one of Orbax's",
			strconv.Quote(h.typeString), `name it like "example.Tokens"`)
	}
	return nil
}

// All returns the handlers in the order in which they were added.
func (r *LeafRegistry) All() []*AnyLeaf {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make([]*AnyLeaf, len(r.entries))
	for i, e := range r.entries {
		out[i] = e.AnyLeaf
	}
	return out
}

// ForValue returns the handler of a leaf, or nil: the handler of its type, else the last handler
// whose leaf type is an interface that the leaf implements.
func (r *LeafRegistry) ForValue(v any) *AnyLeaf {
	return pick(r.All(), v, (*AnyLeaf).LeafType)
}

// Handles reports whether values of a type have a handler.
func (r *LeafRegistry) Handles(t reflect.Type) bool {
	return slices.ContainsFunc(r.All(), func(h *AnyLeaf) bool { return h.isLeaf(t) })
}

// Describes reports whether values of a type ask for leaves that have a handler:
// leaves, and what describes them. Numbers, strings and bools do not by
// themselves, whatever abstract types are.
func (r *LeafRegistry) Describes(t reflect.Type) bool {
	return slices.ContainsFunc(r.All(),
		func(h *AnyLeaf) bool { return !isPlain(t) && (h.isLeaf(t) || satisfies(t, h.abstract)) })
}

// isPlain reports whether t is a number, a string or a bool as Go has them.
func isPlain(t reflect.Type) bool {
	return t.PkgPath() == "" && (t.Kind() <= reflect.Complex128 || t.Kind() == reflect.String)
}

// satisfies reports whether values of type t can be had as want.
func satisfies(t, want reflect.Type) bool {
	return t == want || want.Kind() == reflect.Interface && t.Implements(want)
}

func (h *AnyLeaf) isLeaf(t reflect.Type) bool { return satisfies(t, h.leaf) }

// ForAbstract is ForValue for a value that describes a leaf.
func (r *LeafRegistry) ForAbstract(a any) *AnyLeaf {
	return pick(r.All(), a, (*AnyLeaf).AbstractType)
}

func pick(all []*AnyLeaf, v any, typeOf func(*AnyLeaf) reflect.Type) *AnyLeaf {
	t := reflect.TypeOf(v)
	if t == nil {
		return nil
	}
	for _, h := range all {
		if typeOf(h) == t {
			return h
		}
	}
	for _, h := range slices.Backward(all) {
		if i := typeOf(h); i.Kind() == reflect.Interface && t.Implements(i) {
			return h
		}
	}
	return nil
}

// ForType returns the handler of a value_type in the metadata of a tree, by
// its type string or a secondary one, or nil.
func (r *LeafRegistry) ForType(typeString string) *AnyLeaf { return r.ForWanted(typeString, nil) }

// ForWanted is ForType where there are several: the one of which abstract, which
// may be nil, is a leaf or describes one, else the last.
func (r *LeafRegistry) ForWanted(typeString string, abstract any) (found *AnyLeaf) {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	t := reflect.TypeOf(abstract)
	for _, e := range slices.Backward(r.entries) {
		if e.typeString != typeString && !slices.Contains(e.secondary, typeString) {
			continue
		}
		if t != nil && (satisfies(t, e.abstract) || e.isLeaf(t)) {
			return e.AnyLeaf
		}
		if found == nil {
			found = e.AnyLeaf
		}
	}
	return found
}
