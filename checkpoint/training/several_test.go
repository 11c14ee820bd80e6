package training_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crewtest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
)

// processes returns the options of process p of a job of n processes, with barrier.
func processes(p, n int, barrier func(context.Context, string) error) options.Options {
	return options.Options{Multiprocessing: options.Multiprocessing{ProcessIndex: new(options.Host(p)), ProcessCount: n,
		Barrier: barrier}}
}

// slice is row p of an array of n rows, and what all have alike.
func slice(p, n int, step int64) map[string]any {
	row := make([]float64, 200)
	for i := range row {
		row[i] = float64(step*1000) + float64(p)
	}
	return map[string]any{"step": step, "w": checkpoint.Shards{
		DType: tensor.Float64, Shape: tensor.Shape{n, 200},
		Parts: []checkpoint.Shard{{Origin: []int{p, 0}, Data: tensor.FromSlice(row, 1, 200)}},
	}}
}

// sameStep checks that a step is what n processes have saved.
func sameStep(ctx context.Context, c *training.Checkpointer, n int, step int64) error {
	got, err := c.Load(ctx, step, nil)
	if err != nil {
		return err
	}
	w, ok := got.Get("w").Tensor()
	if !ok || got.Get("step").Value != step {
		return fmt.Errorf("step %d holds %v", step, got)
	}
	v, err := tensor.Of[float64](w)
	if err != nil || len(v) != n*200 {
		return fmt.Errorf("step %d: %d values, %v", step, len(v), err)
	}
	for i, x := range v {
		if x != float64(step*1000)+float64(i/200) {
			return fmt.Errorf("step %d: %v at %d", step, x, i)
		}
	}
	return nil
}

// only is a policy of somebody else: whether all processes decide alike is not known, so
// that the primary is asked.
type only struct{ training.SpecificSteps }

// The primary process decides which steps are saved, publishes and removes; all are told
// the same and have the same list.
func TestSeveralTrain(t *testing.T) {
	const n = 3
	fsys, barrier := vfstest.NewMem(), crewtest.NewBarrier(n, nil)
	lists, events := make([][]int64, n), make([][]string, n)
	for p, err := range crewtest.Run(n, func(p int) error {
		o := &training.Options{
			Store: local.New(fsys, "/", nil), Clean: true, Preserve: training.LatestN{N: 2}, Foreground: true, Options: processes(p, n, barrier.Of(p)),
			Save:    only{training.SpecificSteps{1, 2, 5}},
			OnEvent: func(e training.Event) { events[p] = append(events[p], fmt.Sprint(e.Kind, " ", e.Name)) },
		}
		if p > 0 {
			o.Save = only{training.SpecificSteps{3, 4}} // which nobody asks
		}
		c, err := training.Open(t.Context(), "run", o)
		if err != nil {
			return err
		}
		for step := range int64(6) {
			saved, err := c.Save(t.Context(), step, slice(p, n, step), nil)
			if err != nil || saved != (step == 1 || step == 2 || step == 5) {
				return errors.Join(err, fmt.Errorf("step %d: %v", step, saved))
			}
		}
		lists[p] = c.Steps()
		for _, step := range lists[p] {
			if err := sameStep(t.Context(), c, n, step); err != nil {
				return err
			}
		}
		return c.Close()
	}) {
		if err != nil {
			t.Fatal(p, err)
		}
		if d := cmp.Diff([]int64{2, 5}, lists[p]); d != "" {
			t.Errorf("process %d: %s", p, d)
		}
		if removed := slices.ContainsFunc(events[p],
			func(e string) bool { return strings.HasPrefix(e, fmt.Sprint(training.Removed)) }); removed != (p == 0) {
			t.Errorf("process %d: %q", p, events[p])
		}
	}
	list, err := fsys.ReadDir("/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if !slices.Contains([]string{"2", "5", ".bivouac.lock"}, e.Name()) {
			t.Errorf("%s is there", e.Name())
		}
	}
}

