package checkpoint

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// sessionMark ends the name of a session of partial saves, before that comes the
// name of the checkpoint that it is to become.
const sessionMark = ".partial_save"

// FinalizeOptions modify Finalize; nil is the zero value.
type FinalizeOptions struct {
	// Store holds the session; nil is the local file system.
	Store store.Store
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
	if o == nil {
		o = &FinalizeOptions{}
	}
	st, final, err := locate.Checkpoint(strings.TrimSuffix(name, sessionMark), o.Store)
	if err == nil {
		err = finalize(ctx, st, final)
	}
	return errs.Wrap(op, name, err)
}

// finalize makes the checkpoint name of its session.
func finalize(ctx context.Context, st store.Store, name string) error {
	session := name + sessionMark
	a, err := assemble(ctx, st, session)
	if err != nil {
		return err
	}
	switch done, err := a.isAt(ctx, name); {
	case err != nil:
		return err
	case done:
		// Who made it may have failed before its name, or what it holds, was durable.
		if err := errors.Join(st.Settle(ctx, parentOf(name)), store.Sync(ctx, st, name)); err != nil {
			return err
		}
		return a.finish(ctx, name)
	}
	// What becomes part of the checkpoint was written by a program that may not have
	// synced it.
	if err := store.Sync(ctx, st, session); err != nil {
		return err
	}
	if err := a.commit(ctx, name); err != nil {
		return err
	}
	return a.finish(ctx, name)
}

// parentOf returns the directory of a name in a store.
func parentOf(name string) string {
	if d := path.Dir(name); d != "." {
		return d
	}
	return ""
}

// finish removes the session when the checkpoint that was made of it is sound;
// otherwise the checkpoint, which holds nothing else.
func (a *assembly) finish(ctx context.Context, name string) error {
	damage, err := damages(ctx, a.st, name)
	if err != nil {
		return err
	}
	if len(damage) > 0 {
		if err := a.st.RemoveTree(ctx, name); err != nil {
			return err
		}
		return &errs.Error{Kind: errs.Corrupt, Subject: a.session, Got: "parts that do not make a sound checkpoint", Err: damage[0],
			Remedy: "the session was left as it was"}
	}
	return a.st.RemoveTree(ctx, a.session)
}

// damages reads a whole checkpoint of st.
func damages(ctx context.Context, st store.Store, name string) ([]error, error) {
	r, err := Verify(ctx, name, &VerifyOptions{Store: st})
	if err != nil {
		return nil, err
	}
	return r.Problems, nil
}

// isSession reports whether name is that of a session of partial saves.
func isSession(name string) bool {
	return strings.HasSuffix(name, sessionMark) && !strings.HasSuffix(name, "/"+sessionMark) && name != sessionMark
}
