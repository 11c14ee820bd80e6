// Package store holds committed, immutable, named objects.
//
// A Store is where checkpoints live. Names are slash-separated, relative and
// clean ("100/state/manifest.ocdbt"); "" is the root. What is written through a
// transaction becomes visible at once, or never: on POSIX the transaction is a
// staging directory that is renamed, on object stores it ends with a
// conditional put of the manifest. Callers cannot tell which.
//
// Every implementation passes store/storetest.
package store

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"
)

// Store holds committed objects. All methods may be called concurrently.
//
// Errors are *errs.Error: NotFound for a missing name, Exists for an occupied
// one, Invalid for a name that is not clean or leaves the store, Permission,
// Exhausted (disk full) and IO for what the system says.
type Store interface {
	// Open opens a committed object for reading.
	Open(ctx context.Context, name string) (Reader, error)
	// List yields one level below dir in ascending byte order of names,
	// directories included, staging directories too (see IsStaging): the
	// caller decides what to show. It ends after the first error. The root,
	// "", may be listed and is empty when nothing was ever written.
	List(ctx context.Context, dir string) iter.Seq2[Info, error]
	// Stat describes one name.
	Stat(ctx context.Context, name string) (Info, error)
	// Put writes a small object, atomically and durably. It replaces an object
	// of that name unless o says otherwise, a directory never.
	Put(ctx context.Context, name string, b []byte, o PutOptions) error
	// Begin starts a transaction whose result will be the directory final.
	// Either Commit or Abort must be called.
	Begin(ctx context.Context, final string, o TxnOptions) (Txn, error)
	// RemoveTree removes a committed directory or object: it becomes invisible
	// first, in one step that is durable when RemoveTree returns nil, then its
	// bytes go. After an error it is whole under its name, or invisible: Stat
	// tells, and CleanStaging frees what is left. A missing name is NotFound.
	RemoveTree(ctx context.Context, name string) error
	// Rename gives a committed directory another name in the same parent, in
	// one step that is durable when Rename returns. A taken name is Exists.
	Rename(ctx context.Context, from, to string) error
	// CleanStaging removes what dead transactions left directly below dir and
	// returns their names, relative to dir. Only names for which IsLeftover is
	// true are touched, and never those of live transactions of this process, nor
	// those that a reader has a lease of (Pinned). Whether another process is still at
	// work there it can tell only where that holds a lock: see the store. keep, when
	// not nil, is asked first.
	CleanStaging(ctx context.Context, dir string, keep func(Info) bool) ([]string, error)
	// Settle makes durable what Stat and List show of the names in dir: after an
	// error with ErrUncertain, or where another process may have ended with one.
	// What became of such a name is then what is seen, for good; what the
	// transaction left under a staging name is CleanStaging's. A failure has
	// ErrUncertain in its chain.
	Settle(ctx context.Context, dir string) error
	// Properties tells what the store can do.
	Properties() Properties
}

// Info describes a name.
type Info struct {
	Name    string // relative to the listed directory in List, the whole name in Stat
	Size    int64  // bytes; 0 for directories
	Dir     bool
	ModTime time.Time // informative; nothing is ever ordered by it
}

// Properties of a store.
type Properties struct {
	// Block is the alignment that Writer wants for offsets and lengths, the
	// tail aside; 1 = none. Memory whose address is a multiple of it saves a copy.
	Block int
	Links bool
	Name  string // for messages: "local:/data/runs"
}

// PutOptions modify Put.
type PutOptions struct {
	IfAbsent bool // fail with Exists when the name is taken
}

