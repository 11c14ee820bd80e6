package shards

import (
	"io"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// file is an open file. It does without os.File, whose locks and bookkeeping take as long as the
// system takes to find 1 kB.
type file struct {
	fd int
	// skip is how many reads are not tried in the cache of the system, because they were not there
	// lately. It is -1 if the file system does not know such reads.
	skip atomic.Int32
	mapping
}

// openOS opens a file, of which size bytes are read. All files of a set share waits.
func openOS(path string, size int64, waits *atomic.Int64) (*file, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == nil {
			f := &file{fd: fd}
			f.size, f.seen = size, waits
			return f, nil
		}
		if err != syscall.EINTR {
			return nil, err
		}
	}
}

// stat returns the size of the file and the time of its last change.
func (f *file) stat() (size int64, changed time.Time, err error) {
	var st syscall.Stat_t
	for {
		if err = syscall.Fstat(f.fd, &st); err != syscall.EINTR {
			return st.Size, time.Unix(st.Mtim.Unix()), err
		}
	}
}

const (
	quickSize  = 256 << 10 // larger reads are cut, so that the scheduler has its turn
	quickPause = 64        // reads that are not tried after one that the cache did not have
)

// quick reads p if all of it is in the cache of the system. It never waits for a disk, so the
// scheduler of Go is not told, which takes a third of the time of reading 1 kB.
func (f *file) quick(p []byte, off int64) bool {
	if len(p) == 0 || len(p) > quickSize {
		return false
	}
	if n := f.skip.Load(); n != 0 {
		if n > 0 {
			f.skip.CompareAndSwap(n, n-1) // another goroutine may have counted, or found that there are no such reads
		}
		return false
	}
	v := unix.Iovec{Base: unsafe.SliceData(p)}
	v.SetLen(len(p))
	n, _, err := syscall.RawSyscall6(unix.SYS_PREADV2, uintptr(f.fd), uintptr(unsafe.Pointer(&v)), 1, uintptr(off),
		uintptr(uint64(off)>>32), unix.RWF_NOWAIT)
	runtime.KeepAlive(p)
	if err == 0 && n == uintptr(len(p)) {
		f.warmed(f.fd)
		return true
	}
	f.missed()
	if err == 0 || err == syscall.EAGAIN || err == syscall.EINTR {
		f.skip.Store(quickPause)
	} else {
		f.skip.Store(-1)
	}
	return false
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) {
		piece := p[n:min(len(p), n+quickSize)]
		if !f.mapping.read(f.fd, piece, off+int64(n)) && !f.quick(piece, off+int64(n)) {
			break
		}
		n += len(piece)
	}
	for n < len(p) {
		m, err := syscall.Pread(f.fd, p[n:min(len(p), n+1<<30)], off+int64(n))
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return n, err
		case m == 0:
			return n, io.EOF
		default:
			n += m
		}
	}
	return n, nil
}

// readSplit fills head and then p with the bytes from an offset on.
func (f *file) readSplit(head, p []byte, off int64) error {
	n := 0
	if len(p) > 0 {
		var err error
		if n, err = unix.Preadv(f.fd, [][]byte{head, p}, off); err != nil && err != syscall.EINTR {
			return err
		}
	}
	n = max(0, n) // after an interruption
	if n < len(head) {
		if _, err := f.ReadAt(head[n:], off+int64(n)); err != nil {
			return err
		}
		n = len(head)
	}
	if rest := n - len(head); rest < len(p) {
		_, err := f.ReadAt(p[rest:], off+int64(n))
		return err
	}
	return nil
}

// view calls f with n bytes of the file where they lie in memory.
func (f *file) view(off int64, n int, summed bool, use func(b []byte) bool) bool {
	b, end := f.usable(off, n), off+int64(n)
	if summed {
		end = 0
	}
	return b != nil && f.use(f.fd, b, end, func() bool { return use(b) })
}

// Close closes the file, which no read may use.
func (f *file) Close() error {
	f.unmap()
	return syscall.Close(f.fd)
}
