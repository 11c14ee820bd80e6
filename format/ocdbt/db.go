package ocdbt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Files reads the files of a database directory. Names are paths inside of it
// with "/" between elements. Implementations must be safe for concurrent use.
type Files interface {
	// ReadFile returns a whole small file. A file that does not exist is
	// errs.NotFound.
	ReadFile(ctx context.Context, name string) ([]byte, error)
	// ReadAt fills p from the offset off, or fails.
	ReadAt(ctx context.Context, name string, p []byte, off int64) error
	// Size returns the length of a file in bytes.
	Size(ctx context.Context, name string) (int64, error)
}

// Scatterer is implemented by Files that can fill several pieces of memory by one request.
type Scatterer interface {
	// Scatter fills the pieces, in their order, from the offset off, or fails. ok is false if it did
	// nothing, because ReadAt serves this file as well.
	Scatter(ctx context.Context, name string, off int64, into ...[]byte) (ok bool, err error)
}

// Lister is implemented by Files that can list the directory. Only databases of kind KindNumbered
// need it.
type Lister interface {
	// Names returns the names of all files in the directory, in any order.
	// Files in sub-directories may be left out.
	Names(ctx context.Context) ([]string, error)
}

// Defaults of Options.
const (
	DefaultMaxNodeBytes = 512 << 20
	DefaultCacheBytes   = 100_000_000
)

// Options tune Open. The zero value opens the newest version.
type Options struct {
	Generation   uint64    // open this generation; 0: see Time
	Time         time.Time // open the newest version that was committed at this time or before; zero: the newest
	MaxNodeBytes int64     // memory that decoding one node may take; 0: DefaultMaxNodeBytes
	CacheBytes   int64     // memory for decoded nodes; 0: DefaultCacheBytes, < 0: none
}

func (o Options) withDefaults() Options {
	if o.MaxNodeBytes <= 0 {
		o.MaxNodeBytes = DefaultMaxNodeBytes // five times the largest that Orbax makes; memory bears it
	}
	switch {
	case o.CacheBytes == 0:
		o.CacheBytes = DefaultCacheBytes // the nodes of most checkpoints fit
	case o.CacheBytes < 0:
		o.CacheBytes = 0 // the limit of a cache that keeps nothing
	}
	return o
}

// DB is one version of a database, open for reading. It never changes, holds no
// files open and is safe for concurrent use.
type DB struct {
	files    files
	options  Options
	manifest *Manifest
	name     string
	version  Version
	cache    nodeCache
	last     atomic.Pointer[leafNode] // where Get last found a key
}

// Open reads the manifest and finds the version that the options ask for. A directory without a
// manifest, and a version that does not exist, are errs.NotFound.
func Open(ctx context.Context, f Files, o Options) (*DB, error) {
	db := &DB{files: files{f}, options: o.withDefaults()}
	db.cache.limit = db.options.CacheBytes
	if err := db.readManifest(ctx); err != nil {
		return nil, err
	}
	var err error
	db.version, err = db.find(ctx, db.options.Generation, db.options.Time)
	if err != nil {
		return nil, err
	}
	return db, nil
}

func (db *DB) readManifest(ctx context.Context) error {
	m, err := db.loadManifest(ctx, ManifestName)
	if err != nil {
		return err
	}
	db.manifest, db.name = m, ManifestName
	if m.Config.Kind == KindSingle {
		return nil
	}
	for {
		name, generation, err := db.newestNumbered(ctx)
		if err != nil {
			return err
		}
		n, err := db.loadManifest(ctx, name)
		if errors.Is(err, errs.NotFound) && ctx.Err() == nil && name != db.name {
			db.name = name // a writer removed it meanwhile: there is a newer manifest
			continue
		}
		if err != nil {
			return err
		}
		at := location{file: name}
		latest, ok := n.Latest()
		switch {
		case !ok || latest.Generation != generation:
			return at.corrupt("newest generation is %d, the name says %d", latest.Generation, generation)
		case n.Config.UUID != m.Config.UUID:
			return at.corrupt("belongs to another database")
		}
		db.manifest, db.name = n, name
		return nil
	}
}

