//go:build !bivouac_wheel

package main

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/stream"
)

// begunAttempt writes an attempt of a run, and returns its id.
func begunAttempt(t *testing.T, st store.Store, end *journal.End, at time.Time) string {
	t.Helper()
	w := journal.New(st, "run", journal.Start{}, &journal.WriterOptions{Every: -1, Now: func() time.Time { return at }})
	w.Begin()
	if end != nil {
		w.End(*end)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w.Start().ID
}

// The page says whether a job is running that tells of its operators, and else which attempt told.
func TestOperatorsOfThePage(t *testing.T) {
	now := time.Now()
	profile := stream.Profile{Batches: 3, Operators: []stream.Operator{{Name: "read", Kind: "readers.file"}}}
	for _, c := range []struct {
		name    string
		write   func(t *testing.T, st store.Store) *journal.Operators
		live    bool
		attempt int
		state   string
		newer   bool
	}{
		{name: "nothing", write: func(t *testing.T, st store.Store) *journal.Operators {
			begunAttempt(t, st, nil, now)
			return nil
		}},
		{name: "running", live: true, attempt: 1, state: "running", write: func(t *testing.T, st store.Store) *journal.Operators {
			return &journal.Operators{Attempt: begunAttempt(t, st, nil, now), Time: now}
		}},
		{name: "running, and silent for long", attempt: 1, state: "running", write: func(t *testing.T, st store.Store) *journal.Operators {
			return &journal.Operators{Attempt: begunAttempt(t, st, nil, now), Time: now.Add(-time.Hour)}
		}},
		{name: "its last word", attempt: 1, state: "running", write: func(t *testing.T, st store.Store) *journal.Operators {
			return &journal.Operators{Attempt: begunAttempt(t, st, nil, now), Time: now, Ended: true}
		}},
		{name: "done", attempt: 1, state: "done", write: func(t *testing.T, st store.Store) *journal.Operators {
			return &journal.Operators{Attempt: begunAttempt(t, st, &journal.End{Outcome: journal.Done}, now), Time: now}
		}},
		{name: "of the attempt before", attempt: 1, state: "killed", newer: true, write: func(t *testing.T,
			st store.Store) *journal.Operators {
			id := begunAttempt(t, st, nil, now)
			begunAttempt(t, st, nil, now)
			return &journal.Operators{Attempt: id, Time: now}
		}},
		{name: "of another run", write: func(t *testing.T, st store.Store) *journal.Operators {
			begunAttempt(t, st, nil, now)
			return &journal.Operators{Attempt: "0123456789abcdef", Time: now}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := t.TempDir()
			st, err := local.Open(top, nil)
			if err != nil {
				t.Fatal(err)
			}
			o := c.write(t, st)
			if o != nil {
				o.Profile = profile
				if err := journal.PutOperators(t.Context(), st, "run", *o); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Join(top, "run")
			got, err := siteOf(t, dir).answerOperators(t.Context(), url.Values{"run": {dir}})
			if err != nil {
				t.Fatal(err)
			}
			if got.Live != c.live || got.Attempt != c.attempt || got.State != c.state || got.Newer != c.newer ||
				got.Error != nil || (got.Recorded != nil) != (o != nil) || o != nil && got.Recorded.Batches != 3 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A document that is damaged is said to be so, and a checkpoint has none.
func TestBadOperatorsOfThePage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	pagedRun(t, dir)
	file := filepath.Join(dir, filepath.FromSlash(journal.OperatorsFile))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := siteOf(t, dir).answerOperators(t.Context(), url.Values{"run": {dir}})
	if err != nil || got.Recorded != nil || got.Error == nil || got.Error.Kind != "corrupt" {
		t.Errorf("%+v, %v", got, err)
	}
	step := filepath.Join(dir, "20")
	got, err = siteOf(t, step).answerOperators(t.Context(), url.Values{"run": {step}})
	if err != nil || got.Recorded != nil || got.Error != nil {
		t.Errorf("a checkpoint: %+v, %v", got, err)
	}
}
