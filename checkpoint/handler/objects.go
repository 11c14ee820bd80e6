package handler

import (
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// Objects handles values that save themselves. A load needs the value as abstract: a
// StatefulCheckpointable is filled and returned, and a Checkpointable returns what it loads.
type Objects struct{}

// TypeString returns TypeObjects.
func (Objects) TypeString() string { return TypeObjects }

// Handles reports whether v is a Checkpointable or StatefulCheckpointable.
func (Objects) Handles(v any) bool { return savesItself(v) }

// HandlesAbstract returns Yes for values that Handles accepts.
func (Objects) HandlesAbstract(a any) Verdict {
	if savesItself(a) {
		return Yes
	}
	return No
}

// Save calls the Save method of v.
func (Objects) Save(ctx context.Context, v any) (Commit, error) {
	switch v := v.(type) {
	case Checkpointable:
		return v.Save(ctx)
	case StatefulCheckpointable:
		return v.Save(ctx)
	}
	return nil, wrongType("handler.Objects.Save", "a Checkpointable or StatefulCheckpointable", v)
}

// Load calls the Load method of abstract. Without abstract it is errs.Invalid.
func (Objects) Load(ctx context.Context, dir Reader, abstract any) (any, error) {
	switch a := abstract.(type) {
	case Checkpointable:
		return a.Load(ctx, dir)
	case StatefulCheckpointable:
		if err := a.Load(ctx, dir); err != nil {
			return nil, err
		}
		return a, nil
	}
	return nil, wrongType("handler.Objects.Load", "the object to load into, as the abstract value", abstract)
}

// Metadata returns errs.Unsupported: only the object can read it, see MetadataOf.
func (Objects) Metadata(context.Context, Reader) (any, error) {
	return nil, &errs.Error{Kind: errs.Unsupported, Op: "handler.Objects.Metadata",
		Got:    "an item that an object saved by itself",
		Remedy: "call the Metadata method of the object"}
}

func wrongType(op, want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Op: op, Want: want, Got: fmt.Sprintf("%T", got)}
}
