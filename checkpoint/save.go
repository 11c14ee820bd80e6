package checkpoint

import (
	"context"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/image"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// SaveOptions modify a save; nil is the zero value.
type SaveOptions struct {
	// Overwrite replaces a checkpoint of the same name, atomically: the old one
	// is there until the new one is durable. Without it a taken name is
	// errs.Exists. What is no checkpoint is never replaced.
	Overwrite bool
	// Name of the checkpointable; "" is "state".
	Name string
	// Custom is the checkpoint's metadata, a value that encodes to a JSON object.
	Custom any
	// Store holds the checkpoint; nil is the local file system. The path is
	// then a name in it.
	Store store.Store
}

// Save saves state as the checkpoint path and returns when it is durable. When
// ctx ends first the save is cancelled, and nothing of it visible.
func Save(ctx context.Context, path string, state any, o *SaveOptions) error {
	r, err := SaveAsync(ctx, path, state, o)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, r.Cancel)()
	_, err = r.Result(context.WithoutCancel(ctx))
	return err
}

// SaveAsync copies state, which the caller may change when it returns, and
// saves the copy in the background. Call Result on the response, or OnComplete:
// it is the only place where a failure is told.
//
// Errors: Invalid for leaves that no file could hold, naming them; Exists for a
// taken name; what the store says.
func SaveAsync(ctx context.Context, path string, state any, o *SaveOptions) (*Response[struct{}], error) {
	const op = "checkpoint.Save"
	if o == nil {
		o = &SaveOptions{}
	}
	st, name, err := locate.Checkpoint(path, o.Store)
	if err == nil {
		err = admit(ctx, st, name, o.Overwrite)
	}
	if err != nil {
		return nil, errs.Wrap(op, path, err)
	}
	item := o.Name
	if item == "" {
		item = orbax.StateItem
	}
	items, err := image.Items(map[string]any{item: state})
	if err != nil {
		return nil, errs.Wrap(op, path, err)
	}
	custom, err := orbax.Custom(o.Custom)
	if err != nil {
		return nil, errs.Wrap(op, "SaveOptions.Custom", err)
	}
	im, err := image.Take(items, image.Options{Style: image.V1, Custom: custom})
	if err != nil {
		return nil, errs.Wrap(op, path, err)
	}
	return Go(ctx, func(ctx context.Context) (struct{}, error) {
		txn, err := st.Begin(ctx, name, store.TxnOptions{Overwrite: o.Overwrite})
		if err == nil {
			_, err = im.Commit(ctx, txn)
		}
		return struct{}{}, errs.Wrap(op, path, err)
	}), nil
}

// admit decides whether name may be saved to: a free name, or with overwrite a
// checkpoint.
func admit(ctx context.Context, st store.Store, name string, overwrite bool) error {
	_, err := st.Stat(ctx, name)
	switch {
	case errs.KindOf(err) == errs.NotFound:
		return nil
	case err != nil:
		return err
	case !overwrite:
		return &errs.Error{Kind: errs.Exists, Remedy: "choose another path, or set Overwrite"}
	}
	return isCheckpoint(ctx, st, name)
}
