package folders

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// read reads the names of the folder in large pieces. It takes the type of each entry from the
// directory and does not call stat.
func (l *Listing) read(match func(name string) bool) error {
	fd, err := openDir(l.dir, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // it was only read
	const largest = 64 << 10
	buffer := make([]byte, largest)
	for {
		n, err := unix.ReadDirent(fd, buffer)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case n <= 0:
			return nil
		}
		for rest := buffer[:n]; len(rest) >= nameOffset; {
			size := int(binary.NativeEndian.Uint16(rest[sizeOffset:]))
			if size < nameOffset || size > len(rest) {
				return unix.EIO
			}
			kind, name := rest[kindOffset], rest[nameOffset:size]
			rest = rest[size:]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			if kind == unix.DT_DIR || len(name) == 0 {
				continue
			}
			text := unsafe.String(unsafe.SliceData(name), len(name)) // valid until the buffer is reused
			if l.Seen++; match(text) {
				l.add(text)
			}
		}
	}
}

// Offsets of the fields of a directory entry.
const (
	sizeOffset = int(unsafe.Offsetof(unix.Dirent{}.Reclen))
	kindOffset = int(unsafe.Offsetof(unix.Dirent{}.Type))
	nameOffset = int(unsafe.Offsetof(unix.Dirent{}.Name))
)

func openDir(dir string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Open(dir, flags|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// measure reads the sizes of files lo to hi, by their names in the folder.
func (l *Listing) measure(lo, hi int) error {
	fd, err := openDir(l.dir, unix.O_PATH)
	if err != nil {
		return Error(l.op, l.dir, err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing was written
	var st unix.Stat_t
	for i := lo; i < hi; i++ {
		f := &l.Files[i]
		for {
			if err = unix.Fstatat(fd, l.Name(*f), &st, 0); !errors.Is(err, unix.EINTR) {
				break
			}
		}
		if err != nil {
			return Error(l.op, filepath.Join(l.dir, l.Name(*f)), err)
		}
		if f.Size = st.Size; st.Mode&unix.S_IFMT != unix.S_IFREG {
			f.Size = -1
		}
	}
	return nil
}
