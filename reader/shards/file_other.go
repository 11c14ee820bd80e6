//go:build !linux

package shards

import (
	"os"
	"sync/atomic"
	"time"
)

// file is an open file.
type file struct{ *os.File }

func openOS(path string, _ int64, _ *atomic.Int64) (*file, error) {
	f, err := os.Open(path)
	return &file{f}, err
}

// stat returns the size of the file and the time of its last change.
func (f *file) stat() (size int64, changed time.Time, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, changed, err
	}
	return info.Size(), info.ModTime(), nil
}

// readSplit fills head and then p with the bytes from an offset on.
func (f *file) readSplit(head, p []byte, off int64) error {
	if _, err := f.ReadAt(head, off); err != nil {
		return err
	}
	_, err := f.ReadAt(p, off+int64(len(head)))
	return err
}

// view returns false: no bytes lie in memory.
func (f *file) view(int64, int, bool, func(b []byte) bool) bool { return false }
