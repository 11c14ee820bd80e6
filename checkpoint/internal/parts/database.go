package parts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// database is how the database of an item comes about.
type database struct {
	whole bool // begins with one that is there, not with an empty one
	steps []step
}

// step is one change of a database.
type step struct {
	embed  string        // a database in this sub-directory, ending in "/", comes in
	put    []ocdbt.Entry // these come in
	remove []string      // the arrays of these parameters go
}

func (d *database) embed(dir string) {
	if !slices.ContainsFunc(d.steps, func(s step) bool { return s.embed == dir }) {
		d.steps = append(d.steps, step{embed: dir})
	}
}

func (d *database) remove(params []string) { d.steps = append(d.steps, step{remove: params}) }

// batch returns the changes as one, and what they depend on.
func (d *database) batch(ctx context.Context, files ocdbt.Files) (b *ocdbt.Batch, seed []byte, last time.Time, err error) {
	b = &ocdbt.Batch{}
	sum := sha256.New()
	for _, s := range d.steps {
		for _, p := range s.remove {
			b.DeleteRange(ocdbt.Range{Start: p + "/", End: p + "0"}) // "0" comes after "/"
			sum.Write([]byte("-" + p + "\n"))
		}
		for _, e := range s.put {
			b.PutRef(e.Key, e.Value)
			sum.Write([]byte("+" + e.Key + " " + e.Value.File.Name + "\n"))
		}
		if s.embed == "" {
			continue
		}
		db, err := ocdbt.Open(ctx, ocdbt.Sub(files, s.embed), nil)
		if err != nil {
			return nil, nil, last, errs.Wrap("", s.embed, err)
		}
		if err := b.Embed(ctx, db, s.embed); err != nil {
			return nil, nil, last, err
		}
		raw, err := files.ReadFile(ctx, s.embed+ocdbt.ManifestName)
		if err != nil {
			return nil, nil, last, err
		}
		sum.Write([]byte(s.embed))
		sum.Write(raw)
		if t := db.Version().Time(); t.After(last) {
			last = t
		}
	}
	return b, sum.Sum(nil), last, nil
}

// mergeDatabase makes a new database of the steps. Values stay where they are.
// The same steps give the same bytes and names, so that a merge that was
// interrupted is done again without leaving anything.
func mergeDatabase(ctx context.Context, files ocdbt.Files, d *database) (*ocdbt.Commit, error) {
	b, seed, last, err := d.batch(ctx, files)
	if err != nil {
		return nil, err
	}
	merged, err := ocdbt.New(files, ocdbt.OrbaxConfig([16]byte(seed[:16])), nil)
	if err != nil {
		return nil, err
	}
	return merged.Commit(ctx, b, &ocdbt.CommitOptions{Time: last.Add(time.Nanosecond), Name: "d/" + hex.EncodeToString(seed[16:])})
}

// extendDatabase makes the next version of a database that is there.
func extendDatabase(ctx context.Context, files ocdbt.Files, d *database) (*ocdbt.Commit, error) {
	db, err := ocdbt.Open(ctx, files, nil)
	if err != nil {
		return nil, err
	}
	b, _, _, err := d.batch(ctx, files)
	if err != nil {
		return nil, err
	}
	return db.Commit(ctx, b, nil)
}

// merge makes the database of an item, by reference.
func (a *Assembly) merge(ctx context.Context, item string, d *database) error {
	if d.whole && len(d.steps) == 0 {
		return nil
	}
	files := storeFiles{a.st, func(name string) string { return a.links[path.Join(item, name)] }}
	var c *ocdbt.Commit
	var err error
	if d.whole {
		c, err = extendDatabase(ctx, files, d)
	} else {
		c, err = mergeDatabase(ctx, files, d)
	}
	if err != nil {
		return err
	}
	for _, f := range append(c.Files, c.Manifest) {
		name := path.Join(item, f.Name)
		a.docs[name] = f.Data
		delete(a.links, name)
		delete(a.records, name)
	}
	return nil
}

// MergeItem makes the database of an item that has only those of its processes,
// in directories that end in "/". The manifest comes last: before, the item is
// what it was. The checkpoint that it belongs to is made durable first: Orbax does
// not sync what it writes.
func MergeItem(ctx context.Context, st store.Store, checkpoint, item string, processes []string) error {
	dir := path.Join(checkpoint, item)
	d := &database{}
	for _, p := range processes {
		d.embed(p)
	}
	c, err := mergeDatabase(ctx, storeFiles{st, func(name string) string { return path.Join(dir, name) }}, d)
	if err != nil {
		return err
	}
	if err := errors.Join(store.Sync(ctx, st, checkpoint), st.Settle(ctx, ParentOf(checkpoint))); err != nil {
		return err
	}
	for _, f := range append(c.Files, c.Manifest) {
		if err := st.Put(ctx, path.Join(dir, f.Name), f.Data, store.PutOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// isDatabase reports whether a file of an item, by its name below it, is of the
// item's own database.
func isDatabase(below string) bool {
	return below == ocdbt.ManifestName || strings.HasPrefix(below, "d/")
}
