// Package arena allocates memory outside the Go heap, for snapshots and slabs that are large, live
// long and hold no pointers.
//
// Memory is mapped in chunks, page aligned and zeroed by the system. Reset gives up all allocations
// and keeps the mapping. An arena that was filled once costs nothing the next time: no system call,
// no page fault, no work for the garbage collector.
//
//	chunk 0 ┌────────┬──┬──────────────┬───────────┐
//	        │ Alloc  │▒▒│ Alloc        │ free      │    ▒ alignment
//	        └────────┴──┴──────────────┴───────────┘
//	chunk 1 ┌──────────────────────────────────────┐
//	        │ Alloc larger than the rest of 0      │
//	        └──────────────────────────────────────┘
//
// On Linux chunks are anonymous private mappings; elsewhere they are slices of
// the heap, and everything else is the same.
package arena

import (
	"fmt"
	"math/bits"
	"os"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// MaxAlign is the largest alignment that Alloc takes: the size of a page on the machines we know,
// and the alignment that O_DIRECT needs.
const MaxAlign = 4096

// Arena is a region of memory that only grows, until Reset. Its methods may be called concurrently.
// Before Reset or Close, the caller makes sure that the memory is no longer in use: slices of a
// closed arena must not be touched.
type Arena struct {
	mu     sync.Mutex
	chunks []*chunk
	first  int // chunks before it are full
	chunk  int // size of new chunks
	used   int
	limit  int
	closed bool

	touching sync.WaitGroup
}

type chunk struct {
	mem  []byte
	used int
}

// Options of Open. The zero value is right for most.
type Options struct {
	// Limit bounds the mapped bytes. An Alloc that would exceed it fails with errs.Exhausted. 0 means
	// no bound.
	Limit int
	// Touch starts a goroutine that faults in the first chunk, so that the first use does not pay for
	// it. Close and Wait wait for the goroutine.
	Touch bool
}

// Open returns an arena with size bytes mapped, rounded up to whole pages; with size 0 nothing is
// mapped before the first Alloc. Open fails with Invalid for a negative size and with Exhausted if
// there is no memory.
func Open(size int, o Options) (*Arena, error) {
	const op = "arena.Open"
	if size < 0 || o.Limit < 0 {
		return nil, &errs.Error{
			Kind: errs.Invalid, Op: op, Want: "a size and a limit of at least 0", Got: fmt.Sprintf("%d and %d", size, o.Limit),
		}
	}
	a := &Arena{chunk: max(size, minChunk), limit: o.Limit}
	if size == 0 {
		return a, nil
	}
	if err := a.grow(op, size); err != nil {
		return nil, err
	}
	if o.Touch {
		mem := a.chunks[0].mem
		a.touching.Go(func() { populate(mem) })
	}
	return a, nil
}

// Advise asks the system to back mem with large pages. mem need not belong to an arena. The first
// write to large memory then costs a fault for each two megabytes instead of four kilobytes. Advise
// asks only for large pages that lie wholly within mem, so that mem takes no more memory. The
// contents of mem stay. Where the system has no large pages, Advise does nothing.
func Advise(mem []byte) { advise(mem) }

// Lock keeps the pages of mem in physical memory until they are unmapped. mem need not belong to an
// arena. Lock returns the error of the system, which bounds how much a process may lock. Where the
// system cannot lock memory, Lock does nothing.
func Lock(mem []byte) error {
	if len(mem) == 0 {
		return nil
	}
	return lock(mem)
}

// minChunk keeps the number of mappings small when an arena starts empty.
const minChunk = 1 << 20

// pageUp rounds up to whole pages. It fails if the result overflows.
func pageUp(n int) (int, bool) {
	page := os.Getpagesize()
	up := (n + page - 1) &^ (page - 1)
	return up, up >= n
}

// grow adds a chunk of at least n bytes.
func (a *Arena) grow(op string, n int) error {
	size, ok := pageUp(n)
	if err := a.dropIdle(op, size); err != nil {
		return err
	}
	mapped := a.mapped()
	if !ok || (a.limit > 0 && size > a.limit-mapped) {
		return &errs.Error{
			Kind: errs.Exhausted, Op: op, Want: fmt.Sprintf("%d bytes more", n),
			Got: fmt.Sprintf("%d bytes mapped, with a limit of %d", mapped, a.limit), Remedy: "raise the memory budget or save less at once",
		}
	}
	mem, err := mapMemory(size)
	if err != nil {
		return &errs.Error{Kind: errs.Exhausted, Op: op, Want: fmt.Sprintf("%d bytes", size), Err: err}
	}
	a.chunks = append(a.chunks, &chunk{mem: mem})
	return nil
}

// dropIdle unmaps empty chunks: those smaller than n, so that an arena whose needs grow does not
// keep its old small chunks, and all of them if the limit would be exceeded otherwise.
func (a *Arena) dropIdle(op string, n int) error {
	tight := a.limit > 0 && n > a.limit-a.mapped()
	for i := 0; i < len(a.chunks); {
		c := a.chunks[i]
		if c.used > 0 || (len(c.mem) >= n && !tight) {
			i++
			continue
		}
		a.touching.Wait()
		if err := unmapMemory(c.mem); err != nil {
			return &errs.Error{Kind: errs.IO, Op: op, Err: err}
		}
		a.chunks = slices.Delete(a.chunks, i, i+1)
	}
	a.first = 0
	return nil
}

func (a *Arena) mapped() (n int) {
	for _, c := range a.chunks {
		n += len(c.mem)
	}
	return n
}

// Alloc returns n bytes whose address is a multiple of align, a power of two up to MaxAlign; 0
// means 1. The capacity is n. The bytes are zero in memory that was not used before, and undefined
// after a Reset. Alloc fails with Invalid for a bad size or alignment, with Exhausted if there is
// no memory, and with Closed after Close.
func (a *Arena) Alloc(n, align int) ([]byte, error) {
	const op = "arena.Alloc"
	if align == 0 {
		align = 1
	}
	if n < 0 || align < 0 || align > MaxAlign || bits.OnesCount(uint(align)) != 1 {
		return nil, &errs.Error{
			Kind: errs.Invalid, Op: op, Want: fmt.Sprintf("a size of at least 0 and an alignment that is a power of two up to %d",
				MaxAlign),
			Got: fmt.Sprintf("size %d and alignment %d", n, align),
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, &errs.Error{Kind: errs.Closed, Op: op}
	}
	if n == 0 {
		return []byte{}, nil
	}
	for i := a.first; i < len(a.chunks); i++ {
		if p := a.chunks[i].take(n, align); p != nil {
			a.used += n
			return p, nil
		}
	}
	for a.first < len(a.chunks) && a.chunks[a.first].used == len(a.chunks[a.first].mem) {
		a.first++
	}
	size := max(n, a.chunk)
	if a.limit > 0 {
		size = max(n, min(size, (a.limit-a.mapped())&^(os.Getpagesize()-1)))
	}
	if err := a.grow(op, size); err != nil {
		return nil, err
	}
	a.used += n
	return a.chunks[len(a.chunks)-1].take(n, align), nil
}

// take returns nil if the chunk has no room. Chunks begin on a page.
func (c *chunk) take(n, align int) []byte {
	start := (c.used + align - 1) &^ (align - 1)
	if start > len(c.mem) || n > len(c.mem)-start {
		return nil
	}
	c.used = start + n
	return c.mem[start:c.used:c.used]
}

// Reset gives up all allocations and keeps the memory for later ones. If no kept chunk is large
// enough for a later Alloc, that Alloc unmaps the empty chunks. The caller must not use slices from
// before the Reset.
func (a *Arena) Reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.chunks {
		c.used = 0
	}
	a.first, a.used = 0, 0
}

// Stats describes the memory of an arena.
type Stats struct {
	Used   int // bytes allocated since the last Reset, without alignment
	Mapped int // bytes held from the system
	Chunks int
}

// Stats returns the present state.
func (a *Arena) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Stats{Used: a.used, Mapped: a.mapped(), Chunks: len(a.chunks)}
}

// Wait waits until the touching in the background has ended.
func (a *Arena) Wait() { a.touching.Wait() }

// Close unmaps everything. A second Close does nothing and returns errs.Closed.
func (a *Arena) Close() error {
	const op = "arena.Close"
	a.touching.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return &errs.Error{Kind: errs.Closed, Op: op}
	}
	a.closed = true
	var first error
	for _, c := range a.chunks {
		if err := unmapMemory(c.mem); err != nil && first == nil {
			first = &errs.Error{Kind: errs.IO, Op: op, Err: err}
		}
	}
	a.chunks, a.first, a.used = nil, 0, 0
	return first
}
