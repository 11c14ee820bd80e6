package arena

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func mapMemory(size int) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	// Fewer faults and TLB misses where the system allows it; a refusal costs only speed.
	unix.Madvise(mem, unix.MADV_HUGEPAGE) //nolint:errcheck // see above
	return mem, nil
}

// largePage is the size of a large page on the machines we know. On a machine with another size,
// fewer large pages fit, and nothing else changes.
const largePage = 2 << 20

// advise asks for large pages where whole ones lie in mem.
func advise(mem []byte) {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) & (largePage - 1))
	if whole := (len(mem) - skip) &^ (largePage - 1); whole > 0 {
		unix.Madvise(mem[skip:skip+whole], unix.MADV_HUGEPAGE) //nolint:errcheck // a refusal costs only speed
	}
}

func unmapMemory(mem []byte) error { return unix.Munmap(mem) }

// populateStep is the number of bytes that are populated at once, so that other threads can map
// memory and fault in pages in between.
const populateStep = 16 << 20

// populate faults in all pages for writing without changing them, so it may run while they are
// already in use. Kernels before 5.14 cannot do this; there the first use of each page causes the
// fault.
func populate(mem []byte) {
	for len(mem) > 0 {
		n := min(len(mem), populateStep)
		if unix.Madvise(mem[:n], unix.MADV_POPULATE_WRITE) != nil {
			return
		}
		mem = mem[n:]
	}
}

func lock(mem []byte) error { return unix.Mlock(mem) }
