package handler

import (
	"context"
	"fmt"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/thrown"
)

// Save calls h.Save as engines do. Errors of h and of the Commit name the handler, a panic is
// errs.Invalid, and so is a nil Commit.
func Save(ctx context.Context, h CheckpointableHandler, v any) (commit Commit, err error) {
	who := nameOf(h, v)
	err = protect(who, "Save", func() error {
		commit, err = h.Save(ctx, v)
		if err == nil && commit == nil {
			err = &errs.Error{Kind: errs.Invalid, Want: "a Commit", Got: "nil"}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return protected(who, commit), nil
}

// Takes calls h.HandlesAbstract as engines do. A panic is errs.Invalid.
func Takes(h CheckpointableHandler, abstract any) (v Verdict, err error) {
	err = protect(nameOf(h, nil), "HandlesAbstract", func() error {
		v = h.HandlesAbstract(abstract)
		return nil
	})
	return v, err
}

// Load calls h.Load as engines do, and reports errors as [Save] does.
func Load(ctx context.Context, h CheckpointableHandler, dir Reader, abstract any) (v any, err error) {
	err = protect(nameOf(h, abstract), "Load", func() error {
		v, err = h.Load(ctx, dir, abstract)
		return err
	})
	if err != nil {
		return nil, err
	}
	return v, nil
}

// MetadataOf returns the metadata of an item. abstract reads it if it has a Metadata method of its
// own, else h reads it. MetadataOf reports errors as [Save] does.
func MetadataOf(ctx context.Context, h CheckpointableHandler, dir Reader, abstract any) (m any, err error) {
	err = protect(nameOf(h, abstract), "Metadata", func() error {
		if own, ok := abstract.(metadataReader); ok {
			m, err = own.Metadata(ctx, dir)
		} else {
			m, err = h.Metadata(ctx, dir)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// nameOf says which handler it is, and of an object that saves itself which.
func nameOf(h CheckpointableHandler, v any) string {
	if savesItself(v) {
		return fmt.Sprintf("%T", v)
	}
	return "handler " + h.TypeString()
}

// patience is how long a Commit may go on after its context has ended.
const patience = 5 * time.Second

// protected returns a Commit whose errors and panics name the handler. If the Commit goes on too
// long after ctx has ended, the error names it and does not wait for it.
func protected(who string, commit Commit) Commit {
	return func(ctx context.Context, dir Writer) error {
		if ctx.Done() == nil {
			return protect(who, "Commit", func() error { return commit(ctx, dir) })
		}
		done := make(chan error, 1)
		go func() { done <- protect(who, "Commit", func() error { return commit(ctx, dir) }) }()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
		}
		late := time.NewTimer(patience)
		defer late.Stop()
		select {
		case err := <-done:
			return err
		case <-late.C:
			return &errs.Error{Kind: errs.Canceled, Op: who + ".Commit", Want: "a return when the context ends",
				Got:    fmt.Sprintf("no return within %s after that, so the call is abandoned", patience),
				Remedy: "the handler is at fault", Err: context.Cause(ctx)}
		}
	}
}

// protect calls a method of a handler. Its error names the handler and the method, and a panic
// becomes an error.
func protect(who, method string, call func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(who, method, p)
		}
	}()
	return errs.Wrap(who+"."+method, "", call())
}

// panicked returns the error for a panic. The function that recovered calls it.
func panicked(who, method string, p any) error {
	e := &errs.Error{Kind: errs.Invalid, Op: who + "." + method, Got: fmt.Sprintf("a panic%s: %v", thrown.At(), p),
		Remedy: "the handler is at fault"}
	if cause, ok := p.(error); ok {
		e.Err, e.Got = cause, "a panic"+thrown.At()
	}
	return e
}
