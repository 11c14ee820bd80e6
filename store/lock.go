package store

import (
	"context"
	"io"
)

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
