package writer

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/parity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Style is one of the two directory styles of Orbax, or a part.
type Style uint8

// The styles.
const (
	V1      Style = iota // as v1.save: the marker orbax.checkpoint, no commit files in items
	Step                 // as a Checkpointer's step: no marker, a commit file in each item
	Pending              // as one part of v1.partial.save: like V1, but with unmerged databases in Options.Process
)

// Memory provides memory for snapshots and for encoding. Its owner may reset and reuse it after
// Write has returned.
type Memory interface {
	// Alloc returns n bytes of any content, aligned.
	Alloc(n, align int) ([]byte, error)
}

// Heap is Memory from the Go heap, for saves that are not repeated.
type Heap struct{}

// Alloc implements Memory. Large Go allocations are aligned to pages; buffered writes need no
// alignment.
func (Heap) Alloc(n, _ int) ([]byte, error) { return make([]byte, n), nil }

// Options of a save.
type Options struct {
	Style   Style
	Layout  options.Layout
	Storage // for every array
	// Leaf, when not nil, returns the Storage of one array, given the default Storage.
	Leaf func(tree.Path, tensor.Spec, Storage) (Storage, error)

	MetadataKey string // for arrays of zarr v2, in place of .zarray
	Rich        bool   // types of containers are recorded
	NoSharding  bool   // no file _sharding is written
	NoArrays    bool   // array_metadatas has only the keys of JAX, which could not be loaded without it

	// Process is the directory of the database in each item: "" is the directory of the item itself,
	// for a complete database; else it is ocdbt.process_<id>.
	Process string
	// Extra are further small files, with names relative to the checkpoint.
	Extra []store.Blob
	// Admit, when not nil, is asked before a handler writes a file of an item.
	Admit func(item, name string) error
	// Join, when not nil, joins this save with existing data to one checkpoint. This save then makes
	// no databases.
	Join Join

	Annotations orbax.Annotations // kept with the checkpoint
	Custom      json.RawMessage   // the checkpoint's metadata, nil for none
	Memory      Memory            // nil is Heap
	// FileBytes is how many bytes of arrays an item must have for each further data file, up to four
	// files; 0 is 16 MiB.
	FileBytes int64
	// MaxFileBytes is the largest number of bytes of arrays in a data file with more than one array.
	// -1 is no bound; 0 is 64 MiB with Dedup, and no bound without.
	MaxFileBytes int64
	Dedup        *Dedup // nil writes everything
	Budget       int64  // bytes of Memory; a copy that needs more is not made; 0 is no bound
	WriteBytes   int64  // encoded bytes that are being written at a time, at least one unit; 0 is no bound
	Watch        bool   // fail if memory that was handed over changes before it is read
	Pace         Pace   // of encoding and writing
	// Copied, when not nil, reports whether Snapshot copies a leaf, in mode Copy and HandOver. Copied
	// leaves are written before the others, which are handed over. A leaf that shares a data file with
	// a copied leaf is copied too.
	Copied func(tree.Path) bool
	Status Status // may be nil
	// OnRelease, when not nil, is called once in mode HandOver, as soon as the caller may change the
	// arrays.
	OnRelease func()
	// Progress, when not nil, receives after each write how many bytes of the data files were written,
	// and how many there are. It is called once at a time.
	Progress func(done, total int64)
	// Parity is the number of parity blocks for 100 data blocks; 0 makes none. Committed files that
	// Join links are read from Linked, and may belong to ParityBases.
	Parity int
	// Guest is a tag in the names of the parity files of this process, if several processes make a
	// checkpoint together. Their parity is made before Join, and the primary lists it. For the primary
	// itself, and for a save by one process, Guest is "".
	Guest       string
	Linked      store.Store
	ParityBases []parity.Base
	Signing     ed25519.PrivateKey // signs the manifest; nil does not sign
	Label       string             // signed with the manifest
	Now         func() time.Time
	Random      io.Reader // for names and identifiers; nil is crypto/rand
}

