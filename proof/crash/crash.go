// Package crash shows that a workload keeps its promises when the power fails,
// and when the file system does.
//
// Run lets a workload loose on a crashable file system, stops the world after
// each of its operations, builds the file systems that may be found after a
// power loss at that moment, and has a check look at each: is everything there
// that was acknowledged, and is nothing torn?
//
// Faults fails the first operation of the workload, then the second, and so on
// until the workload comes through, once and for ever, with each kind of error.
//
// Both take the workload as a function of a file system, so that the protocol
// that is tested is the one that runs in production.
package crash

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
)

// Workload works on fsys and calls ack with an event of its own choosing
// whenever it promises something ("committed 100"), or gives itself leave for
// something ("removing 100", before it begins to). It may use goroutines; all
// must have ended when it returns.
type Workload func(fsys vfs.FS, ack func(event string)) error

// Check looks at a file system as a process that starts after the failure
// finds it, and at the events acknowledged before. It may write to fsys, which
// is its own. It is called from several goroutines.
type Check func(fsys vfs.FS, acked []string) error

// Options of Run. The zero value is right for small workloads.
type Options struct {
	// Setup prepares the file system; what it leaves is durable when the workload starts.
	Setup func(fsys vfs.FS) error
	// From is what the workload, or Setup, starts on, which is not changed; nil
	// = an empty file system. A state that a Check was given, for one, so that
	// the power fails a second time.
	From *vfstest.Mem
	// Acked are events of before the start.
	Acked []string
	// States, when not nil, collects the states of several runs.
	States *States
	// Wrap puts something between workload and file system: faults, or a
	// mutation that must be found out.
	Wrap func(fsys vfs.FS) vfs.FS
	// Limit bounds the states enumerated at one moment; 0 = 4096. Where there
	// are more, the first Limit are checked, all vfs.Mem.Edges and Samples
	// drawn at random, and Report.Sampled counts the moment.
	Limit int
	// Samples is how many states are drawn at a moment with more than Limit; 0 = 256.
	Samples int
	// Quick leaves vfs.Mem.Edges out where there are more than Limit: a look at
	// many workloads, not a search.
	Quick bool
	// Seed of the samples.
	Seed uint64
	// Tolerate accepts an error of the workload, where Wrap makes it fail; nil = none.
	Tolerate func(err error) bool
}

// Report says what Run did.
type Report struct {
	Moments int // points in time: after each operation and each event
	States  int // distinct file systems found there
	New     int // of these, those that Options.States did not know
	Checks  int // distinct pairs of a file system and the events before
	Sampled int // moments with more than Limit states, which were not all checked
}

// String returns the report on one line.
func (r Report) String() string {
	s := fmt.Sprintf("%d moments, %d distinct states, %d checks", r.Moments, r.States, r.Checks)
	if r.Sampled > 0 {
		s += fmt.Sprintf("; %d moments too large to enumerate, sampled", r.Sampled)
	}
	return s
}

// Failure is a state that a check refused.
type Failure struct {
	Moment int    // counted from 0, which is before the first operation
	After  string // the operation or event before the power loss
	Acked  []string
	Tree   string // what was found
	Err    error  // of the check
}

// Error implements error.
func (f *Failure) Error() string {
	return fmt.Sprintf("power loss at moment %d, after %q, acknowledged %q: %v\nfound:\n%s", f.Moment, f.After, f.Acked,
		f.Err, f.Tree)
}

// Unwrap returns the error of the check.
func (f *Failure) Unwrap() error { return f.Err }

// Run checks the workload at every moment. If the check refused states, the error is a *Failure for
// the first of them. Otherwise it is the error of Setup or of the workload.
func Run(work Workload, check Check, o *Options) (Report, error) {
	r := &runner{check: check, seen: map[key]bool{}, states: map[[16]byte]bool{}}
	if o != nil {
		r.opt = *o
	}
	if r.opt.Limit == 0 {
		r.opt.Limit = 4096
	}
	if r.opt.Samples == 0 {
		r.opt.Samples = 256
	}
	if r.opt.States == nil {
		r.opt.States = new(States)
	}
	r.acked = slices.Clone(r.opt.Acked)
	mem := vfstest.NewMem()
	if r.opt.From != nil {
		mem = r.opt.From.Clone()
	}
	if r.opt.Setup != nil {
		if err := r.opt.Setup(mem); err != nil {
			return Report{}, fmt.Errorf("setup: %w", err)
		}
		mem.SyncAll()
	}
	return r.run(mem, work)
}

// States is a set of file systems by what is seen in them: names and bytes. The
// zero value is empty and ready to use; it may be used concurrently.
type States struct {
	mu   sync.Mutex
	seen map[[16]byte]bool
}

// Len returns how many there are.
func (s *States) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// add reports whether the state was not there.
func (s *States) add(state [16]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[state] {
		return false
	}
	if s.seen == nil {
		s.seen = map[[16]byte]bool{}
	}
	s.seen[state] = true
	return true
}

// key identifies what a check sees.
type key struct {
	state  [16]byte
	events string
}

