package writer

import (
	"context"
	"encoding/binary"
	"math"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Dedup links data files of an earlier checkpoint instead of writing files of the same bytes.
//
// The arrays of an item are grouped into data files of at most 64 MiB. Larger arrays have files
// of their own. The nodes of the database are in a file that is always new. So a data file
// changes only when an array in it changes. The grouping follows from names, dtypes and shapes
// alone. Compressed chunks are grouped by their sizes before compression, 32 MiB for each file.
// Plain layouts have one file for each chunk; safetensors checkpoints have parts, which are
// grouped like the data files of a database.
//
// Two files are the same when their sizes and hashes are the same. The hash has 128 bits: it is
// the XXH3 of the size and XXH3 of each unit in turn, so units can be hashed in any order, while
// they lie in the cache. A linked file is read back and its hash compared when VerifyEvery saves
// have linked it, so that one damaged inode does not become all copies.
type Dedup struct {
	Store store.Store // holds the bases; the transaction belongs to it and is opened with LinksOnly
	// Bases are the names of committed checkpoints. Files of the first one with a readable manifest
	// are linked. If there is no such base, everything is written, and later checkpoints may link it.
	Bases []string
	// VerifyEvery says how often a file is read back before it is linked: in at least every
	// VerifyEvery-th save in a row. 1 is each save, 0 is every tenth.
	VerifyEvery int
	// Avoid, when not nil, reports whether a committed file must not be linked.
	Avoid func(ctx context.Context, name string) bool
}

// verifyEvery is the default of Dedup.VerifyEvery.
const verifyEvery = 10

// groupBytes bounds the data files of Dedup with more than one array, and so the bytes that are
// written anew because of one changed array.
const groupBytes = 64 << 20

// maxFileBytes returns the largest size of a data file with several arrays; 0 is no bound.
func (o *Options) maxFileBytes() int64 {
	switch {
	case o.MaxFileBytes == 0 && o.Dedup != nil:
		return groupBytes
	case o.MaxFileBytes < 0 && o.Dedup != nil:
		return math.MaxInt64 // groups of any size
	}
	return max(0, o.MaxFileBytes)
}

// group assigns the arrays to files of at most most bytes. In a small item the files are smaller,
// so that several are written at once. Small arrays share files in the order of their names; large
// arrays have their own files.
func group(arrays []*array, perFile, most int64) []*file {
	arrays = byName(arrays)
	total := int64(0)
	for _, a := range arrays {
		total += int64(a.size)
	}
	limit := min(max(total/maxFiles, perFile), most)
	var files []*file
	var shared *file
	for _, a := range arrays {
		if a.size == 0 {
			continue
		}
		size := int64(a.size)
		switch {
		case size > limit:
			a.file = &file{}
			files = append(files, a.file)
		case shared == nil || alignUp(shared.size)+size > limit:
			shared = &file{}
			files = append(files, shared)
			fallthrough
		default:
			a.file = shared
		}
		a.file.placeArray(a)
	}
	return append(files, &file{}) // for the nodes
}

// byName returns the arrays in the order of their names.
func byName(arrays []*array) []*array {
	arrays = slices.Clone(arrays)
	slices.SortFunc(arrays, func(a, b *array) int { return strings.Compare(a.param, b.param) })
	return arrays
}

// markHashed marks the files that hold arrays: they are hashed, so that later checkpoints may
// link them.
func (t *treePlan) markHashed(o Options) {
	for _, f := range t.files {
		f.hashed = o.Dedup != nil && len(f.pieces) > 0
	}
}

// hash returns the hash of the file, when all units have been hashed.
func (f *file) hash() manifest.Hash {
	if !f.hashed {
		return manifest.Hash{}
	}
	h := xxh3.New()
	for _, u := range f.units {
		addUnit(h, u.size, u.hash)
	}
	return h.Sum128().Bytes()
}

func addUnit(h *xxh3.Hasher, size int, hash manifest.Hash) {
	var b [8 + len(hash)]byte
	binary.LittleEndian.PutUint64(b[:], uint64(size))
	copy(b[8:], hash[:])
	h.Write(b[:]) //nolint:errcheck // never fails
}

// content identifies the content of a data file.
type content struct {
	size int64
	hash manifest.Hash
}

// base is the checkpoint whose files are linked.
type base struct {
	st    store.Store
	every int
	avoid func(ctx context.Context, name string) bool // may be nil
	files map[content]twin
	sizes map[int64]bool // sizes of these files

	manifest *manifest.Manifest // nil without a base
	name     string             // of the base

	linked, bytes, verified, damaged, refused atomic.Int64
}

// twin is a data file of the base.
type twin struct {
	name string // in the store
	file string // relative to the base
	age  int
}

// openBase lists the data files of the first base with a readable manifest. If there is no such
// base, no file has a twin.
func (d *Dedup) openBase(ctx context.Context) *base {
	if d == nil {
		return nil
	}
	b := &base{st: d.Store, avoid: d.Avoid, every: d.VerifyEvery, files: map[content]twin{}, sizes: map[int64]bool{}}
	if b.every == 0 {
		b.every = verifyEvery
	}
	for _, name := range d.Bases {
		raw, err := store.ReadAll(ctx, d.Store, path.Join(name, manifest.Name))
		if err != nil {
			continue
		}
		m, err := manifest.Parse(raw)
		if err != nil {
			continue
		}
		b.manifest, b.name = m, name
		for _, f := range m.Files {
			if f.Hash != (manifest.Hash{}) {
				b.files[content{f.Size, f.Hash}] = twin{path.Join(name, f.Name), f.Name, f.Age}
				b.sizes[f.Size] = true
			}
		}
		break
	}
	return b
}

// mayHave reports whether it is worth computing the hash of f before it is written.
func (b *base) mayHave(f *file) bool { return b != nil && f.hashed && b.sizes[f.size] }

// link links the file of the base with the bytes of f, whose units are hashed, as name in the
// checkpoint. It reports whether it has linked a file; otherwise f must be written.
func (b *base) link(ctx context.Context, txn store.Txn, name string, f *file) (bool, error) {
	t, ok := b.files[content{f.size, f.hash()}]
	if !ok {
		return false, nil
	}
	if b.avoid != nil && b.avoid(ctx, t.name) {
		b.damaged.Add(1)
		return false, nil
	}
	age := t.age + 1
	if age >= b.every {
		whole, err := b.reread(ctx, t.name, f)
		if err != nil {
			return false, err
		}
		if !whole {
			b.damaged.Add(1)
			return false, nil
		}
		age = 0
		b.verified.Add(1)
	} else if info, err := b.st.Stat(ctx, t.name); err != nil || info.Size != f.size {
		return false, nil
	}
	err := txn.Link(ctx, name, t.name)
	switch errs.KindOf(err) {
	case errs.Unsupported:
		b.refused.Add(1)
		return false, nil
	case errs.NotFound, errs.Invalid: // removed or replaced meanwhile
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.age = age
	b.linked.Add(1)
	b.bytes.Add(f.size)
	return true, nil
}

// rereadBytes is how many bytes of a file of the base are read at once.
const rereadBytes = 1 << 20

// reread reports whether the file name still holds the bytes of f, by its hash. It returns false
// for an unreadable file. The error is only for a context that ended.
func (b *base) reread(ctx context.Context, name string, f *file) (bool, error) {
	r, err := b.st.Open(ctx, name)
	if err != nil {
		return false, canceled(err)
	}
	defer r.Close() //nolint:errcheck // nothing was written
	if r.Size() != f.size {
		return false, nil
	}
	buf := make([]byte, min(rereadBytes, f.size))
	for _, u := range f.units {
		if u.digests != nil {
			if same, err := u.same(ctx, r, buf); !same {
				return false, err
			}
			continue
		}
		h := xxh3.New()
		for n := 0; n < u.size; {
			p := buf[:min(len(buf), u.size-n)]
			if err := r.ReadAt(ctx, p, u.off+int64(n)); err != nil {
				return false, canceled(err)
			}
			h.Write(p) //nolint:errcheck // never fails
			n += len(p)
		}
		if h.Sum128().Bytes() != u.hash {
			return false, nil
		}
	}
	return true, nil
}

// canceled returns err if it means that a context ended, else nil.
func canceled(err error) error {
	if errs.KindOf(err) == errs.Canceled {
		return err
	}
	return nil
}

// report sets the counts of linked files in s.
func (b *base) report(s *Stats) {
	if b == nil {
		return
	}
	s.Linked, s.LinkedBytes = int(b.linked.Load()), b.bytes.Load()
	s.Verified, s.Damaged, s.Refused = int(b.verified.Load()), int(b.damaged.Load()), int(b.refused.Load())
}
