package serve

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// lane lets the calls of a pipeline through one at a time, in the order in which they came.
type lane struct {
	mu   sync.Mutex
	last *turn
}

// turn is the place of a call in a lane. A call without one, nil, is let through.
type turn struct {
	lane   *lane
	before <-chan struct{} // is closed when the call before is over; nil: no call is before
	over   chan struct{}

	followed bool               // another call has come
	stop     context.CancelFunc // ends the wait of a call that gives way to others
}

// join takes the last place. It ends the wait of a call that gives way.
func (l *lane) join() *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := &turn{lane: l, over: make(chan struct{})}
	if l.last != nil {
		t.before, l.last.followed = l.last.over, true
		if l.last.stop != nil {
			l.last.stop()
		}
	}
	l.last = t
	return t
}

// wait waits until the calls before are over.
func (t *turn) wait(ctx context.Context) error {
	if t == nil || t.before == nil {
		return nil
	}
	select {
	case <-t.before:
		t.before = nil
		return nil
	case <-ctx.Done():
		return &errs.Error{Kind: errs.Canceled, Op: "serve", Err: context.Cause(ctx)}
	}
}

// leave lets the next call through, as soon as those before are over.
func (t *turn) leave() {
	if t == nil {
		return
	}
	if t.before == nil {
		close(t.over)
		return
	}
	go func() {
		<-t.before
		close(t.over)
	}()
}

// giveWay returns a context that also ends when another call comes.
func (t *turn) giveWay(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	if t != nil {
		t.lane.mu.Lock()
		defer t.lane.mu.Unlock()
		if t.stop = stop; t.followed {
			stop()
		}
	}
	return ctx, stop
}

// join gives a call about a pipeline its place. The goroutine that reads calls it. What a client
// gives for a function belongs to a call that waits for it, and has no place.
func (k *call) join() {
	if !strings.HasPrefix(k.op, "pipeline.") || k.op == "pipeline.give" {
		return
	}
	if id, err := strconv.ParseInt(string(k.args.left["pipeline"]), 10, 64); err == nil {
		if p, err := k.pipelines.find(id); err == nil {
			k.turn = p.lane.join()
		}
	}
}
