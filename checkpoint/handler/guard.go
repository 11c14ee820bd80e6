package handler

import (
	"context"
	"io"
	"slices"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/fold"
)

// Run calls commit with a Writer that enforces the rules:
//
//   - each name is valid and used once, and no two names differ in upper and lower case only;
//   - each file is closed;
//   - nothing is written after commit has returned;
//   - an error of the Writer fails the save, even if the handler ignores it.
//
// Engines call each Commit with Run, so that a mistake of a handler fails the save instead of
// leaving a checkpoint without a file.
func Run(ctx context.Context, commit Commit, dir Writer) error {
	g := &guard{dir: dir, names: map[string]bool{}, folded: map[string]string{}}
	g.idle.L = &g.mu
	err := commit(ctx, g)
	if late := g.finish(); err == nil {
		err = late
	}
	return err
}

type guard struct {
	dir    Writer
	mu     sync.Mutex
	calls  int               // calls of dir under way; an abandoned handler may still make one
	idle   sync.Cond         // signalled when calls is 0
	names  map[string]bool   // true while the file is open
	folded map[string]string // names by their form without case
	failed error             // the first error of the Writer
	done   bool
}

// enter and leave surround each call of dir.
func (g *guard) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls++
}

func (g *guard) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.calls--; g.calls == 0 {
		g.idle.Broadcast()
	}
}

// note records the first error that the handler received.
func (g *guard) note(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed == nil && err != nil {
		g.failed = err
	}
	return err
}

// take reserves a name.
func (g *guard) take(name string, open bool) error {
	if err := CheckName(name); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done {
		return &errs.Error{Kind: errs.Closed, Subject: name, Got: "a file after the commit"}
	}
	if _, ok := g.names[name]; ok {
		return &errs.Error{Kind: errs.Exists, Subject: name, Got: "the same file twice"}
	}
	if other, ok := g.folded[fold.Name(name)]; ok {
		return &errs.Error{Kind: errs.Invalid, Subject: name,
			Want: "a name that differs from " + strconv.Quote(other) + " in more than case", Got: "a name that differs only in case",
			Remedy: "some file systems would take both for one file"}
	}
	g.names[name], g.folded[fold.Name(name)] = open, name
	return nil
}

// finish ends the commit. After it returns, nothing calls the Writer any more.
func (g *guard) finish() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done = true
	for g.calls > 0 {
		g.idle.Wait()
	}
	if g.failed != nil {
		return g.failed
	}
	var open []string
	for name, is := range g.names {
		if is {
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Subject: slices.Min(open), Want: "a closed file", Got: "an open file",
		Remedy: "the handler must close each file that it creates"}
}

func (g *guard) Put(ctx context.Context, name string, b []byte) error {
	g.enter()
	defer g.leave()
	err := g.take(name, false)
	if err == nil {
		err = g.dir.Put(ctx, name, b)
	}
	return g.note(err)
}

func (g *guard) Create(ctx context.Context, name string) (io.WriteCloser, error) {
	g.enter()
	defer g.leave()
	if err := g.take(name, true); err != nil {
		return nil, g.note(err)
	}
	w, err := g.dir.Create(ctx, name)
	if err != nil {
		return nil, g.note(err)
	}
	return &guarded{w, g, name}, nil
}

type guarded struct {
	file  io.WriteCloser
	guard *guard
	name  string
}

// open returns an error once the commit is over.
func (f *guarded) open() error {
	f.guard.mu.Lock()
	defer f.guard.mu.Unlock()
	if f.guard.done {
		return &errs.Error{Kind: errs.Closed, Subject: f.name, Got: "a file after the commit"}
	}
	return nil
}

// Write implements io.Writer.
func (f *guarded) Write(b []byte) (n int, err error) {
	f.guard.enter()
	defer f.guard.leave()
	if err = f.open(); err == nil {
		n, err = f.file.Write(b)
	}
	return n, f.guard.note(err)
}

// Close implements io.Closer.
func (f *guarded) Close() error {
	f.guard.enter()
	defer f.guard.leave()
	err := f.open()
	if err == nil {
		err = f.file.Close()
	}
	f.guard.note(err) //nolint:errcheck // err is returned
	f.guard.mu.Lock()
	defer f.guard.mu.Unlock()
	f.guard.names[f.name] = err != nil // a file that failed to close is not complete
	return err
}
