package vfs

import (
	"io"
	"io/fs"
	"os"
	"path"
	"sync"

	"golang.org/x/sys/unix"
)

// held is an open descriptor. It is a plain one: an os.File asks the system several times more for
// each file, which small files notice. Like an os.File it may be closed while it is used. It does
// not close itself when it is forgotten.
type held struct {
	dir, name string // the directory, if there is one, and the name in it when it was opened, for messages

	mu sync.RWMutex // held for reading while the descriptor is used
	fd int          // -1 after close
}

// path returns the name for messages.
func (h *held) path() string { return path.Join(h.dir, h.name) }

// with calls do with the descriptor, again if a signal interrupted the call. It returns the error
// of do, or os.ErrClosed.
func (h *held) with(do func(fd int) error) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.fd < 0 {
		return os.ErrClosed
	}
	return retry(func() error { return do(h.fd) })
}

// use works like with. The error says what failed and where.
func (h *held) use(op string, do func(fd int) error) error {
	err := h.with(do)
	if err != nil {
		err = &os.PathError{Op: op, Path: h.path(), Err: err}
	}
	return err
}

// Close closes the descriptor. A second call is an error.
func (h *held) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.fd < 0 {
		return &os.PathError{Op: "close", Path: h.path(), Err: os.ErrClosed}
	}
	err := unix.Close(h.fd)
	if h.fd = -1; err != nil {
		err = &os.PathError{Op: "close", Path: h.path(), Err: err}
	}
	return err
}

// heldFile is a file for reading that was opened in a directory.
type heldFile struct{ held }

// maxRead is how much the system reads at once at most.
const maxRead = 1 << 30

// ReadAt implements File.
func (f *heldFile) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, &os.PathError{Op: "readat", Path: f.path(), Err: unix.EINVAL}
	}
	for n < len(p) {
		var m int
		err := f.use("read", func(fd int) (err error) {
			m, err = unix.Pread(fd, p[n:min(len(p), n+maxRead)], off+int64(n))
			return err
		})
		if err != nil {
			return n, err
		}
		if m == 0 {
			return n, io.EOF
		}
		n += m
	}
	return n, nil
}

// Stat implements File.
func (f *heldFile) Stat() (fs.FileInfo, error) {
	info := &statInfo{name: path.Base(f.name)}
	if err := f.use("stat", func(fd int) error { return unix.Fstat(fd, &info.stat) }); err != nil {
		return nil, err
	}
	return info, nil
}

// readOnly is the error of a call that changes the file.
func (f *heldFile) readOnly(op string) error {
	return &os.PathError{Op: op, Path: f.path(), Err: unix.EBADF}
}

// WriteAt implements File: it fails.
func (f *heldFile) WriteAt([]byte, int64) (int, error) { return 0, f.readOnly("write") }

// Allocate implements File: it fails.
func (f *heldFile) Allocate(int64) error { return f.readOnly("allocate") }

// Truncate implements File: it fails.
func (f *heldFile) Truncate(int64) error { return f.readOnly("truncate") }

// SetDirect implements File: it fails.
func (f *heldFile) SetDirect(bool) error { return f.readOnly("fcntl") }

// Sync implements File: it fails.
func (f *heldFile) Sync() error { return f.readOnly("sync") }
