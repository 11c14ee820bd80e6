package writer

import (
	"context"
	"runtime"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Pace holds the writers of a save back, for the sake of what computes beside
// them. The zero value lets them go as fast as the disk.
type Pace struct {
	// Background has them run on threads of the lowest priority, where the system
	// has such: they take what the others leave.
	Background bool
	// Writers is how many there are at most; 0 is 8.
	Writers int
	// Rate is how many bytes a second each of them writes at most; 0 is no bound.
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

// wait sleeps for the time that n bytes are to take.
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
