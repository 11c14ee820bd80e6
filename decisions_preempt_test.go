package bivouac_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
)

// What PreemptedError says.
func TestPreemptedErrorText(t *testing.T) {
	for want, e := range map[string]*bivouac.PreemptedError{
		"bivouac.Job: preempted at step 12, committed":                                            {Step: 12, Committed: 12},
		"bivouac.Job: preempted at step 2, not committed, as no step before it: the disk is gone": {Step: 2, Committed: -1, Err: errDisk},
		"bivouac.Job: preempted at step 2, not committed; step 0 is the last that is: the disk is gone": {
			Step: 2, Committed: 0, Err: errDisk},
	} {
		if e.Error() != want {
			t.Errorf("%q, want %q", e, want)
		}
		if !errors.Is(e, bivouac.ErrPreempted) || !errors.Is(e, errs.Canceled) || errors.Is(e, errs.Corrupt) ||
			e.Err != nil && !errors.Is(e, errDisk) {
			t.Errorf("%q is of the wrong kind", e)
		}
	}
}

// preempted is a run whose loop is preempted, and what it is told.
func preempted(t *testing.T, job *bivouac.Job[int64], m *model, body func(step int64)) *bivouac.PreemptedError {
	t.Helper()
	var told error
	for b, err := range job.Steps(context.Background()) {
		if told = err; err != nil {
			break
		}
		m.train(b)
		body(job.Step() + 1)
	}
	var e *bivouac.PreemptedError
	if !errors.As(told, &e) {
		t.Fatalf("told %v", told)
	}
	return e
}

// A step that cannot be committed at first is tried once more; what is told is true.
func TestCommitAtPreemptionIsTriedAgain(t *testing.T) {
	for _, c := range []struct {
		every, at int64
		fails     int
		want      string
	}{
		{3, 5, 1, "preempted at step 5, committed"}, // an older step is committed
		{3, 5, 2, "preempted at step 5, not committed; step 3 is the last that is"},
		{bivouac.Never, 1, 1, "preempted at step 1, committed"}, // none is
		{bivouac.Never, 1, 2, "preempted at step 1, not committed, as no step before it"},
		{3, 3, 2, "preempted at step 3, committed"}, // the save of the loop fails, and the first of leaving
	} {
		guard(t)
		m, data := newModel(), &failing{counter: counter{Seed: 1}}
		dir := t.TempDir()
		job := opened(t, dir, data, bivouac.Options{State: &m, SaveEvery: c.every})
		e := preempted(t, job, &m, func(step int64) {
			if step == c.at {
				if err := job.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				data.fails = c.fails
				raise(t)
				bivouac.AwaitSignal(job)
			}
		})
		if !strings.HasPrefix(e.Error(), "bivouac.Job: "+c.want) {
			t.Errorf("told %q, want %q", e, c.want)
		}
		if err := job.Close(); err != nil {
			t.Error(err)
		}
		last, _, _ := strings.Cut(strings.TrimPrefix(c.want, "preempted at step "), ",")
		if e.Err == nil && !slices.Contains(names(t, dir), last) {
			t.Errorf("%q, and the directory has %q", e, names(t, dir))
		}
	}
}

// A signal before the first step commits step 0, also when that fails at first.
func TestPreemptedBeforeFirstStep(t *testing.T) {
	guard(t)
	dir, m := t.TempDir(), newModel()
	data := &failing{counter: counter{Seed: 1}, fails: 1}
	var job *bivouac.Job[int64]
	waits := &waiting{at: 0, waits: func() { raise(t) }}
	job = opened(t, dir, &both{waits, data}, bivouac.Options{State: &m})
	e := preempted(t, job, &m, func(int64) { t.Fatal("a step was done") })
	if e.Error() != "bivouac.Job: preempted at step 0, committed" || e.Committed != 0 {
		t.Errorf("told %q", e)
	}
	if err := job.Close(); err != nil || !slices.Equal(names(t, dir), []string{"0"}) {
		t.Errorf("the directory has %q, %v", names(t, dir), err)
	}
}

// both waits as one stream and has the states of another.
type both struct {
	*waiting
	states *failing
}

func (b *both) AppendState(dst []byte) ([]byte, error) { return b.states.AppendState(dst) }

// When the grace time is over before anything is committed, nothing is said to be.
func TestGraceIsOverWithoutCommit(t *testing.T) {
	guard(t)
	m := newModel()
	job := opened(t, t.TempDir(), &counter{Seed: 1}, bivouac.Options{State: &m, SaveEvery: bivouac.Never,
		Grace: time.Nanosecond})
	e := preempted(t, job, &m, func(step int64) {
		if step == 2 {
			raise(t)
			bivouac.AwaitGrace(job)
		}
	})
	if e.Step != 2 || e.Committed != -1 || !strings.Contains(e.Error(), "not committed, as no step before it: canceled: Options.Grace of 1ns is over") {
		t.Errorf("told %q, committed %d", e, e.Committed)
	}
	if err := job.Close(); err != nil {
		t.Error(err)
	}
}

// asking is a stream that does something before a value.
type asking struct {
	counter
	before func(pos int64) error
}

func (a *asking) Next(ctx context.Context) (int64, error) {
	if err := a.before(a.Pos); err != nil {
		return 0, err
	}
	return a.counter.Next(ctx)
}