func (db *DB) loadManifest(ctx context.Context, name string) (*Manifest, error) {
	b, err := db.files.ReadFile(ctx, name)
	if err != nil {
		return nil, errs.Wrap("ocdbt.Open", name, err)
	}
	return decodeManifest(b, name, db.options.MaxNodeBytes)
}

func (db *DB) newestNumbered(ctx context.Context) (string, uint64, error) {
	l, ok := db.files.Files.(Lister)
	if !ok {
		return "", 0, &errs.Error{Kind: errs.Unsupported, Op: "ocdbt.Open", Subject: ManifestName,
			Got: "numbered manifests, in files that cannot be listed"}
	}
	names, err := l.Names(ctx)
	if err != nil {
		return "", 0, errs.Wrap("ocdbt.Open", "", err)
	}
	const prefix = "manifest."
	var newest string
	for _, n := range names {
		digits, ok := strings.CutPrefix(n, prefix)
		if ok && len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == "" && n > newest {
			newest = n
		}
	}
	g, err := strconv.ParseUint(strings.TrimPrefix(newest, prefix), 16, 64)
	if err != nil || g == 0 {
		return "", 0, &errs.Error{Kind: errs.NotFound, Op: "ocdbt.Open", Subject: prefix + "<generation>"}
	}
	return newest, g, nil
}

// find returns the newest version that generation and time allow; 0 and the zero time allow any.
func (db *DB) find(ctx context.Context, generation uint64, t time.Time) (Version, error) {
	latest, ok := db.manifest.Latest()
	if !ok {
		return Version{}, location{file: db.name}.corrupt("no versions")
	}
	if generation == 0 && t.IsZero() {
		return latest, nil
	}
	absent := func() (Version, error) {
		want := "generation " + utoa(generation)
		if generation == 0 {
			want = "a version at " + t.UTC().Format(time.RFC3339Nano)
		}
		return Version{}, &errs.Error{Kind: errs.NotFound, Op: "ocdbt.Open", Subject: db.name, Want: want,
			Got: "generations up to " + utoa(latest.Generation)}
	}
	nanos := uint64(max(0, t.UnixNano()))
	accepts := func(v Version) bool {
		if generation != 0 {
			return v.Generation == generation
		}
		return v.CommitTime <= nanos
	}
	// covers: the reference leads to the accepted version, if there is one.
	covers := func(nodes []VersionNode, i int) bool {
		if generation != 0 {
			return nodes[i].Generation >= generation && (i == 0 || nodes[i-1].Generation < generation)
		}
		return nodes[i].CommitTime <= nanos
	}
	versions, nodes := db.manifest.Versions, db.manifest.Older
	for {
		for _, v := range slices.Backward(versions) {
			if accepts(v) {
				return v, nil
			}
		}
		i := len(nodes) - 1
		for i >= 0 && !covers(nodes, i) {
			i--
		}
		if i < 0 {
			return absent()
		}
		n, err := db.loadVersionNode(ctx, nodes[i])
		if err != nil {
			return Version{}, err
		}
		versions, nodes = n.versions, n.nodes
	}
}

func (db *DB) loadVersionNode(ctx context.Context, ref VersionNode) (*versionNode, error) {
	b, err := db.files.readObject(ctx, ref.File.Path(), ref.Offset, ref.Length)
	if err != nil {
		return nil, err
	}
	return decodeVersionNode(b, ref, db.manifest.Config.VersionTreeArityLog2, db.options.MaxNodeBytes)
}

// Manifest returns the manifest that was read. The caller must not change it.
func (db *DB) Manifest() *Manifest { return db.manifest }

// Version returns the version that is open.
func (db *DB) Version() Version { return db.version }

// Stats returns the statistics of the open version.
func (db *DB) Stats() Stats { return db.version.Root.Stats }

// Files returns the Files from which the database reads.
func (db *DB) Files() Files { return db.files.Files }

// String describes the database on one line.
func (db *DB) String() string {
	s := db.Stats()
	return fmt.Sprintf("ocdbt generation %d: %d keys, height %d, %d bytes of nodes, %d bytes of values out of line",
		db.version.Generation, s.Keys, db.version.Root.Height, s.TreeBytes, s.IndirectBytes)
}
