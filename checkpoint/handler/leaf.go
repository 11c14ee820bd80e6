package handler

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// Saved is a leaf to save.
type Saved[L any] struct {
	Path  tree.Path
	Value L
}

// Name returns the leaf's name in Orbax, its keys joined with dots.
func (s Saved[L]) Name() string { return s.Path.Param() }

// Wanted is a leaf to load.
type Wanted[A any] struct {
	Path     tree.Path
	Abstract *A // nil: as saved
}

// Name returns the leaf's name in Orbax, its keys joined with dots.
func (w Wanted[A]) Name() string { return w.Path.Param() }

// LeafHandler saves and loads the leaves of type L of a tree, where L is not a type that trees
// know. A describes one without its data. Methods get all leaves of the type at once, in the order
// of the tree, and may be called from several goroutines. The directory is the item's; files of the
// tree have other names.
type LeafHandler[L, A any] interface {
	// TypeString names the type in the metadata of the tree. It is dotted, unique and never changes.
	TypeString() string
	// Serialize isolates what it needs of the leaves and returns a Commit that writes them.
	Serialize(ctx context.Context, leaves []Saved[L]) (Commit, error)
	// Deserialize returns the leaves that are wanted, in their order.
	Deserialize(ctx context.Context, dir Reader, leaves []Wanted[A]) ([]L, error)
	// Metadata describes the leaves, in their order, without reading all of their data.
	Metadata(ctx context.Context, dir Reader, leaves []Wanted[A]) ([]A, error)
	// Finalize is called once for each save, after the Commit of every process.
	Finalize(ctx context.Context, dir Writer) error
}

// AnyLeaf is a LeafHandler without its types. [Leaf] makes one.
type AnyLeaf struct {
	typeString     string
	leaf, abstract reflect.Type
	serialize      func(context.Context, []Saved[any]) (Commit, error)
	deserialize    func(context.Context, Reader, []Wanted[any]) ([]any, error)
	metadata       func(context.Context, Reader, []Wanted[any]) ([]any, error)
	finalize       func(context.Context, Writer) error
}

// Leaf erases the types of h. Registries refuse the AnyLeaf of a nil h.
func Leaf[L, A any](h LeafHandler[L, A]) *AnyLeaf {
	if any(h) == nil {
		return &AnyLeaf{leaf: reflect.TypeFor[L](), abstract: reflect.TypeFor[A]()}
	}
	name := h.TypeString()
	return &AnyLeaf{
		typeString: name,
		leaf:       reflect.TypeFor[L](),
		abstract:   reflect.TypeFor[A](),
		serialize: func(ctx context.Context, leaves []Saved[any]) (Commit, error) {
			typed := make([]Saved[L], len(leaves))
			for i, l := range leaves {
				v, ok := l.Value.(L)
				if !ok {
					return nil, leafError(l.Path, reflect.TypeFor[L](), l.Value)
				}
				typed[i] = Saved[L]{l.Path, v}
			}
			return h.Serialize(ctx, typed)
		},
		deserialize: func(ctx context.Context, dir Reader, leaves []Wanted[any]) ([]any, error) {
			typed, err := wanted[A](leaves)
			if err != nil {
				return nil, err
			}
			out, err := h.Deserialize(ctx, dir, typed)
			return erased(out, len(leaves), err)
		},
		metadata: func(ctx context.Context, dir Reader, leaves []Wanted[any]) ([]any, error) {
			typed, err := wanted[A](leaves)
			if err != nil {
				return nil, err
			}
			out, err := h.Metadata(ctx, dir, typed)
			return erased(out, len(leaves), err)
		},
		finalize: h.Finalize,
	}
}

func wanted[A any](leaves []Wanted[any]) ([]Wanted[A], error) {
	typed := make([]Wanted[A], len(leaves))
	for i, l := range leaves {
		typed[i].Path = l.Path
		if l.Abstract == nil {
			continue
		}
		a, ok := (*l.Abstract).(A)
		if !ok {
			return nil, leafError(l.Path, reflect.TypeFor[A](), *l.Abstract)
		}
		typed[i].Abstract = &a
	}
	return typed, nil
}

