package crew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// say writes a message into the meeting. Its readers wait at a barrier.
func (m *Meeting) say(ctx context.Context, name string, word any) error {
	return m.sayWith(ctx, name, word, nil)
}

// sayWith writes a message with bytes after it: JSON, a line break, and the bytes. So long lists
// need not be JSON, which a thousand readers of a thousand messages would notice.
func (m *Meeting) sayWith(ctx context.Context, name string, word any, tail []byte) error {
	b, err := json.Marshal(word)
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Subject: name, Err: err}
	}
	if len(tail) > 0 {
		b = append(append(b, '\n'), tail...)
	}
	ctx, cancel := patient(ctx)
	defer cancel()
	return m.talk.Put(ctx, name, b)
}

// hear reads a message of the meeting. A missing message is errs.NotFound, which names the process
// that has not written it.
func (m *Meeting) hear(ctx context.Context, name string, word any) error {
	_, err := m.hearWith(ctx, name, word)
	return err
}

// hearWith works like hear, and returns the bytes after the message.
func (m *Meeting) hearWith(ctx context.Context, name string, word any) (tail []byte, err error) {
	ctx, cancel := patient(ctx)
	defer cancel()
	b, err := store.ReadAll(ctx, m.call.Store, path.Join(m.talk.Staging(), name))
	switch {
	case errs.KindOf(err) == errs.NotFound:
		return nil, m.silence(name)
	case err == nil:
		b, tail, _ = bytes.Cut(b, []byte("\n"))
		if e := json.Unmarshal(b, word); e != nil {
			err = &errs.Error{Kind: errs.Corrupt, Subject: path.Join(m.talk.Staging(), name), Err: e}
		}
	}
	return tail, err
}

// damaged returns the error for bytes after a message that are not what the message says.
func damaged(what string) error {
	return &errs.Error{Kind: errs.Corrupt, Subject: what, Want: "what the process has packed", Got: "other bytes"}
}

// meaning describes the messages.
var meaning = map[string]string{
	"open": "the beginning of the save", "plan": "its plan of the save", "report": "its report of what it has written", "outcome": "whether the checkpoint is committed",
}

// silence returns the error for a message that its process has not written.
func (m *Meeting) silence(name string) error {
	what, process, of := strings.Cut(name, ".")
	who := "process " + process
	if !of {
		who = fmt.Sprintf("process %d, the primary", m.group.Primary)
	}
	return &errs.Error{Kind: errs.NotFound, Subject: who, Want: meaning[what], Got: "no message",
		Remedy: "check whether that process has ended and why, and that all processes use the same directory; " +
			"then save again"}
}

// silent names the processes that have not written their message for a barrier. It returns "" if
// all have written it, or if that cannot be determined.
func (m *Meeting) silent(ctx context.Context, op string) string {
	if m.talk == nil {
		return ""
	}
	ctx, cancel := patient(ctx)
	defer cancel()
	silent := func(name string) bool {
		_, err := m.call.Store.Stat(ctx, path.Join(m.talk.Staging(), name))
		return errs.KindOf(err) == errs.NotFound
	}
	var list []string
	switch op {
	case plan, written:
		processes, what := m.group.Active, "plan"
		if op == written {
			processes, what = m.group.others(), "report"
		}
		for _, p := range processes {
			if p != m.group.Self && silent(of(what, p)) {
				list = append(list, strconv.Itoa(p))
			}
		}
	case end:
		if !m.group.Leads() && silent("outcome") {
			list = append(list, strconv.Itoa(m.group.Primary)+", the primary")
		}
	}
	switch len(list) {
	case 0:
		return ""
	case 1:
		return "no message of process " + list[0]
	}
	return "no message of processes " + strings.Join(list, ", ")
}

// of returns the name of the message of a process.
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

// from returns the failure as the error of a process, or nil if f is nil.
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
