package blocks_test

import "syscall"

// mountSmall mounts a file system of 64 kB in memory.
func mountSmall(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=0700")
}

func unmount(dir string) { syscall.Unmount(dir, syscall.MNT_DETACH) } //nolint:errcheck // the test is over
