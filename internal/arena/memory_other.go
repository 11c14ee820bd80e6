//go:build !linux

package arena

import (
	"fmt"
	"os"
	"unsafe"
)

// mapMemory returns whole pages of a slice of the heap. If the runtime refuses the size, that is an
// error, as on Linux.
func mapMemory(size int) (mem []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			mem, err = nil, fmt.Errorf("%v", r)
		}
	}()
	page := os.Getpagesize()
	b := make([]byte, size+page)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(page-1))
	return b[skip : skip+size : skip+size], nil
}

func unmapMemory([]byte) error { return nil }

// populate does nothing: the allocator of the heap populates memory itself.
func populate([]byte) {}

// advise does nothing: these systems have no such call.
func advise([]byte) {}

func lock([]byte) error { return nil }
