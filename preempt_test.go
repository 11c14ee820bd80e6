//go:build unix

package bivouac_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
)

// preemptedRun names the directory of the run that a child process trains.
const preemptedRun = "BIVOUAC_PREEMPTED_RUN"

// preemptedSteps is how many steps it trains in all.
const preemptedSteps = 400

// TestPreemptedChild is the child of TestSIGTERM: it tells each step that is done, and
// exits as docs/guide/resume.md says.
func TestPreemptedChild(t *testing.T) {
	dir := os.Getenv(preemptedRun)
	if dir == "" {
		t.Skip("the child of TestSIGTERM")
	}
	ctx := context.Background()
	if os.Getenv(preemptedRun+"_CONTEXT") != "" { // a program with a handler of its own
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGTERM)
		defer stop()
	}
	m := newModel()
	job, err := bivouac.Open(ctx, dir, &counter{Seed: 1}, bivouac.Options{State: &m, SaveEvery: 37, Steps: preemptedSteps})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	at, _ := job.Resumed()
	fmt.Println("resumed", at)
	for b, err := range job.Steps(ctx) {
		if errors.Is(err, bivouac.ErrPreempted) {
			fmt.Println("preempted", err)
			job.Close()
			os.Exit(bivouac.ExitPreempted)
		}
		if err != nil && ctx.Err() != nil && job.Step() == at { // the signal was there before Steps
			job.Close()
			os.Exit(bivouac.ExitPreempted)
		}
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		if job.Step() > at {
			fmt.Println("done", job.Step()) // all but the step in hand
		}
		m.train(b)
	}
	if err := job.Close(); err != nil || !same(m, uninterrupted(preemptedSteps)) {
		fmt.Println("error another result", err)
		os.Exit(1)
	}
	fmt.Println("finished", job.Step())
	os.Exit(0)
}

// SIGTERM at random instants loses no step that was done: the process ends with its own
// exit status, or before the first step, or when all is committed; the next one goes on
// behind the last step done, and the result equals the result of the uninterrupted run.
func TestSIGTERM(t *testing.T) {
	instants := 60
	switch {
	case os.Getenv("BIVOUAC_LONG") != "":
		instants = 1000
	case testing.Short():
		instants = 20
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	root := t.TempDir()
	preempted, n := 0, 0
	for run := 0; n < instants; run++ {
		dir, last := filepath.Join(root, strconv.Itoa(run)), int64(0)
		for finished := false; !finished; n++ {
			after := random.IntN(preemptedSteps / 3)
			if n >= instants {
				after = -1
			}
			c, err := preemptChild(t, dir, run%2 == 1, after)
			switch {
			case err != nil:
				t.Fatalf("run %d: %v", run, err)
			case c.resumed != last:
				t.Fatalf("run %d resumed at %d, and %d steps were done", run, c.resumed, last)
			case c.preempted != "" && (c.code != bivouac.ExitPreempted || c.preempted != fmt.Sprintf("bivouac.Job: preempted at step %d, committed", c.done)):
				t.Fatalf("run %d: exit status %d at step %d: %s", run, c.code, c.done, c.preempted)
			case c.preempted == "" && !c.finished && (c.code == -1 || run%2 == 1 && c.code == bivouac.ExitPreempted) &&
				c.done == c.resumed:
				// It ended before Steps began to wait for the signal: nothing was done.
			case c.preempted == "" && !c.finished && c.code == -1 && c.done == preemptedSteps-1:
				c.done = preemptedSteps // it ended behind the last commit, before it could say so
			case c.preempted == "" && !c.finished:
				t.Fatalf("run %d: exit status %d at step %d without a word", run, c.code, c.done)
			}
			if c.preempted != "" {
				preempted++
			}
			last, finished = c.done, c.finished
		}
	}
	t.Logf("%d instants, %d preemptions", n, preempted)
}

type preemptedChild struct {
	resumed, done int64
	preempted     string
	finished      bool
	code          int
}

// preemptChild runs a child and sends SIGTERM when it has told after lines, or never if that is -1.
func preemptChild(t *testing.T, dir string, withContext bool, after int) (c preemptedChild, err error) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPreemptedChild$")
	cmd.Env = append(os.Environ(), preemptedRun+"="+dir)
	if withContext {
		cmd.Env = append(cmd.Env, preemptedRun+"_CONTEXT=1")
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return c, err
	}
	if err := cmd.Start(); err != nil {
		return c, err
	}
	lines := bufio.NewScanner(out)
	for told := 0; lines.Scan(); told++ {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		number, _ := strconv.ParseInt(rest, 10, 64)
		switch word {
		case "resumed":
			c.resumed, c.done = number, number
		case "done":
			c.done = number
		case "preempted":
			c.preempted = rest
			if step, found := strings.CutPrefix(rest, "bivouac.Job: preempted at step "); found {
				step, _, _ = strings.Cut(step, ",")
				at, _ := strconv.ParseInt(step, 10, 64)
				if at != c.done && at != c.done+1 { // the step in hand was finished, perhaps
					return c, fmt.Errorf("%s, and %d was told", rest, c.done)
				}
				c.done = at
			}
		case "finished":
			c.finished, c.done = true, number
		case "error":
			err = errors.Join(err, errors.New(rest))
		}
		if told == after {
			if e := cmd.Process.Signal(syscall.SIGTERM); e != nil && !errors.Is(e, os.ErrProcessDone) {
				err = errors.Join(err, e)
			}
		}
	}
	cmd.Wait() //nolint:errcheck // the exit status is looked at
	c.code = cmd.ProcessState.ExitCode()
	return c, errors.Join(err, lines.Err())
}

