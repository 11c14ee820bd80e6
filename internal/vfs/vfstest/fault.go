package vfstest

import (
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Plan says which call of a Fault fails, and how. The zero Plan fails nothing
// and counts.
type Plan struct {
	N       int   // the call that fails, counted from 1; 0 = none
	Forever bool  // all later calls fail as well
	Err     error // what the call fails with: an errno
	// Done lets the call take effect before it reports the failure, as a lost
	// reply of a network file system does.
	Done bool
	// Short makes a failing WriteAt write and a failing ReadAt read half of the
	// bytes first. With a nil Err a short write reports no error but the smaller
	// count, and a short read io.EOF, as if the file ended there. Other calls do
	// not fail under a Short plan without Err.
	Short bool
	// Delay is how long the call takes before it does anything else, as on a
	// disk that hangs or a file server that is away. A plan without Err and
	// Short delays and fails nothing.
	Delay time.Duration
	// Only restricts counting and failing to the calls for which it is true; nil = all.
	Only func(Call) bool
}

// fails reports whether the plan has something in store for calls like c.
func (p *Plan) fails(c Call) bool {
	return p.Err != nil || p.Delay > 0 || p.short(c)
}

func (p *Plan) short(c Call) bool { return p.Short && (c.Op == OpWriteAt || c.Op == OpReadAt) }

// Fault is a file system in which chosen calls fail. Close always closes, and
// a Sync that fails without Done loses what was written, as on Linux.
type Fault struct {
	vfs.FS
	plan  Plan
	mu    sync.Mutex
	calls int
	hit   Call
	hits  int
}

// NewFault returns fsys with the failures of plan.
func NewFault(fsys vfs.FS, plan Plan) *Fault {
	f := &Fault{plan: plan}
	f.FS = Intercept(fsys, f.around)
	return f
}

// Calls returns how many calls were counted so far: the range of Plan.N.
func (f *Fault) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Hit returns the first call that failed or was delayed, and how many were.
func (f *Fault) Hit() (Call, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hit, f.hits
}

// due counts a call and reports whether it fails.
func (f *Fault) due(c Call) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.plan.Only != nil && !f.plan.Only(c) {
		return false
	}
	f.calls++
	if f.plan.N == 0 || f.calls < f.plan.N || (f.calls > f.plan.N && !f.plan.Forever) {
		return false
	}
	if !f.plan.fails(c) {
		return false
	}
	if f.hits++; f.hits == 1 {
		f.hit = c
	}
	return true
}

func (f *Fault) around(c *Call, do func() error) error {
	if !f.due(*c) {
		return do()
	}
	if f.plan.Delay > 0 {
		time.Sleep(f.plan.Delay)
	}
	switch {
	case f.plan.short(*c):
		c.Size /= 2
		if err := do(); err != nil {
			return err
		}
	case f.plan.Done || f.plan.Err == nil:
		if err := do(); err != nil {
			return err
		}
	}
	return f.failure(*c)
}

func (f *Fault) failure(c Call) error {
	switch {
	case f.plan.Err == nil && f.plan.short(c) && c.Op == OpReadAt:
		return io.EOF
	case f.plan.Err == nil:
		return nil
	case c.To != "":
		return &os.LinkError{Op: c.Op.String(), Old: c.Name, New: c.To, Err: f.plan.Err}
	default:
		return &fs.PathError{Op: c.Op.String(), Path: c.Name, Err: f.plan.Err}
	}
}
