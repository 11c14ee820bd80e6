package store

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Hider is a Store that can remove an object in two steps. The first step removes the name, which
// is quick and makes other callers wait. The second step frees the bytes, which may take long.
type Hider interface {
	// Hide is the first step: the directory or object is durably invisible when it returns nil. free
	// is the second step, and must be called once. CleanStaging leaves the bytes alone until free
	// returns. If free fails, or the process ends before it is called, the bytes count as leftovers of
	// a dead transaction.
	Hide(ctx context.Context, name string) (free func() error, err error)
}

// Hide calls st.Hide if st is a Hider. Otherwise it calls RemoveTree, and free does nothing.
func Hide(ctx context.Context, st Store, name string) (free func() error, err error) {
	if h, ok := st.(Hider); ok {
		return h.Hide(ctx, name)
	}
	return func() error { return nil }, st.RemoveTree(ctx, name)
}

// LockName is the name of the file, in a directory, in which a store may keep the lock of the
// directory. The file names the holder of the lock. If nobody holds the lock, the file names the
// last holder and has no meaning.
const LockName = ".bivouac.lock"

// Locker is a Store that can lock a directory against a second writer. The lock is advisory: it
// stops only programs that ask for it, and no readers.
type Locker interface {
	// Lock takes the lock of the directory dir and creates the directory if it is missing. The lock is
	// held until Close is called or the process ends in any way. If another holder has the lock, in
	// this process or elsewhere, the error is of kind errs.Busy and names the process, its host and
	// since when it holds the lock. If there are no locks, the error is of kind errs.Unsupported.
	Lock(ctx context.Context, dir string) (io.Closer, error)
}

// HeldLock is a lock that can be checked. The result of Locker.Lock may be a HeldLock.
type HeldLock interface {
	io.Closer
	// Check returns an error unless the lock is still effective. The error is of kind errs.NotFound if
	// the lock file or its directory was removed. It is of kind errs.Busy if another file has its
	// place, because another process may have locked that file.
	Check(ctx context.Context) error
}

// Mover is a Store that can move an object to another directory.
type Mover interface {
	// Move renames a committed directory or object, in one step that is durable when Move returns. It
	// creates the directory of the new name if it is missing. If the new name is taken, the error is
	// of kind errs.Exists.
	Move(ctx context.Context, from, to string) error
}

// Move calls st.Move. It fails with errs.Unsupported if st is not a Mover.
func Move(ctx context.Context, st Store, from, to string) error {
	if m, ok := st.(Mover); ok {
		return m.Move(ctx, from, to)
	}
	return &errs.Error{Kind: errs.Unsupported, Op: "store.Move", Subject: from, Want: "a store that moves objects between directories",
		Got: st.Properties().Name}
}

// Permitter is a Store whose directories and files have permissions.
type Permitter interface {
	// WithPermissions returns the same store with permission bits for new objects: mode, less the
	// umask of the process. New directories, missing parents included, get these bits. New files get
	// them without the execute bits. mode must have all bits of the owner. Linked objects keep their
	// permissions.
	WithPermissions(mode fs.FileMode) Store
}

// WithPermissions returns st with mode for new objects. It fails with errs.Unsupported if st is not
// a Permitter. With mode 0 it returns st itself.
func WithPermissions(st Store, mode fs.FileMode) (Store, error) {
	if mode == 0 {
		return st, nil
	}
	if p, ok := st.(Permitter); ok {
		return p.WithPermissions(mode), nil
	}
	return nil, &errs.Error{Kind: errs.Unsupported, Op: "store.WithPermissions", Subject: st.Properties().Name,
		Want: "a store of files with permissions", Remedy: "leave out file.path_permission_mode"}
}