// TxnOptions modify Begin.
type TxnOptions struct {
	// Overwrite lets Commit replace a directory at final: the new tree is
	// exchanged with the old one atomically and the old one removed after.
	Overwrite bool
	// Replaces, when not nil, is the directory at final that the new tree was made of:
	// Commit replaces that one and no other. When another directory has the name by then, or none,
	// nothing becomes visible and the error is that of Overtaken. Overwrite is not
	// needed. The caller closes it when the transaction is over.
	Replaces Pinned
	// Staging, when not empty, is used in place of the last element of final in
	// the name under which the transaction is built: for finals whose names mean
	// something to others who look into the directory.
	Staging string
	// LinksOnly has Link fail with errs.Unsupported where the store would have
	// to copy bytes. That is not sticky, and the name is free again.
	LinksOnly bool
	// Shared lets others, in this process or elsewhere, write into the transaction:
	// see Join. No two may make the same object; directories they may have in common.
	Shared bool
	// Join, when not empty, is the Staging of a Shared transaction that somebody else
	// has begun for the same final: what is written here becomes visible with it, if
	// Commit of the joining transaction has returned nil before the other one's is
	// called. That Commit makes durable what was written here, and publishes nothing:
	// its manifest is written where it has a name, and may be the zero Blob. Abort
	// removes nothing, which is left to whoever began. When that one is over, what is
	// written here fails. The other options but LinksOnly are not heeded.
	Join string
	// Publishing, when not nil, is held while Commit makes the result visible: what
	// decides about names holds it too.
	Publishing sync.Locker
}

// Reader reads one object. ReadAt may be called concurrently.
type Reader interface {
	// ReadAt fills p whole from off, or fails; a short object is errs.Corrupt.
	ReadAt(ctx context.Context, p []byte, off int64) error
	Size() int64
	Close() error
}

// Blob is a small object with its name.
type Blob struct {
	Name string
	Data []byte
}

// ErrUncertain is in the chain of an error of Commit or Put when the new object
// is already visible, or may be, and its durability could not be confirmed.
// Nothing was removed, neither new nor old, so that whatever state power loss
// leaves is whole: the old one or the new one. Store.Settle makes it known which.
var ErrUncertain = errors.New("published, but whether it would survive power loss is unknown")

// Txn is everything that becomes visible at once, or never. Create, Put and
// Link may be called concurrently.
//
// Errors of the system are sticky: after one, in whatever method, Commit fails
// with it. Errors of the caller in Create, Put and Link (Invalid, Exists, a
// context that ended before anything was done) are not.
type Txn interface {
	// Create starts an object of exactly size bytes below the final directory.
	// Parents are made as needed. Creating a name twice is errs.Exists.
	Create(ctx context.Context, name string, size int64) (Writer, error)
	// Put writes a small object whole.
	Put(ctx context.Context, name string, b []byte) error
	// Link takes a committed object over without copying its bytes where the
	// store can; both are the same bytes from then on, which nobody changes.
	Link(ctx context.Context, name, committed string) error
	// Commit publishes. Markers are written first, the manifest last; every
	// Writer must have been sealed. It returns nil when all is durable. After
	// an error what was visible under the final name is what it was before,
	// and what was written has been removed as far as the system let us,
	// unless errors.Is(err, ErrUncertain). Cancellation is heeded until
	// publication begins.
	Commit(ctx context.Context, manifest Blob, markers ...Blob) error
	// Abort removes what was written. It is a no-op after Commit, so that it
	// may be deferred.
	Abort() error
	// Stats tells what was written so far. It may be called at any time.
	Stats() TxnStats
	// Staging is the name under which the transaction is being built, for messages.
	Staging() string
}

// TxnStats is what a transaction has written.
type TxnStats struct {
	Files  int   // objects made, linked ones aside
	Bytes  int64 // of these
	Direct int64 // bytes that went past the cache of the system
}

// Writer takes each byte once, concurrently; offsets and lengths are multiples
// of Properties.Block, the tail aside. Either Seal or Abort must be called;
// the end of the transaction aborts what is still open.
type Writer interface {
	WriteAt(ctx context.Context, p []byte, off int64) error
	// Seal makes the object durable; the first error of any write is returned
	// here again, and bytes that were never written are Invalid. After a
	// failed Seal the transaction can only be aborted.
	Seal(ctx context.Context) error
	// Abort gives the object up; it is as if it had not been created. It is a
	// no-op after Seal.
	Abort() error
}
