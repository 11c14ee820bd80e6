package shards

import (
	"io"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A file whose reads were all in the cache of the system lately is mapped into memory, and reads
// copy from there. That takes half the time of a system call for 100 kB, and less for 1 kB. The
// mapped memory never leaves use:
//
//   - A file that is cut loses pages, and a disk can fail. Either is a fault at the copy. The fault
//     ends the copy and not the process. A system call reads again and finds the error.
//   - Behind the end of a file that was cut within a page there are zeros. So use asks for the size
//     of the file after each copy.
//   - A page that left the cache must be read again, and the scheduler of Go does not know of that
//     wait. So one such wait ends the use of the mapped memory, for longer each time.
type mapping struct {
	size   int64
	seen   *atomic.Int64 // pages of a disk that the process had waited for, for all files of a set
	warm   atomic.Int64  // reads that were in the cache, one after the other; the file is mapped from warmReads on
	waits  atomic.Int32  // how often a copy waited for a disk
	once   sync.Once
	memory atomic.Pointer[[]byte]
}

const (
	warmReads = 32
	// A copy that takes this long may have waited for a disk, or for its turn on the processor.
	slowCopy = 200 * time.Microsecond
	// mostWaits bounds how long the memory is not used.
	mostWaits = 16
)

// mappable are the file systems that keep files in the cache of the system and know their sizes
// without asking another machine.
var mappable = map[int64]bool{unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true,
	unix.TMPFS_MAGIC: true, unix.F2FS_SUPER_MAGIC: true, unix.OVERLAYFS_SUPER_MAGIC: true}

// warmed counts a read that was in the cache.
func (m *mapping) warmed(fd int) {
	if m.warm.Load() < warmReads && m.warm.Add(1) >= warmReads {
		m.once.Do(func() { m.open(fd) })
	}
}

// missed notes a read that was not in the cache.
func (m *mapping) missed() {
	if n := m.warm.Load(); n > 0 {
		m.warm.CompareAndSwap(n, 0) // cool may have come between
	}
}

// open maps the file, if its file system allows that and there are addresses enough.
func (m *mapping) open(fd int) {
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil || !mappable[int64(fs.Type)] || m.size <= 0 || strconv.IntSize < 64 {
		return
	}
	b, err := unix.Mmap(fd, 0, int(m.size), unix.PROT_READ, unix.MAP_SHARED)
	if err == nil {
		unix.Madvise(b, unix.MADV_RANDOM) //nolint:errcheck // advice
		m.memory.Store(&b)
	}
}

// unmap ends the mapping.
func (m *mapping) unmap() {
	if b := m.memory.Swap(nil); b != nil {
		unix.Munmap(*b) //nolint:errcheck // cannot fail: Mmap returned it
	}
}

// usable returns n bytes of the mapped memory, or nil if they must be read by a system call.
func (m *mapping) usable(off int64, n int) []byte {
	b := m.memory.Load()
	if b == nil || n > quickSize || m.warm.Load() < warmReads {
		return nil
	}
	return (*b)[off : off+int64(n) : off+int64(n)]
}

// read copies bytes of the file to p. It returns false if they must be read by a system call.
func (m *mapping) read(fd int, p []byte, off int64) (ok bool) {
	b := m.usable(off, len(p))
	return b != nil && m.use(fd, b, off+int64(len(p)), func() bool { copy(p, b); return true })
}

// use calls f, which reads the mapped memory b, up to the byte end of the file. It returns false if
// f does, or if what f read may not be what is in the file. If end is 0, f checks what it reads.
func (m *mapping) use(fd int, b []byte, end int64, f func() bool) bool {
	start := time.Now()
	done, fault := guard(b, f)
	if fault {
		m.cool()
		return false
	}
	if time.Since(start) > slowCopy && m.waited() {
		m.cool()
	}
	if end == 0 || !done {
		return done
	}
	size, _, errno := syscall.RawSyscall(syscall.SYS_LSEEK, uintptr(fd), 0, io.SeekEnd) // the offset is not used
	return errno == 0 && int64(size) >= end
}

// guard calls f. fault is true if f read a part of b that is not there. Any other panic passes
// through, a fault in other memory too.
func guard(b []byte, f func() bool) (done, fault bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			at, ok := r.(interface{ Addr() uintptr })
			if fault = ok && at.Addr()-uintptr(unsafe.Pointer(unsafe.SliceData(b))) < uintptr(len(b)); !fault {
				panic(r)
			}
		}
	}()
	return f(), false
}

// cool ends the use of the mapped memory until more reads than last time were in the cache. Reads
// of several goroutines that end it at the same time count once.
func (m *mapping) cool() {
	if n := m.warm.Load(); n >= warmReads && m.warm.CompareAndSwap(n, 0) {
		m.warm.Store(-warmReads << min(m.waits.Add(1), mostWaits))
	}
}

// waited reports whether the process waited for a page of a disk since the last call for this set.
func (m *mapping) waited() bool {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return true
	}
	waits := int64(used.Majflt)
	return m.seen.Swap(waits) != waits
}
