package training_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

func stepsOf(c *training.Checkpointer) []int64 {
	var out []int64
	for _, in := range c.Checkpoints() {
		out = append(out, in.Step)
	}
	return out
}

// The failure of a background save is told by the next save, once; the save
// after that takes place.
func TestFailureIsToldOnce(t *testing.T) {
	ctx := context.Background()
	mem := vfstest.NewMem()
	fault := vfstest.NewFault(mem, vfstest.Plan{N: 90, Err: syscall.ENOSPC})
	var kinds []string
	c, err := training.Open(ctx, "run", &training.Options{Store: local.New(fault, "/", nil),
		OnEvent: func(e training.Event) { kinds = append(kinds, e.Kind.String()) }})
	if err != nil {
		t.Fatal(err)
	}
	failed := int64(-1)
	for n := int64(1); failed < 0 && n < 10; n++ {
		r, err := c.SaveAsync(ctx, n, model(n), &training.SaveOptions{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Result(ctx); err != nil {
			failed = n
		}
	}
	if failed < 2 {
		t.Fatalf("failed at %d", failed)
	}
	if _, err := c.Save(ctx, failed+1, model(1), nil); !errors.Is(err, errs.Exhausted) {
		t.Errorf("the next save: got %v, want what went wrong with step %d", err, failed)
	}
	if ok, err := c.Save(ctx, failed+1, model(failed+1), nil); !ok || err != nil {
		t.Errorf("the save after that: %v, %v", ok, err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("Close tells it again: %v", err)
	}
	if last, _ := c.Latest(); last.Step != failed+1 {
		t.Errorf("latest %d, want %d", last.Step, failed+1)
	}
}

// A failure that nobody asked for is told by Close.
func TestCloseTellsFailure(t *testing.T) {
	ctx := context.Background()
	c, err := training.Open(ctx, "run", &training.Options{Store: local.New(vfstest.NewFault(vfstest.NewMem(),
		vfstest.Plan{N: 14, Forever: true, Err: syscall.EIO}), "/", nil)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SaveAsync(ctx, 1, model(1), nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); !errors.Is(err, errs.IO) {
		t.Errorf("Close: got %v", err)
	}
	if _, err := c.Save(ctx, 2, model(2), nil); !errors.Is(err, errs.Closed) {
		t.Errorf("save after Close: got %v", err)
	}
}

func TestSaveRules(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	c, err := training.Open(ctx, dir, &training.Options{Save: training.FixedInterval{Steps: 2},
		Custom: map[string]any{"run": 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	save := func(step int64, o training.SaveOptions) string {
		ok, err := c.Save(ctx, step, model(step), &o)
		if err != nil {
			return errs.KindOf(err).String()
		}
		if !ok {
			return "skipped"
		}
		return "saved"
	}
	for _, s := range []struct {
		name string
		got  string
		want string
	}{
		{"the policy wants it", save(4, training.SaveOptions{}), "saved"},
		{"the policy does not", save(5, training.SaveOptions{}), "skipped"},
		{"forced", save(5, training.SaveOptions{Force: true}), "saved"},
		{"not above the latest", save(2, training.SaveOptions{}), "skipped"},
		{"below the latest, forced", save(3, training.SaveOptions{Force: true}), "saved"},
		{"there already", save(4, training.SaveOptions{}), "already exists"},
		{"there already, forced", save(4, training.SaveOptions{Force: true}), "already exists"},
		{"overwritten", save(4, training.SaveOptions{Overwrite: true, Metrics: map[string]float64{"loss": 0.5}}), "saved"},
		{"negative", save(-3, training.SaveOptions{Force: true}), "invalid"},
	} {
		if s.got != s.want {
			t.Errorf("%s: %s, want %s", s.name, s.got, s.want)
		}
	}
	if d := cmp.Diff([]int64{3, 4, 5}, stepsOf(c)); d != "" {
		t.Error(d)
	}
	if _, err := c.Save(ctx, 6, nil, nil); !errors.Is(err, errs.Invalid) {
		t.Errorf("nothing to save: %v", err)
	}
	again, err := training.Open(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if d := cmp.Diff(c.Checkpoints(), again.Checkpoints(),
		cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); d != "" {
		t.Errorf("another process lists something else:\n%s", d)
	}
	if raw, err := again.RootMetadata(ctx); err != nil || string(raw) != `{"run":1}` {
		t.Errorf("root metadata %s, %v", raw, err)
	}
	for _, text := range []string{"first", "second"} {
		if err := c.PutMetadata(ctx, "order-1.txt", []byte(text)); err != nil {
			t.Error(err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "metadata", "order-1.txt")); err != nil || string(b) != "first" {
		t.Errorf("a file of the run is %q, %v", b, err)
	}
	for _, name := range []string{"", ".hidden", "a/b", "../b", "_ROOT_METADATA"} {
		if err := c.PutMetadata(ctx, name, nil); !errors.Is(err, errs.Invalid) {
			t.Errorf("a file of the run called %q: %v", name, err)
		}
	}
	if _, err := again.Load(ctx, 77, nil); !errors.Is(err, errs.NotFound) {
		t.Errorf("unknown step: %v", err)
	}
	if err := equals(ctx, c, 5); err == nil {
		t.Error("a step without a position passed for one with")
	}
}

// One save in flight: the next waits, and all are there in the end.
func TestSavesQueue(t *testing.T) {
	ctx := context.Background()
	c, err := training.Open(ctx, t.TempDir(), &training.Options{Save: training.FixedInterval{Steps: 1},
		Preserve: training.LatestN{N: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n <= 20; n++ {
		if _, err := c.SaveCheckpointablesAsync(ctx, n, map[string]any{"state": model(n), "data": position(n)},
			nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int64{19, 20}, stepsOf(c)); d != "" {
		t.Error(d)
	}
	for _, n := range stepsOf(c) {
		if err := equals(ctx, c, n); err != nil {
			t.Error(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// A save that is cancelled leaves nothing.
func TestCancelledSave(t *testing.T) {
	dir := t.TempDir()
	c, err := training.Open(context.Background(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Save(ctx, 1, model(1), nil); !errors.Is(err, errs.Canceled) {
		t.Errorf("got %v", err)
	}
	c.Close() //nolint:errcheck // tells the cancellation, or not
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

// Metrics of any JSON are listed by their numbers; best is by number.
func TestBest(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	c, err := training.Open(ctx, dir, &training.Options{Save: training.FixedInterval{Steps: 1},
		Preserve: training.AnyPreservation{
			training.LatestN{N: 1}, training.BestN{Metric: "loss", Lowest: true, N: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for n, loss := range []float64{3, 1, 2, 1, 5} {
		if _, err := c.Save(ctx, int64(n), model(int64(n)),
			&training.SaveOptions{Metrics: map[string]float64{"loss": loss}}); err != nil {
			t.Fatal(err)
		}
	}
	if best, ok := c.Best(); !ok || best.Step != 3 {
		t.Errorf("best %+v %v, want step 3", best, ok)
	}
	if d := cmp.Diff([]int64{3, 4}, stepsOf(c)); d != "" {
		t.Error(d)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "3", "metrics", "metrics"))
	var m map[string]float64
	if err != nil || json.Unmarshal(raw, &m) != nil || m["loss"] != 1 {
		t.Errorf("metrics on disk: %s, %v", raw, err)
	}
}
