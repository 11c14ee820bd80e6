//go:build bivouac_debug

package loan

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
)

// Debug reports whether loans are watched.
const Debug = true

// Mark is the place at which memory was handed out.
type Mark struct{ place atomic.Pointer[string] }

// Set records that the caller hands out the memory.
func (m *Mark) Set() {
	at := place()
	m.place.Store(&at)
}

// IsSet reports whether the memory was handed out.
func (m *Mark) IsSet() bool { return m.place.Load() != nil }

// fill overwrites memory that was taken back.
const fill = 0xDB

// kept bounds the watched memory; the oldest is dropped first.
const (
	keptBytes = 32 << 20
	keptLoans = 1 << 12
)

type ended struct {
	memory      []byte
	what        string
	lent, taken string
}

var (
	mu    sync.Mutex
	loans []ended
	total int
)

// Back takes memory back that was handed out at m. The memory must not be used again.
func Back(b []byte, what string, m *Mark) {
	b = b[:cap(b)]
	if len(b) == 0 || !m.IsSet() {
		return
	}
	e := ended{b, what, *m.place.Load(), place()}
	for i := range b {
		b[i] = fill
	}
	mu.Lock()
	defer mu.Unlock()
	loans, total = append(loans, e), total+len(b)
	for total > keptBytes || len(loans) > keptLoans {
		first := loans[0]
		loans, total = loans[1:], total-len(first.memory)
		first.intact()
	}
}

// Check returns an error if b was taken back.
func Check(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	mu.Lock()
	defer mu.Unlock()
	for i := len(loans) - 1; i >= 0; i-- {
		e := &loans[i]
		if start := uintptr(unsafe.Pointer(unsafe.SliceData(e.memory))); start <= at && at < start+uintptr(len(e.memory)) {
			return &errs.Error{Kind: errs.Closed, Subject: e.what, Want: "memory that is in use",
				Got:    fmt.Sprintf("memory that was handed out at %s and taken back at %s", e.lent, e.taken),
				Remedy: "keep a copy, made by Clone"}
		}
	}
	return nil
}

// Written checks all watched memory and panics if a goroutine has written into it.
func Written() {
	mu.Lock()
	defer mu.Unlock()
	for i := range loans {
		loans[i].intact()
	}
}

// intact panics if a goroutine has written into the memory.
func (e *ended) intact() {
	for _, b := range e.memory {
		if b != fill {
			panic(fmt.Sprintf("%s was written to after it was taken back: handed out at %s, taken back at %s", e.what, e.lent, e.taken))
		}
	}
}

// place returns the innermost line of the call stack that lies outside this module, or in one of
// its tests or examples.
func place() string {
	const module = "github.com/bivouac-ml/bivouac"
	var pcs [48]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		own := strings.HasPrefix(f.Function, module+"/") || strings.HasPrefix(f.Function, module+".")
		own = own && !strings.HasPrefix(f.Function, module+"/examples/") && !strings.HasSuffix(f.File, "_test.go")
		if !own || !more {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
	}
}
