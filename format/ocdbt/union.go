package ocdbt

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// processDir begins the names of the directories in which Orbax's processes
// keep their databases.
const processDir = "ocdbt.process_"

// IsProcessDir reports whether a directory of that name, inside a database's directory, holds the
// database of one of Orbax's processes: ocdbt.process_<id>, or ocdbt.process_replica_<id> for
// replicas.
func IsProcessDir(name string) bool {
	id, ok := strings.CutPrefix(name, processDir)
	id = strings.TrimPrefix(id, "replica_")
	for _, c := range []byte(id) {
		ok = ok && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}
	return ok && id != ""
}

// Sub returns the files of a sub-directory, whose path ends in "/". They can be listed if the files
// of the directory can, and names include sub-directories.
func Sub(f Files, dir string) Files {
	if l, ok := f.(Lister); ok {
		return listedSubFiles{subFiles{f, dir}, l}
	}
	return subFiles{f, dir}
}

type subFiles struct {
	files Files
	dir   string
}

func (s subFiles) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return s.files.ReadFile(ctx, s.dir+name)
}

func (s subFiles) ReadAt(ctx context.Context, name string, p []byte, off int64) error {
	return s.files.ReadAt(ctx, s.dir+name, p, off)
}

// Scatter implements Scatterer.
func (s subFiles) Scatter(ctx context.Context, name string, off int64, into ...[]byte) (ok bool, err error) {
	return files{s.files}.scatter(ctx, s.dir+name, off, into)
}

func (s subFiles) Size(ctx context.Context, name string) (int64, error) {
	return s.files.Size(ctx, s.dir+name)
}

type listedSubFiles struct {
	subFiles
	lister Lister
}

func (s listedSubFiles) Names(ctx context.Context) ([]string, error) {
	all, err := s.lister.Names(ctx)
	var names []string
	for _, n := range all {
		if below, ok := strings.CutPrefix(n, s.dir); ok {
			names = append(names, below)
		}
	}
	return names, err
}

// Union is several databases that read as one: what merging them would make.
// Where several have the same key, the last of them counts. It is safe for
// concurrent use.
type Union struct {
	files files
	parts []part
}

type part struct {
	db  *DB
	dir string
}

// OpenUnion opens the newest versions of the databases in sub-directories, whose paths end in "/":
// a checkpoint whose processes were never merged. All options except the options about versions
// count.
func OpenUnion(ctx context.Context, f Files, dirs []string, o Options) (*Union, error) {
	u := &Union{files: files{f}}
	o.Generation, o.Time = 0, time.Time{}
	for _, dir := range dirs {
		if why := checkDir(dir); why != "" {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "ocdbt.OpenUnion", Subject: dir, Want: "a sub-directory with a slash at its end", Got: why}
		}
		db, err := Open(ctx, Sub(f, dir), o)
		if err != nil {
			return nil, errs.Wrap("ocdbt.OpenUnion", dir, err)
		}
		u.parts = append(u.parts, part{db, dir})
	}
	return u, nil
}

// Merge returns a batch of all entries by reference, as Orbax merges the
// databases of its processes: committed to a new database in the directory that
// holds theirs, it makes one database of them.
func (u *Union) Merge(ctx context.Context) (*Batch, error) {
	b := &Batch{}
	for _, p := range u.parts {
		if err := b.Embed(ctx, p.db, p.dir); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Get finds the value of key, as DB.Get does. Files are relative to the
// directory of the union.
func (u *Union) Get(ctx context.Context, key string) (ref Ref, ok bool, err error) {
	for i := len(u.parts) - 1; i >= 0; i-- {
		p := u.parts[i]
		if ref, ok, err = p.db.Get(ctx, key); ok || err != nil {
			return Entry{Value: ref}.Below(p.dir).Value, ok, err
		}
	}
	return Ref{}, false, nil
}

// List yields the entries of a range in the order of their keys, as DB.List
// does. Files are relative to the directory of the union.
func (u *Union) List(ctx context.Context, r Range) iter.Seq2[Entry, error] {
	heads := make([]head, len(u.parts))
	for i, p := range u.parts {
		heads[i] = head{entries: p.db.List(ctx, r), dir: p.dir}
	}
	return merged(heads)
}

// merged yields the entries of several lists in the order of their keys, entries of equal keys from
// the last list. Files are relative to the directory that holds the others.
func merged(of []head) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		heads := slices.Clone(of)
		for i := range heads {
			next, stop := iter.Pull2(heads[i].entries)
			defer stop()
			heads[i].next = next
			heads[i].advance()
		}
		for {
			least := -1
			for i, h := range heads {
				if h.err != nil {
					yield(Entry{}, h.err)
					return
				}
				if h.ok && (least < 0 || h.entry.Key <= heads[least].entry.Key) {
					least = i // of equal keys the last
				}
			}
			if least < 0 {
				return
			}
			e := heads[least].entry
			if !yield(e, nil) {
				return
			}
			for i := range heads {
				if heads[i].ok && heads[i].entry.Key == e.Key {
					heads[i].advance()
				}
			}
		}
	}
}

// head is the next entry of one list.
type head struct {
	entries iter.Seq2[Entry, error]
	dir     string // of the database, which ends in "/"
	next    func() (Entry, error, bool)
	entry   Entry
	err     error
	ok      bool
}

func (h *head) advance() {
	h.entry, h.err, h.ok = h.next()
	h.entry = h.entry.Below(h.dir)
}

// ReadValue returns the bytes of a value, as DB.ReadValue does.
func (u *Union) ReadValue(ctx context.Context, ref Ref, p []byte) ([]byte, error) {
	return u.files.readValue(ctx, ref, p)
}

// ReadValueAt fills p with bytes of a value, as DB.ReadValueAt does.
func (u *Union) ReadValueAt(ctx context.Context, ref Ref, p []byte, off int64) error {
	return u.files.readValueAt(ctx, ref, p, off)
}

// Values returns the values of the databases by key.
func (u *Union) Values() Values { return Values{u.files, u.Get} }