// Writer is one save: a planned checkpoint that is being written to a store.
type Writer struct {
	opts  Options
	items []Item
	mode  Mode
	trees []*treePlan // nil for JSON items
	uuids [][16]byte
	began time.Time // as recorded
	start time.Time
	size  int64

	unread   atomic.Int64  // number of units that are not encoded yet
	released chan struct{} // closed when the memory of the caller is not needed any more
	once     sync.Once     // closes released
	progress progress
	status   status
	base     *base    // nil without Dedup
	rooms    [][]byte // memory of workers
	stats    Stats
	sum      [32]byte // the SHA-256 of the manifest
}

// Plan collects the leaves of the items, decides how each array is stored, and gives every chunk
// its place in a file. Scalars, strings and arrays of up to 1024 bytes are copied. The other arrays
// stay in the memory of the caller until Snapshot or Write is done with them. Errors name the leaf.
// Plan touches no storage. A Writer that is not used further needs no Close.
func Plan(items []Item, how Mode, o Options) (*Writer, error) {
	how = o.settle(how)
	if err := o.validate(items); err != nil {
		return nil, err
	}
	if err := manifest.CheckSigning(o.Signing); err != nil {
		return nil, err
	}
	w := &Writer{
		opts: o, mode: how, items: items, trees: make([]*treePlan, len(items)), uuids: make([][16]byte, len(items)), began: o.Now(),
		start: time.Now(), released: make(chan struct{}), progress: progress{tell: o.Progress},
		status: status{o.Status},
	}
	for i, it := range items {
		if it.Tree == nil {
			w.size += int64(len(it.JSON))
			continue
		}
		t, err := planTree(it, o)
		if err == nil {
			_, err = io.ReadFull(o.Random, w.uuids[i][:])
		}
		if err != nil {
			return nil, errs.Wrap("", it.Name, err)
		}
		w.trees[i] = t
		w.status.track(t)
		for _, f := range t.files {
			w.size += f.size
		}
		w.size += t.packed()
	}
	return w, nil
}

// settle sets the defaults of unset options. It returns the mode that results from the options.
func (o *Options) settle(how Mode) Mode {
	o.Layout, o.Compression = o.Layout.Known(), o.Compression.Known()
	o.Memory, o.Random = cmp.Or[Memory](o.Memory, Heap{}), cmp.Or(o.Random, rand.Reader)
	o.FileBytes = cmp.Or(o.FileBytes, fileBytes)
	if o.Now == nil {
		o.Now = time.Now
	}
	if how == InPlace {
		o.Copied = nil // the caller waits for the whole save
	}
	if o.Copied != nil {
		how = HandOver
	}
	if how != HandOver {
		o.OnRelease = nil
	}
	return how
}

// Size returns the bytes of array data and JSON items.
func (w *Writer) Size() int64 { return w.size }

// release records that the memory of the caller is not needed any more: everything was copied or
// read, or the save was abandoned.
func (w *Writer) release() {
	w.once.Do(func() {
		if w.mode == Copy {
			w.stats.Blocked = time.Since(w.start)
		}
		close(w.released)
		if w.opts.OnRelease != nil {
			w.opts.OnRelease()
		}
	})
}

// Close releases the memory of the caller. It is called after Write has returned, or if Write will
// not be called.
func (w *Writer) Close() {
	w.release()
	if w.mode == InPlace {
		w.stats.Blocked = time.Since(w.start)
	}
}

// Stats of a save. It has the fields of checkpoint.SaveStats in the same order, so that a
// conversion turns one into the other.
type Stats struct {
	Bytes   int64         // of the files that were written
	Files   int           // files that were written
	Direct  int64         // bytes that bypassed the cache of the system
	Copied  bool          // a snapshot was taken
	Blocked time.Duration // how long the caller was blocked, including Copy
	Copy    time.Duration // copy of the memory of the caller
	Persist time.Duration // checksums, and writing the data files
	Commit  time.Duration // small files, syncs of directories, publication

	Linked      int   // data files that were linked from the base
	LinkedBytes int64 // bytes of these
	Verified    int   // how many of these were read back before
	Damaged     int   // data files of the base that were found damaged when they were read back; written anew
	ParityBytes int64 // of parity files
	Refused     int   // data files that the store refused to link; they were written
}

// Stats returns the Stats of the save, after Write has returned.
func (w *Writer) Stats() Stats { return w.stats }
