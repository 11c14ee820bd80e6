package handler

import (
	"slices"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// Entry is one registration.
type Entry struct {
	Handler CheckpointableHandler
	// Name is the item to which the handler is bound; "" = it is asked for any.
	Name string
}

// Registry is an ordered list of handlers. Its methods may be called from
// several goroutines.
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
				Got: "bound to " + e.Handler.TypeString(), Remedy: "bind it to another name, or to none"}
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

// Type strings of the handlers of Orbax's v0, by which its items are found.
const (
	v0 = "orbax.checkpoint._src.handlers."
	// Where v0 moves to in later versions.
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
			panic(err) // the list above is at fault
		}
	}
	return r
})
