package checkpoint_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/proof/crewtest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// replicated is an array that the process has whole, as all others do.
func replicated(x tensor.Tensor) checkpoint.Shards {
	return checkpoint.Shards{DType: x.DType, Shape: x.Shape,
		Parts: []checkpoint.Shard{{Origin: make([]int, len(x.Shape)), Data: x}}}
}

// parallel makes replicas share the work.
func parallel(min int64, most int) (o checkpoint.SaveOptions) {
	o.Array.Saving.UseReplicaParallel = options.On
	o.Array.Saving.MinSliceBytesForReplicaParallel, o.Array.Saving.MaxReplicasForReplicaParallel = min, most
	return o
}

// written is a store that counts the bytes of files which it creates, by the folder that they lie
// in.
type written struct {
	store.Store
	mu    *sync.Mutex
	bytes map[string]int64
}

type writtenTxn struct {
	store.Txn
	of *written
}

func (w *written) Begin(ctx context.Context, name string, o store.TxnOptions) (store.Txn, error) {
	txn, err := w.Store.Begin(ctx, name, o)
	return &writtenTxn{txn, w}, err
}

func (t *writtenTxn) Create(ctx context.Context, name string, size int64) (store.Writer, error) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.of.bytes[path.Base(path.Dir(name))] += size
	return t.Txn.Create(ctx, name, size)
}

// Each replica writes its share: 1 to 8 processes that all have one array write an n-th each. What
// is loaded is the same, bit for bit, in any layout of a database.
func TestReplicasWriteTheirShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 8; n++ {
		for _, l := range []options.Layout{options.OCDBTZarr3, options.OCDBTZarr2} {
			big, odd, small := noise(rng, tensor.Float32, 840, 256), noise(rng, tensor.Float32, 839,
				251), noise(rng, tensor.Float32, 3, 5)
			mem := vfstest.NewMem()
			s := together(n, mem)
			o := parallel(0, 0)
			o.Layout = l
			counts := make([]*written, n)
			err := failed(crewtest.Run(n, func(p int) error {
				own := s.options(p, o)
				counts[p] = &written{own.Store, &sync.Mutex{}, map[string]int64{}}
				own.Store = counts[p]
				return checkpoint.Save(t.Context(), "c",
					map[string]any{"big": replicated(big), "odd": replicated(odd), "small": replicated(small)}, own)
			}))
			if err != nil {
				t.Fatal(err)
			}
			for p, c := range counts {
				share := int64(len(big.Data) / n)
				if p == 0 {
					share += int64(len(odd.Data)) // its extents have no divisor
				}
				if got := c.bytes["d"]; got < share || got > share+share/16+64<<10 {
					t.Errorf("%v, process %d of %d wrote %d bytes, want about %d", l, p, n, got, share)
				}
			}
			st := local.New(mem, "/", nil)
			got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st})
			if err != nil {
				t.Fatal(err)
			}
			want := tree.NewDict().Set("big", tree.NewLeaf(big)).Set("odd", tree.NewLeaf(odd)).Set("small",
				tree.NewLeaf(small))
			if d := tree.Diff(want, got); len(d) > 0 {
				t.Errorf("%v, %d processes:\n%s", l, n, tree.FormatDiff(d))
			}
			report, err := integrity.Verify(t.Context(), "c", &integrity.VerifyOptions{Store: st})
			if err != nil || !report.OK() {
				t.Errorf("%+v, %v", report, err)
			}
		}
	}
}

// Processes of which only some have the option are told which one differs, and in what.
func TestReplicasMustAgree(t *testing.T) {
	x := noise(rand.New(rand.NewPCG(1, 2)), tensor.Float32, 840, 256)
	for name, other := range map[string]checkpoint.SaveOptions{
		"UseReplicaParallel":              {},
		"MinSliceBytesForReplicaParallel": parallel(7, 0),
		"MaxReplicasForReplicaParallel":   parallel(0, 1),
	} {
		s := together(2, vfstest.NewMem())
		list := crewtest.Run(2, func(p int) error {
			o := parallel(0, 0)
			if p == 1 {
				o = other
			}
			return checkpoint.Save(t.Context(), "c", map[string]any{"x": replicated(x)}, s.options(p, o))
		})
		for p, err := range list {
			if errs.KindOf(err) != errs.Mismatch || !strings.Contains(err.Error(), name) ||
				!strings.Contains(err.Error(), "process 1") {
				t.Errorf("%s: process %d: %v", name, p, err)
			}
		}
		if left := rooted(t, s.fsys); len(left) > 0 {
			t.Errorf("%s: %q is there", name, left)
		}
	}
}

