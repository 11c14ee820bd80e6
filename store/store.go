// Package store holds committed, immutable, named objects.
//
// A Store is where checkpoints live. Names are slash-separated, relative and clean
// ("100/state/manifest.ocdbt"); "" is the root. Everything written through a transaction becomes
// visible at once, or never. On POSIX the transaction is a staging directory that is renamed at the
// end. On object stores it ends with a conditional put of the manifest. Callers cannot tell the
// difference.
//
// Every implementation passes store/storetest.
package store

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Store holds committed objects. All methods may be called concurrently.
//
// Errors are of type *errs.Error. Their kind is NotFound for a missing name, Exists for a name that
// is taken, Invalid for a name that is not clean or leads out of the store, and Permission,
// Exhausted (disk full) or IO for errors of the system.
type Store interface {
	// Open opens a committed object for reading.
	Open(ctx context.Context, name string) (Reader, error)
	// List yields the names directly below dir in ascending byte order. Directories are included, and
	// staging directories too (see IsStaging): the caller decides what to show. List ends after the
	// first error. The root, "", may be listed. It is empty if nothing was ever written.
	List(ctx context.Context, dir string) iter.Seq2[Info, error]
	// Stat describes one name.
	Stat(ctx context.Context, name string) (Info, error)
	// Put writes a small object, atomically and durably. It replaces an object with the same name
	// unless o says otherwise. It never replaces a directory.
	Put(ctx context.Context, name string, b []byte, o PutOptions) error
	// Begin starts a transaction whose result will be the directory final. The caller must call Commit
	// or Abort.
	Begin(ctx context.Context, final string, o TxnOptions) (Txn, error)
	// RemoveTree removes a committed directory or object. The object first becomes invisible, in one
	// step that is durable when RemoveTree returns nil. Then its bytes are freed. After an error the
	// object is either whole under its name or invisible: Stat tells which, and CleanStaging frees the
	// rest. For a missing name the error is of kind NotFound.
	RemoveTree(ctx context.Context, name string) error
	// Rename gives a committed directory another name in the same parent, in one step that is durable
	// when Rename returns. If the new name is taken, the error is of kind Exists.
	Rename(ctx context.Context, from, to string) error
	// CleanStaging removes what dead transactions left directly below dir and returns the removed
	// names, relative to dir. It touches only names for which IsLeftover is true. It never touches
	// live transactions of this process, or objects that a reader has leased (Pinned). It notices a
	// live transaction of another process only if that process holds a lock: see the store. If keep is
	// not nil and returns true for a name, the name stays.
	CleanStaging(ctx context.Context, dir string, keep func(Info) bool) ([]string, error)
	// Settle makes durable what Stat and List show for the names in dir. Call it after an error with
	// ErrUncertain in its chain, or if another process may have ended with such an error. Afterwards
	// the visible result is final, and CleanStaging may remove what the transaction left under a
	// staging name. If Settle fails, its error has ErrUncertain in its chain.
	Settle(ctx context.Context, dir string) error
	// Properties returns what the store can do.
	Properties() Properties
}

// Info describes a name.
type Info struct {
	Name    string // relative to the listed directory in List, the whole name in Stat
	Size    int64  // bytes; 0 for directories
	Dir     bool
	ModTime time.Time // for information only; no order depends on it
}

// Properties describes what a store can do.
type Properties struct {
	// Block is the alignment that Writer needs for offsets and lengths, except at the end of an
	// object. 1 means no alignment. Memory whose address is a multiple of Block saves a copy.
	Block int
	Links bool
	// Parallel is how many reads should go on at once; 0: as suits the processor.
	Parallel int
	Name     string // for messages: "local:/data/runs"
}

// PutOptions modify Put.
type PutOptions struct {
	IfAbsent bool // fail with Exists if the name is taken
}

// TxnOptions modify Begin.
type TxnOptions struct {
	// Overwrite lets Commit replace a directory at final. The new tree is exchanged with the old one
	// atomically, and then the old one is removed. If the store has a lock for this and another
	// program keeps it, Commit returns an error of kind errs.Busy.
	Overwrite bool
	// Replaces, if not nil, is the directory at final from which the new tree was made. Commit
	// replaces only this directory. If the name then belongs to another directory or is gone, nothing
	// becomes visible and Commit returns the error of Overtaken. Overwrite is not needed. The caller
	// closes Replaces after the transaction.
	Replaces Pinned
	// Staging, if not empty, replaces the last element of final in the staging name of the
	// transaction. Use it for finals whose names mean something to other readers of the directory.
	Staging string
	// LinksOnly makes Link fail with errs.Unsupported if the store would have to copy bytes. This
	// error is not sticky, and the name is free again.
	LinksOnly bool
	// Shared lets other callers, in this process or elsewhere, write into the transaction: see Join.
	// Each object must be made by one caller only. Directories may be shared.
	Shared bool
	// Join, if not empty, is the Staging of a Shared transaction that another process has begun for
	// the same final. The joining transaction writes its objects there, and its Commit makes them
	// durable and publishes nothing. They become visible with the shared transaction if the joining
	// Commit has returned nil before the shared Commit is called. The joining Commit writes its
	// manifest only if the manifest has a name; the manifest may be the zero Blob. Abort removes
	// nothing: only the process that began the transaction does. Writes fail once the shared
	// transaction is over. Only the option LinksOnly has an effect with Join.
	Join string
	// Publishing, if not nil, is locked while Commit makes the result visible. Code that decides about
	// names locks it too.
	Publishing sync.Locker
}

