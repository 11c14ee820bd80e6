package serve

import (
	"os"
	"slices"
	"sync"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
)

// result is the memory of a load: a memfd that grows while the load asks for arrays. Each window is
// a mapping of a part of the file. An array lies in one window, so that no array ever moves.
//
//	file      ┌─────────────┬───────────────────┬──────────┐
//	windows   │ 0           │ 1                 │ 2        │
//	          └─────────────┴───────────────────┴──────────┘
//
// The client maps the file once, as a whole.
type result struct {
	mu      sync.Mutex
	file    *os.File // nil before the first byte
	windows []window
	used    int64 // of the file
}

// window is a mapping of the file.
type window struct {
	mem    []byte
	offset int64 // of its first byte in the file
}

// The sizes of windows. They double, so that few are needed.
const (
	firstWindow = 1 << 20
	lastWindow  = 256 << 20
)

// allocate returns n bytes that begin at a multiple of alignment: checkpoint.LoadOptions.Allocate.
func (r *result) allocate(n int) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n == 0 {
		return []byte{}, nil
	}
	at := (r.used + alignment - 1) &^ (alignment - 1)
	if k := len(r.windows); k == 0 || at+int64(n) > r.windows[k-1].end() {
		if err := r.open(at, int64(n)); err != nil {
			return nil, err
		}
	}
	w := r.windows[len(r.windows)-1]
	r.used = at + int64(n)
	return w.mem[at-w.offset:][:n:n], nil
}

func (w window) end() int64 { return w.offset + int64(len(w.mem)) }

// open adds a window for n bytes at a place of the file. It begins at the page of that place, so no
// page is wasted.
func (r *result) open(at, n int64) (err error) {
	const op = "serve.load"
	offset := at &^ (pageUp(1) - 1)
	size := max(pageUp(at+n-offset), min(lastWindow, int64(firstWindow)<<min(len(r.windows), 20)))
	if err := checkRoom(size); err != nil {
		return errs.Wrap(op, "", err)
	}
	if r.file == nil {
		if r.file, err = memfd("bivouac-result"); err != nil {
			return errs.Wrap(op, "", err)
		}
	}
	mem, err := extend(r.file, offset, size)
	if err != nil {
		return errs.Wrap(op, "", err)
	}
	r.windows = append(r.windows, window{mem, offset})
	return nil
}

// offset returns where in the file b lies. Memory that is not of the result is copied there:
// numbers that Go has no type for, for example.
func (r *result) offset(b []byte) (int64, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if at, ok := r.find(b); ok {
		return at, nil
	}
	mem, err := r.allocate(len(b))
	if err != nil {
		return 0, err
	}
	copy(mem, b)
	at, _ := r.find(mem)
	return at, nil
}

func (r *result) find(b []byte) (int64, bool) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for _, w := range slices.Backward(r.windows) {
		if first := uintptr(unsafe.Pointer(unsafe.SliceData(w.mem))); at >= first && at-first < uintptr(len(w.mem)) {
			return w.offset + int64(at-first), true
		}
	}
	return 0, false
}

// finish ends the use of the memory here, and returns the file for the client with the bytes that
// it maps: nil and 0 if nothing is in it.
func (r *result) finish() (*os.File, int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unmap()
	f := r.file
	r.file = nil
	if f == nil || r.used == 0 {
		closeFile(f)
		return nil, 0, nil
	}
	size := pageUp(r.used)
	if err := f.Truncate(size); err != nil {
		closeFile(f)
		return nil, 0, &errs.Error{Kind: errs.IO, Op: "serve.load", Err: err}
	}
	return f, size, nil
}

// drop gives up the memory of a load that failed.
func (r *result) drop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unmap()
	closeFile(r.file)
	r.file = nil
}

func (r *result) unmap() {
	for _, w := range r.windows {
		unmap(w.mem)
	}
	r.windows = nil
}