func erased[T any](from []T, n int, err error) ([]any, error) {
	if err != nil {
		return nil, err
	}
	if len(from) != n {
		return nil, &errs.Error{Kind: errs.Mismatch, Want: fmt.Sprintf("%d leaves", n), Got: fmt.Sprint(len(from)),
			Remedy: "the handler is at fault"}
	}
	out := make([]any, n)
	for i, v := range from {
		out[i] = v
	}
	return out, nil
}

func leafError(p tree.Path, want reflect.Type, got any) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: "leaf " + strconv.Quote(p.Param()), Want: want.String(),
		Got: fmt.Sprintf("%T", got)}
}

// TypeString returns the handler's type string.
func (h *AnyLeaf) TypeString() string { return h.typeString }

// LeafType returns the type of the leaves.
func (h *AnyLeaf) LeafType() reflect.Type { return h.leaf }

// AbstractType returns the type that describes them.
func (h *AnyLeaf) AbstractType() reflect.Type { return h.abstract }

// Serialize calls Serialize of the handler. A leaf of another type is errs.Mismatch. Errors, here
// and in the Commit, name the handler and leaves; a panic is errs.Invalid. The Commit is nil if
// there is nothing to write.
func (h *AnyLeaf) Serialize(ctx context.Context, leaves []Saved[any]) (commit Commit, err error) {
	err = h.call("Serialize", func() error {
		commit, err = h.serialize(ctx, leaves)
		return err
	})
	if err != nil || commit == nil {
		return nil, errs.Wrap("", namesOf(leaves, Saved[any].Name), err)
	}
	return protected(h.String(), commit), nil
}

// Deserialize calls Deserialize of the handler. An abstract value of another type, and a handler
// that returns more or fewer leaves, is errs.Mismatch. Errors name the handler and leaves; a panic
// is errs.Invalid.
func (h *AnyLeaf) Deserialize(ctx context.Context, dir Reader, leaves []Wanted[any]) (out []any, err error) {
	err = h.call("Deserialize", func() error {
		out, err = h.deserialize(ctx, dir, leaves)
		return err
	})
	if err != nil {
		return nil, errs.Wrap("", namesOf(leaves, Wanted[any].Name), err)
	}
	return out, nil
}

// Metadata calls Metadata of the handler and reports errors as Deserialize does.
func (h *AnyLeaf) Metadata(ctx context.Context, dir Reader, leaves []Wanted[any]) (out []any, err error) {
	err = h.call("Metadata", func() error {
		out, err = h.metadata(ctx, dir, leaves)
		return err
	})
	if err != nil {
		return nil, errs.Wrap("", namesOf(leaves, Wanted[any].Name), err)
	}
	return out, nil
}

// Finalize calls Finalize of the handler and reports errors as the Commit of Serialize does.
func (h *AnyLeaf) Finalize(ctx context.Context, dir Writer) error {
	return h.call("Finalize", func() error { return h.finalize(ctx, dir) })
}

// String names the handler.
func (h *AnyLeaf) String() string { return "leaf handler " + h.typeString }

func (h *AnyLeaf) call(method string, do func() error) error { return protect(h.String(), method, do) }

// namesOf lists leaves for messages.
func namesOf[T any](leaves []T, name func(T) string) string {
	const most = 3
	var names []string
	for _, l := range leaves[:min(len(leaves), most)] {
		names = append(names, strconv.Quote(name(l)))
	}
	if n := len(leaves) - most; n > 0 {
		names = append(names, strconv.Itoa(n)+" more")
	}
	return "leaf " + strings.Join(names, ", ")
}

// typedLeaf is a leaf that names its handler by a type string. So several handlers can share the Go
// type of such leaves.
type typedLeaf interface{ LeafTypeString() string }

