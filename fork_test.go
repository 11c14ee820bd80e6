package bivouac_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// trainTo trains on batches of the digits up to a step, and returns the batches of this attempt.
// after, if not nil, is called at the end of each loop body.
func trainTo(t *testing.T, dir string, m *model, steps int64, o bivouac.Options,
	after func(step int64)) (seen []string) {
	t.Helper()
	data, err := openLoader(18, 2)
	if err != nil {
		t.Fatal(err)
	}
	o.State, o.Steps, o.SaveEvery, o.Keep, o.Grace = m, steps, 5, bivouac.KeepAll, bivouac.Never
	job, err := bivouac.Open(t.Context(), dir, data, o)
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range job.Steps(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range batch {
			m.train(id)
		}
		seen = append(seen, fmt.Sprint(batch))
		job.Scalar("loss", m.Sum)
		if after != nil {
			after(job.Step() + 1)
		}
	}
	if err := job.Close(); err != nil {
		t.Fatal(err)
	}
	return seen
}

// A fork goes on as the run itself did: the same batches and the same bits. It is made while the
// run trains, it shares the bytes of the step, and afterwards neither run changes the other.
func TestForkGoesOnAsTheRunDid(t *testing.T) {
	dir := t.TempDir()
	run, branch := filepath.Join(dir, "run"), filepath.Join(dir, "deeper", "branch")
	whole := newModel()
	var made *bivouac.Forked
	seen := trainTo(t, run, &whole, 40, bivouac.Options{Identity: "digits"}, func(step int64) {
		if step != 23 {
			return
		}
		var err error // the run has its lock, and perhaps a save in flight
		if made, err = bivouac.Fork(t.Context(), run, 15, branch, nil); err != nil {
			t.Fatal(err)
		}
	})
	if made.Step != 15 || made.Directory != "15" || made.Files < 5 || made.Shared == 0 || made.Copied != 0 {
		t.Errorf("%+v", made)
	}
	manifest := func(run string) os.FileInfo {
		info, err := os.Stat(filepath.Join(run, "15", "bivouac.manifest"))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	if !os.SameFile(manifest(run), manifest(branch)) {
		t.Error("the files are not shared")
	}
	if err := os.RemoveAll(run); err != nil { // as retention would, and more
		t.Fatal(err)
	}
	r, err := integrity.Verify(t.Context(), filepath.Join(branch, "15"), nil)
	if err != nil || r.Verdict() != integrity.Sound {
		t.Errorf("%v %v", r, err)
	}
	m := newModel()
	rest := trainTo(t, branch, &m, 40, bivouac.Options{Identity: "digits"}, nil)
	if !same(m, whole) {
		t.Errorf("the fork has %+v, the run %+v", m, whole)
	}
	if !slices.Equal(rest, seen[15:]) {
		t.Errorf("the fork read %v, the run %v", rest, seen[15:])
	}
	list := attempts(t, branch)
	if len(list) != 2 || list[0].Start.Origin == nil || list[1].Start.From != 15 {
		t.Fatalf("%+v", list)
	}
	origin := *list[0].Start.Origin
	if origin.Run != run {
		t.Errorf("the run of the origin is %s", origin.Run)
	}
	if origin.Step != 15 || origin.Attempt != 1 || len(origin.ID) != 16 || list[0].Start.Identity != "digits" ||
		list[0].End() == nil || list[0].End().Outcome != journal.Forked {
		t.Errorf("%+v %+v %+v", origin, list[0].Start, list[0].End())
	}
}

// attempts returns the attempts of a run, whose journal has no damage.
func attempts(t *testing.T, run string) []*journal.Attempt {
	t.Helper()
	st, err := local.Open(run, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := journal.Open(t.Context(), st, "")
	if err != nil || len(r.Problems()) > 0 {
		t.Fatal(err, r.Problems())
	}
	return r.Attempts()
}

// trained makes a run of 20 steps.
func trained(t *testing.T) (run string) {
	t.Helper()
	run = filepath.Join(t.TempDir(), "run")
	m := newModel()
	trainTo(t, run, &m, 20, bivouac.Options{}, nil)
	return run
}

// What is there stays, and what is not there is told.
func TestForkRefuses(t *testing.T) {
	run := trained(t)
	beside := func(name string) string { return filepath.Join(filepath.Dir(run), name) }
	taken := beside("taken")
	if err := os.MkdirAll(filepath.Join(taken, "20"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(beside("file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from string
		step int64
		to   string
		kind errs.Kind
	}{
		{run, 10, taken, errs.Exists},
		{run, 10, beside("file"), errs.Exists},
		{run, 10, run, errs.Invalid},
		{run, 10, filepath.Join(run, "new"), errs.Invalid},
		{run, 10, filepath.Join(run, "10", "new"), errs.Invalid},
		{run, 11, beside("new"), errs.NotFound},
		{beside("none"), 10, beside("new"), errs.NotFound},
		{beside("none"), training.Latest, beside("new"), errs.NotFound},
		{run, 10, "s3://bucket/new", errs.Unsupported},
		{run, 10, beside("a.orbax-checkpoint-tmp-1"), errs.Invalid},
	} {
		if _, err := bivouac.Fork(t.Context(), c.from, c.step, c.to, nil); errs.KindOf(err) != c.kind {
			t.Errorf("%s step %d to %s: %v, want kind %v", c.from, c.step, c.to, err, c.kind)
		}
	}
	if list, err := os.ReadDir(filepath.Join(taken, "20")); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := bivouac.Fork(stopped, run, 10, beside("new"), nil); errs.KindOf(err) != errs.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	if list, err := os.ReadDir(filepath.Dir(run)); err != nil || len(list) != 3 { // file, run, taken
		t.Errorf("%v %v", list, err)
	}
	made, err := bivouac.Fork(t.Context(), run, training.Latest, beside("new"), nil)
	if err != nil || made.Step != 20 {
		t.Errorf("%+v %v", made, err)
	}
}

// Of several forks to one name, one is made, whole, and the others say that the name is taken. So
// it is on a disk and in a bucket.
func TestForksAtOnce(t *testing.T) {
	for name, st := range map[string]func(t *testing.T) store.Store{
		"disk": func(t *testing.T) store.Store {
			st, err := local.Open(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return st
		},
		"bucket": func(*testing.T) store.Store { return newBucket() },
	} {
		t.Run(name, func(t *testing.T) {
			st := st(t)
			m := newModel()
			trainTo(t, "runs/a", &m, 20, bivouac.Options{Store: st}, nil)
			const n = 4
			var group sync.WaitGroup
			all := make([]error, n)
			made := make([]*bivouac.Forked, n)
			for i := range n {
				group.Go(func() {
					made[i], all[i] = bivouac.Fork(t.Context(), "runs/a", int64(5+5*(i%2)), "runs/b",
						&bivouac.ForkOptions{Store: st})
				})
			}
			group.Wait()
			won := -1
			for i, err := range all {
				switch kind := errs.KindOf(err); {
				case err == nil && won >= 0:
					t.Error("two forks were made")
				case err == nil:
					won = i
				case kind != errs.Exists && kind != errs.Busy:
					t.Errorf("%v", err)
				}
			}
			if won < 0 {
				t.Fatal("no fork was made")
			}
			var below []string
			for info, err := range st.List(t.Context(), "runs/b") {
				if err != nil {
					t.Fatal(err)
				}
				if !store.IsStaging(info.Name) && info.Name != store.LockName {
					below = append(below, info.Name)
				}
			}
			if want := []string{made[won].Directory, "journal"}; !slices.Equal(below, want) {
				t.Errorf("runs/b has %v, want %v", below, want)
			}
			if made[won].Shared == 0 {
				t.Errorf("%+v", made[won])
			}
			b := newModel()
			trainTo(t, "runs/b", &b, 20, bivouac.Options{Store: st}, nil)
			if !same(m, b) {
				t.Errorf("the fork has %+v, the run %+v", b, m)
			}
		})
	}
}

// newBucket returns the store of a bucket that fails nothing.
func newBucket() store.Store {
	bucket := simulated.NewServer(0, simulated.Lies{}).Bucket(nil)
	return object.New(bucket, "", object.Options{Deadline: 10 * time.Second})
}

// A fork that fails, at whichever file, leaves nothing behind under its name.
func TestForkFailsWhole(t *testing.T) {
	st, err := local.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := newModel()
	trainTo(t, "a", &m, 5, bivouac.Options{Store: st}, nil)
	for fail := 0; ; fail++ {
		at := &failingLinks{Store: st, left: fail}
		made, err := bivouac.Fork(t.Context(), "a", 5, "b", &bivouac.ForkOptions{Store: at})
		if err == nil {
			if fail < made.Files {
				t.Errorf("%d links of %d files failed unnoticed", fail, made.Files)
			}
			return
		}
		if !errors.Is(err, errFull) {
			t.Fatal(err)
		}
		if _, err := st.Stat(t.Context(), "b"); errs.KindOf(err) != errs.NotFound {
			t.Fatalf("after %d links: %v", fail, err)
		}
	}
}

var errFull = errors.New("no space left")

// failingLinks is a store in whose transactions the link after some others fails.
type failingLinks struct {
	store.Store
	left int
}

type failingTxn struct {
	store.Txn
	of *failingLinks
}

// Begin implements store.Store.
func (f *failingLinks) Begin(ctx context.Context, final string, o store.TxnOptions) (store.Txn, error) {
	t, err := f.Store.Begin(ctx, final, o)
	return failingTxn{t, f}, err
}

// Link implements store.Txn.
func (t failingTxn) Link(ctx context.Context, name, committed string) error {
	if t.of.left == 0 {
		return errFull
	}
	t.of.left--
	return t.Txn.Link(ctx, name, committed)
}
