package bivouac_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter is a stream of the numbers seed*1000+0, 1, 2, … up to end.
type counter struct {
	Seed, Pos int64
	end       int64
	closed    bool
}

func (c *counter) Next(context.Context) (int64, error) {
	if c.end > 0 && c.Pos >= c.end {
		return 0, io.EOF
	}
	c.Pos++
	return c.Seed*1000 + c.Pos - 1, nil
}

func (c *counter) AppendState(dst []byte) ([]byte, error) {
	b, err := json.Marshal(map[string]int64{"seed": c.Seed, "pos": c.Pos})
	return append(dst, b...), err
}

func (c *counter) SetState(b []byte) error {
	var s struct{ Seed, Pos int64 }
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if s.Seed != c.Seed {
		return &errs.Error{Kind: errs.Mismatch, Subject: "seed", Want: fmt.Sprint(c.Seed), Got: fmt.Sprint(s.Seed)}
	}
	c.Pos = s.Pos
	return nil
}

func (c *counter) Close() error { c.closed = true; return nil }

// model is a state that remembers everything it saw.
type model struct {
	Sum  float64
	Hash uint64
	Seen []int64 `bivouac:"seen"`
}

func newModel() model { return model{Seen: make([]int64, 64)} }

func (m *model) train(b int64) {
	m.Sum += float64(b) / 3
	m.Hash = m.Hash*1099511628211 + uint64(b)
	copy(m.Seen, m.Seen[1:])
	m.Seen[len(m.Seen)-1] = b
}

func same(a, b model) bool {
	return a.Sum == b.Sum && a.Hash == b.Hash && slices.Equal(a.Seen, b.Seen)
}

// uninterrupted returns what every run of that number of steps must come to.
func uninterrupted(steps int64) model {
	m, c := newModel(), &counter{Seed: 1}
	for range steps {
		b, _ := c.Next(context.Background())
		m.train(b)
	}
	return m
}

func TestRunToEnd(t *testing.T) {
	ctx := context.Background()
	m, data := newModel(), &counter{Seed: 1, end: 25}
	var kinds []string
	job, err := bivouac.Open(ctx, t.TempDir(), data, bivouac.Options{State: &m, SaveEvery: 10, Keep: 2,
		OnEvent: func(e bivouac.Event) {
			kinds = append(kinds, fmt.Sprint(e.Kind, " ", e.Step))
		}})
	if err != nil {
		t.Fatal(err)
	}
	for b, err := range job.Steps(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		m.train(b)
	}
	if last, ok := job.Latest(); !ok || last != 25 || job.Step() != 25 {
		t.Errorf("latest %d %v, step %d, want 25", last, ok, job.Step())
	}
	if err := job.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"save begin 10", "save committed 10", "save begin 20", "save committed 20", "save begin 25",
		"save committed 25", "removed 10"}
	if !slices.Equal(kinds, want) {
		t.Errorf("events %q, want %q", kinds, want)
	}
	if !data.closed || !same(m, uninterrupted(25)) {
		t.Error("stream not closed, or another result")
	}
}

// Any pattern of interruptions comes to the same end: a break in the middle of
// a step, with and without Close in time.
func TestInterruptionsChangeNothing(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(rt *rapid.T) {
		fsys := vfstest.NewMem()
		total := rapid.Int64Range(1, 60).Draw(rt, "total")
		every := rapid.Int64Range(1, 12).Draw(rt, "every")
		for {
			m, data := newModel(), &counter{Seed: 1}
			job, err := bivouac.Open(ctx, "run", data, bivouac.Options{State: &m, SaveEvery: every, Steps: total,
				Store: local.New(fsys, "/", nil)})
			if err != nil {
				rt.Fatal(err)
			}
			stop := rapid.Int64Range(0, total+5).Draw(rt, "stop")
			n := int64(0)
			for b, err := range job.Steps(ctx) {
				if err != nil {
					rt.Fatal(err)
				}
				m.train(b)
				if n++; n > stop && rapid.Bool().Draw(rt, "really") {
					break // this step is not done, though the model has seen it
				}
			}
			done := job.Step() == total
			if err := job.Close(); err != nil {
				rt.Fatal(err)
			}
			if !done {
				continue
			}
			if !same(m, uninterrupted(total)) {
				rt.Fatalf("after %d steps: %+v, want %+v", total, m, uninterrupted(total))
			}
			return
		}
	})
}

