package crash

import (
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
)

// Outcome is what is left after a workload met a fault.
type Outcome struct {
	Plan  vfstest.Plan
	Call  vfstest.Call  // the first call that failed; empty for a full disk
	Hits  int           // how many calls failed
	Acked []string      // events before the end
	Err   error         // of the workload
	Took  time.Duration // that the workload ran
	FS    vfs.FS        // without faults
}

// kinds are the failures that Faults tries: each with every operation, once
// and for ever.
var kinds = []struct {
	name string
	plan vfstest.Plan
}{
	{"EIO", vfstest.Plan{Err: syscall.EIO}},
	{"ENOSPC", vfstest.Plan{Err: syscall.ENOSPC}},
	{"EDQUOT", vfstest.Plan{Err: syscall.EDQUOT}},
	{"EACCES", vfstest.Plan{Err: syscall.EACCES}},
	{"EROFS", vfstest.Plan{Err: syscall.EROFS}},
	{"EMFILE", vfstest.Plan{Err: syscall.EMFILE}},
	{"EMLINK", vfstest.Plan{Err: syscall.EMLINK}},
	{"EXDEV", vfstest.Plan{Err: syscall.EXDEV}},
	{"EINTR", vfstest.Plan{Err: syscall.EINTR}},
	{"short transfer", vfstest.Plan{Short: true}},
	{"short transfer and EIO", vfstest.Plan{Short: true, Err: syscall.EIO}},
	{"EIO after the effect", vfstest.Plan{Err: syscall.EIO, Done: true}},
}

// Faults runs the workload once for every operation of it, for every kind of
// error and for both "once" and "for ever", each on a copy of the file system that
// setup prepared, and has check look at each outcome. It returns how many runs met a
// fault. A file that the workload left open is a failure as well. Names of kinds,
// such as "EIO", choose these; none chooses all.
func Faults(setup func(fsys vfs.FS) error, work Workload, check func(Outcome) error, chosen ...string) (runs int, err error) {
	for _, k := range kinds {
		if len(chosen) > 0 && !slices.Contains(chosen, k.name) {
			continue
		}
		n, err := each(k.name, k.plan, setup, work, check)
		if runs += n; err != nil {
			return runs, err
		}
	}
	return runs, nil
}

// Slow is Faults in which each operation takes delay and does not fail. It
// belongs into a bubble of testing/synctest, where that costs nothing, and the
// check may hold Outcome.Took against what the workload was given.
func Slow(setup func(fsys vfs.FS) error, work Workload, delay time.Duration, check func(Outcome) error) (runs int, err error) {
	return each("delay", vfstest.Plan{Delay: delay}, setup, work, check)
}

// each tries one plan with every operation, once and for ever.
func each(name string, plan vfstest.Plan, setup func(vfs.FS) error, work Workload, check func(Outcome) error) (runs int, err error) {
	start, err := prepare(setup)
	if err != nil {
		return 0, err
	}
	for _, forever := range []bool{false, true} {
		for n := 1; ; n++ {
			plan.N, plan.Forever = n, forever
			hit, err := fault(plan, start.Clone(), work, check)
			if err != nil {
				return runs, fmt.Errorf("%s (for ever: %v) at call %d: %w", name, forever, n, err)
			}
			if !hit {
				break
			}
			runs++
		}
	}
	return runs, nil
}

// fault reports whether the plan's call was reached.
func fault(plan vfstest.Plan, mem *vfstest.Mem, work Workload, check func(Outcome) error) (bool, error) {
	f := vfstest.NewFault(mem, plan)
	out := attempt(f, work)
	out.Plan, out.FS = plan, mem
	out.Call, out.Hits = f.Hit()
	if n := mem.OpenFiles(); n != 0 {
		return true, fmt.Errorf("%s: the workload left %d files open", out.Call, n)
	}
	if out.Hits == 0 && f.Calls() < plan.N {
		if out.Err != nil {
			return false, fmt.Errorf("the workload fails without a fault: %w", out.Err)
		}
		return false, nil
	}
	if out.Hits == 0 {
		return true, nil // this kind does not fail this call
	}
	return true, out.judge(mem, check)
}

// Full runs the workload on a disk that is full from the start, on one with a
// block of room more, and so on, until it is never refused anything, and has
// check look at each outcome, when there is room again. It returns how many
// disks were too small.
func Full(setup func(fsys vfs.FS) error, work Workload, check func(Outcome) error) (runs int, err error) {
	start, err := prepare(setup)
	if err != nil {
		return 0, err
	}
	for ; ; runs++ {
		mem := start.Clone()
		mem.SetCapacity(mem.Used() + int64(runs)*vfstest.BlockSize)
		out := attempt(mem, work)
		out.FS, out.Hits = mem, mem.Refused()
		mem.SetCapacity(0)
		switch n := mem.OpenFiles(); {
		case n != 0:
			err = fmt.Errorf("the workload left %d files open", n)
		case out.Hits == 0 && out.Err != nil:
			err = fmt.Errorf("the workload fails without a fault: %w", out.Err)
		case out.Hits > 0:
			err = out.judge(mem, check)
		default:
			return runs, nil
		}
		if err != nil {
			return runs, fmt.Errorf("room for %d blocks: %w", runs, err)
		}
	}
}

func prepare(setup func(vfs.FS) error) (*vfstest.Mem, error) {
	mem := vfstest.NewMem()
	if err := setup(mem); err != nil {
		return nil, fmt.Errorf("setup: %w", err)
	}
	mem.SyncAll()
	return mem, nil
}

func attempt(fsys vfs.FS, work Workload) (out Outcome) {
	var mu sync.Mutex
	start := time.Now()
	out.Err = work(fsys, func(event string) {
		mu.Lock()
		defer mu.Unlock()
		out.Acked = append(out.Acked, event)
	})
	out.Took = time.Since(start)
	return out
}

func (o Outcome) judge(mem *vfstest.Mem, check func(Outcome) error) error {
	left := mem.Clone()
	if err := check(o); err != nil {
		return fmt.Errorf("%s: the workload said %v, acknowledged %q: %w\nleft:\n%s", o.Call, o.Err, o.Acked, err, Tree(left))
	}
	return nil
}
