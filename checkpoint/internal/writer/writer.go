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

// Style is which of Orbax's two directory styles is made.
type Style uint8

// The styles.
const (
	V1      Style = iota // as v1.save: the marker orbax.checkpoint, no commit files in items
	Step                 // as a Checkpointer's step: no marker, a commit file in each item
	Pending              // as one part of v1.partial.save: V1, but the databases in Options.Process and not merged
)

// Memory gives memory for snapshots and for what is being encoded. Its owner may reset and
// reuse it when Write has returned.
type Memory interface {
	// Alloc returns n bytes of any content, aligned.
	Alloc(n, align int) ([]byte, error)
}

// Heap is Memory from the Go heap, for saves that are not repeated.
type Heap struct{}

// Alloc implements Memory. Large Go allocations are aligned to pages, which
// buffered writes do not even need.
func (Heap) Alloc(n, _ int) ([]byte, error) { return make([]byte, n), nil }

// Options of a save.
type Options struct {
	Style   Style
	Layout  options.Layout
	Storage // of every array
	// Leaf, when not nil, says how one array is stored, given how all are.
	Leaf func(tree.Path, tensor.Spec, Storage) (Storage, error)

	MetadataKey string // of arrays of zarr v2, in place of .zarray
	Rich        bool   // types of containers are recorded

	// Process is the directory of the database, below each item: "" is the
	// item's own, as of a database that is whole, else ocdbt.process_<id>.
	Process string
	// Extra are further small files, by their names below the checkpoint.
	Extra []store.Blob
	// Admit, when not nil, is asked before a handler writes a file of an item.
	Admit func(item, name string) error
	// Join, when not nil, makes one checkpoint of this save and what is there
	// already. This save then makes no databases.
	Join Join

	Annotations orbax.Annotations // kept with the checkpoint
	Custom      json.RawMessage   // the checkpoint's metadata, nil for none
	Memory      Memory            // nil is Heap
	// FileBytes is from how many bytes of arrays on an item gets another data
	// file, up to four; 0 is 16 MiB.
	FileBytes int64
	// MaxFileBytes is how many bytes of arrays a data file holds at most, unless it
	// is one array; -1 is no bound; 0 is 64 MiB with Dedup, and no bound without.
	MaxFileBytes int64
	Dedup        *Dedup // nil writes everything
	Budget       int64  // bytes of Memory, where a copy would need more it is not made; 0 is no bound
	WriteBytes   int64  // encoded bytes that are on their way to the store at a time, or one unit; 0 is no bound
	Watch        bool   // fail when memory that was handed over changes before it is read
	Pace         Pace   // of encoding and writing
	// Copied, when not nil, says which leaves are copied by Snapshot, in
	// mode Copy and HandOver, and written before the others; the others are handed
	// over. A leaf that shares a data file with one that is copied is copied too.
	Copied func(tree.Path) bool
	Status Status // may be nil
	// OnRelease, when not nil, is called once in mode HandOver, when the caller may
	// change the arrays.
	OnRelease func()
	// Progress, when not nil, is told after each write how many bytes of the
	// data files are with the store, and how many there are; one call at a time.
	Progress func(done, total int64)
	// Parity is how many parity blocks there are for 100 data blocks; 0 makes none. The
	// committed files that Join links are read from Linked, and may be of ParityBases.
	Parity int
	// Guest is a tag in the names of the parity files of this process, where several
	// processes make a checkpoint together. Their parity is made before Join, and the
	// primary lists it. The primary itself and a save by one process have "".
	Guest       string
	Linked      store.Store
	ParityBases []parity.Base
	Signing     ed25519.PrivateKey // of the manifest, which is not signed where it is nil
	Label       string             // that is signed with it
	Now         func() time.Time
	Random      io.Reader // for names and identifiers; nil is crypto/rand
}

// Writer is one save: a checkpoint that is planned, and on its way to a store.
type Writer struct {
	opts  Options
	items []Item
	mode  Mode
	trees []*treePlan // nil for JSON items
	uuids [][16]byte
	began time.Time // as recorded
	start time.Time
	size  int64

	unread   atomic.Int64  // units that were not encoded yet
	released chan struct{} // closed when the memory of the caller is not needed any more
	once     sync.Once     // closes released
	progress progress
	status   status
	base     *base    // nil without Dedup
	rooms    [][]byte // of workers
	stats    Stats
	sum      [32]byte // the SHA-256 of the manifest
}

// Plan collects the leaves of the items, decides how each array is stored, and gives
// every chunk its place in a file. Scalars, strings and arrays of up to 1024 bytes are
// copied; the other arrays are the caller's until Snapshot or Write is done with them.
// Errors name the leaf. Plan touches no storage. A Writer that is not used further needs
// no Close.
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

// settle gives the options that were left out their defaults. It returns the mode as these
// options have it.
func (o *Options) settle(how Mode) Mode {
	o.Layout, o.Compression = o.Layout.Known(), o.Compression.Known()
	o.Memory, o.Random = cmp.Or[Memory](o.Memory, Heap{}), cmp.Or(o.Random, rand.Reader)
	o.FileBytes = cmp.Or(o.FileBytes, fileBytes)
	if o.Now == nil {
		o.Now = time.Now
	}
	if how == InPlace {
		o.Copied = nil // the caller waits for all of it
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

// release tells that the caller's memory is not needed any more: everything was copied, or
// read, or the save was given up.
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

// Close gives the caller's memory back: Write has returned, or will not be called.
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
	Files   int           // that were written
	Direct  int64         // bytes that went past the cache of the system
	Copied  bool          // a snapshot was taken
	Blocked time.Duration // of the caller, Copy included
	Copy    time.Duration // of the caller's memory
	Persist time.Duration // checksums, and writing the data files
	Commit  time.Duration // small files, syncs of directories, publication

	Linked      int   // data files that were taken over from the base
	LinkedBytes int64 // of these
	Verified    int   // of these, read back before
	Damaged     int   // data files of the base that were found damaged when they were read back; written anew
	ParityBytes int64 // of parity files
	Refused     int   // data files that the store refused to link; they were written
}

// Stats returns what is known when Write has returned.
func (w *Writer) Stats() Stats { return w.stats }
