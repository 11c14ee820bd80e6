package transfer

import (
	"context"
	"sync"
)

// atOnce is the number of tasks of one transfer that run at once.
const atOnce = 8

// crew runs tasks, several at once, and keeps the first error. The tasks after it are not run.
type crew struct {
	above context.Context // of the caller
	ctx   context.Context
	stop  context.CancelCauseFunc
	turn  chan struct{}
	wait  sync.WaitGroup

	mu   sync.Mutex
	done int64
	all  int64
	tell func(done, total int64)
}

func newCrew(ctx context.Context, all int64, tell func(done, total int64)) *crew {
	c := &crew{above: ctx, turn: make(chan struct{}, atOnce), all: all, tell: tell}
	c.ctx, c.stop = context.WithCancelCause(ctx)
	return c
}

// run starts a task of n bytes. It waits while too many go on. It returns false if the task will
// not run.
func (c *crew) run(n int64, task func(ctx context.Context) error) bool {
	select {
	case c.turn <- struct{}{}:
	case <-c.ctx.Done():
		return false
	}
	c.wait.Go(func() {
		defer func() { <-c.turn }()
		if err := task(c.ctx); err != nil {
			c.stop(err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.done += n
		if c.tell != nil {
			c.tell(c.done, c.all)
		}
	})
	return true
}

// end waits for the tasks and returns the first error.
func (c *crew) end() error {
	c.wait.Wait()
	err := context.Cause(c.ctx)
	if c.above.Err() != nil && err == context.Cause(c.above) {
		err = canceled(c.above)
	}
	c.stop(nil)
	return err
}
