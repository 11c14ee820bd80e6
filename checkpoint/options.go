package checkpoint

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/plan"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/store"
)

// Options are set for a call, a context, a checkpointer or the process. The first scope that sets a
// field counts. See options.With, options.Configure, and the table in package options, which says
// what each option does.
type Options = options.Options

// resolve returns a copy of o, completed by the options of the context and the process.
func (o *SaveOptions) resolve(ctx context.Context) (*SaveOptions, error) {
	return plan.Resolve(ctx, o, func(d *SaveOptions) (*Options, *store.Store) { return &d.Options, &d.Store })
}

func (o *LoadOptions) resolve(ctx context.Context) (*LoadOptions, error) {
	return plan.Reading(ctx, o, func(d *LoadOptions) (*Options, *store.Store) { return &d.Options, &d.Store })
}

func (o *ConvertOptions) resolve(ctx context.Context) (*ConvertOptions, error) {
	return plan.Resolve(ctx, o, func(d *ConvertOptions) (*Options, *store.Store) { return &d.Options, &d.Store })
}

func (o *DeleteOptions) resolve(ctx context.Context) (*DeleteOptions, error) {
	return plan.Resolve(ctx, o, func(d *DeleteOptions) (*Options, *store.Store) { return &d.Options, &d.Store })
}
