package bivouac_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
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
		"no document":     {map[string]any{"state": &state, "data": json.RawMessage(`"text"`)}, errs.Mismatch, "the document of a job"},
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
		if !errors.Is(told, errDisk) || errors.Is(told, bivouac.ErrPreempted) || !strings.Contains(told.Error(), "step 5") ||
			job.Step() != 4 || data.Pos != 4 {
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
	job := opened(t, t.TempDir(), &counter{Seed: 1}, bivouac.Options{State: &m, Steps: 7, SaveEvery: bivouac.Never,
		OnEvent: func(e bivouac.Event) {
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
	job := opened(t, t.TempDir(), &counter{Seed: 1}, bivouac.Options{State: &m,
		OnEvent: func(e bivouac.Event) { events = append(events, fmt.Sprint(e.Kind, " ", e.Step)) }})
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
		ctx, cancel := context.WithCancel(t.Context())
		job := opened(t, t.TempDir(), &c.data, bivouac.Options{State: &m, Steps: c.steps, OnEvent: func(e bivouac.Event) {
			if e.Kind == bivouac.PassEnded {
				if passes = append(passes, e.Step); len(passes) > 9 {
					cancel() // passes without end
				}
			}
		}})
		err := drive(ctx, job, &m)
		cancel()
		if !errors.Is(err, c.told) || errors.Is(err, io.ErrUnexpectedEOF) || job.Step() != int64(c.done) ||
			c.data.resets != c.resets || !slices.Equal(passes, c.passes) {
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
	job, err := bivouac.Open(t.Context(), t.TempDir(), data,
		bivouac.Options{State: &state, Steps: 12, OnEvent: func(e bivouac.Event) {
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
	cut := d.Clone() // listed as damaged, which the other one is not
	changeIn(t, cut, path.Join("/run/15/state/d", list[0].Name()), func(b []byte) []byte { return b[:len(b)/2] })
	changeIn(t, d.Mem, path.Join("/run/15/state/d", list[0].Name()), func(b []byte) []byte { b[len(b)/2] ^= 4; return b })
	for name, c := range map[string]struct {
		mem   *vfstest.Mem
		newer bool
	}{"a damaged step": {d.Mem, false}, "a cut step": {cut, false}, "a newer step": {newer, true}} {
		for _, forever := range []bool{true, false} {
			told := 0
			for n := 1; ; n++ {
				mem := c.mem.Clone()
				fault := vfstest.NewFault(mem, vfstest.Plan{N: n, Forever: forever, Err: errDisk,
					Only: func(c vfstest.Call) bool { return c.Op != vfstest.OpClose }})
				m := newModel()
				job, err := bivouac.Open(t.Context(), "run", &counter{Seed: 1},
					bivouac.Options{State: &m, Store: local.New(fault, "/", nil)})
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
				job, err = bivouac.Open(t.Context(), "run", &counter{Seed: 1},
					bivouac.Options{State: &m, Store: local.New(mem, "/", nil)})
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
func changeIn(t *testing.T, mem *vfstest.Mem, name string, change func([]byte) []byte) {
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
			d.before(func(c *vfstest.Call) error {
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
	d.before(func(c *vfstest.Call) error {
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
	if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "and 3 more") ||
		strings.Count(err.Error(), ".damaged") < 8 {
		t.Errorf("got %v", err)
	}
}
