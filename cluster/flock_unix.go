//go:build linux || darwin || freebsd || netbsd || openbsd

package cluster

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// tryLock takes the lock of a file. It reports false if another process has it.
func tryLock(f *os.File) (bool, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var flockErr error
	err = raw.Control(func(fd uintptr) { flockErr = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) })
	switch {
	case err != nil:
		return false, fs.ErrClosed // Control fails for no other reason
	case errors.Is(flockErr, syscall.EWOULDBLOCK), errors.Is(flockErr, syscall.EINTR):
		return false, nil
	}
	return flockErr == nil, flockErr
}

// unlock gives the lock back.
func unlock(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { syscall.Flock(int(fd), syscall.LOCK_UN) }) //nolint:errcheck // ends with the process
	}
}
