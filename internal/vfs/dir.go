package vfs

import "io/fs"

// Dir is an open directory. Names are slash-separated and relative to it; "." is the directory
// itself. They lead to objects in this directory even if the directory is renamed. No symbolic link
// is followed, in no element. Methods may be called concurrently.
type Dir interface {
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Stat describes the object with the given name.
	Stat(name string) (fs.FileInfo, error)
	// ReadDir lists a directory in ascending order of names.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Lock takes a shared or exclusive lock of the directory until Close is called or the process
	// ends. taken is false if another holder's lock is in the way. A second call changes the kind of
	// the lock, and loses the lock if it cannot. The lock keeps out only programs that ask for it. The
	// error is errors.ErrUnsupported if other hosts would not see the lock.
	Lock(exclusive bool) (taken bool, err error)
	// Close releases the directory and its lock.
	Close() error
}

// OpenDir implements FS.
func (osFS) OpenDir(name string) (Dir, error) { return openDir(name) }
