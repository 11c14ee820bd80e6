// Package ahead marks calls of dynamic mode that are made before the program makes them. The server
// makes the calls of the next step of a captured loop ahead. If the program never makes such a
// call, nobody may see that it failed.
package ahead

import (
	"context"
	"sync"
)

// Call is a call that is made ahead. It is safe for concurrent use.
type Call struct {
	mu     sync.Mutex
	made   bool   // by the program
	report func() // the failure of a call that the program has not made
}

type key struct{}

// With returns a context for c.
func With(ctx context.Context, c *Call) context.Context { return context.WithValue(ctx, key{}, c) }

// Report reports that a call with the context ctx failed. It calls report at once, or when the
// program makes the call, if the call is made ahead.
func Report(ctx context.Context, report func()) {
	c, ok := ctx.Value(key{}).(*Call)
	if ok && c.keep(report) {
		return
	}
	report()
}

// Pending reports whether a call with the context ctx is made ahead, and the program has not made
// it.
func Pending(ctx context.Context) bool {
	c, ok := ctx.Value(key{}).(*Call)
	if !ok {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.made
}

// keep keeps report unless the program has made the call.
func (c *Call) keep(report func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.made {
		c.report = report
	}
	return !c.made
}

// Made says that the program makes the call now. It reports a failure that is known.
func (c *Call) Made() {
	c.mu.Lock()
	report := c.report
	c.made, c.report = true, nil
	c.mu.Unlock()
	if report != nil {
		report()
	}
}
