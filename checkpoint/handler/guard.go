package handler

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// Run calls commit with a Writer that holds it to the rules: names are checked
// and used once, files closed, nothing is written after it returned. It is
// what engines call a Commit by, so that a mistake of a handler is an error of
// that save instead of a checkpoint without a file.
func Run(ctx context.Context, commit Commit, dir Writer) error {
	g := &guard{dir: dir, names: map[string]bool{}}
	err := commit(ctx, g)
	if late := g.finish(); err == nil {
		err = late
	}
	return err
}

type guard struct {
	dir   Writer
	mu    sync.Mutex
	names map[string]bool // whether it is still open
	done  bool
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
		return &errs.Error{Kind: errs.Exists, Subject: name, Got: "a file twice"}
	}
	g.names[name] = open
	return nil
}

func (g *guard) finish() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done = true
	var open []string
	for name, is := range g.names {
		if is {
			open = append(open, name)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Subject: slices.Min(open), Want: "a file that is closed", Got: "one left open",
		Remedy: "the handler has to close what it creates"}
}

func (g *guard) Put(ctx context.Context, name string, b []byte) error {
	if err := g.take(name, false); err != nil {
		return err
	}
	return g.dir.Put(ctx, name, b)
}

func (g *guard) Create(ctx context.Context, name string) (io.WriteCloser, error) {
	if err := g.take(name, true); err != nil {
		return nil, err
	}
	w, err := g.dir.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	return &guarded{w, g, name}, nil
}

type guarded struct {
	io.WriteCloser
	guard *guard
	name  string
}

func (f *guarded) Close() error {
	err := f.WriteCloser.Close()
	f.guard.mu.Lock()
	defer f.guard.mu.Unlock()
	f.guard.names[f.name] = err != nil // what failed to close is not complete
	return err
}
