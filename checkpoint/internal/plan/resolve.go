package plan

import (
	"context"
	"crypto/ed25519"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Resolve returns a copy of the arguments of a call, completed by the options of the
// context and the process. A nil call is the zero value. scope points at the options and
// the store in the copy; a nil store becomes the store of the options.
func Resolve[T any](ctx context.Context, call *T, scope func(*T) (*options.Options, *store.Store)) (*T, error) {
	var d T
	if call != nil {
		d = *call
	}
	o, st := scope(&d)
	var err error
	*o, err = options.Resolve(ctx, *o, options.Options{})
	if *st == nil {
		*st = o.File.Store
	}
	return &d, err
}

// Reading is Resolve for a call that reads. CheckpointLayout stays what the call asks for,
// because wider scopes say what is saved, and so does Label without a Verification key.
func Reading[T any](ctx context.Context, call *T, scope func(*T) (*options.Options, *store.Store)) (*T, error) {
	var asked options.Options
	if call != nil {
		o, _ := scope(call)
		asked = *o
	}
	d, err := Resolve(ctx, call, scope)
	o, _ := scope(d)
	o.CheckpointLayout = asked.CheckpointLayout
	if err == nil && asked.Label != "" && o.Verification == nil {
		err = &errs.Error{Kind: errs.Invalid, Subject: "Bivouac.Label", Want: "a Verification key beside it", Got: "none"}
	}
	if o.Verification == nil {
		o.Label = ""
	}
	return d, err
}

// read is what a call that reads says.
type read struct {
	options.Options
	store.Store
}

// Open returns how the checkpoint at path is opened, its store, and its name there. o and st come
// from the call.
func Open(ctx context.Context, path string, o options.Options,
	st store.Store) (layout.Options, store.Store, string, error) {
	r, err := Reading(ctx, &read{o, st}, func(r *read) (*options.Options, *store.Store) { return &r.Options, &r.Store })
	if err != nil {
		return layout.Options{}, nil, "", err
	}
	st, name, err := locate.Checkpoint(path, r.Store)
	return Load(r.Options), st, name, err
}

// OpenSigned is Open for a checkpoint that key must have signed as label, where there is a
// key, and of which nothing may be missing.
func OpenSigned(ctx context.Context, path string, key ed25519.PublicKey, label string,
	st store.Store) (layout.Options, store.Store, string, error) {
	o := options.Options{Bivouac: options.Bivouac{Verification: key, Label: label}}
	o.Array.Loading.RaiseArrayDataMissingError = options.On
	return Open(ctx, path, o, st)
}
