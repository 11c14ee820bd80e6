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

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/store"
)

// database is the plan for the database of an item.
type database struct {
	whole bool // begins with the existing database, not with an empty one
	steps []step
}

// step is one change of a database.
type step struct {
	embed  string        // adds the database in this sub-directory, which ends in "/"
	put    []ocdbt.Entry // adds these entries
	remove []string      // removes the arrays of these parameters
	kept   []string      // key prefixes of the remaining arrays, ascending
}

func (d *database) embed(dir string) {
	if !slices.ContainsFunc(d.steps, func(s step) bool { return s.embed == dir }) {
		d.steps = append(d.steps, step{embed: dir})
	}
}

// remove removes arrays, except the kept ones.
func (d *database) remove(params, kept []string) {
	prefixes := make([]string, len(kept))
	for i, p := range kept {
		prefixes[i] = zarr.KeyPrefix(p)
	}
	slices.Sort(prefixes)
	d.steps = append(d.steps, step{remove: params, kept: prefixes})
}

// keysOf returns the ranges of the keys of an array, without the keys of kept arrays whose names
// begin with its name and a slash.
func keysOf(param string, kept []string) []ocdbt.Range {
	whole := ocdbt.Prefix(zarr.KeyPrefix(param))
	var out []ocdbt.Range
	first, _ := slices.BinarySearch(kept, whole.Start)
	for _, p := range kept[first:] {
		if whole.End != "" && p >= whole.End {
			break
		}
		if p <= whole.Start { // inside the previous one, or of the same name in another part
			continue
		}
		out = append(out, ocdbt.Range{Start: whole.Start, End: p})
		whole.Start = ocdbt.Prefix(p).End
	}
	return append(out, whole)
}

// built is a database that was made from steps.
type built struct {
	*ocdbt.Commit
	used map[string]bool // files with its values, relative to the item
}

// build makes a new database from the existing one and the steps. Values stay where they are; all
// nodes are written anew, into one file. The same steps give the same bytes and names, so an
// interrupted merge can be repeated without leaving files behind.
func (d *database) build(ctx context.Context, files ocdbt.Files) (built, error) {
	b, seed, last := &ocdbt.Batch{}, sha256.New(), time.Time{}
	put := func(e ocdbt.Entry) { b.PutRef(e.Key, e.Value) }
	add := func(dir string) error {
		db, err := ocdbt.Open(ctx, sub(files, dir), ocdbt.Options{})
		if err != nil {
			return errs.Wrap("", dir, err)
		}
		raw, err := files.ReadFile(ctx, dir+ocdbt.ManifestName)
		if err != nil {
			return err
		}
		seed.Write([]byte(dir))
		seed.Write(raw)
		if t := db.Version().Time(); t.After(last) {
			last = t
		}
		for e, err := range db.List(ctx, ocdbt.Range{}) {
			if err != nil {
				return errs.Wrap("", dir, err)
			}
			put(e.Below(dir))
		}
		return nil
	}
	if d.whole {
		if err := add(""); err != nil {
			return built{}, err
		}
	}
	for _, s := range d.steps {
		for _, p := range s.remove {
			for _, r := range keysOf(p, s.kept) {
				b.DeleteRange(r)
			}
			seed.Write([]byte("-" + p + "\n"))
		}
		var line []byte
		for _, e := range s.put {
			line = append(append(append(append(append(line[:0], '+'), e.Key...), ' '), e.Value.File.Name...), '\n')
			seed.Write(line)
		}
		if err := b.PutList(ascending(s.put)); err != nil {
			return built{}, err
		}
		if s.embed == "" {
			continue
		}
		if err := add(s.embed); err != nil {
			return built{}, err
		}
	}
	sum := seed.Sum(nil)
	merged, err := ocdbt.New(files, ocdbt.OrbaxConfig([16]byte(sum[:16])), ocdbt.Options{})
	if err != nil {
		return built{}, err
	}
	c, err := merged.Commit(ctx, b, &ocdbt.CommitOptions{Time: last.Add(time.Nanosecond),
		Name: "d/" + hex.EncodeToString(sum[16:])})
	if err != nil {
		return built{}, err
	}
	return built{c, b.Files()}, nil
}

// ascending returns entries in the order of their keys; of equal keys the last one counts.
func ascending(entries []ocdbt.Entry) []ocdbt.Entry {
	byKey := func(a, b ocdbt.Entry) int { return strings.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(entries, byKey) {
		entries = slices.Clone(entries)
		slices.SortStableFunc(entries, byKey)
	}
	for i := 1; i < len(entries); i++ {
		if entries[i].Key == entries[i-1].Key {
			return lastOfEach(entries)
		}
	}
	return entries
}

// lastOfEach returns sorted entries without those that another one of the same key follows.
func lastOfEach(entries []ocdbt.Entry) []ocdbt.Entry {
	out := make([]ocdbt.Entry, 0, len(entries))
	for i, e := range entries {
		if i+1 == len(entries) || entries[i+1].Key != e.Key {
			out = append(out, e)
		}
	}
	return out
}

// sub returns the files of a directory that ends in "/", or of the item itself.
func sub(files ocdbt.Files, dir string) ocdbt.Files {
	if dir == "" {
		return files
	}
	return ocdbt.Sub(files, dir)
}

// merge makes the database of an item, by reference. It leaves out data files to which nothing
// refers any more.
func (a *Assembly) merge(ctx context.Context, item string, d *database) error {
	if d.whole && len(d.steps) == 0 {
		return nil
	}
	c, err := d.build(ctx, storeFiles{a.st, func(name string) string { return a.links[path.Join(item, name)] }})
	if err != nil {
		return err
	}
	if d.whole {
		for name := range a.links {
			below, ok := strings.CutPrefix(name, item+"/")
			if ok && isDataFile(below) && !c.used[below] {
				a.unlink(name)
			}
		}
	}
	for _, f := range append(c.Files, c.Manifest) {
		name := path.Join(item, f.Name)
		a.docs[name] = f.Data
		a.unlink(name)
	}
	a.nodes = slices.DeleteFunc(a.nodes, func(n manifest.File) bool { return strings.HasPrefix(n.Name, item+"/") })
	for _, f := range c.Files {
		a.nodes = append(a.nodes, manifest.File{Name: path.Join(item, f.Name), Size: int64(len(f.Data)),
			Hash: manifest.HashOf(f.Data)})
	}
	return nil
}

func (a *Assembly) unlink(name string) {
	delete(a.links, name)
	delete(a.records, name)
}

// MergeItem makes the database of an item that has only the databases of its processes, in
// directories that end in "/". The manifest is written last; before that the item is unchanged.
// MergeItem first makes the checkpoint of the item durable, because Orbax does not sync its files.
func MergeItem(ctx context.Context, st store.Store, checkpoint, item string, processes []string) error {
	dir := path.Join(checkpoint, item)
	d := &database{}
	for _, p := range processes {
		d.embed(p)
	}
	c, err := d.build(ctx, storeFiles{st, func(name string) string { return path.Join(dir, name) }})
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

// isDataFile reports whether a file of an item holds data of the item's own database or of the
// database of a process.
func isDataFile(below string) bool {
	dir := path.Dir(below)
	return dir == "d" || path.Base(dir) == "d" && ocdbt.IsProcessDir(path.Dir(dir))
}

// isDatabase reports whether a file, named relative to its item, belongs to the database of the
// item.
func isDatabase(below string) bool {
	return below == ocdbt.ManifestName || strings.HasPrefix(below, "d/")
}
