package handler

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/provided"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// treeEngine saves and loads trees of arrays. Package checkpoint provides one in its init function.
type treeEngine interface {
	// Handles and HandlesAbstract work like those methods of CheckpointableHandler, for values that do
	// not save themselves.
	Handles(v any) bool
	HandlesAbstract(a any) bool
	// Save, Load and Metadata work like those methods of CheckpointableHandler.
	Save(ctx context.Context, v any) (Commit, error)
	Load(ctx context.Context, dir Reader, abstract any) (any, error)
	Metadata(ctx context.Context, dir Reader) (any, error)
}

// engine returns the engine of the program, or one whose methods name the missing import.
func engine() treeEngine {
	if e, ok := provided.Part(provided.Trees).(treeEngine); ok {
		return e
	}
	return noEngine{}
}

// Tree handles every value that package tree makes a tree of: numbers, strings, tensors, and maps,
// slices and structs of these. Save, Load and Metadata call the engine that package checkpoint
// provides.
type Tree struct{}

// TypeString returns TypeTree.
func (Tree) TypeString() string { return TypeTree }

// Handles reports whether v is a tree. Messages and objects that save themselves are not.
func (Tree) Handles(v any) bool { return plain(v) && engine().Handles(v) }

// HandlesAbstract returns Yes for trees.
func (Tree) HandlesAbstract(a any) Verdict {
	if plain(a) && engine().HandlesAbstract(a) {
		return Yes
	}
	return No
}

// Save saves v with the engine.
func (Tree) Save(ctx context.Context, v any) (Commit, error) { return engine().Save(ctx, v) }

// Load loads the tree with the engine.
func (Tree) Load(ctx context.Context, dir Reader, abstract any) (any, error) {
	return engine().Load(ctx, dir, abstract)
}

// Metadata describes the tree with the engine.
func (Tree) Metadata(ctx context.Context, dir Reader) (any, error) {
	return engine().Metadata(ctx, dir)
}

// plain reports whether v is data, and has no handler of its own.
func plain(v any) bool { return !savesItself(v) && !isMessage(v) }

// noEngine replaces the engine in programs that have no engine.
type noEngine struct{}

func (noEngine) Handles(v any) bool {
	_, err := tree.From(v)
	return err == nil
}

func (e noEngine) HandlesAbstract(a any) bool { return e.Handles(a) }

func (noEngine) Save(context.Context, any) (Commit, error) { return nil, errNoEngine("Save") }

func (noEngine) Load(context.Context, Reader, any) (any, error) { return nil, errNoEngine("Load") }

func (noEngine) Metadata(context.Context, Reader) (any, error) { return nil, errNoEngine("Metadata") }

func errNoEngine(method string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "handler.Tree." + method, Got: "a program without a tree engine",
		Remedy: "import package checkpoint"}
}
