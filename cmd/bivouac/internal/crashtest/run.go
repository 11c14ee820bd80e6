package crashtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/recording"
)

// Screen shows how far the test is. Calls come one at a time.
type Screen interface {
	Begin(task string, total int64)
	Advance(done int64, note string)
	End()
	Printf(format string, args ...any)
}

// Lines are what a job needs to be tested.
const Lines = `The job must record its steps. In Python:

    import bivouac
    ...
    bivouac.record(ids, weights, step=step)   # after each step, before it is saved

In Go:

    import "github.com/bivouac-ml/bivouac/record"
    ...
    err := record.Step(step, ids, weights, nil)

ids are the ids of the samples of the step. A batch itself will do in Python.
The job must keep its checkpoints below the directory $` + dirVariable + `,
or below {dir} in its arguments.
`

// test is one Run under way.
type test struct {
	options   Options
	screen    Screen
	root      string
	report    Report
	pace      pace
	calm      []*watcher
	numbering numbering
	first     life // the records of the first rank of the unbroken run that have numbers, if any have
	best      int  // how many records of the unbroken run the killed run has got on to
}

// Run does the test. The report tells what was found, also where the runs differ; an error means
// that the job cannot be tested. Everything that the job started has ended when Run returns.
//
// Errors: errs.Invalid for options, and for jobs without records or with an end before the first
// kill; errs.NotFound for a program that does not exist; errs.Unsupported where the system has no
// groups of processes; what the unbroken run and the system say.
func Run(ctx context.Context, o Options, screen Screen) (*Report, error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if !supported {
		want := "a system of the Unix family"
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "crashtest", Want: want, Got: "another"}
	}
	root, err := os.MkdirTemp(o.Dir, "bivouac-crashtest-")
	if err != nil {
		return nil, system(o.Dir, err)
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, system(root, err)
	}
	report := Report{Command: o.Command, Seed: o.Seed, Signal: o.Signal, Planned: o.Kills}
	t := test{options: o, screen: screen, root: root, report: report}
	if o.Keep {
		t.report.Dir = root
		screen.Printf("runs are kept in %s\n", root)
	} else {
		defer os.RemoveAll(root) //nolint:errcheck // the report is more important
	}
	if err := t.run(ctx); err != nil {
		return nil, err
	}
	return &t.report, nil
}

func (t *test) run(ctx context.Context) error {
	if err := t.unbroken(ctx); err != nil {
		return err
	}
	if t.options.Twice {
		if err := t.again(ctx); err != nil {
			return err
		}
	}
	runs, err := t.killed(ctx)
	if err != nil {
		return err
	}
	if len(t.report.Kills) == 0 && t.report.Stopped == "" {
		return &errs.Error{
			Kind: errs.Invalid, Op: "crashtest", Subject: "killed run",
			Want:   "a job that runs long enough to be killed",
			Got:    fmt.Sprintf("an end after %.2f s, before the first kill", t.pace.total.Seconds()),
			Remedy: "give it more steps, or a shorter --warmup",
		}
	}
	t.report.compare(t.numbering, t.calm, runs)
	if t.report.Stopped == "" && t.report.Again == nil && t.report.differs() {
		if err := t.again(ctx); err != nil {
			return err
		}
	}
	t.report.judge()
	return nil
}

// unbroken runs the job in peace.
func (t *test) unbroken(ctx context.Context) error {
	dir := &directory{root: filepath.Join(t.root, "unbroken")}
	begin := time.Now()
	w, total, err := t.peace(ctx, dir, func() {
		t.pace.last = time.Since(begin)
		if t.pace.start == 0 {
			t.pace.start = t.pace.last
		}
	})
	if err != nil {
		return err
	}
	t.calm = []*watcher{w}
	ranks := w.ranks()
	if len(ranks) == 0 {
		t.screen.Printf("%s", Lines)
		return &errs.Error{
			Kind: errs.Invalid, Op: "crashtest", Subject: "unbroken run",
			Want: "a job that records its steps", Got: "no records",
			Remedy: "call bivouac.record(ids, weights, step=step) after each step, or record.Step in Go",
		}
	}
	lives := w.lives(ranks[0])
	t.numbering = numberingOf(lives...)
	t.first = trace(t.numbering, lives, nil).entries
	if t.numbering != byRecords {
		t.first = slices.DeleteFunc(t.first, func(e recording.Entry) bool { return !e.HasStep })
	}
	t.pace.records, t.pace.total = len(t.first), total
	t.report.UnbrokenSeconds = total.Seconds()
	t.report.Ranks = len(ranks)
	t.screen.Printf("unbroken run: %d records in %.2f s, the first after %.2f s\n",
		w.count(), total.Seconds(), t.pace.start.Seconds())
	return nil
}

// peace runs the job without a kill in a fresh directory.
func (t *test) peace(ctx context.Context, dir *directory, shown func()) (*watcher, time.Duration, error) {
	limit := t.options.Timeout
	if limit == 0 {
		limit = firstTimeout
	}
	s := start{
		options: t.options, dir: dir, limit: limit, tick: mostTick,
		shown:  func(*watcher) { shown() },
		rounds: func(*watcher) string { return "" },
	}
	e, err := s.run(ctx)
	if err != nil {
		return nil, 0, err
	}
	if e.failed != "" {
		got := "a job that " + e.failed
		return nil, 0, &errs.Error{Op: "crashtest", Subject: "run without a kill", Want: "exit status 0", Got: got}
	}
	t.leftBehind(e)
	return e.watcher, e.seconds, nil
}

