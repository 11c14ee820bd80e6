package store

import (
	"context"
	"io"
	"io/fs"

	"github.com/bivouac-ml/bivouac/errs"
)

// Hider is a Store that can remove in two parts: first the name, which is quick and which others
// wait for, then the bytes, which may take long.
type Hider interface {
	// Hide is the first part of RemoveTree: the directory or object is durably invisible when it
	// returns nil. free is the second part. It must be called, once: until it returns, CleanStaging
	// leaves the bytes alone. If it fails, or the process ends before, the bytes count as leftovers of
	// a dead transaction.
	Hide(ctx context.Context, name string) (free func() error, err error)
}

// Hide calls Hider.Hide of st. If st is not a Hider, it calls RemoveTree, and free does nothing.
func Hide(ctx context.Context, st Store, name string) (free func() error, err error) {
	if h, ok := st.(Hider); ok {
		return h.Hide(ctx, name)
	}
	return func() error { return nil }, st.RemoveTree(ctx, name)
}

// LockName is the name below a directory under which a store may keep its lock. The file names the
// holder. If nobody holds the lock, it names the last holder and means nothing.
const LockName = ".bivouac.lock"

// Locker is a Store that can keep a second writer out of a directory. The lock is advisory: it
// keeps out programs that ask for it, and neither readers nor other programs.
type Locker interface {
	// Lock takes the lock of the directory dir, which it makes when it is missing,
	// until Close is called or the process ends, killed or not. When another one
	// has it, in this process or elsewhere, that is errs.Busy, which names the
	// process, its host and since when; where there are no locks errs.Unsupported.
	Lock(ctx context.Context, dir string) (io.Closer, error)
}

// HeldLock is a lock that can be inspected. The result of Locker.Lock may be a HeldLock.
type HeldLock interface {
	io.Closer
	// Check returns an error unless the lock still keeps others out: errs.NotFound when
	// its file or directory was removed, errs.Busy when another file stands there, which
	// another process may have locked.
	Check(ctx context.Context) error
}

// Mover is a Store in which an object can get a name in another directory.
type Mover interface {
	// Move gives a committed directory or object another name, in one step that is
	// durable when Move returns. The directory of the new name is made when it is
	// missing. A taken name is Exists.
	Move(ctx context.Context, from, to string) error
}

// Move is Mover.Move of st. It fails with errs.Unsupported if st is not a Mover.
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
	// umask of the process. New directories, missing parents among them, get these bits; new files get
	// them without the bits for execution. mode must have the owner's bits. Linked objects keep their
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
		Want: "a store of files with permissions", Remedy: "leave file.path_permission_mode out"}
}

// Scanner is a Store that can read from the disk past the cache, and that can tell objects apart by
// identity.
type Scanner interface {
	// Scan hands the bytes of an object to visit, in their order and piece by piece, as
	// the disk has them: past the cache of the system where that is possible. An error of
	// visit ends it and is returned.
	Scan(ctx context.Context, name string, visit func(b []byte) error) error
	// Identity identifies the object behind a name: two names of one object, such as links, have the
	// same identity. It is "" if the identity is not known.
	Identity(ctx context.Context, name string) (string, error)
}

// scanBytes is the size of a piece.
const scanBytes = 1 << 20

// Scan is Scanner.Scan of st, or reads the object where st is no Scanner.
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

// Identity is Scanner.Identity of st, "" where st is no Scanner.
func Identity(ctx context.Context, st Store, name string) (string, error) {
	if s, ok := st.(Scanner); ok {
		return s.Identity(ctx, name)
	}
	return "", nil
}

// Syncer is a Store below which programs that know nothing of it may have written,
// and perhaps not durably.
type Syncer interface {
	// Sync makes the content of the object or directory name durable, with all
	// below; Settle does so with the name itself. Nobody may write there meanwhile.
	Sync(ctx context.Context, name string) error
}

// Sync makes name durable where st is a Syncer; with others what is there is
// durable.
func Sync(ctx context.Context, st Store, name string) error {
	if s, ok := st.(Syncer); ok {
		return s.Sync(ctx, name)
	}
	return nil
}