// Reader reads one object. ReadAt may be called concurrently.
type Reader interface {
	// ReadAt fills p completely from offset off, or fails. If the object is too short, the error is of
	// kind errs.Corrupt.
	ReadAt(ctx context.Context, p []byte, off int64) error
	Size() int64
	Close() error
}

// Scatterer is a Reader that fills several pieces of memory at once. A Reader has it where a
// request costs more than its bytes, and a copy takes long.
type Scatterer interface {
	Reader
	// Scatter fills the pieces, in their order, with the bytes that follow each other from offset off
	// on, or fails as ReadAt does.
	Scatter(ctx context.Context, off int64, into ...[]byte) error
}

// Blob is a small object with its name.
type Blob struct {
	Name string
	Data []byte
}

// ErrUncertain is in the chain of an error of Commit or Put if the new object is or may be visible
// but may not be durable. Neither the new nor the old object was removed, so after power loss one
// of them is whole. Store.Settle decides which.
var ErrUncertain = errors.New("published, but whether it would survive power loss is unknown")

// ErrNoStore is in the chain of an error of kind errs.NotFound if the store itself does not exist,
// such as a bucket. It differs from a name that is missing in a store: nothing is known of what the
// store held.
var ErrNoStore = errors.New("the store itself does not exist")

// Txn is a transaction: everything in it becomes visible at once, or never. Create, Put and Link
// may be called concurrently.
// Errors of the system are sticky: after one in any method, Commit fails with it. Errors of the
// caller in Create, Put and Link are not sticky: Invalid, Exists, and a context that ended before
// anything was done.
type Txn interface {
	// Create starts an object of exactly size bytes below the final directory. It creates missing
	// parents. Creating a name twice is an error of kind errs.Exists.
	Create(ctx context.Context, name string, size int64) (Writer, error)
	// Put writes a whole small object.
	Put(ctx context.Context, name string, b []byte) error
	// Link adds a committed object to the transaction, without copying its bytes if the store can.
	// Both names then share the same bytes, which never change.
	Link(ctx context.Context, name, committed string) error
	// Commit publishes the result. It writes the markers first and the manifest last. Every Writer
	// must be sealed before. Commit returns nil once everything is durable. After an error the final
	// name shows what it showed before, and the written objects have been removed if the system
	// allowed it, unless errors.Is(err, ErrUncertain). Commit can be cancelled until publication
	// begins.
	Commit(ctx context.Context, manifest Blob, markers ...Blob) error
	// Abort removes the written objects. After Commit it does nothing, so it may be deferred.
	Abort() error
	// Stats returns how much was written so far. It may be called at any time.
	Stats() TxnStats
	// Staging returns the name under which the transaction is being built, for messages.
	Staging() string
}

// TxnStats counts what a transaction has written.
type TxnStats struct {
	Files  int   // objects made, except linked objects
	Bytes  int64 // bytes of these objects
	Direct int64 // bytes that went past the cache of the system
}

// Writer takes each byte of an object once. WriteAt may be called concurrently. Offsets and lengths
// are multiples of Properties.Block, except at the end of the object. The caller must call Seal or
// Abort. The end of the transaction aborts open writers.
type Writer interface {
	WriteAt(ctx context.Context, p []byte, off int64) error
	// Seal makes the object durable. It returns the first error of any write again, and an error of
	// kind Invalid if bytes were never written. After a failed Seal the transaction can only be
	// aborted.
	Seal(ctx context.Context) error
	// Abort drops the object, as if it had not been created. After Seal it does nothing.
	Abort() error
}

// MaxSmall is the largest number of bytes that ReadAll reads: ReadAll is for documents, not data.
const MaxSmall = 1 << 30

// ReadAll reads a whole small object. If it has more than MaxSmall bytes, the error is of kind
// errs.Exhausted.
func ReadAll(ctx context.Context, s Store, name string) ([]byte, error) {
	r, err := s.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.Size() > MaxSmall {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: "store.ReadAll", Subject: name,
			Want: "at most " + strconv.Itoa(MaxSmall) + " bytes", Got: strconv.FormatInt(r.Size(), 10)}
	}
	b := make([]byte, r.Size())
	return b, r.ReadAt(ctx, b, 0)
}
