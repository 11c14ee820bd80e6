package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openDir opens a directory.
func openDir(name string) (Dir, error) {
	d := &osDir{held{name: name}}
	err := retry(func() (err error) {
		d.fd, err = unix.Open(name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|openNoFollow, 0)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return d, nil
}

// osDir is a directory that is held by its descriptor.
type osDir struct{ held }

// withoutOpenat2 is set if the kernel, or a filter in front of it, does not know openat2. Names are
// then walked element by element.
var withoutOpenat2 atomic.Bool

// descriptor opens a name below the directory with the flags. The caller closes the descriptor.
func (d *osDir) descriptor(op, name string, flags int) (fd int, err error) {
	if !fs.ValidPath(name) {
		return -1, &os.PathError{Op: op, Path: path.Join(d.name, name), Err: unix.EINVAL}
	}
	err = d.with(func(dir int) (err error) {
		flags |= unix.O_CLOEXEC | unix.O_NOFOLLOW
		if !withoutOpenat2.Load() {
			how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
			fd, err = unix.Openat2(dir, name, &how)
			if err == unix.ENOTDIR && flags&unix.O_DIRECTORY != 0 && isLink(dir, name) {
				err = unix.ELOOP
			}
			if err != unix.ENOSYS && err != unix.EPERM {
				return err
			}
		}
		if fd, err = walkAt(dir, name, flags); err == nil {
			withoutOpenat2.Store(true)
		}
		return err
	})
	if err != nil {
		if err != os.ErrClosed {
			err = &os.PathError{Op: op, Path: path.Join(d.name, name), Err: err}
		}
		return -1, err
	}
	return fd, nil
}

// walkAt replaces openat2: it opens each element as a directory that is not a link.
func walkAt(dir int, name string, flags int) (int, error) {
	at := dir
	elems := strings.Split(name, "/")
	for i, elem := range elems {
		f := unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if i == len(elems)-1 {
			f = flags
		}
		next, err := unix.Openat(at, elem, f, 0)
		if at != dir {
			unix.Close(at) //nolint:errcheck // it was only walked through
		}
		if err != nil {
			if err == unix.ENOTDIR && (i < len(elems)-1 || flags&unix.O_DIRECTORY != 0) && isLink(dir, strings.Join(elems[:i+1], "/")) {
				err = unix.ELOOP
			}
			return -1, err
		}
		at = next
	}
	return at, nil
}

func isLink(dir int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// Open implements Dir. A pipe without a writer does not block it.
func (d *osDir) Open(name string) (File, error) {
	fd, err := d.descriptor("open", name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &heldFile{held{fd: fd, dir: d.name, name: name}}, nil
}

// Stat implements Dir.
func (d *osDir) Stat(name string) (fs.FileInfo, error) {
	if name == "." {
		info := &statInfo{name: path.Base(d.name)}
		return d.looked(info, name, d.with(func(fd int) error { return unix.Fstat(fd, &info.stat) }))
	}
	dir, base := path.Split(name)
	if !fs.ValidPath(base) {
		return nil, &os.PathError{Op: "lstat", Path: path.Join(d.name, name), Err: unix.EINVAL}
	}
	info := &statInfo{name: base}
	look := func(fd int) error { return unix.Fstatat(fd, base, &info.stat, unix.AT_SYMLINK_NOFOLLOW) }
	if dir != "" {
		parent, err := d.descriptor("lstat", strings.TrimSuffix(dir, "/"), unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return nil, err
		}
		err = retry(func() error { return look(parent) })
		unix.Close(parent) //nolint:errcheck // it was only looked at
		return d.looked(info, name, err)
	}
	return d.looked(info, name, d.with(look))
}

// looked returns the result of a look at a name.
func (d *osDir) looked(info fs.FileInfo, name string, err error) (fs.FileInfo, error) {
	if err == nil {
		return info, nil
	}
	if err != os.ErrClosed {
		err = &os.PathError{Op: "lstat", Path: path.Join(d.name, name), Err: err}
	}
	return nil, err
}

// statInfo is the result of fstatat for a name: one system call, without a descriptor.
type statInfo struct {
	name string
	stat unix.Stat_t
}

// Name implements fs.FileInfo.
func (i *statInfo) Name() string { return i.name }

// Size implements fs.FileInfo.
func (i *statInfo) Size() int64 { return i.stat.Size }

// ModTime implements fs.FileInfo.
func (i *statInfo) ModTime() time.Time { return time.Unix(i.stat.Mtim.Unix()) }

// IsDir implements fs.FileInfo.
func (i *statInfo) IsDir() bool { return i.Mode().IsDir() }

// Sys implements fs.FileInfo.
func (i *statInfo) Sys() any { return &i.stat }

// Mode implements fs.FileInfo.
func (i *statInfo) Mode() fs.FileMode {
	mode := fs.FileMode(i.stat.Mode & 0o777)
	switch i.stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	default:
		mode |= fs.ModeIrregular
	}
	if i.stat.Mode&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if i.stat.Mode&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if i.stat.Mode&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

// sameInode reports whether two results of Stat describe one inode. ok is false if neither is a
// statInfo.
func sameInode(a, b fs.FileInfo) (same, ok bool) {
	_, x := a.(*statInfo)
	_, y := b.(*statInfo)
	if !x && !y {
		return false, false
	}
	devA, inoA, okA := inode(a)
	devB, inoB, okB := inode(b)
	return okA && okB && devA == devB && inoA == inoB, true
}

func inode(i fs.FileInfo) (dev, ino uint64, ok bool) {
	switch st := i.Sys().(type) {
	case *unix.Stat_t:
		return uint64(st.Dev), st.Ino, true //nolint:unconvert // Dev has another type on other systems
	case *syscall.Stat_t:
		return uint64(st.Dev), st.Ino, true //nolint:unconvert // as above
	}
	return 0, 0, false
}

// ReadDir implements Dir. It looks at each object while the directory is open, so that Info needs
// no way to it.
func (d *osDir) ReadDir(name string) ([]fs.DirEntry, error) {
	fd, err := d.descriptor("open", name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	return d.list(fd, name)
}

// list lists the directory fd, which has a name below d. If it fails, it returns what it has read.
func (d *osDir) list(fd int, name string) ([]fs.DirEntry, error) {
	names, err := readNames(fd)
	if err != nil {
		err = &os.PathError{Op: "readdirent", Path: path.Join(d.name, name), Err: err}
	}
	slices.Sort(names)
	return d.describe(fd, name, names), err
}

// describe looks at names in the directory fd, which has a name below d.
func (d *osDir) describe(fd int, name string, names []string) []fs.DirEntry {
	list, seen := make([]fs.DirEntry, len(names)), make([]seenEntry, len(names))
	for i, base := range names {
		s := &seen[i]
		s.info.name = base
		if err := retry(func() error { return unix.Fstatat(fd, base, &s.info.stat, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
			_, s.err = d.looked(nil, path.Join(name, base), err)
		}
		list[i] = s
	}
	return list
}

// listBytes is how much of a directory the system lists at once.
const listBytes = 8 << 10

// readNames returns the names in the directory fd. If it fails, it returns what it has read.
func readNames(fd int) (names []string, err error) {
	buf := make([]byte, listBytes)
	for {
		n := 0
		err := retry(func() (err error) { n, err = unix.ReadDirent(fd, buf); return err })
		if err != nil || n <= 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// seenEntry is a name in a directory, and what it named when the directory was read.
type seenEntry struct {
	info statInfo
	err  error // why it could not be looked at
}

// Name implements fs.DirEntry.
func (e *seenEntry) Name() string { return e.info.name }

// IsDir implements fs.DirEntry.
func (e *seenEntry) IsDir() bool { return e.Type().IsDir() }

// Type implements fs.DirEntry. It is irregular if the object could not be looked at.
func (e *seenEntry) Type() fs.FileMode {
	if e.err != nil {
		return fs.ModeIrregular
	}
	return e.info.Mode().Type()
}

// String returns the entry as fs.FormatDirEntry does.
func (e *seenEntry) String() string { return fs.FormatDirEntry(e) }

// Info implements fs.DirEntry.
func (e *seenEntry) Info() (fs.FileInfo, error) {
	if e.err != nil {
		return nil, e.err
	}
	return &e.info, nil
}

// Lock implements Dir. It works only on file systems of this machine. On a network file system the
// lock of a directory exists only on this host, and other hosts would not see it.
func (d *osDir) Lock(exclusive bool) (taken bool, err error) {
	var st unix.Statfs_t
	err = d.with(func(fd int) error { return unix.Fstatfs(fd, &st) })
	if err == nil && !localFS[uint32(st.Type)] {
		err = unix.ENOTSUP
	}
	how := unix.LOCK_SH | unix.LOCK_NB
	if exclusive {
		how = unix.LOCK_EX | unix.LOCK_NB
	}
	if err == nil {
		err = d.with(func(fd int) error { return unix.Flock(fd, how) })
	}
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		return false, nil
	case errors.Is(err, unix.ENOLCK):
		err = unix.ENOTSUP
	}
	return false, &os.PathError{Op: "flock", Path: d.name, Err: err}
}

// localFS are the file systems that no other host can have mounted.
var localFS = map[uint32]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.TMPFS_MAGIC: true,
	unix.OVERLAYFS_SUPER_MAGIC: true, unix.F2FS_SUPER_MAGIC: true, unix.RAMFS_MAGIC: true, 0x2fc12fc1 /* zfs */ : true, 0xca451a4e /* bcachefs */ : true,
}