// A policy that looks at nothing but steps costs no barrier where it declines.
func TestAlikeDecisions(t *testing.T) {
	fsys, barrier := vfstest.NewMem(), crewtest.NewBarrier(2, nil)
	for _, err := range crewtest.Run(2, func(p int) error {
		c, err := training.Open(t.Context(), "run", &training.Options{Store: local.New(fsys, "/", nil),
			Save: training.FixedInterval{Steps: 3}, Options: processes(p, 2, barrier.Of(p))})
		if err != nil {
			return err
		}
		for step := range int64(5) {
			r, err := c.SaveAsync(t.Context(), step, slice(p, 2, step), nil)
			if err != nil {
				return err
			}
			if saved, err := r.Result(t.Context()); err != nil || saved != (step%3 == 0) {
				return errors.Join(err, fmt.Errorf("step %d: %v", step, saved))
			}
		}
		return c.Close()
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var ops []string
	for _, k := range barrier.Keys() {
		ops = append(ops, strings.TrimPrefix(k, "run/"))
	}
	want := []string{"0:begin", "0:plan", "0:written", "0:end", "0:leave", "3:begin", "3:plan", "3:written", "3:end",
		"3:leave"}
	if d := cmp.Diff(want, ops); d != "" {
		t.Error(d)
	}
}

// The lock of the directory is the primary's: it does not keep out its fellows, but
// another job, all processes of it.
func TestLockOfSeveral(t *testing.T) {
	dir := t.TempDir()
	save := func(barrier *crewtest.Barrier, step int64, hold func()) []error {
		return crewtest.Run(2, func(p int) error {
			c, err := training.Open(t.Context(), dir, &training.Options{Options: processes(p, 2, barrier.Of(p))})
			if err != nil {
				return err
			}
			_, err = c.Save(t.Context(), step, slice(p, 2, step), nil)
			if p == 0 && hold != nil {
				hold()
			}
			return errors.Join(err, c.Close())
		})
	}
	var busy atomic.Int32
	for p, err := range save(crewtest.NewBarrier(2, nil), 1, func() {
		for _, err := range save(crewtest.NewBarrier(2, nil), 2, nil) {
			if errs.KindOf(err) == errs.Busy {
				busy.Add(1)
			}
		}
	}) {
		if err != nil {
			t.Error(p, err)
		}
	}
	if busy.Load() != 2 {
		t.Errorf("%d of 2 processes of the second job were told", busy.Load())
	}
}

// What tells the test binary to be one of several processes: which of how many, where,
// and in which run of the job.
const (
	oneOf      = "BIVOUAC_ONE_OF_SEVERAL"
	oneOfDir   = "BIVOUAC_ONE_OF_SEVERAL_DIR"
	oneOfEpoch = "BIVOUAC_ONE_OF_SEVERAL_EPOCH"
)

// onDisk is a barrier of files: a process that arrives makes a file, and waits for the files of the
// others.
func onDisk(dir string, p, n int) func(context.Context, string) error {
	rounds := map[string]int{}
	return func(ctx context.Context, key string) error {
		rounds[key]++
		at := filepath.Join(dir, url.PathEscape(key)+"."+strconv.Itoa(rounds[key]))
		if err := os.MkdirAll(at, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(at, strconv.Itoa(p)), nil, 0o666); err != nil {
			return err
		}
		tick, late := time.NewTicker(2*time.Millisecond), time.After(2*time.Second)
		defer tick.Stop()
		for {
			if list, err := os.ReadDir(at); err != nil || len(list) == n {
				return err
			}
			select {
			case <-tick.C:
			case <-late:
				return errors.New("not all processes have come")
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// TestOneOfSeveral is the child: it saves five steps more, and acknowledges each.
func TestOneOfSeveral(t *testing.T) {
	var p, n int
	if _, err := fmt.Sscanf(os.Getenv(oneOf), "%d of %d", &p, &n); err != nil {
		t.Skip("this is the child of TestSeveralProcesses")
	}
	ctx, dir := context.Background(), os.Getenv(oneOfDir)
	barrier := onDisk(filepath.Join(dir, "barrier", os.Getenv(oneOfEpoch)), p, n)
	c, err := training.Open(ctx, filepath.Join(dir, "run"),
		&training.Options{Clean: true, Preserve: training.LatestN{N: 2}, Options: processes(p, n, barrier)})
	if err != nil {
		t.Fatal(err)
	}
	if err := barrier(ctx, "opened"); err != nil { // before a step is saved that some would list, and others not
		t.Fatal(err)
	}
	next := int64(0)
	if last, ok := c.Latest(); ok {
		next = last.Step + 1
	}
	for step := next; step < next+5; step++ {
		r, err := c.SaveAsync(ctx, step, slice(p, n, step), &training.SaveOptions{Force: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Result(ctx); err != nil {
			t.Fatal(err)
		}
		fmt.Println("committed", step)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// Three processes of the operating system save together, of which one is killed again
// and again: no step that one of them was told of is lost, all are right, and nothing
// is left over.
func TestSeveralProcesses(t *testing.T) {
	const n = 3
	dir := t.TempDir()
	acked := int64(-1)
	for epoch, killed := range []int{-1, 0, 2, -1} {
		said := make([]string, n)
		for p, err := range crewtest.Run(n, func(p int) error {
			ctx := t.Context()
			if p == killed {
				var stop context.CancelFunc
				ctx, stop = context.WithTimeout(ctx, time.Duration(80+37*epoch)*time.Millisecond)
				defer stop()
			}
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestOneOfSeveral$", "-test.count=1")
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d of %d", oneOf, p, n), oneOfDir+"="+dir,
				oneOfEpoch+"="+strconv.Itoa(epoch))
			out, err := cmd.Output()
			said[p] = string(out)
			return err
		}) {
			if err != nil && killed < 0 {
				t.Fatalf("epoch %d, process %d: %v\n%s", epoch, p, err, said[p])
			}
		}
		for _, text := range said {
			for line := range strings.Lines(text) {
				var step int64
				if _, err := fmt.Sscanf(line, "committed %d", &step); err == nil {
					acked = max(acked, step)
				}
			}
		}
		c, err := training.Open(t.Context(), filepath.Join(dir, "run"), nil)
		if err != nil {
			t.Fatal(err)
		}
		last, ok := c.Latest()
		if !ok && acked >= 0 || last.Step < acked {
			t.Fatalf("epoch %d: step %d was acknowledged, %v is the last", epoch, acked, last)
		}
		for _, step := range c.Steps() {
			if err := sameStep(t.Context(), c, n, step); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	list, err := os.ReadDir(filepath.Join(dir, "run"))
	if err != nil || len(list) != 3 {
		t.Errorf("%v, %v", list, err)
	}
	t.Log("acknowledged up to", acked)
}
