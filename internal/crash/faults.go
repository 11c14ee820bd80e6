package crash

import (
	"fmt"
	"sync"
	"syscall"

	"github.com/bivouac-ml/bivouac/internal/vfs"
)

// Outcome is what is left after a workload met a fault.
type Outcome struct {
	Plan  vfs.Plan
	Call  vfs.Call // the first call that failed
	Hits  int      // how many calls failed
	Acked []string // events before the end
	Err   error    // of the workload
	FS    vfs.FS   // without faults
}

// kinds are the failures that Faults tries: each with every operation, once
// and for ever.
var kinds = []struct {
	name string
	plan vfs.Plan
}{
	{"EIO", vfs.Plan{Err: syscall.EIO}},
	{"ENOSPC", vfs.Plan{Err: syscall.ENOSPC}},
	{"EACCES", vfs.Plan{Err: syscall.EACCES}},
	{"EINTR", vfs.Plan{Err: syscall.EINTR}},
	{"short write", vfs.Plan{Short: true}},
	{"short write and EIO", vfs.Plan{Short: true, Err: syscall.EIO}},
	{"EIO after the effect", vfs.Plan{Err: syscall.EIO, Done: true}},
}

// Faults runs the workload once for every operation of it, for every kind of
// error and for both "once" and "for ever", on a fresh file system that setup
// prepared, and has check look at each outcome. It returns how many runs met a
// fault. A file that the workload left open is a failure as well.
func Faults(setup func(fsys vfs.FS) error, work Workload, check func(Outcome) error) (runs int, err error) {
	for _, k := range kinds {
		for _, forever := range []bool{false, true} {
			for n := 1; ; n++ {
				plan := k.plan
				plan.N, plan.Forever = n, forever
				hit, err := fault(plan, setup, work, check)
				if err != nil {
					return runs, fmt.Errorf("%s (for ever: %v) at call %d: %w", k.name, forever, n, err)
				}
				if !hit {
					break
				}
				runs++
			}
		}
	}
	return runs, nil
}

// fault reports whether the plan's call was reached.
func fault(plan vfs.Plan, setup func(vfs.FS) error, work Workload, check func(Outcome) error) (bool, error) {
	mem := vfs.NewMem()
	if err := setup(mem); err != nil {
		return false, fmt.Errorf("setup: %w", err)
	}
	mem.SyncAll()
	f := vfs.NewFault(mem, plan)
	out := Outcome{Plan: plan, FS: mem}
	var mu sync.Mutex
	out.Err = work(f, func(event string) {
		mu.Lock()
		defer mu.Unlock()
		out.Acked = append(out.Acked, event)
	})
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
	tree := Tree(mem)
	if err := check(out); err != nil {
		return true, fmt.Errorf("%s: the workload said %v, acknowledged %q: %w\nleft:\n%s", out.Call, out.Err, out.Acked, err, tree)
	}
	return true, nil
}
