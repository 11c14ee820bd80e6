package parts

import (
	"context"
	"crypto/ed25519"
	"errors"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Check reads the checkpoint name of st and returns its first damage, nil when it is sound.
type Check func(ctx context.Context, st store.Store, name string) (damage, err error)

// Finalize makes the checkpoint name from its session, signed with signing and with percent parity.
// It removes the session if check finds the checkpoint sound.
func Finalize(ctx context.Context, st store.Store, name string, signing ed25519.PrivateKey, percent int,
	check Check) error {
	a, err := Assemble(ctx, st, Session(name))
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
		// The process that made it may have failed before its name or its files were durable.
		if err := errors.Join(st.Settle(ctx, ParentOf(name)), store.Sync(ctx, st, name)); err != nil {
			return err
		}
		return finish(ctx, st, name, check)
	}
	// The program that wrote the parts may not have synced their files.
	if err := store.Sync(ctx, st, Session(name)); err != nil {
		return err
	}
	a.Protect(percent)
	if err := a.Commit(ctx, name); err != nil {
		return err
	}
	return finish(ctx, st, name, check)
}

// withoutSession returns the error for a missing session, which depends on whether there is a
// checkpoint.
func withoutSession(ctx context.Context, st store.Store, name string, err error) error {
	session := Session(name)
	if _, serr := st.Stat(ctx, session); errs.KindOf(serr) != errs.NotFound {
		return err // something inside the session is missing
	}
	_, serr := st.Stat(ctx, name)
	switch {
	case serr == nil:
		return &errs.Error{Kind: errs.Exists, Subject: name, Want: "a session of partial saves",
			Got:    "a finished checkpoint and no session",
			Remedy: "there is nothing left to do"}
	case errs.KindOf(serr) != errs.NotFound:
		return serr
	}
	return &errs.Error{Kind: errs.NotFound, Subject: name, Want: "a session of partial saves, " + session,
		Got:    "neither a session nor a checkpoint",
		Remedy: "begin one with partial.Save, or name the directory that it lies in"}
}

// finish removes the session if the checkpoint made from it is sound. Otherwise it removes the
// checkpoint, which holds nothing that the session lacks.
func finish(ctx context.Context, st store.Store, name string, check Check) error {
	damage, err := check(ctx, st, name)
	if err != nil {
		return err
	}
	session := Session(name)
	if damage != nil {
		if err := st.RemoveTree(ctx, name); err != nil {
			return err
		}
		return &errs.Error{Kind: errs.Corrupt, Subject: session, Got: "parts that do not make a sound checkpoint",
			Err:    damage,
			Remedy: "the session is unchanged"}
	}
	return st.RemoveTree(ctx, session)
}
