package disk

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// create makes a new file, one that bypasses the page cache where direct is
// set and the file system can.
func create(name string, direct bool) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE | os.O_EXCL
	if direct {
		flags |= syscall.O_DIRECT
	}
	return os.OpenFile(name, flags, 0o666)
}

func allocate(f *os.File, size int64) error {
	if size == 0 {
		return nil
	}
	return syscall.Fallocate(int(f.Fd()), 0, 0, size)
}

func dataSync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

// Evict has the cache of the system forget a file, which must be durable, so
// that the next read comes from the disk.
func Evict(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if err := f.Sync(); err != nil {
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
