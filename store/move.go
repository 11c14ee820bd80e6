package store

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
)

// Mover is a Store in which an object can get a name in another directory.
type Mover interface {
	// Move gives a committed directory or object another name, in one step that is
	// durable when Move returns. The directory of the new name is made when it is
	// missing. A taken name is Exists.
	Move(ctx context.Context, from, to string) error
}

// Move is Mover.Move of st. It fails with errs.Unsupported if st is not a Mover.
func Move(ctx context.Context, st Store, from, to string) error {
	if m, ok := st.(Mover); ok {
		return m.Move(ctx, from, to)
	}
	return &errs.Error{Kind: errs.Unsupported, Op: "store.Move", Subject: from, Want: "a store that moves objects between directories",
		Got: st.Properties().Name}
}
