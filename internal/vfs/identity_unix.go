//go:build unix

package vfs

import (
	"io/fs"
	"syscall"
)

func identity(info fs.FileInfo) (FileID, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return FileID{}, false
	}
	return FileID{uint64(s.Dev), s.Ino}, true //nolint:unconvert // Dev has another type on other systems
}
