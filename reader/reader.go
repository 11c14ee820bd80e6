// Package reader holds the sources of samples: one format a file.
//
// A [Source] is random access: it knows how many samples there are and fetches them by id, 0 to
// Samples-1, in any order and from many goroutines. It has no position. The executor and its
// order.Order decide which ids come in what order, so a stream can be moved without telling the
// source.
//
// A reader is an operator without inputs, registered with [Register]. Its schema says what
// arguments it takes. Its outputs are known before it is opened.
package reader

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Info describes a data set.
type Info struct {
	Format  string // the name of the reader, such as "readers.file"
	Samples int64  // at least 1
	// Fingerprint identifies the contents: it is equal for equal samples in equal order, wherever they
	// are stored.
	Fingerprint string
}

// Source is a data set. All methods are safe for concurrent use.
type Source interface {
	Info() Info
	// Fetch reads the samples ids into the block: sample s of the block is ids[s]. It records the
	// error of a sample that cannot be read in the block. An error that it returns is the error of all
	// samples. Fetch returns early if ctx ends.
	Fetch(ctx context.Context, ids []int64, dst *op.Block) error
	// Size estimates how many bytes Fetch reads for a sample, for budgets and for the order of work.
	// It never changes a result.
	Size(id int64) int64
	// Describe returns where a sample comes from, for messages, such as a path.
	Describe(id int64) string
	// Close releases the source. No Fetch may be running.
	Close() error
}

// Named is implemented by sources whose samples have names. Operators can read the name as the
// property source_info of the first output.
type Named interface {
	// Name returns the name of a sample. For a file it is its path as the data set writes it.
	Name(id int64) string
}

// Opener makes readers of one kind from arguments.
type Opener struct {
	// Outputs returns what Fetch will produce. It uses only the arguments.
	Outputs func(c *op.Config) ([]tensor.Spec, error)
	// Open opens the data set. It returns an error if there are no samples.
	Open func(ctx context.Context, c *op.Config) (Source, error)
}

// The registry is filled by init functions, as in package op.
var registry struct {
	sync.RWMutex
	openers map[string]Opener
}

// Register makes a reader known as an operator. It panics if op.Register does.
func Register(s op.Schema, o Opener) {
	s.Reader = true
	op.Register(s)
	registry.Lock()
	defer registry.Unlock()
	if registry.openers == nil {
		registry.openers = map[string]Opener{}
	}
	registry.openers[s.FullName()] = o
}

// Lookup returns the opener of a registered reader.
func Lookup(s *op.Schema) (Opener, error) {
	registry.RLock()
	defer registry.RUnlock()
	if o, ok := registry.openers[s.FullName()]; ok {
		return o, nil
	}
	return Opener{}, &errs.Error{Kind: errs.Invalid, Op: "reader", Subject: s.FullName(),
		Got: "an operator that is not a reader"}
}

// fingerprint hashes names, sizes and labels in order. It does not read the contents, because that
// would take as long as an epoch.
func (f *files) fingerprint() string {
	h := state.NewHasher("bivouac.readers.file.v1")
	for id := range int64(len(f.ends)) {
		h.String(f.path(id))
		h.Int(f.sizes[id])
		h.Int(int64(f.labels[id]))
	}
	return h.Sum()
}

// loaderParams are the arguments that all readers take, under DALI's names. Arguments that only
// control how DALI reads are accepted and change nothing: the goroutines of the executor read a
// [Source] at the positions of an order.
var loaderParams = []op.Parameter{
	{Name: "random_shuffle", Type: op.Bool, Default: false, Doc: "Whether each epoch comes in its own random order instead of the order of the data set."},
	{Name: "seed", Type: op.Int, Default: -1, Doc: "Seed of the order; -1: the pipeline's seed."},
	{Name: "shuffle_after_epoch", Type: op.Bool, Default: false, Doc: "Each epoch comes in an order of its own, in DALI by shuffling the whole list."},
	{Name: "shuffle_after_epoch_seed", Type: op.Int, Doc: "Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else the reader's seed."},
	{Name: "num_shards", Type: op.Int, Default: 1, Doc: "Number of parts that the data set is cut into, for as many pipelines."},
	{Name: "shard_id", Type: op.Int, Default: 0, Doc: "The part that is read first."},
	{Name: "stick_to_shard", Type: op.Bool, Default: false, Doc: "Reads the same part in every epoch; otherwise the next one."},
	{Name: "pad_last_batch", Type: op.Bool, Default: false, Doc: "Fills the last batch of an epoch with its last sample, so that all shards have as many batches."},
	{Name: "initial_fill", Type: op.Int, Default: 1024, Tuning: true, Doc: "Number of samples that DALI's shuffle picks from. Outside DALI's mode all samples are shuffled, for any value."},
	{Name: "prefetch_queue_depth", Type: op.Int, Default: 1, Tuning: true, Doc: "Batches that DALI's reader reads ahead; no effect: Options.ReadAheadBytes bounds what is read ahead."},
	{Name: "tensor_init_bytes", Type: op.Int, Default: 1 << 20, Tuning: true, Doc: "Memory that DALI sets aside for a sample; no effect."},
	{Name: "read_ahead", Type: op.Bool, Default: false, Tuning: true, Doc: "Asks the system to read files ahead; no effect."},
	{Name: "lazy_init", Type: op.Bool, Default: false, Tuning: true, Doc: "Looks at the data set when the first batch is made; no effect: that is done when a pipeline is made."},
	{Name: "dont_use_mmap", Type: op.Bool, Default: false, Tuning: true, Doc: "Reads files instead of mapping them, which is always so; no effect."},
	{Name: "skip_cached_images", Type: op.Bool, Default: false, Tuning: true, Doc: "Leaves out what a decoder has cached; no effect: there is no such cache."},
}

// withLoader returns the parameters of a reader, its own first.
func withLoader(own ...op.Parameter) []op.Parameter { return slices.Concat(own, loaderParams) }

// checkLoader checks those values of the common arguments that do not depend on the data set.
func checkLoader(c *op.Config) error {
	shards, shard := op.Get[int](c, "num_shards"), op.Get[int](c, "shard_id")
	switch {
	case shards < 1:
		return c.Invalid("num_shards", "at least 1", fmt.Sprint(shards), "")
	case shard < 0 || shard >= shards:
		return c.Invalid("shard_id", fmt.Sprintf("0 to %d, as num_shards is %d", shards-1, shards), fmt.Sprint(shard), "")
	case op.Get[int](c, "initial_fill") < 1:
		return c.Invalid("initial_fill", "at least 1", fmt.Sprint(op.Get[int](c, "initial_fill")), "")
	case op.Get[int](c, "prefetch_queue_depth") < 1:
		return c.Invalid("prefetch_queue_depth", "at least 1", fmt.Sprint(op.Get[int](c, "prefetch_queue_depth")), "")
	case op.Get[int](c, "tensor_init_bytes") < 0:
		return c.Invalid("tensor_init_bytes", "at least 0", fmt.Sprint(op.Get[int](c, "tensor_init_bytes")), "")
	case op.Get[bool](c, "shuffle_after_epoch") && op.Get[bool](c, "random_shuffle"):
		return c.Invalid("shuffle_after_epoch", "only shuffle_after_epoch or only random_shuffle", "both", "")
	case op.Get[bool](c, "shuffle_after_epoch") && op.Get[bool](c, "stick_to_shard"):
		return c.Invalid("shuffle_after_epoch", "only shuffle_after_epoch or only stick_to_shard (shuffle_after_epoch implies it)",
			"both", "")
	}
	return nil
}
