package checkpoint

import (
	"context"
	"crypto/ed25519"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Options are what can be said for a call, a context, a checkpointer or the
// process, of which the first that says something counts: see options.With,
// options.Configure, and the table in package options for what each does.
type Options = options.Options

// resolve returns o with the Options that hold for the call. o may be nil, and is
// not changed.
func (o *SaveOptions) resolve(ctx context.Context) (*SaveOptions, error) {
	var d SaveOptions
	if o != nil {
		d = *o
	}
	var err error
	d.Options, err = options.Resolve(ctx, d.Options, Options{})
	d.Store = storeOf(d.Store, d.Options)
	return &d, err
}

// resolve is as that of SaveOptions.
func (o *LoadOptions) resolve(ctx context.Context) (*LoadOptions, error) {
	var d LoadOptions
	if o != nil {
		d = *o
	}
	label, asked := d.Label, d.CheckpointLayout
	var err error
	d.Options, err = options.Resolve(ctx, d.Options, Options{})
	d.CheckpointLayout = asked // that of wider scopes is for what is saved
	if err == nil && label != "" && d.Verification == nil {
		err = &errs.Error{Kind: errs.Invalid, Subject: "Bivouac.Label", Want: "a Verification key beside it", Got: "none"}
	}
	if d.Verification == nil {
		d.Label = "" // of a wider scope, for what is saved
	}
	d.Store = storeOf(d.Store, d.Options)
	return &d, err
}

// resolve is as that of SaveOptions.
func (o *ConvertOptions) resolve(ctx context.Context) (*ConvertOptions, error) {
	var d ConvertOptions
	if o != nil {
		d = *o
	}
	var err error
	d.Options, err = options.Resolve(ctx, d.Options, Options{})
	d.Store = storeOf(d.Store, d.Options)
	return &d, err
}

// signedBy asks for a signature, and that nothing is missing.
func signedBy(key ed25519.PublicKey, label string) Options {
	o := Options{Bivouac: options.Bivouac{Verification: key, Label: label}}
	o.Array.Loading.RaiseArrayDataMissingError = options.On
	return o
}

// storeOf is where paths lead: what the call says, else its options.
func storeOf(given store.Store, o Options) store.Store {
	if given == nil {
		return o.File.Store
	}
	return given
}