// trainToEnd takes all steps of a job, and closes it.
func trainToEnd[B any](t *testing.T, job *bivouac.Job[B]) {
	t.Helper()
	for _, err := range job.Steps(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := job.Close(); err != nil {
		t.Fatal(err)
	}
}

// run makes a run of n steps in dir.
func run(t *testing.T, dir string, n int64, o bivouac.Options) (model, error) {
	t.Helper()
	m := newModel()
	o.State, o.Steps = &m, n
	if o.SaveEvery == 0 {
		o.SaveEvery = 5
	}
	job, err := bivouac.Open(context.Background(), dir, &counter{Seed: 1}, o)
	if err != nil {
		return m, err
	}
	for b, err := range job.Steps(context.Background()) {
		if err != nil {
			return m, errors.Join(err, job.Close())
		}
		m.train(b)
	}
	return m, job.Close()
}

// A step whose bytes were damaged is set aside, and the one before it carries
// on to the same end.
func TestDamagedStep(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, step string){
		"flipped bit": func(t *testing.T, step string) {
			flip(t, filepath.Join(step, "state", "manifest.ocdbt"))
		},
		"flipped bit of data": func(t *testing.T, step string) { flip(t, dataFile(t, step)) },
		"truncated":           func(t *testing.T, step string) { truncate(t, dataFile(t, step)) },
		"file missing":        func(t *testing.T, step string) { remove(t, filepath.Join(step, "data", "data.json")) },
		"metadata empty":      func(t *testing.T, step string) { empty(t, filepath.Join(step, "_CHECKPOINT_METADATA")) },
		"manifest missing":    func(t *testing.T, step string) { remove(t, filepath.Join(step, "bivouac.manifest")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := run(t, dir, 15, bivouac.Options{}); err != nil {
				t.Fatal(err)
			}
			damage(t, filepath.Join(dir, "15"))
			var events []string
			m, err := run(t, dir, 30, bivouac.Options{OnEvent: func(e bivouac.Event) {
				if e.Kind == bivouac.Quarantined || e.Kind == bivouac.Resumed {
					events = append(events, fmt.Sprint(e.Kind, " ", e.Step, " ", e.Name))
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{"quarantined 15 15.damaged", "resumed 10 10"}; !slices.Equal(events, want) {
				t.Errorf("events %q, want %q", events, want)
			}
			if !same(m, uninterrupted(30)) {
				t.Error("another result than the uninterrupted run")
			}
			if _, err := os.Stat(filepath.Join(dir, "15.damaged")); err != nil {
				t.Error("the damaged step was not kept:", err)
			}
		})
	}
}

func dataFile(t *testing.T, step string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(step, "state", "d", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no data file", err)
	}
	return files[0]
}

func flip(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 4
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, file string) {
	t.Helper()
	info, err := os.Stat(file)
	if err == nil {
		err = os.Truncate(file, info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func empty(t *testing.T, file string) {
	t.Helper()
	if err := os.Truncate(file, 0); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

// What is not a step stays, whatever its name; what an interrupted save left goes.
func TestForeignDirectories(t *testing.T) {
	dir := t.TempDir()
	foreign := []string{"notes", "7/own", "99x", "metadata", "12.orbax-checkpoint-tmp-elsewhere", "0005"}
	for _, f := range foreign {
		if err := os.MkdirAll(filepath.Join(dir, f), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f, "file"), []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	left := filepath.Join(dir, store.StagingName("5", "0123456789abcdef"))
	if err := os.MkdirAll(filepath.Join(left, "state"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, dir, 12, bivouac.Options{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	for _, f := range foreign {
		if b, err := os.ReadFile(filepath.Join(dir, f, "file")); err != nil || string(b) != "mine" {
			t.Errorf("%s: %v", f, err)
		}
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("leftovers remain: %v", err)
	}
	// A foreign directory in the place of a step is not overwritten either.
	if _, err := run(t, dir, 20, bivouac.Options{SaveEvery: 7}); err != nil {
		t.Fatal(err) // 14: free
	}
	if err := os.MkdirAll(filepath.Join(dir, "25"), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, dir, 25, bivouac.Options{}); !errors.Is(err, errs.Exists) ||
		!strings.Contains(err.Error(), "step 25") {
		t.Errorf("a directory in the way: %v", err)
	}
}

// garbled refuses every state as damaged, as a stream does that reads another
// stream's state.
type garbled struct{ counter }

func (*garbled) SetState([]byte) error {
	return &errs.Error{Kind: errs.Corrupt, Got: "not a state of mine"}
}

// A step that is whole is never set aside, whatever the stream says of its state.
func TestRefusedStepStays(t *testing.T) {
	dir, m := t.TempDir(), newModel()
	if _, err := run(t, dir, 10, bivouac.Options{}); err != nil {
		t.Fatal(err)
	}
	_, err := bivouac.Open(context.Background(), dir, &garbled{}, bivouac.Options{State: &m})
	if err == nil || !strings.Contains(err.Error(), "not a state of mine") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "10", "bivouac.manifest")); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	if _, err := run(t, dir, 10, bivouac.Options{Identity: "net A"}); err != nil {
		t.Fatal(err)
	}
	m := newModel()
	open := func(dir string, data *counter, o bivouac.Options) error {
		if o.State == nil {
			o.State = &m
		}
		job, err := bivouac.Open(ctx, dir, data, o)
		if err == nil {
			job.Close()
			return nil
		}
		if data.closed {
			t.Error("the stream was closed though Open failed")
		}
		return err
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	other := struct{ Sum float64 }{}
	for name, c := range map[string]struct {
		err  error
		kind errs.Kind
		says string
	}{
		"another data set": {open(dir, &counter{Seed: 2}, bivouac.Options{Identity: "net A"}), errs.Mismatch, "seed"},
		"another identity": {open(dir, &counter{Seed: 1}, bivouac.Options{Identity: "net B"}), errs.Mismatch, `"net A"`},
		"another state":    {open(dir, &counter{Seed: 1}, bivouac.Options{Identity: "net A", State: &other}), errs.Mismatch, "Hash"},
		"no state":         {second(bivouac.Open(ctx, dir, &counter{}, bivouac.Options{})), errs.Invalid, "Options.State"},
		"bad interval":     {open(dir, &counter{}, bivouac.Options{SaveEvery: -2}), errs.Invalid, "SaveEvery"},
		"bad keep":         {open(dir, &counter{}, bivouac.Options{Keep: -2}), errs.Invalid, "Keep"},
		"bad steps":        {open(dir, &counter{}, bivouac.Options{Steps: -1}), errs.Invalid, "Steps"},
		"a file":           {open(file, &counter{}, bivouac.Options{}), errs.Invalid, "file"},
		"no name":          {open("", &counter{}, bivouac.Options{}), errs.Invalid, "empty"},
		"unsavable state":  {open(t.TempDir(), &counter{}, bivouac.Options{State: &struct{ F func() }{}}), errs.Unsupported, "F"},
	} {
		if !errors.Is(c.err, c.kind) && errs.KindOf(c.err) != c.kind {
			t.Errorf("%s: got %v, want kind %v", name, c.err, c.kind)
		} else if !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: %q does not say %q", name, c.err, c.says)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// A save that fails in the background is told to the loop, and the run carries
// on from the step before when the cause is gone.
func TestFailedSaveIsTold(t *testing.T) {
	ctx := context.Background()
	mem := vfstest.NewMem()
	m := newModel()
	broken := local.New(vfstest.NewFault(mem, vfstest.Plan{N: 100, Forever: true, Err: errDisk}), "/", nil)
	job, err := bivouac.Open(ctx, "run", &counter{Seed: 1},
		bivouac.Options{State: &m, SaveEvery: 3, Steps: 30, Store: broken})
	if err != nil {
		t.Fatal(err)
	}
	var told error
	for b, err := range job.Steps(ctx) {
		if err != nil {
			told = err
			break
		}
		m.train(b)
	}
	if !errors.Is(told, errDisk) {
		t.Errorf("the loop was told %v, want %v", told, errDisk)
	}
	if err := job.Close(); err != nil {
		t.Logf("Close: %v", err)
	}
	m = newModel()
	job, err = bivouac.Open(ctx, "run", &counter{Seed: 1},
		bivouac.Options{State: &m, SaveEvery: 3, Steps: 30, Store: local.New(mem, "/", nil)})
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := job.Resumed(); !ok || at < 3 {
		t.Errorf("resumed at %d %v", at, ok)
	}
	for b, err := range job.Steps(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		m.train(b)
	}
	if err := job.Close(); err != nil || !same(m, uninterrupted(30)) {
		t.Errorf("after the disk came back: %v", err)
	}
}

var errDisk = errors.New("the disk is gone")
