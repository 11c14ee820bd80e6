// Package vfs is the file system as Bivouac uses it. Every sync, rename and directory sync of the
// storage floor goes through FS. In tests the file systems of package vfstest replace the disk:
// crash enumeration, fault injection and golden call lists run the same protocol as OS.
//
// The package has no protocol. Package store/local decides which calls come in which order.
package vfs

import (
	"io"
	"io/fs"
	"os"
	"unsafe"
)

// FS is a file system. Names are slash-separated. OS reads them as the operating system does, and
// Mem reads them as rooted at "/". Errors satisfy errors.Is with fs.ErrExist, fs.ErrNotExist,
// fs.ErrPermission, errors.ErrUnsupported and the syscall errnos (ENOSPC, EIO, …). All methods may
// be called concurrently. No method retries a failed call. An interrupted system call (EINTR) is
// not a failure; OS continues it.
//
// Only File.Sync and SyncDir make anything durable.
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
	// RenameNoReplace works like Rename, and fails with fs.ErrExist if newname exists, in one atomic
	// step. If the file system cannot, the error is errors.ErrUnsupported and nothing has happened.
	RenameNoReplace(oldname, newname string) error
	// Exchange swaps two existing names atomically. If the file system cannot, the error is
	// errors.ErrUnsupported and nothing has happened.
	Exchange(a, b string) error
	// Link makes a hard link to a file; newname must not exist.
	Link(oldname, newname string) error
	// SyncDir makes the entries of a directory durable.
	SyncDir(name string) error
	// Lock takes the lock of a file until Close is called or the process ends in any way. It creates a
	// missing file. If the lock is taken, the error is a *Held with the note of the holder. The lock
	// keeps out only programs that ask for it. If the file system has no locks, the error is
	// errors.ErrUnsupported. The lock also has a method Stat() (fs.FileInfo, error), which describes
	// its file.
	Lock(name string, perm fs.FileMode, note []byte) (io.Closer, error)
	// OpenDir opens a directory, which stays the same directory even if it is renamed. It does not
	// follow a symbolic link in the last element.
	OpenDir(name string) (Dir, error)
}

// File is an open file. ReadAt and WriteAt may be called concurrently and keep
// the contracts of io.ReaderAt and io.WriterAt.
type File interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	// Allocate reserves room for size bytes and extends the file to this size, so that a full disk is
	// noticed before the first write. If the file system cannot reserve room, Allocate does nothing
	// and returns nil.
	Allocate(size int64) error
	Truncate(size int64) error
	// SetDirect makes later writes go past the page cache, or not. A direct WriteAt needs offset,
	// length and address of p in multiples of DirectBlock, and fails with EINVAL otherwise. If the
	// file system cannot write directly, the error is errors.ErrUnsupported and nothing has changed.
	// Before Sync a direct write is no more durable than any other write.
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

// SameFile reports whether two results of Stat of one FS describe the same file or directory,
// whatever its names were.
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
