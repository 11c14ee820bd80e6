package main

import (
	"os"
	"syscall"
)

// createRaw makes a new file, one that bypasses the page cache where direct is
// set and the file system can.
func createRaw(name string, direct bool) (*os.File, error) {
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
