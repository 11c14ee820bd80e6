package training

import (
	"context"
	"encoding/json"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/tree"
)

// Interface is what a training loop asks of a checkpointer. [Checkpointer] implements it. A
// checkpointer of your own embeds an Interface and overrides what differs, or combines parts of
// several. The methods mean the same as the methods of Checkpointer.
type Interface interface {
	Saver
	Loader
	Catalog
	Deleter
	// Wait waits for all work in the background, and returns its failures.
	Wait(ctx context.Context) error
	// Close works like Wait, and releases everything.
	Close() error
}

// Saver saves steps.
type Saver interface {
	ShouldSave(step int64) (save bool, reason string)
	Save(ctx context.Context, step int64, state any, o *SaveOptions) (bool, error)
	SaveAsync(ctx context.Context, step int64, state any, o *SaveOptions) (*checkpoint.Response[bool], error)
	SaveCheckpointables(ctx context.Context, step int64, items map[string]any, o *SaveOptions) (bool, error)
	SaveCheckpointablesAsync(ctx context.Context, step int64, items map[string]any,
		o *SaveOptions) (*checkpoint.Response[bool], error)
	IsSavingInProgress() bool
	Cancel(ctx context.Context) (bool, error)
}

// Loader loads steps; Latest is the newest.
type Loader interface {
	Load(ctx context.Context, step int64, o *checkpoint.LoadOptions) (*tree.Node, error)
	LoadAsync(ctx context.Context, step int64, o *checkpoint.LoadOptions) *checkpoint.Response[*tree.Node]
	LoadInto(ctx context.Context, step int64, dst any, o *checkpoint.LoadOptions) error
	LoadAndTransform(ctx context.Context, from []Source, abstract any, fn checkpoint.Transform,
		o *checkpoint.LoadOptions) (*tree.Node, error)
	LoadCheckpointables(ctx context.Context, step int64, o *checkpoint.LoadOptions) (map[string]any, error)
	LoadCheckpointablesAsync(ctx context.Context, step int64,
		o *checkpoint.LoadOptions) *checkpoint.Response[map[string]any]
}

// Catalog lists and describes the steps.
type Catalog interface {
	Directory() string
	Checkpoints() []Info
	Steps() []int64
	Latest() (last Info, ok bool)
	Best() (best Info, ok bool)
	Metadata(ctx context.Context, step int64) (*checkpoint.Info, error)
	CheckpointablesMetadata(ctx context.Context, step int64) (*checkpoint.Info, error)
	RootMetadata(ctx context.Context) (json.RawMessage, error)
	Reload(ctx context.Context) error
}

// Deleter removes steps.
type Deleter interface {
	Delete(ctx context.Context, step int64, o *DeleteOptions) (bool, error)
	DeleteAsync(ctx context.Context, step int64, o *DeleteOptions) *checkpoint.Response[bool]
	Retention() []Retained
}

var _ Interface = (*Checkpointer)(nil)
