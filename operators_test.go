package bivouac_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/stream"
)

// profiled is a stream that tells of two operators, until it is closed.
type profiled struct {
	counter
	closed atomic.Bool
	late   atomic.Bool // asked after Close
}

func (p *profiled) Profile() stream.Profile {
	if p.closed.Load() {
		p.late.Store(true)
	}
	return stream.Profile{Batches: 3, Depth: 2, Operators: []stream.Operator{
		{Name: "read", Kind: "readers.file", Reader: true},
		{Name: "crop", Kind: "crop", Inputs: []string{"read"}, Output: true}}}
}

func (p *profiled) Close() error {
	p.closed.Store(true)
	return p.counter.Close()
}

// told reads the document of a run, and the id of its newest attempt.
func told(t *testing.T, st store.Store) (*journal.Operators, string) {
	t.Helper()
	o, err := journal.ReadOperators(t.Context(), st, "run")
	if errs.KindOf(err) == errs.NotFound {
		return nil, ""
	}
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(t.Context(), st, "run")
	if err != nil {
		t.Fatal(err)
	}
	list := j.Attempts()
	return o, list[len(list)-1].ID
}

// The document is written soon after the begin and then again and again, also while no step is
// done, and at the end.
func TestOperatorsAreTold(t *testing.T) {
	top := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		st, err := local.Open(top, nil)
		if err != nil {
			t.Fatal(err)
		}
		data := &profiled{}
		o := bivouac.NewOperators(st, "run", data.Profile, func(err error) { t.Error(err) })
		read := func() *journal.Operators {
			synctest.Wait()
			got, err := journal.ReadOperators(t.Context(), st, "run")
			if err != nil && errs.KindOf(err) != errs.NotFound {
				t.Fatal(err)
			}
			return got
		}
		o.Begin()
		o.Begin() // the loop begins again
		if got := read(); got != nil {
			t.Errorf("at once: %+v", got)
		}
		o.StepDone(3)
		time.Sleep(2 * time.Second)
		early := read()
		if early == nil || early.Ended || early.Step != 3 || early.Batches != 3 || len(early.Operators) != 2 {
			t.Fatalf("after 2 s: %+v", early)
		}
		time.Sleep(time.Minute)
		if late := read(); late.Time.Sub(early.Time) < 50*time.Second || time.Since(late.Time) > 10*time.Second {
			t.Errorf("after a minute: %v, before %v", late.Time, early.Time)
		}
		o.StepDone(4)
		o.Close(t.Context())
		if err := data.Close(); err != nil {
			t.Fatal(err)
		}
		if last := read(); !last.Ended || last.Step != 4 {
			t.Errorf("at the end: %+v", last)
		}
		time.Sleep(time.Minute)
		o.Close(t.Context())
		if data.late.Load() {
			t.Error("the data are asked after they were closed")
		}
	})
}

// A job tells of the operators of its data at its end, of each attempt anew.
func TestOperatorsOfAJob(t *testing.T) {
	top := t.TempDir()
	st, err := local.Open(top, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := ""
	for _, steps := range []int64{5, 8} {
		m, data := newModel(), &profiled{}
		job, err := bivouac.Open(t.Context(), filepath.Join(top, "run"), data, bivouac.Options{State: &m, Steps: steps,
			Grace: bivouac.Never, LogEvery: bivouac.Never})
		if err != nil {
			t.Fatal(err)
		}
		trainToEnd(t, job)
		got, id := told(t, st)
		if got == nil || !got.Ended || got.Step != steps || got.Attempt != id || id == before ||
			got.Operators[1].Inputs[0] != "read" {
			t.Errorf("%d steps, attempt %s: %+v", steps, id, got)
		}
		if data.late.Load() || !data.closed.Load() {
			t.Error("the data are asked after they were closed")
		}
		before = id
	}
}

// Without a journal, without a loop, and for data that tell nothing there is no document.
func TestOperatorsAreNotTold(t *testing.T) {
	for name, c := range map[string]struct {
		data  stream.Stream[int64]
		quiet bool
		loop  bool
	}{
		"no journal":   {&profiled{}, true, true},
		"no loop":      {&profiled{}, false, false},
		"no operators": {&counter{}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			top, m := t.TempDir(), newModel()
			job, err := bivouac.Open(t.Context(), filepath.Join(top, "run"), c.data, bivouac.Options{State: &m, Steps: 3,
				Grace: bivouac.Never, LogEvery: bivouac.Never, NoJournal: c.quiet})
			if err != nil {
				t.Fatal(err)
			}
			if c.loop {
				trainToEnd(t, job)
			} else if err := job.Close(); err != nil {
				t.Fatal(err)
			}
			st, err := local.Open(top, nil)
			if err != nil {
				t.Fatal(err)
			}
			if o, _ := told(t, st); o != nil {
				t.Errorf("%+v", o)
			}
		})
	}
}

// A document that cannot be written is told once, and tried again.
func TestOperatorsThatCannotBeWritten(t *testing.T) {
	top := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		near, err := local.Open(top, nil)
		if err != nil {
			t.Fatal(err)
		}
		st := &refusing{Store: near}
		st.refuse.Store(true)
		var failures []error
		o := bivouac.NewOperators(st, "run", (&profiled{}).Profile, func(err error) { failures = append(failures, err) })
		o.Begin()
		for step, refuse := range []bool{true, true, false, true} {
			st.refuse.Store(refuse)
			o.StepDone(int64(step))
			time.Sleep(25 * time.Second)
		}
		synctest.Wait()
		o.Close(t.Context())
		if len(failures) != 2 || slices.ContainsFunc(failures, func(err error) bool { return !errors.Is(err, errs.IO) }) {
			t.Errorf("told: %v", failures)
		}
		if got, err := journal.ReadOperators(t.Context(), near, "run"); err != nil || got.Ended || got.Step != 2 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// A job whose document cannot be written trains and ends as ever.
func TestJobWithoutItsOperators(t *testing.T) {
	near, err := local.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	st := &refusing{Store: near}
	st.refuse.Store(true)
	m, failures := newModel(), 0
	job, err := bivouac.Open(t.Context(), "run", &profiled{}, bivouac.Options{State: &m, Steps: 3, Store: st,
		Grace: bivouac.Never, LogEvery: bivouac.Never, OnEvent: func(e bivouac.Event) {
			if e.Kind == bivouac.JournalFailed {
				failures++
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if trainToEnd(t, job); failures != 1 || job.Step() != 3 {
		t.Errorf("%d failures, step %d", failures, job.Step())
	}
}

// refusing refuses to write the document while refuse is set.
type refusing struct {
	store.Store
	refuse atomic.Bool
}

func (r *refusing) Put(ctx context.Context, name string, b []byte, o store.PutOptions) error {
	if r.refuse.Load() && strings.HasSuffix(name, journal.OperatorsFile) {
		return &errs.Error{Kind: errs.IO, Subject: name, Got: "a full disk"}
	}
	return r.Store.Put(ctx, name, b, o)
}
