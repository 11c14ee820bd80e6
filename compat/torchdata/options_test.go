package torchdata_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

type options = torchdata.Options[int64, []int64]

// Where several options are wrong, the one that torch would look at first is named.
func TestChecksComeInTheOrderOfTorch(t *testing.T) {
	for i, c := range []struct {
		o        options
		iterable bool
		want     string
	}{
		{options{NumWorkers: -1, Timeout: -1, MultiprocessingContext: "fork"}, false, "NumWorkers"},
		{options{Timeout: -1, MultiprocessingContext: "fork"}, false, "Timeout"},
		{options{PrefetchFactor: 2, MultiprocessingContext: "fork"}, false, "PrefetchFactor"},
		{options{NumWorkers: 1, PrefetchFactor: -1, MultiprocessingContext: "x"}, false, "PrefetchFactor"},
		{options{PersistentWorkers: true, MultiprocessingContext: "fork"}, false, "PersistentWorkers"},
		{options{MultiprocessingContext: "fork", Shuffle: true}, true, "MultiprocessingContext"},
		{options{NumWorkers: 1, MultiprocessingContext: "bad", Shuffle: true}, true, "MultiprocessingContext: invalid: want fork, spawn, forkserver"},
		{options{PinMemoryDevice: "cuda"}, false, "PinMemoryDevice"},
		{options{Shuffle: true}, true, "Shuffle"},
		{options{SnapshotEveryNSteps: -2}, false, "SnapshotEveryNSteps"},
		{options{Timeout: time.Second}, false, "Timeout"},
	} {
		var err error
		if c.iterable {
			_, err = torchdata.NewIterable[int64](items{3, false}, c.o)
		} else {
			_, err = torchdata.New(&numbers{n: 3}, c.o)
		}
		if !errors.Is(err, errs.Invalid) || !strings.HasPrefix(err.Error(), "torchdata.New: "+c.want) {
			t.Errorf("case %d: %v, want %s", i, err, c.want)
		}
	}
	l, err := torchdata.New(&numbers{n: 3}, options{
		NumWorkers: 1, MultiprocessingContext: "forkserver", PinMemoryDevice: "cpu", CollateFn: func(ids []int64) ([]int64, error) { return ids, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestChange(t *testing.T) {
	s := &setting{kind: "map", n: 10, batch: 2}
	l := s.loader(t)
	defer l.Close()
	for _, name := range []string{"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"} {
		if err := l.Change(name, 3); !errors.Is(err, errs.Sequence) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, v := range []any{"x", -1, 1.5} {
		if err := l.Change("num_workers", v); !errors.Is(err, errs.Invalid) {
			t.Errorf("%v: %v", v, err)
		}
	}
	if err := l.Change("colour", 1); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	take(t, l, 10)
	if err := l.Change("num_workers", 2); err != nil {
		t.Fatal(err)
	}
	take(t, l, 1)
	if err := l.Change("num_workers", 1); !errors.Is(err, errs.Sequence) {
		t.Errorf("within an epoch: %v", err)
	}
	if ids, _ := take(t, l, 10); len(ids) != 8 {
		t.Errorf("%d more samples", len(ids))
	}
}

func TestFromConfig(t *testing.T) {
	got, err := torchdata.FromConfig([]byte(`
batch_size: 64
shuffle: true
num_workers: 4
prefetch_factor: 3
persistent_workers: true
drop_last: true
timeout: 1.5
pin_memory: true
pin_memory_device: cpu
multiprocessing_context: spawn
snapshot_every_n_steps: 0
in_order: false
seed: 7
name: images
rank: 2
world: 8
on_error: {action: pass on}
`), options{BatchSize: 3})
	want := options{
		BatchSize: 64, Shuffle: true, NumWorkers: 4, PrefetchFactor: 3, PersistentWorkers: true, DropLast: true, Timeout: 1500 * time.Millisecond,
		PinMemory: true, PinMemoryDevice: "cpu", MultiprocessingContext: "spawn", SnapshotEveryNSteps: loader.SnapshotNever, OutOfOrder: true,
		Seed: 7, Name: "images", OnError: faults.Policy{Action: faults.PassOn},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(options{}, "CollateFn", "WorkerInitFn", "Log", "Generator",
		"Global")); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, text := range []string{"{", "", "{multiprocessing_context: null}"} {
		got, err := torchdata.FromConfig([]byte(text), options{BatchSize: 3, MultiprocessingContext: "fork"})
		if (err != nil) != (text == "{") || got.BatchSize != 3 || got.MultiprocessingContext != "fork" {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
