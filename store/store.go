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
	"iter"
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
	// caller decides what to show. It ends after the first error.
	List(ctx context.Context, dir string) iter.Seq2[Info, error]
	// Stat describes one name.
	Stat(ctx context.Context, name string) (Info, error)
	// Put writes a small object, atomically and durably.
	Put(ctx context.Context, name string, b []byte, o PutOptions) error
	// Begin starts a transaction whose result will be the directory final.
	// Either Commit or Abort must be called.
	Begin(ctx context.Context, final string, o TxnOptions) (Txn, error)
	// RemoveTree removes a committed directory: it becomes invisible first, in
	// one step that is durable when RemoveTree returns, then its bytes go. A
	// missing name is NotFound.
	RemoveTree(ctx context.Context, name string) error
	// CleanStaging removes what dead transactions left directly below dir and
	// returns their names. Only names that are staging names (IsStaging) or
	// this store's own trash are touched, and never those of live transactions
	// of this process. keep, when not nil, is asked first.
	CleanStaging(ctx context.Context, dir string, keep func(Info) bool) ([]string, error)
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
	Block int // alignment that Writer wants for offsets and lengths, the tail aside; 1 = none
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

// Txn is everything that becomes visible at once, or never. Create, Put and
// Link may be called concurrently.
type Txn interface {
	// Create starts an object of exactly size bytes below the final directory.
	// Parents are made as needed. Creating a name twice is errs.Exists.
	Create(ctx context.Context, name string, size int64) (Writer, error)
	// Put writes a small object whole.
	Put(ctx context.Context, name string, b []byte) error
	// Link takes a committed object over without copying its bytes where the store can.
	Link(ctx context.Context, name, committed string) error
	// Commit publishes. Markers are written first, the manifest last; every
	// Writer must have been sealed. It returns nil when all is durable. After
	// an error nothing is visible under the final name unless the error is
	// reported by Uncertain.
	Commit(ctx context.Context, manifest Blob, markers ...Blob) error
	// Abort removes what was written. It is a no-op after Commit.
	Abort() error
	// Staging is the name under which the transaction is being built, for messages.
	Staging() string
}

// Writer takes each byte once, concurrently; offsets and lengths are multiples
// of Properties.Block, the tail aside. Either Seal or Abort must be called.
type Writer interface {
	WriteAt(ctx context.Context, p []byte, off int64) error
	// Seal makes the object durable; the first error of any write is returned
	// here again. After a failed Seal the transaction can only be aborted.
	Seal(ctx context.Context) error
	Abort() error
}
