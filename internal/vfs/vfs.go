// Package vfs is the file system as Bivouac uses it. Every sync, rename and
// directory sync of the storage floor goes through FS. The file systems of
// package vfstest stand in for the disk in tests: crash enumeration, fault
// injection and golden call lists run the very protocol that OS runs.
//
// The package knows no protocol: which calls come in which order is the
// business of store/local.
package vfs

import (
	"io"
	"io/fs"
	"os"
	"unsafe"
)

// FS is a file system. Names are slash-separated; OS takes them as the
// operating system does, Mem treats them as rooted at "/". Errors satisfy
// errors.Is with fs.ErrExist, fs.ErrNotExist, fs.ErrPermission,
// errors.ErrUnsupported and the syscall errnos (ENOSPC, EIO, …). All methods
// may be called concurrently. No method retries what failed; an interrupted
// system call (EINTR) is no failure and is continued by OS.
//
// Nothing but File.Sync and SyncDir makes anything durable.
type FS interface {
	// Create makes a new file for reading and writing; it must not exist.
	Create(name string, perm fs.FileMode) (File, error)
	// Open opens a file for reading. It does not follow a symbolic link in the
	// last element.
	Open(name string) (File, error)
	// Mkdir makes one directory; it must not exist.
	Mkdir(name string, perm fs.FileMode) error
	// ReadDir lists a directory in ascending order of names.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Stat does not follow a symbolic link in the last element.
	Stat(name string) (fs.FileInfo, error)
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// Rename moves within the file system and replaces a file, or an empty
	// directory by a directory, at newname.
	Rename(oldname, newname string) error
	// RenameNoReplace is Rename that fails with fs.ErrExist when newname
	// exists, in one atomic step. It is errors.ErrUnsupported, and nothing has
	// happened, where the file system cannot.
	RenameNoReplace(oldname, newname string) error
	// Exchange swaps two existing names atomically. It is
	// errors.ErrUnsupported, and nothing has happened, where the file system
	// cannot.
	Exchange(a, b string) error
	// Link makes a hard link to a file; newname must not exist.
	Link(oldname, newname string) error
	// SyncDir makes the entries of a directory durable.
	SyncDir(name string) error
	// Lock takes the lock of a file until Close is called or the process ends, however it ends. A
	// missing file is created. A caller that finds the lock taken gets a *Held error with the note.
	// The lock keeps out only programs that ask for it. The error is errors.ErrUnsupported if the file
	// system has no locks. The lock has a method Stat() (fs.FileInfo, error) too, which describes its
	// file.
	Lock(name string, perm fs.FileMode, note []byte) (io.Closer, error)
	// OpenDir opens a directory, which stays the same one whatever becomes of its
	// name. It does not follow a symbolic link in the last element.
	OpenDir(name string) (Dir, error)
}

// File is an open file. ReadAt and WriteAt may be called concurrently and keep
// the contracts of io.ReaderAt and io.WriterAt.
type File interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	// Allocate reserves room for size bytes and extends the file to it, so
	// that a full disk is known before the first write; a file system that
	// cannot reserve does nothing and returns nil.
	Allocate(size int64) error
	Truncate(size int64) error
	// SetDirect has later writes go past the page cache, or not. A direct
	// WriteAt wants offset, length and address of p in multiples of
	// DirectBlock and is EINVAL otherwise. It is errors.ErrUnsupported, and
	// nothing has changed, where the file system cannot. A direct write is no
	// more durable than another one before Sync.
	SetDirect(on bool) error
	// Sync makes data and size durable (fdatasync), not the directory entry.
	// After a failure the written data may be lost although a second Sync
	// succeeds: never retry on the same file.
	Sync() error
	Stat() (fs.FileInfo, error)
	Close() error
}

// DirectBlock is the unit of direct writes: the block size of the disks we know, or a multiple of
// it.
const DirectBlock = 4096

// Aligned reports whether the address of p is a multiple of DirectBlock.
func Aligned(p []byte) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(p)))%DirectBlock == 0 }

// SameFile reports whether two results of Stat of one FS describe the same file
// or directory, whatever its name was each time.
func SameFile(a, b fs.FileInfo) bool {
	x, ok := a.Sys().(FileID)
	y, ok2 := b.Sys().(FileID)
	if ok || ok2 {
		return ok && ok2 && x == y
	}
	if same, ok := sameInode(a, b); ok {
		return same
	}
	return os.SameFile(a, b)
}
