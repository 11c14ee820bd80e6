//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// blockBytes is the unit in which the system counts the space of a file.
const blockBytes = 512

// inode says how many names a file has, and how many bytes it takes on the disk.
func inode(info fs.FileInfo) (links int, allocated int64) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1, info.Size()
	}
	return int(s.Nlink), int64(s.Blocks) * blockBytes
}

// identity identifies a file, whatever names it has. It is zero if that is not known.
func identity(info fs.FileInfo) inodeID {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inodeID{}
	}
	return inodeID{uint64(s.Dev), s.Ino} //nolint:unconvert // its type differs between systems
}
