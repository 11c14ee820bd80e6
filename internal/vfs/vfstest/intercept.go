package vfstest

import (
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"io"
	"io/fs"
	"path"
)

// Around is called for every call to an intercepted file system. do performs
// the call and returns its error; Around decides whether to run it and what
// the caller is told. For WriteAt and ReadAt, lowering c.Size before do shortens
// the transfer.
type Around func(c *Call, do func() error) error

// Intercept returns fsys with around at every call to it and to its files.
// around may be called concurrently.
func Intercept(fsys vfs.FS, around Around) vfs.FS { return &intercepted{fsys, around} }

type intercepted struct {
	fsys   vfs.FS
	around Around
}

func (x *intercepted) file(op Op, name string, open func() (vfs.File, error)) (vfs.File, error) {
	var f vfs.File
	err := x.around(&Call{Op: op, Name: name}, func() (err error) {
		f, err = open()
		return err
	})
	if err != nil {
		if f != nil {
			f.Close() //nolint:errcheck // the caller is told that there is no file
		}
		return nil, err
	}
	return &interceptedFile{f, name, x.around}, nil
}

func (x *intercepted) Create(name string, perm fs.FileMode) (vfs.File, error) {
	return x.file(OpCreate, name, func() (vfs.File, error) { return x.fsys.Create(name, perm) })
}

func (x *intercepted) Open(name string) (vfs.File, error) {
	return x.file(OpOpen, name, func() (vfs.File, error) { return x.fsys.Open(name) })
}

func (x *intercepted) Mkdir(name string, perm fs.FileMode) error {
	return x.around(&Call{Op: OpMkdir, Name: name}, func() error { return x.fsys.Mkdir(name, perm) })
}

func (x *intercepted) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = x.around(&Call{Op: OpReadDir, Name: name}, func() (err error) {
		list, err = x.fsys.ReadDir(name)
		return err
	})
	return list, err
}

func (x *intercepted) Stat(name string) (info fs.FileInfo, err error) {
	err = x.around(&Call{Op: OpStat, Name: name}, func() (err error) {
		info, err = x.fsys.Stat(name)
		return err
	})
	return info, err
}

func (x *intercepted) Remove(name string) error {
	return x.around(&Call{Op: OpRemove, Name: name}, func() error { return x.fsys.Remove(name) })
}

func (x *intercepted) Rename(oldname, newname string) error {
	return x.around(&Call{Op: OpRename, Name: oldname, To: newname}, func() error { return x.fsys.Rename(oldname, newname) })
}

func (x *intercepted) RenameNoReplace(oldname, newname string) error {
	return x.around(&Call{Op: OpRenameNoReplace, Name: oldname, To: newname}, func() error {
		return x.fsys.RenameNoReplace(oldname, newname)
	})
}

func (x *intercepted) Exchange(a, b string) error {
	return x.around(&Call{Op: OpExchange, Name: a, To: b}, func() error { return x.fsys.Exchange(a, b) })
}

func (x *intercepted) Link(oldname, newname string) error {
	return x.around(&Call{Op: OpLink, Name: oldname, To: newname}, func() error { return x.fsys.Link(oldname, newname) })
}

func (x *intercepted) SyncDir(name string) error {
	return x.around(&Call{Op: OpSyncDir, Name: name}, func() error { return x.fsys.SyncDir(name) })
}

// Lock gives a lock back that around has decided to refuse.
func (x *intercepted) Lock(name string, perm fs.FileMode, note []byte) (io.Closer, error) {
	var lock io.Closer
	err := x.around(&Call{Op: OpLock, Name: name}, func() (err error) {
		lock, err = x.fsys.Lock(name, perm, note)
		return err
	})
	if err != nil && lock != nil {
		lock.Close() //nolint:errcheck // the caller is told that there is none
		lock = nil
	}
	return lock, err
}

// OpenDir has around be called for what is done in the directory too, by the name
// that it had when it was opened.
func (x *intercepted) OpenDir(name string) (vfs.Dir, error) {
	var d vfs.Dir
	err := x.around(&Call{Op: OpOpenDir, Name: name}, func() (err error) {
		d, err = x.fsys.OpenDir(name)
		return err
	})
	if err != nil {
		if d != nil {
			d.Close() //nolint:errcheck // the caller is told that there is none
		}
		return nil, err
	}
	return &interceptedDir{d, name, x}, nil
}