// raise sends SIGTERM to this process, which a job waits for.
func raise(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// guard keeps SIGTERM from ending the test, and counts what comes.
func guard(t *testing.T) chan os.Signal {
	c := make(chan os.Signal, 16)
	signal.Notify(c, syscall.SIGTERM)
	t.Cleanup(func() { signal.Stop(c) })
	return c
}

// A stream that waits for data is not waited for, and ranging again ends at once.
func TestPreemptedWhileWaiting(t *testing.T) {
	got := guard(t)
	dir, m := t.TempDir(), newModel()
	var events []string
	data := &waiting{counter: counter{Seed: 1}, at: 3}
	job, err := bivouac.Open(t.Context(), dir, data, bivouac.Options{State: &m, SaveEvery: 100,
		OnEvent: func(e bivouac.Event) {
			if e.Kind == bivouac.Preempted {
				events = append(events, fmt.Sprint(e.Step, " ", e.Err))
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	data.waits = func() { raise(t) }
	for range 2 {
		var told error
		for b, err := range job.Steps(t.Context()) {
			if told = err; err == nil {
				m.train(b)
			}
		}
		var e *bivouac.PreemptedError
		if !errors.As(told, &e) || e.Step != 3 || e.Committed != 3 || !errors.Is(told, errs.Canceled) ||
			told.Error() != "bivouac.Job: preempted at step 3, committed" {
			t.Errorf("got %v", told)
		}
	}
	<-got
	if err := job.Close(); err != nil || len(events) != 1 {
		t.Errorf("Close: %v, events %q", err, events)
	}
	if m, err := run(t, dir, 10, bivouac.Options{}); err != nil || !same(m, uninterrupted(10)) {
		t.Errorf("the run does not go on: %v", err)
	}
}

// waiting is a stream that has no data at a step until its context ends.
type waiting struct {
	counter
	at    int64
	waits func()
}

func (w *waiting) Next(ctx context.Context) (int64, error) {
	if w.Pos == w.at && ctx.Err() == nil {
		w.waits()
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return 0, &errs.Error{Kind: errs.Canceled, Err: context.Cause(ctx)}
	}
	return w.counter.Next(ctx)
}

// When the grace time is over before the step is, the last commit stands and is named.
func TestGraceIsOver(t *testing.T) {
	guard(t)
	m := newModel()
	job, err := bivouac.Open(t.Context(), t.TempDir(), &counter{Seed: 1},
		bivouac.Options{State: &m, SaveEvery: 2, Grace: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	var told error
	for b, err := range job.Steps(t.Context()) {
		if told = err; err != nil {
			break
		}
		m.train(b)
		if job.Step() == 4 {
			if err := job.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			raise(t)
			bivouac.AwaitGrace(job)
		}
	}
	var e *bivouac.PreemptedError
	if !errors.As(told, &e) || e.Step != 5 || e.Committed != 4 ||
		!strings.Contains(told.Error(), "preempted at step 5, not committed; step 4 is the last") {
		t.Errorf("got %v", told)
	}
	if err := job.Close(); err != nil {
		t.Error(err)
	}
}

// A loop that was left before it could hear of the signal is told by Close.
func TestCloseTellsPreemption(t *testing.T) {
	guard(t)
	m := newModel()
	job, err := bivouac.Open(t.Context(), t.TempDir(), &counter{Seed: 1}, bivouac.Options{State: &m})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range job.Steps(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		m.train(b)
		raise(t)
		bivouac.AwaitSignal(job)
		break
	}
	if err := job.Close(); !errors.Is(err, bivouac.ErrPreempted) {
		t.Errorf("Close: %v", err)
	}
}

// With Grace Never, before Steps, and when all steps are done, the signal is not the job's.
func TestSignalIsLeftAlone(t *testing.T) {
	got := guard(t)
	m := newModel()
	for name, grace := range map[string]time.Duration{"never": bivouac.Never, "done": 0} {
		job, err := bivouac.Open(t.Context(), t.TempDir(), &counter{Seed: 1, end: 5},
			bivouac.Options{State: &m, Grace: grace})
		if err != nil {
			t.Fatal(err)
		}
		raise(t)
		<-got
		for b, err := range job.Steps(t.Context()) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			m.train(b)
			if grace == bivouac.Never {
				raise(t)
				<-got
			}
		}
		raise(t)
		<-got
		if err := job.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A save that failed before the signal does not keep the last step from its commit.
func TestPreemptedAfterFailedSave(t *testing.T) {
	guard(t)
	m := newModel()
	data := &failing{counter: counter{Seed: 1}}
	job, err := bivouac.Open(t.Context(), t.TempDir(), data, bivouac.Options{State: &m, SaveEvery: 3})
	if err != nil {
		t.Fatal(err)
	}
	var told error
	for b, err := range job.Steps(t.Context()) {
		if told = err; err != nil {
			break
		}
		m.train(b)
		if job.Step() == 2 {
			data.fails = 1
			raise(t)
			bivouac.AwaitSignal(job)
		}
	}
	if told == nil || told.Error() != "bivouac.Job: preempted at step 3, committed" {
		t.Errorf("got %v", told)
	}
	if err := job.Close(); err != nil {
		t.Error(err)
	}
}

// failing is a stream whose next states cannot be taken.
type failing struct {
	counter
	fails int
}

func (f *failing) AppendState(dst []byte) ([]byte, error) {
	if f.fails--; f.fails >= 0 {
		return dst, io.ErrClosedPipe
	}
	return f.counter.AppendState(dst)
}
