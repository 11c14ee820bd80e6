package dali

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// epochCount counts the samples that an Iterator took, and knows where its epochs end.
//
// If a reader tells the sizes, counter counts one shard, and all shards advance together. Shards
// without padding may differ in size by one. If the last batch was filled with samples of the next
// epoch, each shard begins that epoch with some samples already read.
type epochCount struct {
	batch   int64
	pipes   int64
	last    order.Tail
	padded  bool
	counter int64
	size    int64 // where the epoch ends; -1 if it does not end by count

	// Fields of shards, set if a reader tells the sizes.
	stick   bool
	ids     []int64 // shard of each pipeline in this epoch
	sizes   []int64 // of the shards, as they come in this epoch
	initial []int64 // and in the first
	ahead   []int64 // for each shard, how many samples were read before the epoch began
}

// shard sets the sizes from the reader of all pipelines.
func (c *epochCount) shard(pipes []*Pipeline, reader string) error {
	var first ReaderMeta
	for i, p := range pipes {
		m, err := p.ReaderMeta(reader)
		if err != nil {
			return err
		}
		if i == 0 {
			first = m
		}
		c.ids = append(c.ids, int64(m.ShardID))
		for _, f := range []struct {
			name      string
			want, got any
		}{
			{"size", first.EpochSize, m.EpochSize}, {"num_shards", first.NumberOfShards, m.NumberOfShards},
			{"pad_last_batch", first.PadLastBatch, m.PadLastBatch}, {"stick_to_shard", first.StickToShard, m.StickToShard},
		} {
			if f.want != f.got {
				return &errs.Error{Kind: errs.Mismatch, Subject: "reader " + reader + ", " + f.name,
					Want: fmt.Sprintf("%v, as in the first pipeline", f.want), Got: fmt.Sprint(f.got)}
			}
		}
	}
	n, shards := first.EpochSize, int64(first.NumberOfShards)
	c.stick, c.padded = first.StickToShard == 1, first.PadLastBatch == 1
	for i := range shards {
		c.sizes = append(c.sizes, (i+1)*n/shards-i*n/shards)
	}
	c.initial, c.ahead = slices.Clone(c.sizes), make([]int64, shards)
	switch {
	case c.last == order.Drop:
		c.size = n / shards
	case c.padded:
		c.size = first.EpochSizePadded / shards
	default:
		c.size = c.whole((n + shards - 1) / shards)
	}
	return nil
}

// sharded reports whether a reader tells the size.
func (c *epochCount) sharded() bool { return c.sizes != nil }

// whole rounds up to full batches.
func (c *epochCount) whole(n int64) int64 { return (n + c.batch - 1) / c.batch * c.batch }

// over reports whether the epoch has ended.
func (c *epochCount) over() bool { return c.size > 0 && c.counter >= c.size }

// after returns the counter after one more batch of every pipeline.
func (c *epochCount) after() int64 {
	if c.sharded() {
		return c.counter + c.batch
	}
	return c.counter + c.pipes*c.batch
}

// dropsNext reports whether the next batch is dropped because it would not be full.
func (c *epochCount) dropsNext() bool {
	if c.last != order.Drop {
		return false
	}
	after := c.after()
	if !c.sharded() {
		return after > c.size
	}
	for i, n := range c.sizes {
		if c.ahead[i]+after > n {
			return true
		}
	}
	return false
}

// advance counts a batch of every pipeline, and reports whether it is dropped.
func (c *epochCount) advance() (dropped bool) {
	dropped = c.dropsNext()
	c.counter = c.after()
	return dropped
}

// kept returns how many samples of each pipeline's last batch belong to the epoch, or nil for all.
func (c *epochCount) kept() []int64 {
	if c.last != order.Short || c.counter <= c.size && !c.sharded() {
		return nil
	}
	kept := make([]int64, c.pipes)
	for i := range kept {
		if c.sharded() {
			kept[i] = c.batch - (c.counter - c.initial[c.ids[i]])
		} else {
			kept[i] = c.pipes*c.batch - (c.counter - c.size) - int64(i)*c.batch
		}
		kept[i] = min(max(0, kept[i]), c.batch)
	}
	return kept
}

// reset begins the next epoch.
func (c *epochCount) reset() {
	carries := c.last == order.Span && !c.padded // samples of the next epoch came already
	switch {
	case !carries:
		c.counter = 0
	case c.sharded():
		read := c.counter - slices.Min(c.ahead)
		for i := range c.ahead {
			c.ahead[i] += read - c.sizes[i]
		}
		c.counter = slices.Min(c.ahead)
	case c.size > 0:
		c.counter %= c.size
	default:
		c.counter = 0
	}
	if !c.sharded() {
		return
	}
	if !c.stick {
		for i := range c.ids {
			c.ids[i] = (c.ids[i] + 1) % int64(len(c.sizes))
		}
	}
	if carries {
		c.carry()
	}
}

// carry finds the end of an epoch from which some samples were read already.
func (c *epochCount) carry() {
	if !c.stick {
		c.roll()
	}
	left := int64(0)
	for i, n := range c.sizes {
		left = max(left, n-c.ahead[i])
	}
	if c.size = c.whole(left); c.size == 0 { // all of it was read: it is skipped
		clear(c.ahead)
		c.counter = 0
		c.roll()
		c.size = c.whole(slices.Max(c.sizes))
	}
}

// roll moves the sizes by one shard.
func (c *epochCount) roll() {
	n := len(c.sizes)
	last := c.sizes[n-1]
	copy(c.sizes[1:], c.sizes[:n-1])
	c.sizes[0] = last
}

// length returns the number of batches of the epoch.
func (c *epochCount) length() int64 {
	step := c.batch
	if !c.sharded() {
		step *= c.pipes
	}
	switch {
	case c.size < 0:
		return 0
	case c.last == order.Drop:
		return c.size / step
	}
	return (c.size + step - 1) / step
}
