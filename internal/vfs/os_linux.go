package vfs

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const openNoFollow = unix.O_NOFOLLOW

// retry repeats a system call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// renameOS calls rename(2). Unlike os.Rename, it replaces an empty directory by a directory, which
// the system does atomically.
func renameOS(oldname, newname string) error {
	return linkError("rename", oldname, newname, retry(func() error { return unix.Rename(oldname, newname) }))
}

func renameNoReplace(oldname, newname string) error {
	return renameat2(oldname, newname, unix.RENAME_NOREPLACE)
}

func exchange(a, b string) error { return renameat2(a, b, unix.RENAME_EXCHANGE) }

// renameat2 returns errors.ErrUnsupported if the kernel (ENOSYS) or the file system (EINVAL: NFS
// and many FUSE systems) does not know the flag. Moving a directory into itself also gives EINVAL.
// A caller that then falls back to a plain rename gets the right error from it.
func renameat2(oldname, newname string, flags uint) error {
	err := retry(func() error { return unix.Renameat2(unix.AT_FDCWD, oldname, unix.AT_FDCWD, newname, flags) })
	if err == unix.EINVAL {
		err = unix.ENOTSUP
	}
	return linkError("renameat2", oldname, newname, err)
}

func linkError(op, oldname, newname string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: oldname, New: newname, Err: err}
}

// syncDir ignores the error of network and FUSE file systems that have no fsync of a directory.
// There, entries are as durable as the system makes them.
func syncDir(name string) error {
	d, err := os.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

func allocate(f *os.File, size int64) error {
	if size <= 0 {
		return nil
	}
	err := control(f, func(fd int) error { return unix.Fallocate(fd, 0, 0, size) })
	switch err {
	case nil, unix.ENOSYS, unix.EOPNOTSUPP, unix.EINVAL:
		return nil
	}
	return &os.PathError{Op: "fallocate", Path: f.Name(), Err: err}
}

// setDirect returns errors.ErrUnsupported if the file system refuses the flag (EINVAL). It sets the
// flag on an open file, because opening with the flag may leave a file behind when it is refused.
func setDirect(f *os.File, on bool) error {
	err := control(f, func(fd int) error {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return err
		}
		flags &^= unix.O_DIRECT
		if on {
			flags |= unix.O_DIRECT
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
		return err
	})
	switch err {
	case nil:
		return nil
	case unix.EINVAL:
		err = unix.ENOTSUP
	}
	return &os.PathError{Op: "fcntl O_DIRECT", Path: f.Name(), Err: err}
}

func syncData(f *os.File) error {
	if err := control(f, unix.Fdatasync); err != nil {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
	}
	return nil
}

func control(f *os.File, call func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	if err := c.Control(func(fd uintptr) { done = retry(func() error { return call(int(fd)) }) }); err != nil {
		return os.ErrClosed // Control returns no other error
	}
	return done
}
