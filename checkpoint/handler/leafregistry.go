package handler

import (
	"reflect"
	"slices"
	"sync"

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
// type strings under which others have recorded such leaves. Where either type
// has a handler already, override removes that; else it is errs.Exists.
func (r *LeafRegistry) Add(h *AnyLeaf, override bool, secondary ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	conflicts := func(e leafEntry) bool {
		return e.leaf == h.leaf || e.abstract == h.abstract || e.typeString == h.typeString
	}
	if i := slices.IndexFunc(r.entries, conflicts); i >= 0 && !override {
		e := r.entries[i]
		return &errs.Error{Kind: errs.Exists, Op: "handler.LeafRegistry.Add", Subject: h.leaf.String() + " as " + h.abstract.String(),
			Got: e.typeString + " for " + e.leaf.String() + " as " + e.abstract.String(), Remedy: "override it"}
	}
	r.entries = append(slices.DeleteFunc(r.entries, conflicts), leafEntry{h, slices.Clone(secondary)})
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

// ForValue returns the handler of a leaf, or nil: that of its type, else the
// last whose leaf type is an interface that it implements.
func (r *LeafRegistry) ForValue(v any) *AnyLeaf {
	return pick(r.All(), v, (*AnyLeaf).LeafType)
}

// Handles reports whether values of a type have a handler.
func (r *LeafRegistry) Handles(t reflect.Type) bool {
	return slices.ContainsFunc(r.All(), func(h *AnyLeaf) bool {
		return h.leaf == t || h.leaf.Kind() == reflect.Interface && t.Implements(h.leaf)
	})
}

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
func (r *LeafRegistry) ForType(typeString string) *AnyLeaf {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, e := range slices.Backward(r.entries) {
		if e.typeString == typeString || slices.Contains(e.secondary, typeString) {
			return e.AnyLeaf
		}
	}
	return nil
}
