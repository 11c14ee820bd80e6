package ocdbt

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// NewFile is one file of a commit.
type NewFile struct {
	Name string // path inside the database directory
	Data []byte
}

// Commit is a new version of a database, made and not yet written. To write it:
//
//	write the data files, sync them and their directory;
//	replace the manifest atomically, and sync.
//
// Nothing refers to the data files before the manifest is in place. A crash
// before that leaves files behind that Check calls orphans, and harms nothing.
//
// A commit extends the manifest with which the DB was opened. If other programs write the same
// database, the caller must ensure that the manifest did not change meanwhile (KindNumbered:
// creating the file must fail if it exists).
type Commit struct {
	Files    []NewFile // data files: values, nodes, version-tree nodes
	Manifest NewFile
	Version  Version
}

// CommitOptions tune a commit. The zero value is a commit at this moment.
type CommitOptions struct {
	Time time.Time // of the commit; zero: now. One that is not after the last commit becomes a nanosecond later than it
	Name string    // of the data file; "": d/ and 128 random bits
}

func (o *CommitOptions) withDefaults() (CommitOptions, error) {
	var v CommitOptions
	if o != nil {
		v = *o
	}
	if v.Time.IsZero() {
		v.Time = time.Now()
	}
	if v.Name == "" {
		v.Name = RandomName()
	}
	if why := checkFile(File{Name: v.Name}); why != "" {
		return v, &errs.Error{Kind: errs.Invalid, Op: "ocdbt.Commit", Subject: v.Name, Want: why}
	}
	return v, nil
}

// RandomName returns a name for a data file: "d/" and 32 random hexadecimal
// digits.
func RandomName() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return "d/" + hex.EncodeToString(b[:])
}

// New returns an empty database that is not stored yet. The first commit, of generation 1, creates
// it.
func New(f Files, c Config, o Options) (*DB, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Kind != KindSingle {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "ocdbt.New", Got: "a new database of numbered manifests"}
	}
	db := &DB{files: files{f}, options: o.withDefaults(), manifest: &Manifest{Config: c}, name: ManifestName}
	db.cache.limit = db.options.CacheBytes
	return db, nil
}

// Commit applies the batch to the open version, which must be the newest, and makes a new version.
// It reads the nodes on the paths to the changed keys and writes new ones; all other nodes are
// shared by both versions. Nodes are split, but never merged: compaction merges them.
func (db *DB) Commit(ctx context.Context, b *Batch, o *CommitOptions) (*Commit, error) {
	options, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if latest, ok := db.manifest.Latest(); ok && latest.Generation != db.version.Generation {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "ocdbt.Commit", Subject: db.name,
			Want: "a database opened at the newest generation, " + utoa(latest.Generation), Got: utoa(db.version.Generation)}
	}
	w := newCommitWriter(db, File{Name: options.Name})
	changes, err := w.edit(b)
	if err != nil {
		return nil, err
	}
	root, err := w.tree(ctx, changes)
	if err != nil {
		return nil, err
	}
	version := db.next(root, options.Time)
	older, err := w.older(ctx, version.Generation)
	if err != nil {
		return nil, err
	}
	m := &Manifest{Config: db.manifest.Config, Versions: []Version{version}, Older: older}
	if w.sameBlock(version.Generation) {
		m.Versions = append(slices.Clone(db.manifest.Versions), version)
	}
	return w.commit(m)
}

// next returns the version after the open one.
func (db *DB) next(root Node, t time.Time) Version {
	v := Version{Generation: 1, Root: root, CommitTime: uint64(max(0, t.UnixNano()))}
	if latest, ok := db.manifest.Latest(); ok {
		v.Generation = latest.Generation + 1
		v.CommitTime = max(v.CommitTime, latest.CommitTime+1)
	}
	return v
}

// commitWriter fills the data file of a commit.
type commitWriter struct {
	db   *DB
	file File
	data []byte
	enc  treeEncoder
}

func newCommitWriter(db *DB, file File) *commitWriter {
	w := &commitWriter{db: db, file: file}
	c := db.manifest.Config
	w.enc = treeEncoder{seal: newSealer(c), limit: uint64(c.MaxDecodedNodeBytes)}
	w.enc.place = func(size int) (File, int64) { return w.put(make([]byte, size)) } // filled at the end
	return w
}

// put appends an object to the data file.
func (w *commitWriter) put(b []byte) (File, int64) {
	at := int64(len(w.data))
	w.data = append(w.data, b...)
	return w.file, at
}

// edit sorts and checks the batch, and stores its large values.
func (w *commitWriter) edit(b *Batch) (edit, error) {
	var e edit
	if b == nil {
		return e, nil
	}
	if b.list != nil && w.db.version.Empty() {
		return edit{list: b.list}, checkEntries(entryList(b.list))
	}
	b.spill()
	b.settle()
	e.ranges = mergeRanges(b.ranges)
	var entries []Entry
	for _, key := range slices.Sorted(maps.Keys(b.changes)) {
		c := b.changes[key]
		k := keyEdit{key: key, removed: c.removed, ref: c.ref}
		switch {
		case c.removed:
		case c.stored:
			entries = append(entries, Entry{key, c.ref})
		case len(c.data) <= int(w.db.manifest.Config.MaxInlineValueBytes):
			k.ref = InlineRef(c.data)
			entries = append(entries, Entry{key, k.ref})
		default:
			file, at := w.put(c.data)
			k.ref = Ref{File: file, Offset: at, Length: int64(len(c.data))}
			entries = append(entries, Entry{key, k.ref})
		}
		e.keys = append(e.keys, k)
	}
	return e, checkEntries(entryList(entries))
}

// commit encodes the manifest. An empty data file is left out.
func (w *commitWriter) commit(m *Manifest) (*Commit, error) {
	b, err := m.append(nil, w.enc.seal)
	if err != nil {
		return nil, err
	}
	version, _ := m.Latest()
	c := &Commit{Manifest: NewFile{Name: ManifestName, Data: b}, Version: version}
	if w.db.name != ManifestName {
		c.Manifest.Name = fmt.Sprintf("manifest.%016x", version.Generation)
	}
	for _, n := range w.enc.nodes {
		copy(w.data[n.Offset:], n.Bytes)
	}
	if len(w.data) > 0 {
		c.Files = []NewFile{{Name: w.file.Path(), Data: w.data}}
	}
	return c, nil
}
