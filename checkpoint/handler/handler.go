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
	Ask         // a does not tell: the type string decides
)

// String returns "no", "yes" or "ask".
func (v Verdict) String() string {
	return enum.Name(v, []string{"no", "yes", "ask"}, "verdict %d")
}

// Commit writes what a Save isolated. It is called at most once, possibly from another goroutine.
// It must return when ctx ends. If it has not returned five seconds later, the save fails with an
// error that names the handler, and further writes of the Commit fail. The whole save also fails if
// the Commit returns an error, ignores an error of dir, or panics. A panic in a goroutine that the
// handler started is not caught.
type Commit func(ctx context.Context, dir Writer) error

// CheckpointableHandler saves and loads items of one kind. Its methods may be
// called from several goroutines at a time.
type CheckpointableHandler interface {
	// TypeString names the handler in the metadata of the checkpoint, by which a load finds the
	// handler. It is dotted, unique and never changes.
	TypeString() string
	// Handles reports whether v, which is not nil, can be saved. It does not change v.
	Handles(v any) bool
	// HandlesAbstract reports whether a, which is not nil, can guide a load.
	HandlesAbstract(a any) Verdict
	// Save isolates what it needs of v and returns a Commit that writes it. The caller may change v as
	// soon as Save returns.
	Save(ctx context.Context, v any) (Commit, error)
	// Load returns the item in dir in the form that abstract describes; nil is as saved. The result
	// belongs to the caller.
	Load(ctx context.Context, dir Reader, abstract any) (any, error)
	// Metadata describes the item without loading it, in a form that Load accepts as abstract, or
	// returns nil if nothing is known. It is fast.
	Metadata(ctx context.Context, dir Reader) (any, error)
}

// Checkpointable is a value that saves itself. As the abstract value of a load,
// it says what to load and is not changed.
type Checkpointable interface {
	// Save works like CheckpointableHandler.Save for the receiver.
	Save(ctx context.Context) (Commit, error)
	// Load returns the value that dir holds.
	Load(ctx context.Context, dir Reader) (any, error)
	// Metadata works like CheckpointableHandler.Metadata.
	Metadata(ctx context.Context, dir Reader) (any, error)
}

// StatefulCheckpointable is a value that saves itself and fills itself on load.
type StatefulCheckpointable interface {
	// Save works like CheckpointableHandler.Save for the receiver.
	Save(ctx context.Context) (Commit, error)
	// Load fills the receiver from dir. If it fails, the receiver is unchanged.
	Load(ctx context.Context, dir Reader) error
}

// metadataReader is an optional interface of a StatefulCheckpointable.
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

// Type strings of the built-in handlers. They are the ones of Orbax, so that Python finds its own
// handlers.
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