// moment is one point in time.
type moment struct {
	n     int
	after string
	acked []string
	mem   *vfstest.Mem
}

type runner struct {
	opt   Options
	check Check

	events   sync.Mutex // guards acked and the order of moments
	acked    []string
	moments  int
	draining chan moment

	mu      sync.Mutex
	seen    map[key]bool
	states  map[[16]byte]bool
	fresh   int
	sampled int
	failure *Failure
}

func (r *runner) run(mem *vfstest.Mem, work Workload) (Report, error) {
	r.draining = make(chan moment, 16)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for m := range r.draining {
				r.explore(m)
			}
		})
	}
	r.submit("the start", "", mem.Clone)
	mem.Watch(func(c vfstest.Call, snapshot func() *vfstest.Mem) { r.submit(c.String(), "", snapshot) })
	var fsys vfs.FS = mem
	if r.opt.Wrap != nil {
		fsys = r.opt.Wrap(mem)
	}
	err := work(fsys, func(event string) { r.submit("event "+event, event, mem.Clone) })
	close(r.draining)
	workers.Wait()

	report := Report{Moments: r.moments, States: len(r.states), New: r.fresh, Checks: len(r.seen), Sampled: r.sampled}
	switch {
	case r.failure != nil:
		return report, r.failure
	case err != nil && (r.opt.Tolerate == nil || !r.opt.Tolerate(err)):
		return report, fmt.Errorf("workload: %w", err)
	}
	return report, nil
}

// submit hands a moment to the workers. Events are entered before the snapshot
// is taken, so that a state is never checked against less than was promised.
func (r *runner) submit(after, event string, snapshot func() *vfstest.Mem) {
	if event != "" {
		r.events.Lock()
		r.acked = append(r.acked, event)
		r.events.Unlock()
	}
	mem := snapshot()
	r.events.Lock()
	m := moment{n: r.moments, after: after, acked: slices.Clone(r.acked), mem: mem}
	r.moments++
	r.events.Unlock()
	r.draining <- m
}

func (r *runner) explore(m moment) {
	if r.failed(m.n) {
		return
	}
	events := strings.Join(m.acked, "\x00")
	n := 0
	for s := range m.mem.States() {
		if n++; n > r.opt.Limit {
			break
		}
		if !r.visit(m, s, events) {
			return
		}
	}
	if n <= r.opt.Limit {
		return
	}
	r.mu.Lock()
	r.sampled++
	r.mu.Unlock()
	if !r.opt.Quick {
		for s := range m.mem.Edges() {
			if !r.visit(m, s, events) {
				return
			}
		}
	}
	rng := rand.New(rand.NewPCG(r.opt.Seed, uint64(m.n)))
	for range r.opt.Samples {
		if !r.visit(m, m.mem.Sample(rng), events) {
			return
		}
	}
}

func (r *runner) failed(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failure != nil && r.failure.Moment <= n
}

// visit checks a state unless an equal one was checked, and reports whether to go on.
func (r *runner) visit(m moment, s *vfstest.Mem, events string) bool {
	k := key{s.Hash(), events}
	r.mu.Lock()
	old := r.seen[k]
	r.seen[k], r.states[k.state] = true, true
	if !old && r.opt.States.add(k.state) {
		r.fresh++
	}
	r.mu.Unlock()
	if old {
		return true
	}
	tree := s.Clone()
	err := r.check(s, m.acked)
	if err == nil {
		return true
	}
	f := &Failure{Moment: m.n, After: m.after, Acked: m.acked, Tree: Tree(tree), Err: err}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failure == nil || f.Moment < r.failure.Moment {
		r.failure = f
	}
	return false
}

// Tree lists what is in a file system, a line each, for messages.
func Tree(fsys vfs.FS) string {
	var b strings.Builder
	var walk func(dir string)
	walk = func(dir string) {
		list, err := fsys.ReadDir(dir)
		if err != nil {
			fmt.Fprintf(&b, "  %s: %v\n", dir, err)
		}
		for _, e := range list {
			name := dir + e.Name()
			if e.IsDir() {
				fmt.Fprintf(&b, "  %s/\n", name)
				walk(name + "/")
				continue
			}
			info, err := e.Info()
			if err != nil {
				fmt.Fprintf(&b, "  %s: %v\n", name, err)
				continue
			}
			fmt.Fprintf(&b, "  %s %d\n", name, info.Size())
		}
	}
	walk("/")
	return b.String()
}

// Without returns fsys with every call of the given operations reported as done
// and not done: a mutation that Run must find out, or the check proves nothing.
// Only operations without a result can be left out.
func Without(fsys vfs.FS, ops ...vfstest.Op) vfs.FS {
	return vfstest.Intercept(fsys, func(c *vfstest.Call, do func() error) error {
		if slices.Contains(ops, c.Op) {
			return nil
		}
		return do()
	})
}

// IsFailure reports whether err says that a check refused a state.
func IsFailure(err error) bool {
	var f *Failure
	return errors.As(err, &f)
}
