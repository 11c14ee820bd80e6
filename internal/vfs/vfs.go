// Package vfs is the file system as Bivouac uses it. Every sync, rename and
// directory sync of the storage floor goes through FS, so that crash
// enumeration (Mem), fault injection (Fault) and the golden call list (Log) run
// the very protocol that OS runs.
package vfs

import (
	"io/fs"
)

// FS is a file system. Names are slash-separated; OS takes them as the
// operating system does, Mem treats them as rooted at "/". Errors satisfy
// errors.Is with fs.ErrExist, fs.ErrNotExist, fs.ErrPermission and the syscall
// errnos (ENOSPC, EIO, …).
type FS interface {
	// Create makes a new file for reading and writing; it must not exist.
	Create(name string, perm fs.FileMode) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Mkdir makes one directory; it must not exist.
	Mkdir(name string, perm fs.FileMode) error
	// ReadDir lists a directory in ascending order of names.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Stat does not follow a symbolic link in the last element.
	Stat(name string) (fs.FileInfo, error)
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// Rename moves within the file system and replaces a file at newname.
	Rename(oldname, newname string) error
	// RenameNoReplace is Rename that fails with fs.ErrExist when newname exists.
	RenameNoReplace(oldname, newname string) error
	// Exchange swaps two existing names atomically.
	Exchange(a, b string) error
	// Link makes a hard link.
	Link(oldname, newname string) error
	// SyncDir makes the entries of a directory durable.
	SyncDir(name string) error
}

// File is an open file. ReadAt and WriteAt may be called concurrently.
type File interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	// Allocate reserves size bytes; a file system that cannot says so by nil.
	Allocate(size int64) error
	Truncate(size int64) error
	// Sync makes data and size durable (fdatasync), not the directory entry.
	Sync() error
	Stat() (fs.FileInfo, error)
	Close() error
}
