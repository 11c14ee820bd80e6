package training_test

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// inspected is a run of some steps on a file system whose calls are counted.
type inspected struct {
	st *local.Store

	mu    sync.Mutex
	calls []vfstest.Call // since the last open
}

func newInspected(t *testing.T, steps int) *inspected {
	t.Helper()
	in := &inspected{}
	in.st = local.New(vfstest.Intercept(vfstest.NewMem(), func(c *vfstest.Call, do func() error) error {
		in.mu.Lock()
		in.calls = append(in.calls, *c)
		in.mu.Unlock()
		return do()
	}), "/", nil)
	c, err := training.Open(t.Context(), "run", &training.Options{Store: in.st})
	if err != nil {
		t.Fatal(err)
	}
	for step := range steps {
		if _, err := c.Save(t.Context(), int64(step), map[string]any{"w": make([]float32, 1000), "n": step},
			&training.SaveOptions{Force: true, Metrics: map[string]float64{"loss": 1}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return in
}

// open opens the run and verifies each step while it is open.
func (in *inspected) open(t *testing.T, o training.Options) map[int64]*integrity.Report {
	t.Helper()
	in.calls = nil
	reports := map[int64]*integrity.Report{}
	o.Store = in.st
	o.Inspect = func(ctx context.Context, step training.Info) error {
		r, err := integrity.Verify(ctx, path.Join("run", step.Directory), &integrity.VerifyOptions{Store: in.st})
		reports[step.Step] = r
		return err
	}
	c, err := training.Open(t.Context(), "run", &o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return reports
}

// names returns the names, below the run, of the calls of an operation in the steps.
func (in *inspected) names(op vfstest.Op) (names []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, c := range in.calls {
		if name, below := strings.CutPrefix(c.Name, "/run/"); below && c.Op == op && name[0] != '.' {
			names = append(names, name)
		}
	}
	return names
}

// A step that Inspect verifies is opened once, and each of its files is opened once. The data
// file is opened twice: its rest is read at the end.
func TestInspectOpensOnce(t *testing.T) {
	const steps = 5
	in := newInspected(t, steps)
	reports := in.open(t, training.Options{})
	files, bytes := 0, int64(0)
	for step := range int64(steps) {
		r := reports[step]
		if r == nil || !r.OK() || r.Verdict() != integrity.Sound || r.Leaves == 0 {
			t.Fatalf("step %d: %+v", step, r)
		}
		files, bytes = files+r.Files, bytes+r.Bytes
	}
	if opened := in.names(vfstest.OpOpenDir); len(opened) != steps {
		t.Errorf("these directories are opened, want %d: %q", steps, opened)
	}
	if opened := in.names(vfstest.OpOpen); len(opened) > files+steps {
		t.Errorf("%d files are opened, want at most %d: %q", len(opened), files+steps, opened)
	}
	read := int64(0)
	for _, c := range in.calls {
		if c.Op == vfstest.OpReadAt {
			read += c.Size
		}
	}
	if most := bytes + bytes/100; read > most {
		t.Errorf("%d bytes are read, want at most %d", read, most)
	}
}

// What Inspect finds is what Verify finds in an opening of its own, for each byte of each file.
func TestInspectFindsDamage(t *testing.T) {
	in := newInspected(t, 1)
	in.open(t, training.Options{})
	names := in.names(vfstest.OpOpen)
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) < 5 {
		t.Fatalf("only the files %q are read", names)
	}
	for _, name := range names {
		b, err := store.ReadAll(t.Context(), in.st, "run/"+name)
		if err != nil {
			t.Fatal(err)
		}
		write := func(b []byte) {
			if err := in.st.Put(t.Context(), "run/"+name, b, store.PutOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range []int{0, len(b) / 2, len(b) - 1} {
			damaged := slices.Clone(b)
			damaged[at] ^= 1
			write(damaged)
			alone, aloneErr := integrity.Verify(t.Context(), "run/0", &integrity.VerifyOptions{Store: in.st})
			if aloneErr != nil || alone.OK() {
				t.Fatalf("%s, byte %d: Verify does not find it: %v", name, at, aloneErr)
			}
			var skipped error
			r := in.open(t, training.Options{OnEvent: func(e training.Event) {
				if e.Kind == training.Skipped {
					skipped = e.Err
				}
			}})[0]
			if skipped == nil && (r == nil || r.OK()) {
				t.Errorf("%s, byte %d: not found; in an opening of its own: %v", name, at, alone.Problems)
			}
			if skipped == nil && r != nil && len(r.Problems) != len(alone.Problems) {
				t.Errorf("%s, byte %d: %v, in an opening of its own %v", name, at, r.Problems, alone.Problems)
			}
		}
		write(b)
	}
	if r := in.open(t, training.Options{})[0]; r == nil || !r.OK() {
		t.Errorf("mended: %+v", r)
	}
}

// A step for which Inspect fails is not listed, and a failure that says nothing of the step is the
// failure of Open.
func TestInspectFails(t *testing.T) {
	in := newInspected(t, 3)
	for kind, all := range map[errs.Kind]bool{errs.Corrupt: false, errs.Invalid: false, errs.IO: true,
		errs.Permission: true, errs.Canceled: true, errs.Exhausted: true} {
		why := &errs.Error{Kind: kind, Got: "what the test says"}
		var skipped []int64
		c, err := training.Open(t.Context(), "run", &training.Options{Store: in.st,
			Inspect: func(_ context.Context, step training.Info) error {
				if step.Step == 1 {
					return why
				}
				return nil
			},
			OnEvent: func(e training.Event) { skipped = append(skipped, e.Step) }})
		if all {
			if !errors.Is(err, why) {
				t.Errorf("%v: Open: %v", kind, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Steps(); !slices.Equal(got, []int64{0, 2}) || !slices.Equal(skipped, []int64{1}) {
			t.Errorf("%v: steps %v, skipped %v", kind, got, skipped)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A key asks for an opening of its own, which checks the signature.
func TestInspectChecksNoSignature(t *testing.T) {
	in := newInspected(t, 1)
	key := make([]byte, 32)
	var r *integrity.Report
	c, err := training.Open(t.Context(), "run", &training.Options{Store: in.st,
		Inspect: func(ctx context.Context, _ training.Info) (err error) {
			r, err = integrity.Verify(ctx, "run/0", &integrity.VerifyOptions{Store: in.st, Key: key})
			return err
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing was written
	if r == nil || r.OK() {
		t.Errorf("no signature, and the report is %+v", r)
	}
}
