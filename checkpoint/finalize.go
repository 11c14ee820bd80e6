package checkpoint

import (
	"context"
	"crypto/ed25519"
	"errors"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parts"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// FinalizeOptions modify Finalize; nil is the zero value.
type FinalizeOptions struct {
	// Options are the scope of the call. Of them Bivouac.Signing signs the checkpoint;
	// it must have signed all parts, and without it parts that are signed are refused.
	// File.PathPermissionMode is of the directories and documents that are made.
	// Bivouac.Parity is of the checkpoint; parts have none, and are read for it.
	Options
	// Store holds the session; nil is Options.File.Store, and where that is nil the
	// local file system. The path is then a name in it.
	Store store.Store
}

// resolve is as that of SaveOptions.
func (o *FinalizeOptions) resolve(ctx context.Context) (*FinalizeOptions, error) {
	var d FinalizeOptions
	if o != nil {
		d = *o
	}
	var err error
	d.Options, err = options.Resolve(ctx, d.Options, Options{})
	d.Store = storeOf(d.Store, d.Options)
	return &d, err
}

// Finalize makes the checkpoint name of a session of partial saves, which lies
// beside it as name.partial_save; either may be named. The parts
// become one checkpoint in the order of their times: documents are joined, the
// databases of the arrays merged by reference, data files linked, not copied.
//
// The checkpoint appears at once or not at all, durable with all that the parts
// hold, which Orbax does not sync, is verified, and then the session
// goes; until then it is untouched, so that Finalize may be called again after a
// failure at any moment, and finishes what another had begun, Orbax included.
//
// Errors: NotFound where there is no session, Exists where the name is taken by
// something else, Mismatch where two parts save the same leaf, Corrupt for
// damaged parts.
func Finalize(ctx context.Context, name string, o *FinalizeOptions) error {
	const op = "checkpoint.Finalize"
	o, err := o.resolve(ctx)
	if err != nil {
		return errs.Wrap(op, name, err)
	}
	st, final, err := locate.Target(parts.Final(name), o.Store, o.File.PathPermissionMode)
	if err == nil {
		err = finalize(ctx, st, final, o.Signing, o.Parity)
	}
	return errs.Wrap(op, name, err)
}

// finalize makes the checkpoint name of its session.
func finalize(ctx context.Context, st store.Store, name string, signing ed25519.PrivateKey, percent int) error {
	a, err := parts.Assemble(ctx, st, parts.Session(name))
	if err == nil {
		err = a.Sign(signing)
	}
	if errs.KindOf(err) == errs.NotFound {
		return withoutSession(ctx, st, name, err)
	}
	if err != nil {
		return err
	}
	switch done, err := a.IsAt(ctx, name); {
	case err != nil:
		return err
	case done:
		// Who made it may have failed before its name, or what it holds, was durable.
		if err := errors.Join(st.Settle(ctx, parts.ParentOf(name)), store.Sync(ctx, st, name)); err != nil {
			return err
		}
		return finish(ctx, st, name)
	}
	// What becomes part of the checkpoint was written by a program that may not have
	// synced it.
	if err := store.Sync(ctx, st, parts.Session(name)); err != nil {
		return err
	}
	a.Protect(percent)
	if err := a.Commit(ctx, name); err != nil {
		return err
	}
	return finish(ctx, st, name)
}

// withoutSession says whether there is a checkpoint where there is no session.
func withoutSession(ctx context.Context, st store.Store, name string, err error) error {
	session := parts.Session(name)
	if _, serr := st.Stat(ctx, session); errs.KindOf(serr) != errs.NotFound {
		return err // what is missing lies in it
	}
	_, serr := st.Stat(ctx, name)
	switch {
	case serr == nil:
		return &errs.Error{Kind: errs.Exists, Subject: name, Want: "a session of partial saves", Got: "a finished checkpoint and no session",
			Remedy: "there is nothing left to do"}
	case errs.KindOf(serr) != errs.NotFound:
		return serr
	}
	return &errs.Error{Kind: errs.NotFound, Subject: name, Want: "a session of partial saves, " + session, Got: "neither a session nor a checkpoint",
		Remedy: "begin one with partial.Save, or name the directory that it lies in"}
}

// finish removes the session when the checkpoint that was made of it is sound;
// otherwise the checkpoint, which holds nothing else.
func finish(ctx context.Context, st store.Store, name string) error {
	damage, err := damages(ctx, name, &VerifyOptions{Store: st})
	if err != nil {
		return err
	}
	session := parts.Session(name)
	if len(damage) > 0 {
		if err := st.RemoveTree(ctx, name); err != nil {
			return err
		}
		return &errs.Error{Kind: errs.Corrupt, Subject: session, Got: "parts that do not make a sound checkpoint", Err: damage[0],
			Remedy: "the session was left as it was"}
	}
	return st.RemoveTree(ctx, session)
}

// damages reads a whole checkpoint.
func damages(ctx context.Context, name string, o *VerifyOptions) ([]error, error) {
	r, err := Verify(ctx, name, o)
	if err != nil {
		return nil, err
	}
	return r.Problems, nil
}
