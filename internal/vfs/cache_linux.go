package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

func (f osFile) DropCache() error {
	if err := control(f.File, func(fd int) error { return unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED) }); err != nil {
		return &os.PathError{Op: "fadvise", Path: f.Name(), Err: err}
	}
	return nil
}
