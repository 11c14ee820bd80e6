package handler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// Entry is one registration.
type Entry struct {
	Handler CheckpointableHandler
	// Name is the item to which the handler is bound; "" binds it to no item.
	Name string
}

// Registry is an ordered list of handlers. Several goroutines may use it.
type Registry struct {
	mu        sync.RWMutex
	entries   []Entry
	secondary map[string][]string // by type string
}

// Local returns a registry of its own: a copy of Global where inherit says so, then of parent,
// which may be nil. Handlers added to it are asked before the copied ones. It fails as Add does if
// parent and Global have the same entry.
func Local(parent *Registry, inherit bool) (*Registry, error) {
	r := &Registry{}
	if inherit {
		if err := r.addAll(Global()); err != nil {
			return nil, err
		}
	}
	if parent != nil {
		if err := r.addAll(parent); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Registry) addAll(from *Registry) error {
	for _, e := range from.Entries() {
		if err := r.Add(e.Handler, e.Name, from.SecondaryTypeStrings(e.Handler)...); err != nil {
			return err
		}
	}
	return nil
}

// Add puts h last, so that it is asked first. name, where not empty, binds it to the item of that
// name. secondary are type strings under which others have recorded what h can load; if there are
// any, they replace the secondary type strings of earlier entries of h. The error is errs.Exists if
// another handler has that name, or if the type string of h is there already: then h must be bound
// to a name to be added again.
func (r *Registry) Add(h CheckpointableHandler, name string, secondary ...string) error {
	if h == nil || h.TypeString() == "" {
		return &errs.Error{Kind: errs.Invalid, Op: "handler.Registry.Add", Want: "a handler with a type string"}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		if name != "" && e.Name == name {
			return &errs.Error{Kind: errs.Exists, Op: "handler.Registry.Add", Subject: "item " + strconv.Quote(name),
				Got: "bound to " + e.Handler.TypeString(), Remedy: "bind it to another name, or to no name"}
		}
		if name == "" && e.Handler.TypeString() == h.TypeString() {
			return &errs.Error{Kind: errs.Exists, Op: "handler.Registry.Add", Subject: h.TypeString(),
				Remedy: "bind it to the name of an item"}
		}
	}
	r.entries = append(r.entries, Entry{h, name})
	if len(secondary) > 0 {
		if r.secondary == nil {
			r.secondary = map[string][]string{}
		}
		r.secondary[h.TypeString()] = slices.Clone(secondary)
	}
	return nil
}

// Entries returns all registrations in their order.
func (r *Registry) Entries() []Entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.entries)
}

// Has reports whether a handler is bound to name.
func (r *Registry) Has(name string) bool {
	_, err := r.Get(name)
	return err == nil
}

// Get returns the handler that is bound to name, or errs.NotFound.
func (r *Registry) Get(name string) (CheckpointableHandler, error) {
	if h := bound(r.Entries(), name); h != nil {
		return h, nil
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: "handler.Registry.Get",
		Subject: "handler of item " + strconv.Quote(name)}
}

// SecondaryTypeStrings returns the secondary type strings of a handler.
func (r *Registry) SecondaryTypeStrings(h CheckpointableHandler) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.secondary[h.TypeString()])
}

// Type strings of the handlers of v0 of Orbax, by which its items are found.
const (
	v0 = "orbax.checkpoint._src.handlers."
	// The package of v0 in later versions.
	v0moved = "orbax.checkpoint.v0._src.handlers."
)

func inBoth(name string) []string { return []string{v0 + name, v0moved + name} }

// Global returns the registry of the process. It has [Proto], [JSON], [Stateful],
// [Metrics] bound to "metrics", [Tree], and [Tree] bound to "state", in this
// order. Add to it from an init function or the start of main.
func Global() *Registry { return global() }

var global = sync.OnceValue(func() *Registry {
	r := &Registry{}
	for _, e := range []struct {
		h         CheckpointableHandler
		name      string
		secondary []string
	}{
		{Proto{}, "", inBoth("proto_checkpoint_handler.ProtoCheckpointHandler")},
		{JSON{}, "", inBoth("json_checkpoint_handler.JsonCheckpointHandler")},
		{Objects{}, "", nil},
		{Metrics{}, ItemMetrics, nil},
		{Tree{}, "", append(inBoth("pytree_checkpoint_handler.PyTreeCheckpointHandler"),
			inBoth("standard_checkpoint_handler.StandardCheckpointHandler")...)},
		{Tree{}, ItemState, nil},
	} {
		if err := r.Add(e.h, e.name, e.secondary...); err != nil {
			panic(err) // the list above is wrong
		}
	}
	return r
})

