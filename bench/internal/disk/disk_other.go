//go:build !linux

package disk

import (
	"errors"
	"os"
)

// create knows no direct I/O here.
func create(name string, direct bool) (*os.File, error) {
	if direct {
		return nil, errors.ErrUnsupported
	}
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

func allocate(f *os.File, size int64) error { return f.Truncate(size) }

func dataSync(f *os.File) error { return f.Sync() }

// Evict is not known here.
func Evict(string) error { return errors.ErrUnsupported }
