package serve

import (
	"cmp"
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
//
// Where the memory of the client can be reached, there is no file. The client makes a room for each
// window. The window is scratch memory here; what is final is written to the room, and the pages of
// the window are given back.
type result struct {
	mu      sync.Mutex
	file    *os.File // nil before the first byte
	windows []window
	used    int64 // of the file, or of all rooms

	reach         *reach // nil: there is a file
	ask           func(offset, size int64) (address uint64, err error)
	sent, checked int64 // bytes that were written to rooms; used, when memory was last checked
}

// window is a mapping of the file, or scratch memory for a room.
type window struct {
	mem    []byte
	offset int64  // of its first byte in the file
	used   int64  // bytes
	room   uint64 // address in the client
	sent   []span // what was written to the room, in order; no two of them touch
}

// span is a part of a window.
type span struct{ from, to int64 }

// The sizes of windows. They double, so that few are needed. A room takes memory only when it is
// written, so it may be large.
const (
	firstWindow = 1 << 20
	lastWindow  = 256 << 20
	firstRoom   = 64 << 20
	lastRoom    = 4 << 30
)

// checkEvery is how many bytes of rooms are used between two looks at the limits of memory.
const checkEvery = 16 << 20

// hugePage is the size of a huge page on the processors that have the command.
const hugePage = 2 << 20

// leastSent is the size from which a part is written to its room at once. Smaller ones are written
// together in the end.
const leastSent = 256 << 10

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
	w := &r.windows[len(r.windows)-1]
	r.used = at + int64(n)
	w.used = r.used - w.offset
	if r.reach != nil && r.used >= r.checked+checkEvery {
		if err := checkRoom(r.used - r.sent); err != nil {
			return nil, errs.Wrap("serve.load", "", err)
		}
		r.checked = r.used
	}
	return w.mem[at-w.offset:][:n:n], nil
}

func (w window) end() int64 { return w.offset + int64(len(w.mem)) }

// open adds a window for n bytes at a place of the file. It begins at the page of that place, so no
// page is wasted.
func (r *result) open(at, n int64) (err error) {
	const op = "serve.load"
	if r.reach != nil {
		return r.openRoom(at, n)
	}
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
	r.windows = append(r.windows, window{mem: mem, offset: offset})
	return nil
}

// openRoom adds a window with a room in the client.
func (r *result) openRoom(at, n int64) error {
	size := max(pageUp(n), min(lastRoom, int64(firstRoom)<<min(len(r.windows), 20)))
	mem, err := scratch(size)
	if err != nil {
		return errs.Wrap("serve.load", "", err)
	}
	adviseHuge(mem)
	address, err := r.ask(at, size)
	if err != nil {
		unmap(mem)
		return errs.Wrap("serve.load", "memory of the client", err)
	}
	r.windows = append(r.windows, window{mem: mem, offset: at, room: address})
	return nil
}

// final writes a finished part of an array to its room: checkpoint.LoadOptions.Final.
func (r *result) final(mem []byte) error {
	if len(mem) < leastSent {
		return nil
	}
	r.mu.Lock()
	w := r.window(mem)
	at := w.at(mem)
	address := w.room + uint64(at)
	r.mu.Unlock()
	if err := r.reach.write(address, mem); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.window(mem).add(at, at+int64(len(mem)))
	r.sent += int64(len(mem))
	return nil
}

// add notes that a part was written to the room, and gives back the pages that are not needed.
func (w *window) add(from, to int64) {
	i, _ := slices.BinarySearchFunc(w.sent, from, func(s span, from int64) int { return cmp.Compare(s.to, from) })
	j, whole := i, span{from, to}
	for j < len(w.sent) && w.sent[j].from <= to {
		whole = span{min(whole.from, w.sent[j].from), max(whole.to, w.sent[j].to)}
		j++
	}
	w.sent = slices.Replace(w.sent, i, j, whole)
	forget(w.mem, max(whole.from, from-hugePage), min(whole.to, to+hugePage))
}

// sendRest writes everything to the rooms that was not written yet.
func (r *result) sendRest() error {
	for i := range r.windows {
		w := &r.windows[i]
		at := int64(0)
		for _, s := range append(w.sent, span{w.used, w.used}) {
			if at < s.from {
				if err := r.reach.write(w.room+uint64(at), w.mem[at:s.from]); err != nil {
					return err
				}
			}
			at = s.to
		}
	}
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
	w := r.window(b)
	if w == nil {
		return 0, false
	}
	return w.offset + w.at(b), true
}

// window returns the window that b lies in, or nil.
func (r *result) window(b []byte) *window {
	for i := range slices.Backward(r.windows) {
		if w := &r.windows[i]; uint64(w.at(b)) < uint64(len(w.mem)) {
			return w
		}
	}
	return nil
}

// at returns where in the window b lies.
func (w *window) at(b []byte) int64 {
	return int64(uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(w.mem))))
}

// finish ends the use of the memory here, and returns the file for the client with the bytes that
// it maps: nil and 0 if nothing is in it. With rooms there is no file.
func (r *result) finish() (*os.File, int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reach != nil {
		err := r.sendRest()
		r.unmap()
		return nil, r.used, err
	}
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
