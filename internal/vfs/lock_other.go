//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package vfs

import (
	"errors"
	"os"
)

func flock(f *os.File) (bool, error) {
	return false, &os.PathError{Op: "flock", Path: f.Name(), Err: errors.ErrUnsupported}
}