// Folders for replicas would be another database: the save says so, and names the option.
func TestSeparateFolderIsRefused(t *testing.T) {
	x := noise(rand.New(rand.NewPCG(1, 2)), tensor.Float32, 8)
	o := parallel(0, 0)
	o.Array.Saving.EnableReplicaParallelSeparateFolder = options.On
	s := together(2, vfstest.NewMem())
	for _, err := range s.save(waiting, func(int) any { return map[string]any{"x": replicated(x)} }, o) {
		if errs.KindOf(err) != errs.Unsupported ||
			!strings.Contains(err.Error(), "array.saving.enable_replica_parallel_separate_folder") {
			t.Error(err)
		}
	}
	if err := failed(together(1, vfstest.NewMem()).save(waiting,
		func(int) any { return map[string]any{"x": replicated(x)} }, o)); err != nil {
		t.Errorf("one process has no replicas: %v", err)
	}
}

// bothHave is what each of the processes has of version v, whole.
func bothHave(v float64) any {
	w := tensor.New(tensor.Float64, 4, 300)
	for p := range 2 {
		for _, s := range rows(p, v).(checkpoint.Shards).Parts {
			copy(w.Data[s.Origin[0]*300*8:], s.Data.Data)
		}
	}
	return map[string]any{"w": replicated(w), "step": v, "bias": []float64{v, v, v}}
}

// Whatever operation fails at whichever replica, no torn checkpoint is visible.
func TestFaultsOfReplicas(t *testing.T) {
	step := 5
	if os.Getenv("BIVOUAC_LONG") != "" {
		step = 1
	}
	o := parallel(1, 0)
	o.Overwrite = true
	for n := 1; ; n += step {
		mem := vfstest.NewMem()
		if err := oneBefore(mem); err != nil {
			t.Fatal(err)
		}
		fault := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EIO, Done: n%2 == 0})
		list := together(2, fault).save(waiting, func(int) any { return bothHave(2) }, o)
		if fault.Calls() < n {
			break
		}
		fine := list[0] == nil && list[1] == nil
		if !fine && !errors.Is(failed(list), store.ErrUncertain) && (list[0] == nil || list[1] == nil) {
			t.Fatalf("call %d failed: %v", n, list)
		}
		if err := sound(mem, fine); err != nil {
			t.Fatalf("call %d failed: %v; told %v", n, err, list)
		}
	}
}

// A replica that is killed at a barrier leaves the old checkpoint or the new one.
func TestReplicaIsKilled(t *testing.T) {
	o := parallel(1, 0)
	o.Overwrite = true
	for _, op := range []string{"begin", "plan", "written", "end", "leave"} {
		for p := range 2 {
			mem := vfstest.NewMem()
			if err := oneBefore(mem); err != nil {
				t.Fatal(err)
			}
			s := together(2, mem)
			s.barrier = crewtest.NewBarrier(2, func(process int, key string) error {
				if process == p && strings.HasSuffix(key, ":"+op) {
					return errors.New("killed")
				}
				return nil
			})
			list := s.save(copying, func(int) any { return bothHave(2) }, o)
			if err := sound(mem, op == "leave" || op == "end" && p == 0); err != nil {
				t.Errorf("%s at process %d: %v; told %v", op, p, err, list)
			}
		}
	}
}

// At whatever moment the power fails for all replicas, the old checkpoint is whole or the new one.
func TestPowerLossOfReplicas(t *testing.T) {
	work := func(fsys vfs.FS, ack func(string)) error {
		o := parallel(1, 0)
		o.Overwrite = true
		err := failed(together(2, fsys).save(waiting, func(int) any { return bothHave(2) }, o))
		if err == nil {
			ack("2")
		}
		return err
	}
	check := func(fsys vfs.FS, acked []string) error { return sound(fsys, len(acked) > 0) }
	report, err := crash.Run(work, check, &crash.Options{Setup: oneBefore, Limit: 4, Samples: 4, Quick: true})
	t.Log(report)
	if err != nil {
		t.Fatal(err)
	}
}
