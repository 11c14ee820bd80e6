package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
)

// writeFull writes p whole, or fails.
func writeFull(f vfs.File, p []byte, off int64) error {
	n, err := f.WriteAt(p, off)
	if err == nil && n < len(p) {
		err = fmt.Errorf("wrote %d of %d bytes: %w", n, len(p), io.ErrShortWrite)
	}
	return err
}

// writeFile writes a new small file and makes it durable, but not its directory entry.
func (s *Store) writeFile(name string, b []byte) error {
	f, err := s.fs.Create(name, s.opt.FileMode)
	if err != nil {
		return err
	}
	if err = writeFull(f, b, 0); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// Put implements store.Store. It writes a staging file and renames it.
func (s *Store) Put(ctx context.Context, name string, b []byte, o store.PutOptions) error {
	const op = "store.Put"
	if err := store.CheckFinalName(op, name); err != nil {
		return err
	}
	if err := alive(ctx, op, name); err != nil {
		return err
	}
	if err := s.ensureDir(parent(name)); err != nil {
		return wrap(op, name, err)
	}
	if o.IfAbsent {
		if _, err := s.fs.Stat(s.path(name)); err == nil {
			return taken(op, name)
		}
	}
	staging := s.stage(name)
	defer s.unstage(staging)
	if err := s.replaceFile(staging, name, b, o.IfAbsent); err != nil {
		s.fs.Remove(s.path(staging)) //nolint:errcheck // CleanStaging removes what is left
		return wrap(op, name, err)
	}
	if err := s.fs.SyncDir(s.path(parent(name))); err != nil {
		return uncertain(op, name, err)
	}
	return nil
}

// replaceFile writes the file staging and moves it to name.
func (s *Store) replaceFile(staging, name string, b []byte, ifAbsent bool) error {
	from, to := s.path(staging), s.path(name)
	if err := s.writeFile(from, b); err != nil {
		return err
	}
	id, err := s.fs.Stat(from)
	if err != nil {
		return err
	}
	if ifAbsent {
		err = s.renameNoReplace(from, to, false)
	} else {
		err = s.fs.Rename(from, to)
	}
	if err == nil {
		return nil
	}
	switch s.landed(id, to) {
	case yes:
		return nil
	case no:
		return err
	}
	return errors.Join(store.ErrUncertain, err)
}

func taken(op, name string) error {
	return &errs.Error{Kind: errs.Exists, Op: op, Subject: name, Remedy: "choose another name, overwrite, or remove it first"}
}

func uncertain(op, name string, err error) error {
	return wrap(op, name, errors.Join(store.ErrUncertain, err))
}

// parent returns the directory of a name, or "" for the root.
func parent(name string) string {
	if d := path.Dir(name); d != "." {
		return d
	}
	return ""
}