// Scanner is a Store that can read from the disk and not from the cache, and that can tell whether
// two names are the same object.
type Scanner interface {
	// Scan calls visit with the bytes of an object, in order and piece by piece. The bytes come from
	// the disk, past the cache of the system if possible. If visit returns an error, Scan stops and
	// returns it.
	Scan(ctx context.Context, name string, visit func(b []byte) error) error
	// Identity returns a text that identifies the object with a name. Two names of one object, such as
	// links, have the same identity. The result is "" if the identity is not known.
	Identity(ctx context.Context, name string) (string, error)
}

// scanBytes is the size of a piece that Scan reads.
const scanBytes = 1 << 20

// Scan calls st.Scan. If st is not a Scanner, it reads the object.
func Scan(ctx context.Context, st Store, name string, visit func(b []byte) error) error {
	if s, ok := st.(Scanner); ok {
		return s.Scan(ctx, name, visit)
	}
	r, err := st.Open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	buf := make([]byte, min(scanBytes, r.Size()))
	for off := int64(0); off < r.Size(); off += scanBytes {
		p := buf[:min(scanBytes, r.Size()-off)]
		if err := r.ReadAt(ctx, p, off); err != nil {
			return err
		}
		if err := visit(p); err != nil {
			return err
		}
	}
	return nil
}

// Identity calls st.Identity. It returns "" if st is not a Scanner.
func Identity(ctx context.Context, st Store, name string) (string, error) {
	if s, ok := st.(Scanner); ok {
		return s.Identity(ctx, name)
	}
	return "", nil
}

// Syncer is a Store whose files may also be written by other programs, and perhaps not durably.
type Syncer interface {
	// Sync makes the contents of the object or directory durable, with everything below it. Settle
	// makes the name itself durable. Nobody may write there during the call.
	Sync(ctx context.Context, name string) error
}

// Sync calls st.Sync. If st is not a Syncer, the contents are durable already, and Sync does
// nothing.
func Sync(ctx context.Context, st Store, name string) error {
	if s, ok := st.(Syncer); ok {
		return s.Sync(ctx, name)
	}
	return nil
}

// Rereader is a Txn whose objects can be read before they are published.
type Rereader interface {
	// Reread opens an object of the transaction whose writer was sealed.
	Reread(ctx context.Context, name string) (Reader, error)
}

// Reread calls t.Reread. It fails with errs.Unsupported if t is not a Rereader: then the objects
// can be read once they are published.
func Reread(ctx context.Context, t Txn, name string) (Reader, error) {
	if r, ok := t.(Rereader); ok {
		return r.Reread(ctx, name)
	}
	return nil, &errs.Error{Kind: errs.Unsupported, Op: "store.Reread", Subject: name,
		Want: "a store whose transactions can be read"}
}

// Object describes an object as it lies in a bucket.
type Object struct {
	Name    string // the whole name; it ends with "/" if Dir is set
	Size    int64
	Tag     string // changes with each Put of other contents: the ETag or generation
	ModTime time.Time
	Dir     bool // a common beginning of names
}

// Ranger is a Store whose objects can be read as any program has put them, by ranges of one
// version. It knows nothing of transactions. Data sets are read this way.
type Ranger interface {
	// Head describes the object with a name.
	Head(ctx context.Context, name string) (Object, error)
	// Objects yields the objects whose names begin with prefix, in ascending byte order. With
	// delimited, names that have "/" after the prefix are yielded once, as Dir.
	Objects(ctx context.Context, prefix string, delimited bool) iter.Seq2[Object, error]
	// ReadRange fills p from offset off of an object. If the object does not have the tag any more,
	// the error is of kind errs.Mismatch and names both tags.
	ReadRange(ctx context.Context, name string, p []byte, off int64, tag string) error
}

// AsRanger returns st as a Ranger. It fails with errs.Unsupported if st is not a Ranger.
func AsRanger(op string, st Store) (Ranger, error) {
	if r, ok := st.(Ranger); ok {
		return r, nil
	}
	return nil, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: st.Properties().Name,
		Want: "a store whose objects can be read by ranges"}
}
