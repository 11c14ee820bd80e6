package main

import (
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// examineShared tries shared memory.
func examineShared() (s sharedFacts) {
	s.Known = true
	fd, err := unix.MemfdCreate("bivouac-doctor", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err == nil {
		err = unix.Ftruncate(fd, 4096)
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK)
		}
		unix.Close(fd) //nolint:errcheck // it was a trial
	}
	s.MemfdErr = os.NewSyscallError("memfd_create", err)
	var fs unix.Statfs_t
	if err := unix.Statfs("/dev/shm", &fs); err != nil {
		s.ShmErr = &os.PathError{Op: "statfs", Path: "/dev/shm", Err: err}
	} else {
		s.ShmSize, s.ShmFree = product(fs.Blocks, fs.Bsize), product(fs.Bavail, fs.Bsize)
	}
	_, docker := os.Stat("/.dockerenv")
	_, podman := os.Stat("/run/.containerenv")
	s.Container = docker == nil || podman == nil || os.Getenv("KUBERNETES_SERVICE_HOST") != ""
	return s
}

// product returns a number of bytes, at most as large as an int64 can be.
func product(blocks uint64, size int64) int64 {
	if size <= 0 || blocks > uint64(math.MaxInt64/size) {
		return math.MaxInt64
	}
	return int64(blocks) * size
}

func examineLimits() (l limitFacts) {
	l.Known = true
	for _, r := range []struct {
		resource int
		to       *limit
	}{{unix.RLIMIT_NOFILE, &l.Files}, {unix.RLIMIT_MEMLOCK, &l.Locked}, {unix.RLIMIT_AS, &l.AddressSpace}} {
		var v unix.Rlimit
		*r.to = -1
		if unix.Getrlimit(r.resource, &v) == nil && v.Cur <= math.MaxInt64 {
			*r.to = limit(v.Cur)
		}
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		l.Memory = product(uint64(info.Totalram), int64(info.Unit))
	}
	l.Cgroup, l.CgroupUsed = cgroupMemory(os.ReadFile)
	return l
}

// cgroupMemory returns the memory that the control group of the process may take and takes. The
// tightest limit of the group and the groups above it counts. read reads a file.
func cgroupMemory(read func(string) ([]byte, error)) (most limit, used int64) {
	b, err := read("/proc/self/cgroup")
	if err != nil {
		return -1, 0
	}
	most = -1
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root, file, stat := "/sys/fs/cgroup", "memory.max", "memory.current"
		switch {
		case parts[1] == "memory": // version 1
			root, file, stat = "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		case parts[1] != "":
			continue
		}
		// A container often sees its own group as the root.
		for dir := path.Clean("/" + parts[2]); ; dir = path.Dir(dir) {
			at := path.Join(root, dir)
			n, ok := numberIn(read, path.Join(at, file))
			if ok && n < 1<<60 && (most < 0 || limit(n) < most) {
				most = limit(n)
				used, _ = numberIn(read, path.Join(at, stat))
				used = max(0, used-statIn(read, path.Join(at, "memory.stat"), "inactive_file"))
			}
			if dir == "/" {
				break
			}
		}
	}
	return most, used
}

// numberIn reads a file with one number.
func numberIn(read func(string) ([]byte, error), name string) (int64, bool) {
	b, err := read(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// statIn reads a number from a file of lines with a name and a number.
func statIn(read func(string) ([]byte, error), name, key string) int64 {
	b, err := read(name)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, key+" "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			return n
		}
	}
	return 0
}

// fileSystems are the names of file systems, by their numbers in statfs(2).
var fileSystems = map[uint32]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs", 0x2fc12fc1: "zfs",
	unix.TMPFS_MAGIC: "tmpfs", unix.RAMFS_MAGIC: "ramfs", unix.OVERLAYFS_SUPER_MAGIC: "overlay",
	unix.NFS_SUPER_MAGIC: "nfs", unix.CIFS_SUPER_MAGIC: "cifs", unix.SMB2_SUPER_MAGIC: "smb2",
	unix.FUSE_SUPER_MAGIC: "fuse", unix.CEPH_SUPER_MAGIC: "ceph", unix.V9FS_MAGIC: "9p", unix.F2FS_SUPER_MAGIC: "f2fs",
	0x0bd00bd0: "lustre", 0x47504653: "gpfs", 0x19830326: "beegfs",
}

// fileSystem describes the file system of a directory. names is how many files may be made, below 0
// if that is not known.
func fileSystem(dir string) (system string, free, names int64) {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return "", math.MaxInt64, -1
	}
	names = -1
	if fs.Files > 0 && fs.Ffree <= math.MaxInt64 {
		names = int64(fs.Ffree)
	}
	return fileSystems[uint32(fs.Type)], product(fs.Bavail, fs.Bsize), names
}

// synchronised reports whether the kernel counts the clock as synchronised. Nothing is changed.
func synchronised() (yes, known bool) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	const unsynchronised = 5 // TIME_ERROR
	return state != unsynchronised, err == nil
}