// LeafRegistry holds leaf handlers by type. The zero value is empty and ready to use. Several
// goroutines may use it.
type LeafRegistry struct {
	mu      sync.RWMutex
	entries []leafEntry
}

type leafEntry struct {
	*AnyLeaf
	secondary []string
}

// Add registers a handler for its leaf type and abstract type. secondary are further type strings
// under which such leaves were recorded. If a type or the type string already has a handler,
// override replaces that handler; without override it is errs.Exists. A leaf type with the method
// LeafTypeString() string, by which a leaf names its handler, may have several handlers.
//
// Add returns errs.Invalid if there is no handler, if the type string has no dot or is one of
// Orbax, and for types of which every tree is made (any, []any, map[string]any).
func (r *LeafRegistry) Add(h *AnyLeaf, override bool, secondary ...string) error {
	if err := h.check(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	conflicts := func(e leafEntry) bool {
		shared := h.leaf.Implements(reflect.TypeFor[typedLeaf]())
		return !shared && (e.leaf == h.leaf || e.abstract == h.abstract) || e.typeString == h.typeString
	}
	if i := slices.IndexFunc(r.entries, conflicts); i >= 0 && !override {
		e := r.entries[i]
		return &errs.Error{Kind: errs.Exists, Op: "handler.LeafRegistry.Add",
			Subject: h.leaf.String() + " as " + h.abstract.String(),
			Got:     e.typeString + " for " + e.leaf.String() + " as " + e.abstract.String(),
			Remedy:  "set override, or give the handler its own types and type string"}
	}
	r.entries = append(slices.DeleteFunc(r.entries, conflicts), leafEntry{h, slices.Clone(secondary)})
	return nil
}

// check returns an error if the type string or a type could not find a leaf again.
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
		return bad("leaf handler of "+h.leaf.String(), "a type string", "no type string", "")
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

// ForValue returns the handler of a leaf, or nil: the handler that the leaf names with its
// LeafTypeString, the handler of its type, else the last handler whose leaf type is an interface
// that the leaf implements.
func (r *LeafRegistry) ForValue(v any) *AnyLeaf {
	if named, ok := v.(typedLeaf); ok {
		return r.ForType(named.LeafTypeString())
	}
	return pick(r.All(), v, (*AnyLeaf).LeafType)
}

// Handles reports whether values of a type have a handler.
func (r *LeafRegistry) Handles(t reflect.Type) bool {
	return slices.ContainsFunc(r.All(), func(h *AnyLeaf) bool { return h.isLeaf(t) })
}

// Describes reports whether a value of the type asks for leaves that have a handler: it is such a
// leaf, or describes one. Numbers, strings and bools do not by themselves, even if an abstract type
// is one.
func (r *LeafRegistry) Describes(t reflect.Type) bool {
	return slices.ContainsFunc(r.All(),
		func(h *AnyLeaf) bool { return !isPlain(t) && (h.isLeaf(t) || satisfies(t, h.abstract)) })
}

// isPlain reports whether t is a plain number, string or bool of Go.
func isPlain(t reflect.Type) bool {
	return t.PkgPath() == "" && (t.Kind() <= reflect.Complex128 || t.Kind() == reflect.String)
}

// satisfies reports whether values of type t can be used as want.
func satisfies(t, want reflect.Type) bool {
	return t == want || want.Kind() == reflect.Interface && t.Implements(want)
}

func (h *AnyLeaf) isLeaf(t reflect.Type) bool { return satisfies(t, h.leaf) }

// ForAbstract works like ForValue for a value that describes a leaf.
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

// ForType returns the handler for a value_type in the metadata of a tree, or nil. It looks at type
// strings and secondary type strings.
func (r *LeafRegistry) ForType(typeString string) *AnyLeaf { return r.ForWanted(typeString, nil) }

// ForWanted works like ForType. If several handlers fit, it returns the one for which abstract,
// which may be nil, is a leaf or describes one, or else the last.
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
