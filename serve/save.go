package serve

import (
	"context"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint"
)

// handover follows a save from its admission to its end, in the order that the protocol promises:
// accepted, released, the last word.
type handover struct {
	*call

	mu       sync.Mutex
	arena    *arena // that is in use, or nil
	accepted bool
	released bool // by the engine
	told     bool
	refused  bool // a policy did not want the save
}

// accept tells that the save was admitted. From then on the end of the connection does not end it.
func (h *handover) accept() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused {
		return
	}
	h.event("accepted")
	h.accepted = true
	h.tell()
}

// release tells that the arena may be written again. The engine may call it before accept.
func (h *handover) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
	h.tell()
}

// refuse notes that a policy did not want the save: neither event is sent.
func (h *handover) refuse() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused = true
}

// tell sends the event once both have happened. The lock is held.
func (h *handover) tell() {
	if !h.accepted || !h.released || h.told {
		return
	}
	h.told = true
	h.drop()
	h.event("released")
}

// end is release for a save that is over: the engine may have had nothing to release.
func (h *handover) end() {
	h.release()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drop()
}

// drop ends the use of the arena. The lock is held, or nobody else knows the handover.
func (h *handover) drop() {
	if h.arena != nil {
		h.arena.drop()
		h.arena = nil
	}
}

// wait waits for the end of an accepted save. Only a cancel of the client cancels it.
func wait[T any](h *handover, r *checkpoint.Response[T]) (T, error) {
	select {
	case <-r.Done():
	case <-h.canceled:
		r.Cancel()
	}
	v, err := r.Result(context.WithoutCancel(h.ctx))
	h.end()
	return v, err
}

// hand reads items and arena of a save, and starts it.
func hand[T any](k *call,
	start func(h *handover, items map[string]any) (*checkpoint.Response[T], error)) (v T, err error) {
	id, text := k.args.id("arena"), k.args.raw("items")
	h, items, err := k.itemsToSave(id, text)
	if err != nil {
		return v, err
	}
	r, err := start(h, items)
	if err != nil {
		h.drop()
		return v, err
	}
	h.accept()
	return wait(h, r)
}

func (k *call) itemsToSave(id int64, text []byte) (*handover, map[string]any, error) {
	k.takeDirectories(text)
	a, err := k.arenas.use(id)
	if err != nil {
		return nil, nil, err
	}
	h := &handover{call: k, arena: a}
	items, trees, err := k.readItems(text, a)
	if err == nil {
		k.registry, err = registryOf(items)
	}
	if err == nil {
		k.savers, err = leafSavers(trees)
	}
	if err != nil {
		h.drop()
		return nil, nil, err
	}
	return h, items, nil
}

// save saves a checkpoint.
func save(k *call) (reply, error) {
	stats, err := hand(k, func(h *handover, items map[string]any) (*checkpoint.Response[checkpoint.SaveStats], error) {
		path := k.args.path()
		o := k.saveOptions(h)
		o.Overwrite, o.PartialUpdate = k.args.flag("overwrite"), k.args.flag("partial_update")
		o.Base = k.args.optionalPlace("base")
		if err := k.args.finish(); err != nil {
			return nil, err
		}
		return checkpoint.SaveCheckpointablesAsync(k.ctx, path, items, o)
	})
	if err != nil {
		return reply{}, err
	}
	return answer(saved{Saved: true, Stats: newStats(stats)})
}

// saveOptions reads the options that all saves have.
func (k *call) saveOptions(h *handover) *checkpoint.SaveOptions {
	o := &checkpoint.SaveOptions{Options: k.args.context(), Custom: k.args.custom(), Release: h.release,
		Progress: k.progress(k.args.flag("progress"))}
	o.Checkpointables.Registry, o.PyTree.LeafHandlers = k.registry, k.savers
	k.processes(&o.Multiprocessing)
	return o
}

// saved is the value of a save.
type saved struct {
	Saved  bool   `json:"saved"`
	Stats  *stats `json:"stats,omitempty"`
	Reason string `json:"reason,omitempty"` // why a policy did not want it
}

// stats are checkpoint.SaveStats as they travel.
type stats struct {
	Bytes       int64 `json:"bytes"`
	Files       int   `json:"files"`
	Direct      int64 `json:"direct"`
	Copied      bool  `json:"copied"`
	BlockedNS   int64 `json:"blocked_ns"`
	CopyNS      int64 `json:"copy_ns"`
	PersistNS   int64 `json:"persist_ns"`
	CommitNS    int64 `json:"commit_ns"`
	Linked      int   `json:"linked"`
	LinkedBytes int64 `json:"linked_bytes"`
	Verified    int   `json:"verified"`
	Damaged     int   `json:"damaged"`
	ParityBytes int64 `json:"parity_bytes"`
	Refused     int   `json:"refused"`
}

func newStats(s checkpoint.SaveStats) *stats {
	return &stats{s.Bytes, s.Files, s.Direct, s.Copied, s.Blocked.Nanoseconds(), s.Copy.Nanoseconds(),
		s.Persist.Nanoseconds(), s.Commit.Nanoseconds(), s.Linked, s.LinkedBytes, s.Verified, s.Damaged,
		s.ParityBytes, s.Refused}
}
