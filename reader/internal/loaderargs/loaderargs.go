// Package loaderargs has the arguments that all readers take.
package loaderargs

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/op"
)

// params are the arguments that all readers take, under DALI's names. Arguments that only
// control how DALI reads are accepted and change nothing: the goroutines of the executor read a
// reader.Source at the positions of an order.
var params = []op.Parameter{
	{Name: "random_shuffle", Type: op.Bool, Default: false,
		Doc: "Whether each epoch comes in its own random order instead of the order of the data set."},
	{Name: "seed", Type: op.Int, Default: -1, Doc: "Seed of the order; -1: the pipeline's seed."},
	{Name: "shuffle_after_epoch", Type: op.Bool, Default: false,
		Doc: "Each epoch comes in an order of its own, in DALI by shuffling the whole list."},
	{Name: "shuffle_after_epoch_seed", Type: op.Int,
		Doc: "Seed of shuffle_after_epoch; by default 524287 in DALI's mode, else the reader's seed."},
	{Name: "num_shards", Type: op.Int, Default: 1,
		Doc: "Number of parts that the data set is cut into, for as many pipelines."},
	{Name: "shard_id", Type: op.Int, Default: 0, Doc: "The part that is read first."},
	{Name: "stick_to_shard", Type: op.Bool, Default: false,
		Doc: "Reads the same part in every epoch; otherwise the next one."},
	{Name: "pad_last_batch", Type: op.Bool, Default: false,
		Doc: "Fills the last batch of an epoch with its last sample, so that all shards have as many batches."},
	{Name: "initial_fill", Type: op.Int, Default: 1024, Tuning: true,
		Doc: "Number of samples that DALI's shuffle picks from. Outside DALI's mode all samples are shuffled, for any value."},
	{Name: "prefetch_queue_depth", Type: op.Int, Default: 1, Tuning: true,
		Doc: "Batches that DALI's reader reads ahead; no effect: Options.ReadAheadBytes bounds what is read ahead."},
	{Name: "tensor_init_bytes", Type: op.Int, Default: 1 << 20, Tuning: true,
		Doc: "Memory that DALI sets aside for a sample; no effect."},
	{Name: "read_ahead", Type: op.Bool, Default: false, Tuning: true,
		Doc: "Asks the system to read files ahead; no effect."},
	{Name: "lazy_init", Type: op.Bool, Default: false, Tuning: true,
		Doc: "Looks at the data set when the first batch is made; no effect: that is done when a pipeline is made."},
	{Name: "dont_use_mmap", Type: op.Bool, Default: false, Tuning: true,
		Doc: "Reads files instead of mapping them; no effect: results are equal."},
	{Name: "skip_cached_images", Type: op.Bool, Default: false, Tuning: true,
		Doc: "Leaves out what a decoder has cached; no effect: there is no such cache."},
}

// With returns the parameters of a reader, its own first.
func With(own ...op.Parameter) []op.Parameter { return slices.Concat(own, params) }

// Without returns the parameters of a reader, its own first, without some of those that all readers
// take.
func Without(names []string, own ...op.Parameter) []op.Parameter {
	return slices.DeleteFunc(With(own...), func(p op.Parameter) bool { return slices.Contains(names, p.Name) })
}

// Check checks those values of the common arguments that do not depend on the data set.
func Check(c *op.Config) error {
	if op.Get[bool](c, "shuffle_after_epoch") && op.Get[bool](c, "random_shuffle") {
		return c.Invalid("shuffle_after_epoch", "only shuffle_after_epoch or only random_shuffle", "both", "")
	}
	return CheckContainer(c)
}

// CheckContainer works like Check, for readers of files with many samples. shuffle_after_epoch
// shuffles the files there, so random_shuffle may be given too.
func CheckContainer(c *op.Config) error {
	shards, shard := op.Get[int](c, "num_shards"), op.Get[int](c, "shard_id")
	switch {
	case shards < 1:
		return c.Invalid("num_shards", "at least 1", fmt.Sprint(shards), "")
	case shard < 0 || shard >= shards:
		return c.Invalid("shard_id", fmt.Sprintf("0 to %d, as num_shards is %d", shards-1, shards), fmt.Sprint(shard),
			"")
	case op.Get[int](c, "initial_fill") < 1:
		return c.Invalid("initial_fill", "at least 1", fmt.Sprint(op.Get[int](c, "initial_fill")), "")
	case op.Get[int](c, "prefetch_queue_depth") < 1:
		return c.Invalid("prefetch_queue_depth", "at least 1", fmt.Sprint(op.Get[int](c, "prefetch_queue_depth")), "")
	case op.Get[int](c, "tensor_init_bytes") < 0:
		return c.Invalid("tensor_init_bytes", "at least 0", fmt.Sprint(op.Get[int](c, "tensor_init_bytes")), "")
	case op.Get[bool](c, "shuffle_after_epoch") && op.Get[bool](c, "stick_to_shard"):
		return c.Invalid("shuffle_after_epoch",
			"only shuffle_after_epoch or only stick_to_shard (shuffle_after_epoch implies it)",
			"both", "")
	}
	return nil
}

// CacheBytes is the argument of readers that keep what they decoded for other samples.
var CacheBytes = op.Parameter{Name: "cache_bytes", Type: op.Int, Default: 256 << 20, Tuning: true,
	Doc: "Memory for parts of files that were decoded and hold other samples too; the part that was " +
		"decoded last always stays."}

// CheckPaths works like Check, and checks that a list of paths is not empty.
func CheckPaths(c *op.Config, name string) error {
	if len(op.Get[[]string](c, name)) == 0 {
		return c.Invalid(name, "at least one path", "no path", "")
	}
	if n, ok := c.Constant("cache_bytes"); ok && n.(int) < 0 {
		return c.Invalid("cache_bytes", "at least 0", fmt.Sprint(n), "")
	}
	return Check(c)
}
