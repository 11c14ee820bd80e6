package store

import (
	"context"
	"io"
)

// LockName is the name below a directory under which a store may keep its lock. It
// tells who holds it; when nobody does it tells who did, and means nothing.
const LockName = ".bivouac.lock"

// Locker is a Store that can keep a second writer out of a directory. The lock is
// advice: it keeps out who asks for it, and neither readers nor others.
type Locker interface {
	// Lock takes the lock of the directory dir, which it makes when it is missing,
	// until Close is called or the process ends, killed or not. When another one
	// has it, in this process or elsewhere, that is errs.Busy, which names the
	// process, its host and since when; where there are no locks errs.Unsupported.
	Lock(ctx context.Context, dir string) (io.Closer, error)
}

// HeldLock is a lock that can be looked at. What Locker.Lock returns may be one.
type HeldLock interface {
	io.Closer
	// Check returns an error unless the lock still keeps others out: errs.NotFound when
	// its file or directory was removed, errs.Busy when another file stands there, which
	// another process may have locked.
	Check(ctx context.Context) error
}
