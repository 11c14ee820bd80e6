//go:build !linux

package main

import (
	"errors"
	"os"
)

// createRaw knows no direct I/O here.
func createRaw(name string, direct bool) (*os.File, error) {
	if direct {
		return nil, errors.ErrUnsupported
	}
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

func allocate(f *os.File, size int64) error { return f.Truncate(size) }

func dataSync(f *os.File) error { return f.Sync() }
