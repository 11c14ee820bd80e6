// Package store holds committed, immutable, named objects.
//
// A Store is where checkpoints live. Names are slash-separated, relative and clean
// ("100/state/manifest.ocdbt"); "" is the root. Everything written through a transaction becomes
// visible at once, or never. On POSIX the transaction is a staging directory that is renamed. On
// object stores it ends with a conditional put of the manifest. Callers cannot tell the difference.
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
// Errors are *errs.Error: NotFound for a missing name, Exists for an occupied one, Invalid for a
// name that is not clean or leaves the store, Permission, Exhausted (disk full) and IO for errors
// of the system.
type Store interface {
	// Open opens a committed object for reading.
	Open(ctx context.Context, name string) (Reader, error)
	// List yields one level below dir in ascending byte order of names, directories included, staging
	// directories too (see IsStaging): the caller decides what to show. It ends after the first error.
	// The root, "", may be listed. It is empty if nothing was ever written.
	List(ctx context.Context, dir string) iter.Seq2[Info, error]
	// Stat describes one name.
	Stat(ctx context.Context, name string) (Info, error)
	// Put writes a small object, atomically and durably. It replaces an object
	// of that name unless o says otherwise, a directory never.
	Put(ctx context.Context, name string, b []byte, o PutOptions) error
	// Begin starts a transaction whose result will be the directory final.
	// Either Commit or Abort must be called.
	Begin(ctx context.Context, final string, o TxnOptions) (Txn, error)
	// RemoveTree removes a committed directory or object: it becomes invisible first, in one step that
	// is durable when RemoveTree returns nil, then its bytes go. After an error the object is whole
	// under its name, or invisible: Stat tells which, and CleanStaging frees the rest. A missing name
	// is NotFound.
	RemoveTree(ctx context.Context, name string) error
	// Rename gives a committed directory another name in the same parent, in
	// one step that is durable when Rename returns. A taken name is Exists.
	Rename(ctx context.Context, from, to string) error
	// CleanStaging removes what dead transactions left directly below dir and returns the removed
	// names, relative to dir. It touches only names for which IsLeftover is true. It never touches
	// live transactions of this process, or objects that a reader has leased (Pinned). It notices a
	// live transaction of another process only if that process holds a lock: see the store. If keep is
	// not nil and returns true for a name, the name stays.
	CleanStaging(ctx context.Context, dir string, keep func(Info) bool) ([]string, error)
	// Settle makes durable what Stat and List show for the names in dir. Call it after an error with
	// ErrUncertain, or if another process may have ended with such an error. Afterwards the visible
	// result is final. CleanStaging removes what the transaction left under a staging name. If Settle
	// fails, its error has ErrUncertain in its chain.
	Settle(ctx context.Context, dir string) error
	// Properties returns what the store can do.
	Properties() Properties
}

// Info describes a name.
type Info struct {
	Name    string // relative to the listed directory in List, the whole name in Stat
	Size    int64  // bytes; 0 for directories
	Dir     bool
	ModTime time.Time // informative only; no order depends on it
}

// Properties of a store.
type Properties struct {
	// Block is the alignment that Writer wants for offsets and lengths, except for the tail. 1 means
	// no alignment. Memory whose address is a multiple of Block saves a copy.
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
	// Replaces, if not nil, is the directory at final from which the new tree was made: Commit
	// replaces this directory and no other. If the name then belongs to another directory or is gone,
	// nothing becomes visible and Commit returns the error of Overtaken. Overwrite is not needed. The
	// caller closes Replaces when the transaction is over.
	Replaces Pinned
	// Staging, if not empty, replaces the last element of final in the name under which the
	// transaction is built. It is for finals whose names mean something to other readers of the
	// directory.
	Staging string
	// LinksOnly has Link fail with errs.Unsupported where the store would have
	// to copy bytes. That is not sticky, and the name is free again.
	LinksOnly bool
	// Shared lets others, in this process or elsewhere, write into the transaction:
	// see Join. No two may make the same object; directories they may have in common.
	Shared bool
	// Join, if not empty, is the Staging of a Shared transaction that another process has begun for
	// the same final. The objects of the joining transaction become visible with the shared one, if
	// the joining Commit returned nil before the shared Commit is called. The joining Commit makes its
	// objects durable and publishes nothing. It writes its manifest only if the manifest has a name;
	// the manifest may be the zero Blob. Abort removes nothing; that is left to the process that
	// began. Once the shared transaction is over, writes to the joining one fail. Of the other options
	// only LinksOnly has an effect.
	Join string
	// Publishing, if not nil, is held while Commit makes the result visible. Code that decides about
	// names holds it too.
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

// ErrUncertain is in the chain of an error of Commit or Put if the new object is or may be visible,
// and its durability could not be confirmed. Neither the new nor the old object was removed, so
// that power loss leaves a whole object: the old one or the new one. Store.Settle decides which.
var ErrUncertain = errors.New("published, but whether it would survive power loss is unknown")

// Txn is a transaction: everything in it becomes visible at once, or never. Create, Put and Link
// may be called concurrently.
//
// Errors of the system are sticky: after one in any method, Commit fails with it. Errors of the
// caller in Create, Put and Link (Invalid, Exists, a context that ended before anything was done)
// are not.
type Txn interface {
	// Create starts an object of exactly size bytes below the final directory.
	// Parents are made as needed. Creating a name twice is errs.Exists.
	Create(ctx context.Context, name string, size int64) (Writer, error)
	// Put writes a small object whole.
	Put(ctx context.Context, name string, b []byte) error
	// Link takes over a committed object, without copying its bytes if the store can. From then on
	// both names share the same bytes, which never change.
	Link(ctx context.Context, name, committed string) error
	// Commit publishes. Markers are written first, the manifest last; every Writer must have been
	// sealed. It returns nil once everything is durable. After an error the final name shows what it
	// showed before, and the written objects have been removed if the system allowed it, unless
	// errors.Is(err, ErrUncertain). Cancellation is heeded until publication begins.
	Commit(ctx context.Context, manifest Blob, markers ...Blob) error
	// Abort removes the written objects. It does nothing after Commit, so that it may be deferred.
	Abort() error
	// Stats returns what was written so far. It may be called at any time.
	Stats() TxnStats
	// Staging is the name under which the transaction is being built, for messages.
	Staging() string
}

// TxnStats is what a transaction has written.
type TxnStats struct {
	Files  int   // objects made, without linked ones
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

// MaxSmall is the most bytes that ReadAll reads: documents, not data.
const MaxSmall = 1 << 30

// ReadAll returns the whole of a small object. An object beyond MaxSmall is
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
