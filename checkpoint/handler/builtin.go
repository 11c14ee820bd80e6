package handler

import "sync"

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
