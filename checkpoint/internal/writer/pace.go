package writer

import (
	"context"
	"runtime"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Pace slows the writers of a save down, so that they disturb the training less. The zero value
// lets them write as fast as the disk allows.
type Pace struct {
	// Background runs the writers on threads of the lowest priority, if the system supports that: they
	// use the time that other threads leave.
	Background bool
	// Writers is the largest number of writers; 0 is 8.
	Writers int
	// Rate is the largest number of bytes that a writer writes in a second; 0 is no bound.
	Rate int64
}

func (p Pace) writers() int {
	if p.Writers > 0 {
		return min(p.Writers, writers)
	}
	return writers
}

// enter is called at the beginning of a goroutine that only encodes and writes. In the
// background the goroutine keeps its thread, which ends with it.
func (p Pace) enter() {
	if p.Background {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and with it its priority
		lowerPriority()
	}
}

// wait sleeps for the time that n bytes should take.
func (p Pace) wait(ctx context.Context, n int) error {
	if p.Rate <= 0 {
		return nil
	}
	t := time.NewTimer(time.Duration(float64(n) / float64(p.Rate) * float64(time.Second)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return &errs.Error{Kind: errs.Canceled, Op: "writer.Pace", Err: context.Cause(ctx)}
	}
}
