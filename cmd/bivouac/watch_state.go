//go:build !bivouac_wheel

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// watchMemory is what is remembered of all runs.
type watchMemory struct {
	Version int                   `json:"version"`
	Args    []string              `json:"args"`
	Runs    map[string]*runMemory `json:"runs"`
}

// watchVersion is the version of watchMemory.
const watchVersion = 1

// of returns the memory of a run.
func (m *watchMemory) of(run string) *runMemory {
	if m.Runs[run] == nil {
		m.Runs[run] = &runMemory{Newest: -1}
	}
	return m.Runs[run]
}

// watchStore keeps the memory in the directory of --state. A lock keeps other calls out.
type watchStore struct {
	dir  string
	st   store.Store
	lock io.Closer
	text string // as it was written
}

// watchFile is the name of the file in the directory of --state.
const watchFile = "watch.json"

// remember reads the memory of --state.
func (w *watch) remember(ctx context.Context) error {
	w.memory = watchMemory{Version: watchVersion, Args: w.args, Runs: map[string]*runMemory{}}
	if w.o.State == "" {
		return nil
	}
	abs, err := filepath.Abs(w.o.State)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Dir(abs)); err != nil {
		return unopened("watch", filepath.Dir(w.o.State), err)
	}
	st, err := local.Open(abs, nil)
	if err != nil {
		return err
	}
	lock, err := st.Lock(ctx, "")
	if err != nil {
		return errs.Wrap("watch", w.o.State, err)
	}
	w.store = &watchStore{dir: w.o.State, st: st, lock: lock}
	b, err := store.ReadAll(ctx, st, watchFile)
	switch {
	case errs.KindOf(err) == errs.NotFound:
		return nil
	case err != nil:
		return err
	}
	file, old := filepath.Join(w.o.State, watchFile), watchMemory{}
	if err := json.Unmarshal(b, &old); err != nil || old.Version < 1 {
		return &errs.Error{Kind: errs.Corrupt, Op: "watch", Subject: file, Want: "what an earlier call remembered",
			Got: "something else", Remedy: "remove it: then each lasting cause is told again"}
	}
	if old.Version > watchVersion {
		return &errs.Error{Kind: errs.Unsupported, Op: "watch", Subject: file, Want: fmt.Sprint("version ", watchVersion),
			Got: fmt.Sprint("version ", old.Version), Remedy: "use a newer Bivouac, or another --state"}
	}
	if !slices.Equal(old.Args, w.args) {
		return &errs.Error{Kind: errs.Mismatch, Op: "watch", Subject: file, Want: "a memory of " + strings.Join(w.args, " "),
			Got: "a memory of " + strings.Join(old.Args, " "), Remedy: "give each set of runs a --state of its own"}
	}
	for run, m := range old.Runs {
		if m != nil {
			w.memory.Runs[run] = m
		}
	}
	return nil
}

// save writes the memory if it has changed. A nil watchStore does nothing.
func (s *watchStore) save(ctx context.Context, m *watchMemory) error {
	if s == nil {
		return nil
	}
	b, err := json.MarshalIndent(m, "", " ")
	if err != nil || string(b) == s.text {
		return err
	}
	if err := s.st.Put(ctx, watchFile, b, store.PutOptions{}); err != nil {
		return errs.Wrap("watch", s.dir, err)
	}
	s.text = string(b)
	return nil
}

// close gives the lock back.
func (w *watch) close() {
	if w.store != nil {
		w.store.lock.Close() //nolint:errcheck // the process ends
	}
}

// verdict returns the error of --once: what lasts.
func (w *watch) verdict() error {
	var bad, other []string
	for run, m := range w.memory.Runs {
		worst := 0
		for _, t := range m.Open {
			switch {
			case !t.Over.IsZero():
			case t.Alert.Cause == causeLost || t.Alert.Cause == causeDamaged:
				worst = 2
			default:
				worst = max(worst, 1)
			}
		}
		switch worst {
		case 1:
			other = append(other, run)
		case 2:
			bad = append(bad, run)
		}
	}
	slices.Sort(bad)
	slices.Sort(other)
	total := len(bad) + len(other)
	e := &errs.Error{Op: "watch", Got: fmt.Sprintf("%d of %d runs need attention", total, len(w.memory.Runs))}
	switch {
	case len(bad) > 0:
		e.Kind, e.Subject = errs.Corrupt, some(bad)
	case len(other) > 0:
		e.Subject = some(other)
	default:
		return nil
	}
	return e
}
