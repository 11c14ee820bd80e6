package torchdata

import (
	"context"
	"log/slog"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// Options are the arguments of torch's DataLoader and of torchdata's StatefulDataLoader,
// with their meanings. The zero Options are torch's defaults. docs/compat/torchdata.md
// has the table of names.
type Options[S, B any] struct {
	// BatchSize is batch_size. 0 means 1, torch's default; loader.NoBatching is torch's None.
	BatchSize int
	// Shuffle is shuffle: torchdata's RandomSampler decides the order. Maps only.
	Shuffle bool
	// Sampler is sampler. Maps only; not with Shuffle.
	Sampler order.Sampler
	// BatchSampler is batch_sampler. Maps only; not with BatchSize, Shuffle, Sampler or
	// DropLast.
	BatchSampler order.BatchSampler
	// NumWorkers is num_workers: the number of goroutines that read. With 0 the caller reads.
	NumWorkers int
	// CollateFn is collate_fn. nil means loader.DefaultCollate, or without batching the sample itself.
	// See loader.Options.Collate.
	CollateFn func([]S) (B, error)
	// PinMemory is pin_memory: batches are in locked pages.
	PinMemory bool
	// DropLast is drop_last: the last batch of an epoch is left out if it is short.
	DropLast bool
	// Timeout is timeout. It needs workers.
	Timeout time.Duration
	// WorkerInitFn is worker_init_fn. loader.WorkerInfoOf(ctx) is get_worker_info(), and
	// WorkerOf(ctx) has the random numbers of the worker.
	WorkerInitFn func(ctx context.Context) error
	// MultiprocessingContext is multiprocessing_context: "", "fork", "spawn" or
	// "forkserver". It is checked as in torch, and has no effect. It needs workers.
	MultiprocessingContext string
	// Generator is generator: it draws the base seeds, and with Shuffle also the samples. nil means
	// Global.
	Generator *Generator
	// PrefetchFactor is prefetch_factor: the number of batches in flight for each worker. 0 means 2.
	// It needs workers.
	PrefetchFactor int
	// PersistentWorkers is persistent_workers: workers keep their data sets from epoch to
	// epoch. It needs workers.
	PersistentWorkers bool
	// PinMemoryDevice is pin_memory_device: "" or "cpu". It has no effect.
	PinMemoryDevice string
	// OutOfOrder is in_order=False: what is ready first is delivered first.
	OutOfOrder bool
	// SnapshotEveryNSteps is snapshot_every_n_steps. 0 means 1, torch's default; loader.SnapshotNever
	// is torch's 0.
	SnapshotEveryNSteps int

	// Global is torch's global generator, which torch.manual_seed sets. The loaders of one program
	// share it. nil means a generator seeded with DefaultSeed for this loader alone.
	Global *Generator
	// Seed and Name key the loader.Random of samples, which torch does not have.
	Seed uint64
	Name string
	// OnError says what becomes of samples that cannot be read. torch passes them on; the
	// zero OnError keeps the position, as in package loader.
	OnError faults.Policy
	// Log is given warnings, each once. nil is slog.Default() at the time of the warning.
	Log *slog.Logger
}

// engine returns the options of the loader below.
func (o *Options[S, B]) engine() loader.Options[S, B] {
	return loader.Options[S, B]{
		BatchSize: o.BatchSize, Shuffle: o.Shuffle, Sampler: o.Sampler, BatchSampler: o.BatchSampler, Workers: o.NumWorkers,
		Collate: o.CollateFn, Pinned: o.PinMemory, Tail: order.DropLast(o.DropLast), Timeout: o.Timeout, WorkerInit: o.WorkerInitFn,
		Prefetch: o.PrefetchFactor, Persistent: o.PersistentWorkers, OutOfOrder: o.OutOfOrder,
		SnapshotEvery: o.SnapshotEveryNSteps, Seed: o.Seed, Name: o.Name, OnError: o.OnError, Log: o.Log,
	}
}

// FromConfig returns base with the settings of a YAML or JSON text, under torch's names and with
// torch's values. It reads the same document as loader.FromConfig. Options that only Bivouac's own
// loaders have, such as ranks, are checked and have no effect.
func FromConfig[S, B any](text []byte, base Options[S, B]) (Options[S, B], error) {
	e, err := loader.FromConfig(text, base.engine())
	if err != nil {
		return base, err
	}
	o := base
	only := struct { // what has no effect in a loader
		Context string `yaml:"multiprocessing_context"`
		Device  string `yaml:"pin_memory_device"`
	}{o.MultiprocessingContext, o.PinMemoryDevice}
	if err := yaml.Unmarshal(text, &only); err != nil {
		return base, &errs.Error{Kind: errs.Invalid, Op: "torchdata.FromConfig", Want: "YAML or JSON", Err: err}
	}
	o.MultiprocessingContext, o.PinMemoryDevice = only.Context, only.Device
	o.BatchSize, o.Shuffle, o.DropLast, o.PinMemory = e.BatchSize, e.Shuffle, e.Tail == order.Drop, e.Pinned
	o.NumWorkers, o.PrefetchFactor, o.PersistentWorkers = e.Workers, e.Prefetch, e.Persistent
	o.Timeout, o.OutOfOrder, o.SnapshotEveryNSteps = e.Timeout, e.OutOfOrder, e.SnapshotEvery
	o.Seed, o.Name, o.OnError = e.Seed, e.Name, e.OnError
	return o, nil
}
