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

// Finalize makes the checkpoint name of its session, signed with signing and with parity
// of percent, and removes the session when check finds the checkpoint sound.
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
		// Who made it may have failed before its name, or what it holds, was durable.
		if err := errors.Join(st.Settle(ctx, ParentOf(name)), store.Sync(ctx, st, name)); err != nil {
			return err
		}
		return finish(ctx, st, name, check)
	}
	// What becomes part of the checkpoint was written by a program that may not have
	// synced it.
	if err := store.Sync(ctx, st, Session(name)); err != nil {
		return err
	}
	a.Protect(percent)
	if err := a.Commit(ctx, name); err != nil {
		return err
	}
	return finish(ctx, st, name, check)
}

// withoutSession says whether there is a checkpoint where there is no session.
func withoutSession(ctx context.Context, st store.Store, name string, err error) error {
	session := Session(name)
	if _, serr := st.Stat(ctx, session); errs.KindOf(serr) != errs.NotFound {
		return err // what is missing lies in it
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

// finish removes the session when the checkpoint that was made of it is sound;
// otherwise the checkpoint, which holds nothing else.
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
			Remedy: "the session was left as it was"}
	}
	return st.RemoveTree(ctx, session)
}
