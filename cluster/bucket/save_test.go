package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/cluster/bucket"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
	"github.com/bivouac-ml/bivouac/tensor"
)

// barriers of a save, in their order.
var barriers = []string{"begin", "plan", "written", "end", "leave"}

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

// whole checks that each step that is visible in a run is what n processes have saved.
func whole(ctx context.Context, st store.Store, run string, n int) ([]int64, error) {
	c, err := training.Open(ctx, run, &training.Options{Store: st})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, step := range c.Steps() {
		got, err := c.Load(ctx, step, nil)
		if err != nil {
			return nil, err
		}
		w, ok := got.Get("w").Tensor()
		if !ok || got.Get("step").Value != step {
			return nil, fmt.Errorf("step %d holds %v", step, got)
		}
		v, err := tensor.Of[float64](w)
		if err != nil || len(v) != n*200 {
			return nil, fmt.Errorf("step %d: %d values, %v", step, len(v), err)
		}
		for i, x := range v {
			if x != float64(step*1000)+float64(i/200) {
				return nil, fmt.Errorf("step %d: %v at %d", step, x, i)
			}
		}
		r, err := integrity.Verify(ctx, fmt.Sprint(run, "/", step), &integrity.VerifyOptions{Store: st})
		if err != nil || !r.OK() {
			return nil, fmt.Errorf("step %d: %+v, %w", step, r, err)
		}
	}
	return c.Steps(), nil
}

// node is a process with its own connection to the server, which can be cut.
type node struct {
	rank int
	cut  atomic.Bool
	st   *object.Store
	m    *cluster.Member
	c    *training.Checkpointer
}

// world is the number of processes of the tests of saves.
const world = 3

const lease = 20 * time.Second

// start joins and opens the run. A process that takes the place of a dead one waits for the lock of
// the run, which is a lease too.
func start(
	t *testing.T, server *simulated.Server, rank int, barrier func(n *node, key string, arrive func() error) error,
) (*node, error) {
	n := &node{rank: rank}
	b := server.Bucket(func(simulated.Request) simulated.Fate {
		if n.cut.Load() {
			return simulated.Fate{Err: simulated.ErrServer}
		}
		return simulated.Fate{Delay: time.Millisecond}
	})
	n.st = object.New(b, "", object.Options{Lease: lease, Deadline: lease})
	board, err := bucket.New(t.Context(), b, "jobs/7")
	if err != nil {
		return nil, err
	}
	n.m, err = cluster.Join(t.Context(), board, cluster.Options{Rank: rank, World: world, Job: "train",
		Host: fmt.Sprintf("host-%c", 'a'+rank), Lease: lease, Deadline: 2 * time.Minute})
	if err != nil {
		return nil, err
	}
	o := &training.Options{Store: n.st, Clean: true, Foreground: true}
	o.Multiprocessing = n.m.Multiprocessing()
	if barrier != nil {
		o.Multiprocessing.Barrier = func(ctx context.Context, key string) error {
			return barrier(n, key, func() error { return n.m.Barrier(ctx, key) })
		}
	}
	for {
		n.c, err = training.Open(t.Context(), "run", o)
		if errs.KindOf(err) != errs.Busy {
			break
		}
		time.Sleep(time.Second)
	}
	return n, err
}

// The primary process is killed at each barrier of a save, before it comes to it or right after.
// The others are told, by a deadline's error that names it. No torn step is visible. A new process
// of rank 0 joins those that are still there, and they save the next step.
//
// A process of its own does it: an encoder keeps channels, which belong to the first bubble of
// synctest that uses it.
func TestPrimaryIsKilled(t *testing.T) {
	if os.Getenv(isChild) == "" {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPrimaryIsKilled$", "-test.count=1")
		c.Env = append(os.Environ(), isChild+"=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	synctest.Test(t, func(t *testing.T) {
		for _, at := range barriers {
			for _, after := range []bool{false, true} {
				primaryIsKilled(t, at, after)
				if t.Failed() {
					t.Fatalf("killed at %s, after it: %v", at, after)
				}
			}
		}
	})
}

// isChild tells the test binary to be the process of TestPrimaryIsKilled.
const isChild = "BIVOUAC_CLUSTER_SAVE_TEST"

var errKilled = errors.New("killed")

func primaryIsKilled(t *testing.T, at string, after bool) {
	server := simulated.NewServer(time.Hour, simulated.Lies{})
	nodes := make([]*node, world)
	var wait sync.WaitGroup
	var armed atomic.Bool
	for rank := range world {
		wait.Go(func() {
			var err error
			nodes[rank], err = start(t, server, rank, func(n *node, key string, arrive func() error) error {
				if n.cut.Load() {
					return errKilled
				}
				if rank > 0 || !armed.Load() || !strings.HasSuffix(key, ":"+at) {
					return arrive()
				}
				if after {
					arrive() //nolint:errcheck // the process is gone
				}
				n.cut.Store(true)
				return errKilled
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		return
	}
	save := func(step int64) []error {
		out := make([]error, world)
		var wait sync.WaitGroup
		for rank, n := range nodes {
			wait.Go(func() {
				_, out[rank] = n.c.Save(t.Context(), step, slice(rank, world, step), &training.SaveOptions{Force: true})
			})
		}
		wait.Wait()
		return out
	}
	if err := errors.Join(save(1)...); err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	dead, began := nodes[0], time.Now()
	failed := 0
	for rank, err := range save(2) {
		if rank == 0 {
			continue
		}
		if err != nil {
			failed++
			if !strings.Contains(err.Error(), "rank 0 on host-a") || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("rank %d is not told of rank 0: %v", rank, err)
			}
		}
	}
	if took := time.Since(began); took > 15*time.Minute {
		t.Errorf("the others waited for %v", took)
	}
	armed.Store(false)
	seen, err := whole(t.Context(), object.New(server.Bucket(nil), "", object.Options{}), "run", world)
	committed := slices.Contains(seen, 2)
	if err != nil || !slices.Contains(seen, 1) || failed == 0 && !committed {
		t.Errorf("%v are visible, %d of the others failed: %v", seen, failed, err)
	}
	if early := at == "begin" || at == "plan"; early && (committed || failed != world-1) {
		t.Errorf("killed at %s, %d of the others failed, steps %v", at, failed, seen)
	}
	nodes[0], err = start(t, server, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if nodes[0].m.Incarnation() == dead.m.Incarnation() {
		t.Error("the same incarnation")
	}
	if err := errors.Join(save(3)...); err != nil {
		t.Error(err)
	}
	if seen, err = whole(t.Context(), object.New(server.Bucket(nil), "", object.Options{}), "run", world); err != nil ||
		!slices.Contains(seen, 3) || !slices.Contains(seen, 1) {
		t.Errorf("%v are visible: %v", seen, err)
	}
	for _, n := range nodes {
		wait.Go(func() {
			if err := errors.Join(n.c.Close(), n.m.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	dead.c.Close() //nolint:errcheck // it was killed
	dead.m.Close() //nolint:errcheck // likewise
	for _, key := range server.Keys() {
		if strings.HasPrefix(key, "jobs/7/") || strings.Contains(key, "meeting") {
			t.Errorf("%s is left over", key)
		}
	}
}