type interceptedDir struct {
	d    vfs.Dir
	name string
	x    *intercepted
}

func (d *interceptedDir) Open(name string) (vfs.File, error) {
	return d.x.file(OpOpen, path.Join(d.name, name), func() (vfs.File, error) { return d.d.Open(name) })
}

func (d *interceptedDir) Stat(name string) (info fs.FileInfo, err error) {
	err = d.x.around(&Call{Op: OpStat, Name: path.Join(d.name, name)}, func() (err error) {
		info, err = d.d.Stat(name)
		return err
	})
	return info, err
}

func (d *interceptedDir) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = d.x.around(&Call{Op: OpReadDir, Name: path.Join(d.name, name)}, func() (err error) {
		list, err = d.d.ReadDir(name)
		return err
	})
	return list, err
}

func (d *interceptedDir) Lock(exclusive bool) (taken bool, err error) {
	c := &Call{Op: OpLockDir, Name: d.name}
	if exclusive {
		c.Size = 1
	}
	err = d.x.around(c, func() (err error) {
		taken, err = d.d.Lock(exclusive)
		return err
	})
	return taken && err == nil, err
}

// Close closes the directory below. around is not told: nothing hangs on it.
func (d *interceptedDir) Close() error { return d.d.Close() }

type interceptedFile struct {
	f      vfs.File
	name   string
	around Around
}

func (x *interceptedFile) ReadAt(p []byte, off int64) (n int, err error) {
	c := &Call{Op: OpReadAt, Name: x.name, Off: off, Size: int64(len(p))}
	err = x.around(c, func() (err error) {
		n, err = x.f.ReadAt(p[:c.Size], off)
		return err
	})
	return n, err
}

func (x *interceptedFile) WriteAt(p []byte, off int64) (n int, err error) {
	c := &Call{Op: OpWriteAt, Name: x.name, Off: off, Size: int64(len(p))}
	err = x.around(c, func() (err error) {
		n, err = x.f.WriteAt(p[:c.Size], off)
		return err
	})
	return n, err
}

func (x *interceptedFile) Allocate(size int64) error {
	return x.around(&Call{Op: OpAllocate, Name: x.name, Size: size}, func() error { return x.f.Allocate(size) })
}

func (x *interceptedFile) Truncate(size int64) error {
	return x.around(&Call{Op: OpTruncate, Name: x.name, Size: size}, func() error { return x.f.Truncate(size) })
}

func (x *interceptedFile) SetDirect(on bool) error {
	c := &Call{Op: OpSetDirect, Name: x.name}
	if on {
		c.Size = 1
	}
	return x.around(c, func() error { return x.f.SetDirect(on) })
}

// Sync tells the file below when around reports a failure without having run
// it: then the writes are lost, as after a failed fsync on Linux.
func (x *interceptedFile) Sync() error {
	ran := false
	err := x.around(&Call{Op: OpSync, Name: x.name}, func() error {
		ran = true
		return x.f.Sync()
	})
	if err != nil && !ran {
		x.loseWrites()
	}
	return err
}

func (x *interceptedFile) loseWrites() {
	if l, ok := x.f.(interface{ loseWrites() }); ok {
		l.loseWrites()
	}
}

func (x *interceptedFile) Stat() (info fs.FileInfo, err error) {
	err = x.around(&Call{Op: OpFileStat, Name: x.name}, func() (err error) {
		info, err = x.f.Stat()
		return err
	})
	return info, err
}

// Close always closes the file below: a failed close leaves no open file.
func (x *interceptedFile) Close() error {
	ran := false
	err := x.around(&Call{Op: OpClose, Name: x.name}, func() error {
		ran = true
		return x.f.Close()
	})
	if !ran {
		x.f.Close() //nolint:errcheck // around has decided what the caller is told
	}
	return err
}

// DropCache drops the cache of the file below; see DropCache of package vfs.
func (x *interceptedFile) DropCache() error { return vfs.DropCache(x.f) }
