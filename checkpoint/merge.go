package checkpoint

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// mergeDatabases makes the database of an item from those of the processes that
// wrote it, whose directories end in "/". Values stay where they are. The
// same databases give the same bytes and names, so that a merge that was
// interrupted is done again without leaving anything.
func mergeDatabases(ctx context.Context, files ocdbt.Files, dirs []string) (*ocdbt.Commit, error) {
	u, err := ocdbt.OpenUnion(ctx, files, dirs, nil)
	if err != nil {
		return nil, err
	}
	b, err := u.Merge(ctx)
	if err != nil {
		return nil, err
	}
	seed, last := sha256.New(), time.Time{}
	for _, dir := range dirs {
		db, err := ocdbt.Open(ctx, ocdbt.Sub(files, dir), nil)
		if err != nil {
			return nil, err
		}
		raw, err := files.ReadFile(ctx, dir+ocdbt.ManifestName)
		if err != nil {
			return nil, err
		}
		seed.Write([]byte(dir))
		seed.Write(raw)
		if t := db.Version().Time(); t.After(last) {
			last = t
		}
	}
	sum := seed.Sum(nil)
	merged, err := ocdbt.New(files, ocdbt.OrbaxConfig([16]byte(sum[:16])), nil)
	if err != nil {
		return nil, err
	}
	return merged.Commit(ctx, b, &ocdbt.CommitOptions{Time: last.Add(time.Nanosecond), Name: "d/" + hex.EncodeToString(sum[16:])})
}

// mergeItem makes the database of an item that has only those of its processes.
// The manifest comes last: before, the item is what it was. The checkpoint that it
// belongs to is made durable first: Orbax does not sync what it writes.
func mergeItem(ctx context.Context, st store.Store, checkpoint, item string, processes []string) error {
	dir := path.Join(checkpoint, item)
	c, err := mergeDatabases(ctx, storeFiles{st, func(name string) string { return path.Join(dir, name) }}, processes)
	if err != nil {
		return err
	}
	if err := errors.Join(store.Sync(ctx, st, checkpoint), st.Settle(ctx, parentOf(checkpoint))); err != nil {
		return err
	}
	for _, f := range append(c.Files, c.Manifest) {
		if err := st.Put(ctx, path.Join(dir, f.Name), f.Data, store.PutOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// storeFiles reads files of a store under other names for package ocdbt. A
// name for which at gives "" does not exist.
type storeFiles struct {
	st store.Store
	at func(name string) string
}

func (f storeFiles) open(ctx context.Context, name string) (store.Reader, error) {
	at := f.at(name)
	if at == "" {
		return nil, &errs.Error{Kind: errs.NotFound, Subject: name}
	}
	return f.st.Open(ctx, at)
}

// ReadFile implements ocdbt.Files.
func (f storeFiles) ReadFile(ctx context.Context, name string) ([]byte, error) {
	at := f.at(name)
	if at == "" {
		return nil, &errs.Error{Kind: errs.NotFound, Subject: name}
	}
	return store.ReadAll(ctx, f.st, at)
}

// ReadAt implements ocdbt.Files.
func (f storeFiles) ReadAt(ctx context.Context, name string, p []byte, off int64) error {
	r, err := f.open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	return r.ReadAt(ctx, p, off)
}

// Size implements ocdbt.Files.
func (f storeFiles) Size(ctx context.Context, name string) (int64, error) {
	r, err := f.open(ctx, name)
	if err != nil {
		return 0, err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	return r.Size(), nil
}
