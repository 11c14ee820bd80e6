//go:build !linux

package arena

import (
	"fmt"
	"os"
	"unsafe"
)

// mapMemory cuts whole pages out of a slice of the heap. A size that the
// runtime refuses is an error, as it is elsewhere.
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

// populate does nothing: the allocator of the heap has its own ways.
func populate([]byte) {}

// advise does nothing: there is nobody to ask.
func advise([]byte) {}

func lock([]byte) error { return nil }
