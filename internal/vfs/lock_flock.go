//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package vfs

import (
	"errors"
	"os"
	"syscall"
)

// flock takes the lock of an open file unless another holder has it. The system releases it when
// the file is closed, at the latest when the process ends.
func flock(f *os.File) (taken bool, err error) {
	c, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	if e := c.Control(func(fd uintptr) {
		for err = syscall.EINTR; err == syscall.EINTR; {
			err = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
		}
	}); e != nil {
		return false, os.ErrClosed // Control returns no other error
	}
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	case errors.Is(err, syscall.ENOLCK): // a network file system without a lock server
		err = errors.ErrUnsupported
	}
	return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
}
