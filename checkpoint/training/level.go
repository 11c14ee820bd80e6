package training

import (
	"context"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// checkLevel refuses a directory that is a checkpoint or lies in one: steps that are
// saved there would ruin it.
func (c *Checkpointer) checkLevel(ctx context.Context) error {
	for up, dir := range []string{c.dir, filepath.Dir(filepath.Clean(c.dir)), filepath.Dir(filepath.Dir(filepath.Clean(c.dir)))} {
		st, name, err := c.above(up)
		if err != nil || st == nil {
			return err
		}
		if !layout.IsRoot(ctx, st, name) {
			continue
		}
		got := "a checkpoint"
		if up > 0 {
			got = "a directory inside of the checkpoint " + dir
		}
		return &errs.Error{Kind: errs.Invalid, Want: "the directory of a run", Got: got,
			Remedy: "open the directory that holds the checkpoint, " + filepath.Dir(filepath.Clean(dir))}
	}
	return nil
}

// above returns the store and the name of the directory that is up levels above the
// root; the store is nil when there is none.
func (c *Checkpointer) above(up int) (store.Store, string, error) {
	if up == 0 {
		return c.store, c.root, nil
	}
	if c.opts.Store == nil {
		dir, err := filepath.Abs(c.dir)
		if err != nil {
			return nil, "", &errs.Error{Kind: errs.Invalid, Err: err}
		}
		for range up {
			dir = filepath.Dir(dir)
		}
		st, err := local.Open(dir, nil)
		if err != nil { // what cannot be looked at is no reason to refuse
			return nil, "", nil
		}
		return st, "", nil
	}
	name := c.root
	for range up {
		if name == "" {
			return nil, "", nil
		}
		if name = filepath.ToSlash(filepath.Dir(name)); name == "." {
			name = ""
		}
	}
	return c.store, name, nil
}
