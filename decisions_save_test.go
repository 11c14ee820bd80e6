package bivouac_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store/local"
)

// onDisk runs jobs in a file system of which calls may be made to fail or to wait.
type onDisk struct {
	*vfstest.Mem
	hook atomic.Pointer[func(*vfstest.Call) error] // before each call
}

func newDisk() *onDisk { return &onDisk{Mem: vfstest.NewMem()} }

func (d *onDisk) store() *local.Store {
	return local.New(vfstest.Intercept(d.Mem, func(c *vfstest.Call, do func() error) error {
		if f := d.hook.Load(); f != nil {
			if err := (*f)(c); err != nil {
				return err
			}
		}
		return do()
	}), "/", nil)
}

// before sets what is done before each call; nil for nothing.
func (d *onDisk) before(f func(*vfstest.Call) error) {
	if f == nil {
		d.hook.Store(nil)
		return
	}
	d.hook.Store(&f)
}

// staging reports whether a call makes the directory in which a save is written.
func staging(c *vfstest.Call) bool { return c.Op == vfstest.OpMkdir && strings.Contains(c.Name, "tmp") }

// fails makes the next saves fail.
func fails(c *vfstest.Call) error {
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
		if e.IsDir() && e.Name() != journal.Folder {
			out = append(out, e.Name())
		}
	}
	return out
}

// The failure of the last save is told by the loop, as it is: nobody preempted the job.
func TestLastSaveFails(t *testing.T) {
	d, m := newDisk(), newModel()
	job := opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, Steps: 3, SaveEvery: bivouac.Never,
		Store: d.store()})
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

// A caller that stops waiting for a save does not lose the save.
func TestSaveOutlivesItsWaiter(t *testing.T) {
	d, m := newDisk(), newModel()
	job := opened(t, "run", &counter{Seed: 1}, bivouac.Options{State: &m, SaveEvery: 3, Steps: 6, Store: d.store()})
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d.before(func(c *vfstest.Call) error {
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
