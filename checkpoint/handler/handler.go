package handler

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/internal/enum"
)

// Verdict is the answer to whether an abstract value can guide a load.
type Verdict uint8

// The verdicts.
const (
	No  Verdict = iota
	Yes         // a guides a load
	Ask         // nothing can be told from a: the type string decides
)

// String returns "no", "yes" or "ask".
func (v Verdict) String() string {
	return enum.Name(v, []string{"no", "yes", "ask"}, "verdict %d")
}

// Commit writes what a Save isolated. It is called at most once, possibly from
// another goroutine, and must return when ctx ends: five seconds later the save fails without
// it, and names it; what it writes from then on fails. An error makes the whole save
// fail, and so does an error of dir that the Commit does not return, and a panic, unless it is one
// of a goroutine that the handler began.
type Commit func(ctx context.Context, dir Writer) error

// CheckpointableHandler saves and loads items of one kind. Its methods may be
// called from several goroutines at a time.
type CheckpointableHandler interface {
	// TypeString names the handler in the checkpoint's metadata, so that a load
	// finds it again: dotted, unique, never changed.
	TypeString() string
	// Handles reports whether v, which is not nil, can be saved. It does not change v.
	Handles(v any) bool
	// HandlesAbstract reports whether a, which is not nil, can guide a load.
	HandlesAbstract(a any) Verdict
	// Save makes itself independent of v and returns how to write it: the caller
	// may change v as soon as Save returns.
	Save(ctx context.Context, v any) (Commit, error)
	// Load returns the item in dir, as abstract wants it; nil is as it was saved.
	// What it returns belongs to the caller.
	Load(ctx context.Context, dir Reader, abstract any) (any, error)
	// Metadata returns what is known of the item without loading it, in a form
	// that Load takes as abstract; nil where nothing is. It is fast.
	Metadata(ctx context.Context, dir Reader) (any, error)
}

// Checkpointable is a value that saves itself. As the abstract value of a load,
// it says what to load and is not changed.
type Checkpointable interface {
	// Save works like CheckpointableHandler.Save for the receiver.
	Save(ctx context.Context) (Commit, error)
	// Load returns what is in dir.
	Load(ctx context.Context, dir Reader) (any, error)
	// Metadata works like CheckpointableHandler.Metadata.
	Metadata(ctx context.Context, dir Reader) (any, error)
}

// StatefulCheckpointable is a value that saves itself and fills itself on load.
type StatefulCheckpointable interface {
	// Save works like CheckpointableHandler.Save for the receiver.
	Save(ctx context.Context) (Commit, error)
	// Load fills the receiver from dir. Where it fails, the receiver is as it was.
	Load(ctx context.Context, dir Reader) error
}

// metadataReader is what a StatefulCheckpointable may have besides.
type metadataReader interface {
	Metadata(ctx context.Context, dir Reader) (any, error)
}

// savesItself reports whether v is a Checkpointable or StatefulCheckpointable.
func savesItself(v any) bool {
	switch v.(type) {
	case Checkpointable, StatefulCheckpointable:
		return true
	}
	return false
}

// Type strings of the built-in handlers: Orbax's, so that Python resolves its own.
const (
	TypeTree    = orbax.HandlerTree
	TypeJSON    = orbax.HandlerJSON
	TypeMetrics = orbax.HandlerMetrics
	TypeProto   = orbax.HandlerProto
	TypeObjects = "orbax.checkpoint.experimental.v1._src.handlers.stateful_checkpointable_handler.StatefulCheckpointableHandler"
)

// Names of items that handlers are bound to in Global.
const (
	ItemState   = "state"
	ItemMetrics = "metrics"
)
