package crew

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// say writes a message into the meeting. What waits for it has a barrier to wait at.
func (m *Meeting) say(ctx context.Context, name string, word any) error {
	b, err := json.Marshal(word)
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Subject: name, Err: err}
	}
	ctx, cancel := patient(ctx)
	defer cancel()
	return m.talk.Put(ctx, name, b)
}

// hear reads a message of the meeting.
func (m *Meeting) hear(ctx context.Context, name string, word any) error {
	ctx, cancel := patient(ctx)
	defer cancel()
	b, err := store.ReadAll(ctx, m.call.Store, path.Join(m.talk.Staging(), name))
	if err == nil {
		if e := json.Unmarshal(b, word); e != nil {
			err = &errs.Error{Kind: errs.Corrupt, Subject: path.Join(m.talk.Staging(), name), Err: e}
		}
	}
	return err
}

// of names the message of a process.
func of(what string, process int) string { return what + "." + strconv.Itoa(process) }

// failure is an error on its way to another process: its kind and its text.
type failure struct {
	Kind      errs.Kind `json:"kind"`
	Text      string    `json:"text"`
	Uncertain bool      `json:"uncertain,omitempty"`
}

func fail(err error) *failure {
	if err == nil {
		return nil
	}
	return &failure{errs.KindOf(err), err.Error(), errors.Is(err, store.ErrUncertain)}
}

// from returns the error as that of a process; nil for none.
func (f *failure) from(process int) error {
	if f == nil {
		return nil
	}
	cause := errors.New(f.Text)
	if f.Uncertain {
		cause = errors.Join(cause, store.ErrUncertain)
	}
	return &errs.Error{Kind: f.Kind, Subject: "process " + strconv.Itoa(process), Err: cause}
}
