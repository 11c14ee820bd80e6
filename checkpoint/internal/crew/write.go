package crew

import (
	"context"
	"errors"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/store"
)

// outcome is what has become of a save.
type outcome struct {
	Failure *failure `json:"failure,omitempty"`
	Time    int64    `json:"time,omitempty"` // of the commit, in nanoseconds
}

// Write writes what Agree returned, which w has planned, and returns when the
// checkpoint of all processes is committed, with the time that was recorded; or when it
// will not be. err is why there is no writer. The meeting is over when it returns.
func (m *Meeting) Write(ctx context.Context, w *writer.Writer, err error) (at time.Time, _ error) {
	if m.group.Leads() {
		return m.publish(ctx, w, err)
	}
	if err == nil {
		_, err = w.Write(ctx, guest{m.txn})
	}
	said := m.sayReport(ctx, err)
	m.barrier(ctx, written) //nolint:errcheck // what counts is the outcome
	met := m.barrier(ctx, end)
	var is outcome
	heard := m.hear(ctx, "outcome", &is)
	m.leave(ctx) //nolint:errcheck // what this process knows it knows
	switch {
	case err != nil:
		return at, err
	case heard != nil:
		return at, errors.Join(store.ErrUncertain, met, said, heard)
	}
	return time.Unix(0, is.Time), is.Failure.from(m.group.Primary)
}

// publish is Write on the primary.
func (m *Meeting) publish(ctx context.Context, w *writer.Writer, err error) (at time.Time, _ error) {
	if err == nil {
		at, err = w.Write(ctx, m.txn)
	} else {
		m.txn.Abort() //nolint:errcheck // the reason is already being returned
	}
	if !m.said {
		m.barrier(ctx, written) //nolint:errcheck // the reason is already being returned
	}
	m.say(ctx, "outcome", outcome{fail(err), at.UnixNano()}) //nolint:errcheck // who does not hear it says so
	m.barrier(ctx, end)                                      //nolint:errcheck // the save is what it is
	m.leave(ctx)                                             //nolint:errcheck // likewise
	return at, err
}

// guest is the transaction of a process that is not the primary: the primary writes the
// documents.
type guest struct{ store.Txn }

// Commit makes durable what was written.
func (g guest) Commit(ctx context.Context, _ store.Blob, _ ...store.Blob) error {
	return g.Txn.Commit(ctx, store.Blob{})
}