// again runs the job in peace once more, to see whether it differs by itself.
func (t *test) again(ctx context.Context) error {
	w, total, err := t.peace(ctx, &directory{root: filepath.Join(t.root, "again")}, func() {})
	if err != nil {
		return err
	}
	t.screen.Printf("second unbroken run: %d records in %.2f s\n", w.count(), total.Seconds())
	t.report.Again = newFindings(t.numbering, t.calm, []*watcher{w})
	return nil
}

// killed runs the job and kills it, until it ends by itself.
func (t *test) killed(ctx context.Context) ([]*watcher, error) {
	t.screen.Begin("killed", int64(t.pace.records))
	defer t.screen.End()
	dir := &directory{root: filepath.Join(t.root, "killed")}
	plan := planKills(t.options.Seed, t.options.Kills)
	var runs []*watcher
	for n := 0; ; n++ {
		s := start{options: t.options, dir: dir, limit: t.limit(), shown: t.show, rounds: t.rounds, tick: t.pace.tick()}
		if n < len(plan) {
			s.lethal = t.lethal(plan, n)
		}
		e, err := s.run(ctx)
		if err != nil {
			return nil, err
		}
		runs = append(runs, e.watcher)
		t.report.KilledSeconds += e.seconds.Seconds()
		t.leftBehind(e)
		if e.slow {
			t.report.note("the job did not end within %v of SIGTERM, and got SIGKILL", t.options.Grace)
		}
		if !e.killed {
			if e.failed != "" {
				t.report.Stopped = fmt.Sprintf("start %d, after kill %d, %s", n+1, n, e.failed)
			}
			return runs, nil
		}
		k := Kill{Seconds: e.seconds.Seconds(), Early: plan[n].early}
		where := "before its first record"
		if last, ok := e.watcher.latest(); ok {
			k.Step = &last.Step
			where = fmt.Sprint("after step ", last.Step)
		} else if c := e.watcher.count(); c > 0 {
			where = fmt.Sprint("after ", c, " records")
		}
		t.report.Kills = append(t.report.Kills, k)
		t.screen.Printf("kill %d: %.2f s after the start, %s\n", n+1, k.Seconds, where)
	}
}

func (t *test) leftBehind(e ending) {
	if e.left > 0 {
		t.report.note("the job left %d processes behind %v after its end; they were killed", e.left, t.options.Grace)
	}
}

// limit returns how long a start after a kill may take.
func (t *test) limit() time.Duration {
	if t.options.Timeout > 0 {
		return t.options.Timeout
	}
	return slower*t.pace.total + slack
}

// lethal returns the function that says when kill n is due.
func (t *test) lethal(plan []kill, n int) func(*watcher) (bool, time.Duration) {
	k, before := plan[n], 0.0
	if n > 0 {
		before = plan[n-1].at
	}
	begin, best := time.Now(), t.best
	return func(w *watcher) (bool, time.Duration) {
		fuse := time.Duration(2 * k.phase * float64(t.pace.step()))
		switch {
		case k.early:
			return true, t.pace.delay(k)
		case t.pace.records < len(plan)+4: // too few records to aim by
			part := time.Duration((k.at - before) * float64(t.pace.last-t.pace.start))
			return time.Since(begin) >= t.pace.start/2+part, 0
		case t.numbering == byRecords:
			return w.count() >= t.report.Ranks*max(t.pace.least(k, 0)-t.pace.least(kill{at: before}, 0), 1), fuse
		}
		return t.progress(w) >= t.pace.least(k, best), fuse
	}
}

// progress returns up to which record of the unbroken run a start has got.
func (t *test) progress(w *watcher) int {
	last, ok := w.latest()
	if !ok {
		return 0
	}
	return countUpTo(t.numbering, t.first, last)
}

func (t *test) show(w *watcher) {
	at := t.progress(w)
	t.best = max(t.best, at)
	if t.numbering == byRecords {
		at = w.count()
	}
	t.screen.Advance(int64(min(at, t.pace.records)), "")
}

// rounds says whether a start records the same steps again and again.
func (t *test) rounds(w *watcher) string {
	if n := w.count(); t.numbering == byRecords && n > slower*t.pace.records*t.report.Ranks+1000 {
		return fmt.Sprintf("made no progress: it recorded %d steps and did not end, the unbroken run recorded %d",
			n, t.pace.records)
	}
	if w.most > t.calm[0].most+rounds {
		return fmt.Sprintf("made no progress: it recorded step %d %d times", w.worst, w.most)
	}
	return ""
}

// sameStep reports whether two records have the number of one step.
func sameStep(a, b recording.Entry) bool {
	return a.HasStep && b.HasStep && a.Step == b.Step && a.Epoch == b.Epoch
}

// countUpTo counts the records up to a step. The numbers of l rise.
func countUpTo(n numbering, l life, last recording.Entry) int {
	return sort.Search(len(l), func(i int) bool { return compare(n, l[i], last) > 0 })
}
