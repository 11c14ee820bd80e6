//go:build !bivouac_wheel

package main

import (
	"context"
	"net/url"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
)

// uiOperators says what the operators of the data of a run do, or did.
type uiOperators struct {
	Run      string             `json:"run"`
	Live     bool               `json:"live"`               // the attempt is running, and tells it every few seconds
	Attempt  int                `json:"attempt,omitempty"`  // that told it; 0 if the journal does not have it
	State    string             `json:"state,omitempty"`    // of that attempt, as in show --json
	Newer    bool               `json:"newer,omitempty"`    // a later attempt has told nothing
	Recorded *journal.Operators `json:"recorded,omitempty"` // absent if nothing is recorded
	Error    *failureText       `json:"error,omitempty"`    // why it cannot be read
}

// lively is how old a document of an attempt that is running may be. A job writes one every 10
// seconds.
const lively = time.Minute

func (s *site) answerOperators(ctx context.Context, q url.Values) (*uiOperators, error) {
	dir, err := s.ask(q.Get("run"))
	if err != nil {
		return nil, err
	}
	return s.told.get(ctx, dir, func(ctx context.Context) (*uiOperators, error) { return s.operators(ctx, dir) })
}

// operators reads what the newest attempt of a run has told of its operators.
func (s *site) operators(ctx context.Context, dir string) (*uiOperators, error) {
	out := &uiOperators{Run: dir}
	if checkpoint.IsCheckpoint(ctx, dir, nil) {
		return out, nil
	}
	st, name, err := place(dir).open(ctx)
	if err != nil {
		return nil, err
	}
	out.Recorded, err = journal.ReadOperators(ctx, st, name)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errs.KindOf(err) == errs.NotFound:
		return out, nil
	case err != nil:
		failed := newFailureText(err)
		out.Error = &failed
		return out, nil
	}
	t := teller{dir: dir, g: s.g}
	if err := t.refresh(ctx); err != nil {
		return nil, err
	}
	list := t.journal.Attempts()
	for i, a := range list {
		if a.ID != out.Recorded.Attempt {
			continue
		}
		out.Attempt, out.State, out.Newer = a.Number, "killed", i < len(list)-1
		if e := a.End(); e != nil {
			out.State = string(e.Outcome)
		} else if !out.Newer {
			out.State = t.running(ctx, a)
		}
	}
	out.Live = out.State == stateRunning && !out.Recorded.Ended && time.Since(out.Recorded.Time).Abs() < lively
	return out, nil
}
