package bivouac_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store/local"
)

// opened opens a job, or fails the test.
func opened(t *testing.T, dir string, data stream64, o bivouac.Options) *bivouac.Job[int64] {
	t.Helper()
	job, err := bivouac.Open(context.Background(), dir, data, o)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

type stream64 interface {
	Next(context.Context) (int64, error)
	AppendState([]byte) ([]byte, error)
	SetState([]byte) error
	Close() error
}

// drive runs a loop to its end, and returns the error that it was told.
func drive(ctx context.Context, job *bivouac.Job[int64], m *model) error {
	for b, err := range job.Steps(ctx) {
		if err != nil {
			return err
		}
		m.train(b)
	}
	return nil
}

// A state that a later run could not restore is refused by the first one.
func TestStateByValue(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	_, err := bivouac.Open(t.Context(), dir, &counter{}, bivouac.Options{State: newModel()})
	if errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), "Options.State") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory was made: %v", err)
	}
}

// What stands in a step and is no job's, or another step's, is told for what it is, and
// the step stays.
func TestStepsOfOthers(t *testing.T) {
	doc := func(version, step int) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"version":%d,"step":%d,"stream":{"seed":1,"pos":10}}`, version, step))
	}
	state := newModel()
	for name, c := range map[string]struct {
		items map[string]any
		kind  errs.Kind
		says  string
	}{
		"no data":         {map[string]any{"state": &state}, errs.Mismatch, "the position of a stream"},
		"no state":        {map[string]any{"data": doc(1, 10)}, errs.Mismatch, "the trainer's state"},
		"no document":     {map[string]any{"state": &state, "data": json.RawMessage(`"text"`)}, errs.Mismatch, "a job's document"},
		"a newer version": {map[string]any{"state": &state, "data": doc(2, 10)}, errs.Unsupported, "newer Bivouac"},
		"another step":    {map[string]any{"state": &state, "data": doc(1, 20)}, errs.Mismatch, "step 10"},
	} {
		dir := t.TempDir()
		steps, err := training.Open(t.Context(), dir, &training.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := steps.SaveCheckpointables(t.Context(), 10, c.items, nil); err != nil {
			t.Fatal(err)
		}
		if err := steps.Close(); err != nil {
			t.Fatal(err)
		}
		m := newModel()
		_, err = bivouac.Open(t.Context(), dir, &counter{Seed: 1}, bivouac.Options{State: &m})
		if errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %v that says %q", name, err, c.kind, c.says)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"10"}) {
			t.Errorf("%s: the directory has %q", name, got)
		}
	}
}

// A loop whose context ends is told why: it was not preempted, and does no further step.
func TestContextEnds(t *testing.T) {
	for _, grace := range []time.Duration{0, bivouac.Never} {
		m, data := newModel(), &counter{Seed: 1}
		job := opened(t, t.TempDir(), data, bivouac.Options{State: &m, Grace: grace})
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var told error
		for b, err := range job.Steps(ctx) {
			if told = err; err != nil {
				break
			}
			m.train(b)
			if job.Step() == 3 {
				cancel(errDisk)
			}
		}
		if !errors.Is(told, errDisk) || errors.Is(told, bivouac.ErrPreempted) || !strings.Contains(told.Error(), "step 5") || job.Step() != 4 || data.Pos != 4 {
			t.Errorf("at step %d, position %d: %v", job.Step(), data.Pos, told)
		}
		if err := job.Close(); err != nil {
			t.Error(err)
		}
	}
}

// With SaveEvery Never only the last step is saved.
func TestSaveNever(t *testing.T) {
	var saved []int64
	m := newModel()
	job := opened(t, t.TempDir(), &counter{Seed: 1}, bivouac.Options{State: &m, Steps: 7, SaveEvery: bivouac.Never, OnEvent: func(e bivouac.Event) {
		if e.Kind == bivouac.SaveCommitted {
			saved = append(saved, e.Step)
		}
	}})
	if err := errors.Join(drive(t.Context(), job, &m), job.Close()); err != nil || !slices.Equal(saved, []int64{7}) {
		t.Errorf("saved %d, %v", saved, err)
	}
}

// closing counts how often it is closed, and is not read behind that.
type closing struct {
	counter
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

func (c *closing) AppendState(dst []byte) ([]byte, error) {
	if c.closed > 0 {
		c.Pos = -1 // asked all the same
	}
	return c.counter.AppendState(dst)
}

// A job that is closed does nothing any more, and says so.
func TestClosedJob(t *testing.T) {
	m, data := newModel(), &closing{counter: counter{Seed: 1}}
	job := opened(t, t.TempDir(), data, bivouac.Options{State: &m, Steps: 3})
	for range 2 {
		if err := job.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := drive(t.Context(), job, &m); !errors.Is(err, errs.Closed) || data.closed != 1 || data.Pos != 0 {
		t.Errorf("closed %d times, at %d: %v", data.closed, data.Pos, err)
	}
	if err := job.Save(t.Context()); !errors.Is(err, errs.Closed) || data.Pos != 0 {
		t.Errorf("Save, at %d: %v", data.Pos, err)
	}
}

// A step that is saved is not saved again.
func TestSaveOfSavedStep(t *testing.T) {
	var events []string
	m := newModel()
	job := opened(t, t.TempDir(), &counter{Seed: 1}, bivouac.Options{State: &m, OnEvent: func(e bivouac.Event) { events = append(events, fmt.Sprint(e.Kind, " ", e.Step)) }})
	for range 3 {
		if err := job.Save(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := job.Close(); err != nil || !slices.Equal(events, []string{"save begin 0", "save committed 0"}) {
		t.Errorf("events %q, %v", events, err)
	}
}

// inPasses is a stream whose passes begin when Reset is called.
type inPasses struct {
	counter
	per    int64
	begun  bool
	resets int
	fails  error // of Reset
	asked  int   // how often Next was called at the end of a pass
	glitch error // of the second of these calls
}

func (p *inPasses) Next(ctx context.Context) (int64, error) {
	if p.Pos > 0 && p.Pos%p.per == 0 && !p.begun {
		if p.asked++; p.asked == 2 && p.glitch != nil {
			return 0, p.glitch
		}
		return 0, io.EOF
	}
	p.begun, p.asked = false, 0
	return p.counter.Next(ctx)
}

func (p *inPasses) Reset() error {
	p.resets++
	if p.fails == nil {
		p.begun = true
	}
	return p.fails
}

// A stream whose passes begin when they are asked for is asked where there are steps left
// to do, and each pass is told.
func TestPassesThatAreAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		data         inPasses
		steps        int64
		told         error
		done, resets int
		passes       []int64
	}{
		"over three passes":       {inPasses{}, 10, nil, 10, 2, []int64{4, 8}},
		"one pass without Steps":  {inPasses{}, 0, nil, 4, 0, nil},
		"a Reset that fails":      {inPasses{fails: errDisk}, 10, errDisk, 4, 1, nil},
		"an error behind the end": {inPasses{glitch: errDisk}, 10, errDisk, 4, 0, nil},
	} {
		c.data.counter, c.data.per = counter{Seed: 1}, 4
		var passes []int64
		m := newModel()
		job := opened(t, t.TempDir(), &c.data, bivouac.Options{State: &m, Steps: c.steps, OnEvent: func(e bivouac.Event) {
			if e.Kind == bivouac.PassEnded {
				passes = append(passes, e.Step)
			}
		}})
		err := drive(t.Context(), job, &m)
		if !errors.Is(err, c.told) || errors.Is(err, io.ErrUnexpectedEOF) || job.Step() != int64(c.done) || c.data.resets != c.resets || !slices.Equal(passes, c.passes) {
			t.Errorf("%s: %v at step %d after %d resets, passes end at %d", name, err, job.Step(), c.data.resets, passes)
		}
		if err := job.Close(); err != nil || !same(m, uninterrupted(int64(c.done))) {
			t.Errorf("%s: another result, %v", name, err)
		}
	}
}

// The end of a pass of a loader is told.
func TestEpochIsTold(t *testing.T) {
	data, err := openLoader(18, 0) // 5 batches an epoch
	if err != nil {
		t.Fatal(err)
	}
	var passes []int64
	var state struct{ Steps int64 }
	job, err := bivouac.Open(t.Context(), t.TempDir(), data, bivouac.Options{State: &state, Steps: 12, OnEvent: func(e bivouac.Event) {
		if e.Kind == bivouac.PassEnded {
			passes = append(passes, e.Step)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range job.Steps(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := job.Close(); err != nil || !slices.Equal(passes, []int64{5, 10}) {
		t.Errorf("passes end at %d, %v", passes, err)
	}
}

// onDisk runs jobs in a file system of which calls may be made to fail or to wait.
type onDisk struct {
	*vfs.Mem
	hook atomic.Pointer[func(*vfs.Call) error] // before each call
}

func newDisk() *onDisk { return &onDisk{Mem: vfs.NewMem()} }

func (d *onDisk) store() *local.Store {
	return local.New(vfs.Intercept(d.Mem, func(c *vfs.Call, do func() error) error {
		if f := d.hook.Load(); f != nil {
			if err := (*f)(c); err != nil {
				return err
			}
		}
		return do()
	}), "/", nil)
}

// before sets what is done before each call; nil for nothing.
func (d *onDisk) before(f func(*vfs.Call) error) {
	if f == nil {
		d.hook.Store(nil)
		return
	}
	d.hook.Store(&f)
}

// staging reports whether a call makes the directory in which a save is written.
func staging(c *vfs.Call) bool { return c.Op == vfs.OpMkdir && strings.Contains(c.Name, "tmp") }

// fails makes the next saves fail.
func fails(c *vfs.Call) error {
	if staging(c) {
		return errDisk
	}
	return nil
}

// steps are the steps in the file system.
func (d *onDisk) steps(t *testing.T) (out []string) {
	t.Helper()
	list, err := d.ReadDir("/run")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// The failure of the last save is told by the loop, as it is: nobody preempted the job.
func TestLastSaveFails(t *testing.T) {
	d, m := newDisk(), newModel()
	job := opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, Steps: 3, SaveEvery: bivouac.Never, Store: d.store()})
	d.before(fails)
	if err := drive(t.Context(), job, &m); !errors.Is(err, errDisk) || errors.Is(err, bivouac.ErrPreempted) {
		t.Errorf("got %v", err)
	}
	d.before(nil)
	if err := drive(t.Context(), job, &m); err != nil { // ranging again carries on: the step is saved
		t.Error(err)
	}
	if last, ok := job.Latest(); !ok || last != 3 || !same(m, uninterrupted(3)) {
		t.Errorf("latest %d %v", last, ok)
	}
	if err := job.Close(); err != nil {
		t.Error(err)
	}
}

// A save that failed is told at the next one, once; the loop carries on when it is
// ranged over again.
func TestFailedSaveIsToldOnce(t *testing.T) {
	d, m := newDisk(), newModel()
	job := opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, Steps: 20, SaveEvery: 3, Store: d.store()})
	d.before(fails)
	var told []string
	for job.Step() < 20 {
		for b, err := range job.Steps(t.Context()) {
			if err != nil {
				if !errors.Is(err, errDisk) || errors.Is(err, bivouac.ErrPreempted) {
					t.Fatal(err)
				}
				told = append(told, strconv.FormatInt(job.Step(), 10))
				d.before(nil)
				break
			}
			m.train(b)
		}
	}
	if !slices.Equal(told, []string{"6"}) || !same(m, uninterrupted(20)) {
		t.Errorf("told at steps %q", told)
	}
	if last, ok := job.Latest(); !ok || last != 20 {
		t.Errorf("latest %d %v", last, ok)
	}
	if err := job.Close(); err != nil {
		t.Error(err)
	}
}

// The failure of a save that nobody was told is told by Close.
func TestCloseTellsFailedSave(t *testing.T) {
	d, m := newDisk(), newModel()
	job := opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, SaveEvery: 3, Store: d.store()})
	d.before(fails)
	for b, err := range job.Steps(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		m.train(b)
		if job.Step() == 4 {
			break
		}
	}
	if err := job.Close(); !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
}

// Who does not wait for a save any more does not lose it.
func TestSaveOutlivesItsWaiter(t *testing.T) {
	d, m := newDisk(), newModel()
	job := opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, SaveEvery: 3, Steps: 6, Store: d.store()})
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d.before(func(c *vfs.Call) error {
		if staging(c) {
			once.Do(func() { close(reached); <-release })
		}
		return nil
	})
	for b, err := range job.Steps(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		m.train(b)
		if job.Step() == 3 {
			break
		}
	}
	<-reached
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := job.Wait(ctx); !errors.Is(err, errs.Canceled) {
		t.Errorf("Wait: %v", err)
	}
	for range 2 {
		for _, err := range job.Steps(ctx) {
			if err == nil {
				t.Fatal("a step that nobody can commit")
			}
		}
	}
	close(release)
	if err := errors.Join(drive(t.Context(), job, &m), job.Close()); err != nil {
		t.Error(err)
	}
	if got := d.steps(t); !slices.Equal(got, []string{"3", "6"}) {
		t.Errorf("steps %q", got)
	}
}

// unwritable is a stream whose states no job can write.
type unwritable struct {
	counter
	state string
	err   error
}

func (u *unwritable) AppendState(dst []byte) ([]byte, error) { return append(dst, u.state...), u.err }

// A step is not saved without the position of its stream.
func TestStateOfStreamFails(t *testing.T) {
	for _, c := range []struct {
		data *unwritable
		kind errs.Kind
		err  error
	}{
		{&unwritable{err: io.ErrClosedPipe}, 0, io.ErrClosedPipe},
		{&unwritable{state: "{"}, errs.Invalid, errs.Invalid},
	} {
		d, m := newDisk(), newModel()
		job := opened(t, "run", c.data, bivouac.Options{State: &m, Store: d.store()})
		if err := job.Save(t.Context()); !errors.Is(err, c.err) || !strings.Contains(err.Error(), "state of the stream") {
			t.Errorf("Save: %v, want %v", err, c.err)
		}
		if err := job.Close(); err != nil || len(d.steps(t)) != 0 {
			t.Errorf("steps %q, %v", d.steps(t), err)
		}
	}
}

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
		if !errors.Is(e, bivouac.ErrPreempted) || !errors.Is(e, errs.Canceled) || errors.Is(e, errs.Corrupt) || e.Err != nil && !errors.Is(e, errDisk) {
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
	job := opened(t, t.TempDir(), &counter{Seed: 1}, bivouac.Options{State: &m, SaveEvery: bivouac.Never, Grace: time.Nanosecond})
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
			job = opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, Steps: c.steps, SaveEvery: c.every, Store: d.store(), Grace: 10 * time.Millisecond})
			d.before(func(call *vfs.Call) error {
				if staging(call) {
					once.Do(func() {
						if c.steps > 0 {
							raise(t)
						}
						<-release
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

// The grace time counts from the first signal.
func TestSecondSignalGivesNoMoreTime(t *testing.T) {
	guard(t) // the goroutine of package signal is none of the bubble's
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
	job := opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, Grace: time.Nanosecond, Store: newDisk().store()})
	for range 2 { // the second loop asks once more whether a signal came
		e := preempted(t, job, &m, func(int64) { raise(t); bivouac.AwaitGrace(job) })
		fmt.Println("told", e)
	}
	raise(t)
	io.Copy(io.Discard, os.Stdin) //nolint:errcheck // until the signal ends it, or the parent does
}

// When the grace time is over another SIGTERM ends the process.
func TestSignalAfterGrace(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAfterGraceChild$")
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

// Close names the step that stands, and says when there is none.
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

// Whichever call of Open fails, once or from then on, Open says so, or goes on as if it
// had not: it neither begins at 0 beside steps nor takes a step that it cannot read for
// one of another kind, nor goes on beside a damaged step that keeps its name, nor behind
// a step of a newer version that it has not seen. The next Open goes on.
func TestEveryFailureOfOpenIsTold(t *testing.T) {
	d, m := newDisk(), newModel()
	job := opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, SaveEvery: 5, Steps: 15, Store: d.store()})
	if err := errors.Join(drive(t.Context(), job, &m), job.Close()); err != nil {
		t.Fatal(err)
	}
	newer := d.Clone()
	changeIn(t, newer, "/run/15/bivouac.manifest", ofNewerVersion)
	list, err := d.ReadDir("/run/15/state/d")
	if err != nil || len(list) == 0 {
		t.Fatal("no data file", err)
	}
	changeIn(t, d.Mem, path.Join("/run/15/state/d", list[0].Name()), func(b []byte) []byte { b[len(b)/2] ^= 4; return b })
	for name, c := range map[string]struct {
		mem   *vfs.Mem
		newer bool
	}{"a damaged step": {d.Mem, false}, "a newer step": {newer, true}} {
		for _, forever := range []bool{true, false} {
			told := 0
			for n := 1; ; n++ {
				mem := c.mem.Clone()
				fault := vfs.NewFault(mem, vfs.Plan{N: n, Forever: forever, Err: errDisk, Only: func(c vfs.Call) bool { return c.Op != vfs.OpClose }})
				m := newModel()
				job, err := bivouac.Open(t.Context(), "run", &counter{Seed: 1}, bivouac.Options{State: &m, Store: local.New(fault, "/", nil)})
				hit, hits := fault.Hit()
				if err == nil {
					at, ok := job.Resumed()
					if _, e := mem.Stat("/run/15.damaged"); c.newer || !ok || at != 10 || e != nil {
						t.Errorf("%s, call %d, %v, fails: the job is at step %d, %v", name, n, hit, at, e)
					}
					job.Close() //nolint:errcheck // the disk may be gone
				} else if told++; !errors.Is(err, errDisk) && (!c.newer || !errors.Is(err, errs.Unsupported)) {
					t.Errorf("%s, call %d, %v, fails: %v", name, n, hit, err)
				}
				if hits == 0 {
					break
				}
				m = newModel()
				job, err = bivouac.Open(t.Context(), "run", &counter{Seed: 1}, bivouac.Options{State: &m, Store: local.New(mem, "/", nil)})
				if c.newer {
					if !errors.Is(err, errs.Unsupported) {
						t.Errorf("%s, after call %d, %v: %v", name, n, hit, err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s, after call %d, %v: %v", name, n, hit, err)
				}
				if at, ok := job.Resumed(); !ok || at != 10 {
					t.Errorf("%s, after call %d, %v: at step %d", name, n, hit, at)
				}
				if err := job.Close(); err != nil {
					t.Error(err)
				}
			}
			if told == 0 {
				t.Errorf("%s: no call failed", name)
			}
		}
	}
}

// changeIn replaces a file.
func changeIn(t *testing.T, mem *vfs.Mem, name string, change func([]byte) []byte) {
	t.Helper()
	f, err := mem.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Size())
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	f.Close() //nolint:errcheck // was read
	if err := mem.Remove(name); err != nil {
		t.Fatal(err)
	}
	f, err = mem.Create(name, fs.FileMode(0o666))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(change(b), 0)
	if err := errors.Join(err, f.Sync(), f.Close(), mem.SyncDir(path.Dir(name))); err != nil {
		t.Fatal(err)
	}
}

// A step that could not be removed behind the last commit is told, by the loop or by Close.
func TestFailedRemovalIsTold(t *testing.T) {
	guard(t)
	d, m := newDisk(), newModel()
	job := opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, SaveEvery: 2, Keep: 1, Store: d.store()})
	e := preempted(t, job, &m, func(step int64) {
		if step == 5 {
			if err := job.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			d.before(func(c *vfs.Call) error {
				if c.To != "" && c.Name == "/run/4" {
					return errDisk
				}
				return nil
			})
			raise(t)
			bivouac.AwaitSignal(job)
		}
	})
	if e.Error() != "bivouac.Job: preempted at step 5, committed" {
		t.Errorf("told %q", e)
	}
	if err := job.Close(); !errors.Is(err, errDisk) {
		t.Errorf("Close: %v", err)
	}
}

// A save in flight goes on when the context of the loop ends, and Close waits for it.
func TestSaveOutlivesItsLoop(t *testing.T) {
	d, m := newDisk(), newModel()
	job := opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, SaveEvery: 2, Store: d.store()})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d.before(func(c *vfs.Call) error {
		if staging(c) {
			cancel()
		}
		return nil
	})
	for b, err := range job.Steps(ctx) {
		if err != nil {
			break
		}
		m.train(b)
	}
	err := job.Close()
	if got := d.steps(t); err != nil || !slices.Equal(got, []string{"2"}) {
		t.Errorf("steps %q, Close: %v", got, err)
	}
}

// Many names are not all told.
func TestManyRemains(t *testing.T) {
	dir := t.TempDir()
	for step := range 11 {
		if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(step)+".damaged"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	_, err := run(t, dir, 5, bivouac.Options{})
	if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "and 3 more") || strings.Count(err.Error(), ".damaged") < 8 {
		t.Errorf("got %v", err)
	}
}