// A step that was committed before the grace time was over is told to be.
func TestGraceIsOverBehindCommit(t *testing.T) {
	guard(t)
	m := newModel()
	var job *bivouac.Job[int64]
	data := &asking{counter: counter{Seed: 1}, before: func(pos int64) error {
		if pos < 5 {
			return nil
		}
		if err := job.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		raise(t)
		bivouac.AwaitGrace(job)
		return context.Canceled
	}}
	job = opened(t, t.TempDir(), data, bivouac.Options{State: &m, SaveEvery: 1, Grace: time.Nanosecond})
	if e := preempted(t, job, &m, func(int64) {}); e.Error() != "bivouac.Job: preempted at step 5, committed" {
		t.Errorf("told %q", e)
	}
	if err := job.Close(); err != nil {
		t.Error(err)
	}
}

// A disk that does not answer is not waited for longer than the grace time, neither in
// the last save of all, nor in the one that the signal asks for. The save is given up:
// what was told not to be committed is not committed later.
func TestGraceBoundsTheLastSave(t *testing.T) {
	for name, c := range map[string]struct {
		steps int64
		every int64
	}{
		"last of all": {3, bivouac.Never},
		"at signal":   {0, bivouac.Never},
	} {
		t.Run(name, func(t *testing.T) {
			guard(t)
			d, m := newDisk(), newModel()
			var job *bivouac.Job[int64]
			release := make(chan struct{})
			var once sync.Once
			job = opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, Steps: c.steps, SaveEvery: c.every,
				Store: d.store(), Grace: 10 * time.Millisecond})
			d.before(func(call *vfstest.Call) error {
				if staging(call) {
					once.Do(func() {
						if c.steps > 0 {
							raise(t)
						}
						select {
						case <-release:
						case <-time.After(10 * time.Second):
							t.Error("the last save was waited for 10 s beyond Grace")
						}
					})
				}
				return nil
			})
			e := preempted(t, job, &m, func(step int64) {
				if step == 3 && c.steps == 0 {
					raise(t)
					bivouac.AwaitSignal(job)
				}
			})
			if e.Step != 3 || e.Committed != -1 || !strings.Contains(e.Error(), "Options.Grace of 10ms is over") {
				t.Errorf("told %q", e)
			}
			close(release)
			if err := job.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if got := d.steps(t); len(got) != 0 {
				t.Errorf("steps %q", got)
			}
		})
	}
}

// A signal that came before Steps may end the context of the caller only some steps later,
// when its receiver gets a turn: these steps are committed all the same.
func TestSignalBeforeStepsEndsTheContextLater(t *testing.T) {
	received, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	raise(t)
	<-received.Done()

	m := newModel()
	job := opened(t, t.TempDir(), &counter{Seed: 1}, bivouac.Options{State: &m, SaveEvery: bivouac.Never})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var told error
	for b, err := range job.Steps(ctx) {
		if told = err; err != nil {
			break
		}
		if m.train(b); job.Step() == 3 {
			cancel(context.Cause(received))
		}
	}
	if told == nil || told.Error() != "bivouac.Job: preempted at step 4, committed" {
		t.Errorf("told %v", told)
	}
	if err := job.Close(); err != nil {
		t.Error(err)
	}
}

// The grace time counts from the first signal.
func TestSecondSignalGivesNoMoreTime(t *testing.T) {
	guard(t) // the goroutine of package signal is outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		const grace = 10 * time.Second
		n := bivouac.NewNotice(grace)
		defer n.Stop()
		began := time.Now()
		for range 4 {
			n.Signal()
			time.Sleep(grace * 3 / 10)
		}
		<-n.Over()
		if d := time.Since(began); d != grace*12/10 { // the last sleep went on beyond the end
			t.Errorf("over after %v", d)
		}
	})
}

// afterGrace says to a child what TestSignalAfterGrace wants of it.
const afterGrace = "BIVOUAC_AFTER_GRACE"

// TestAfterGraceChild is the child of TestSignalAfterGrace.
func TestAfterGraceChild(t *testing.T) {
	if os.Getenv(afterGrace) == "" {
		t.Skip("the child of TestSignalAfterGrace")
	}
	m := newModel()
	job := opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, Grace: time.Nanosecond,
		Store: newDisk().store()})
	for range 2 { // the second loop asks once more whether a signal came
		e := preempted(t, job, &m, func(int64) { raise(t); bivouac.AwaitGrace(job) })
		fmt.Println("told", e)
	}
	raise(t)
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // until the signal ends it, or the parent does
}

// When the grace time is over another SIGTERM ends the process.
func TestSignalAfterGrace(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second) // a child that outlives the signal is killed
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestAfterGraceChild$")
	cmd.Env = append(os.Environ(), afterGrace+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close() //nolint:errcheck // the child has ended
	var out bytes.Buffer
	cmd.Stdout = &out
	err = cmd.Run()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGTERM || strings.Count(out.String(), "told") != 2 {
		t.Errorf("%v\n%s", err, out.Bytes())
	}
}

// Close names the committed step, or says that no step is committed.
func TestCloseNamesTheCommit(t *testing.T) {
	for every, want := range map[int64]string{
		bivouac.Never: "not committed, as no step before it",
		2:             "not committed; step 2 is the last that is",
	} {
		guard(t)
		m := newModel()
		job := opened(t, t.TempDir(), &counter{Seed: 1}, bivouac.Options{State: &m, SaveEvery: every})
		for b, err := range job.Steps(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			m.train(b)
			if job.Step() == 3 {
				if err := job.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				raise(t)
				bivouac.AwaitSignal(job)
				break
			}
		}
		if err := job.Close(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Close: %v, want %q", err, want)
		}
	}
}
