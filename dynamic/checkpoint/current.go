package checkpoint

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
)

// currentKey is where an EvalContext has its checkpoint.
type currentKey struct{}

// Current returns the checkpoint of the EvalContext of ctx: one for each, and that of the
// process for contexts without. It is made when it is asked for first, and keeps what it
// was given until Clear.
func Current(ctx context.Context) *Checkpoint {
	return dynamic.Current(ctx).Attach(currentKey{}, func() any { return New() }).(*Checkpoint)
}