// ForSave returns the handler that saves v as the item of that name, by the rules of the package
// comment. It returns errs.Invalid if v is nil, and errs.NotFound if no handler saves v.
func (r *Registry) ForSave(name string, v any) (h CheckpointableHandler, err error) {
	var asked CheckpointableHandler
	defer func() {
		if p := recover(); p != nil {
			h, err = nil, panicked("handler "+asked.TypeString(), "Handles", p)
		}
	}()
	if v == nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "handler.Registry.ForSave", Subject: "item " + strconv.Quote(name),
			Want: "a value", Got: "nil"}
	}
	entries := r.Entries()
	able := last(entries, func(h CheckpointableHandler) bool {
		asked = h
		return h.Handles(v)
	})
	if able != nil && savesItself(v) {
		return able, nil
	}
	if h := bound(entries, name); h != nil {
		return h, nil
	}
	if able != nil {
		return able, nil
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: "handler.Registry.ForSave",
		Subject: "handler of item " + strconv.Quote(name),
		Want:    fmt.Sprintf("a handler that takes a %T", v), Got: describe(entries),
		Remedy: "add a handler to the registry, or bind one to the name"}
}

// ForLoad returns the handler that loads the item of that name as abstract, which may be nil.
// typeString is the type string in the metadata of the checkpoint, or "". If no handler loads the
// item, ForLoad returns errs.NotFound.
func (r *Registry) ForLoad(name string, abstract any, typeString string) (h CheckpointableHandler, err error) {
	var asked CheckpointableHandler
	defer func() {
		if p := recover(); p != nil {
			h, err = nil, panicked("handler "+asked.TypeString(), "HandlesAbstract", p)
		}
	}()
	entries := r.Entries()
	takes := func(h CheckpointableHandler) bool {
		asked = h
		return h != nil && h.HandlesAbstract(abstract) == Yes
	}
	mayLoad := func(h CheckpointableHandler) bool { return h != nil && (abstract == nil || takes(h)) }
	byName, byType := bound(entries, name), r.typed(entries, typeString)
	switch {
	case savesItself(abstract) && takes(byType):
		return byType, nil
	case mayLoad(byName):
		return byName, nil
	case mayLoad(byType):
		return byType, nil
	}
	if abstract != nil {
		if h := last(entries, takes); h != nil {
			return h, nil
		}
	}
	if byName != nil {
		return byName, nil
	}
	if h := bound(entries, ItemState); h != nil {
		return h, nil
	}
	want := "a handler of type string " + strconv.Quote(typeString)
	if abstract != nil {
		want += fmt.Sprintf(", or a handler that takes a %T", abstract)
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: "handler.Registry.ForLoad",
		Subject: "handler of item " + strconv.Quote(name),
		Want:    want, Got: describe(entries), Remedy: "add the handler that saved it"}
}

// bound returns the handler that is bound to name, or nil.
func bound(entries []Entry, name string) CheckpointableHandler {
	for _, e := range entries {
		if name != "" && e.Name == name {
			return e.Handler
		}
	}
	return nil
}

// last returns the last handler without a name for which able is true, or nil.
func last(entries []Entry, able func(CheckpointableHandler) bool) CheckpointableHandler {
	for _, e := range slices.Backward(entries) {
		if e.Name == "" && able(e.Handler) {
			return e.Handler
		}
	}
	return nil
}

// typed returns the last handler with that type string, or nil.
func (r *Registry) typed(entries []Entry, typeString string) CheckpointableHandler {
	if typeString == "" {
		return nil
	}
	for _, e := range slices.Backward(entries) {
		if e.Handler.TypeString() == typeString || slices.Contains(r.SecondaryTypeStrings(e.Handler), typeString) {
			return e.Handler
		}
	}
	return nil
}

func describe(entries []Entry) string {
	if len(entries) == 0 {
		return "an empty registry"
	}
	var names []string
	for _, e := range entries {
		short := e.Handler.TypeString()
		short = short[strings.LastIndexByte(short, '.')+1:]
		if e.Name != "" {
			short += "(" + e.Name + ")"
		}
		names = append(names, short)
	}
	return strings.Join(names, ", ")
}
