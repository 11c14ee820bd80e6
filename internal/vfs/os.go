package vfs

import (
	"io/fs"
	"os"
)

// OS returns the file system of the operating system.
//
// On Linux RenameNoReplace and Exchange are renameat2, Allocate is fallocate, Sync is fdatasync and
// SetDirect is O_DIRECT. On other systems RenameNoReplace, Exchange and SetDirect are
// errors.ErrUnsupported, Allocate does nothing, and Sync is the strongest sync of the system.
func OS() FS { return osFS{} }

type osFS struct{}

func (osFS) Create(name string, perm fs.FileMode) (File, error) {
	return openOS(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
}

func (osFS) Open(name string) (File, error) {
	return openOS(name, os.O_RDONLY|openNoFollow, 0)
}

func openOS(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Mkdir(name string, perm fs.FileMode) error  { return os.Mkdir(name, perm) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)      { return os.Lstat(name) }
func (osFS) Remove(name string) error                   { return os.Remove(name) }
func (osFS) Rename(oldname, newname string) error       { return renameOS(oldname, newname) }
func (osFS) Link(oldname, newname string) error         { return os.Link(oldname, newname) }
func (osFS) Exchange(a, b string) error                 { return exchange(a, b) }
func (osFS) SyncDir(name string) error                  { return syncDir(name) }

func (osFS) RenameNoReplace(oldname, newname string) error {
	return renameNoReplace(oldname, newname)
}

// osFile adds the calls to *os.File that differ between systems.
type osFile struct{ *os.File }

func (f osFile) Allocate(size int64) error { return allocate(f.File, size) }
func (f osFile) SetDirect(on bool) error   { return setDirect(f.File, on) }
func (f osFile) Sync() error               { return syncData(f.File) }
