package grain

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// Shard is ShardOptions. The zero Shard is NoSharding.
type Shard struct {
	Index, Count int64
	Drop         bool // drop_remainder: all shards are as long as the shortest one
}

func (s Shard) count() int64 { return max(s.Count, 1) }

// bounds returns the records [first, end) of the shard.
func (s Shard) bounds(records int64) (first, end int64) {
	count := s.count()
	each, more := records/count, records%count
	first = each * s.Index
	if s.Drop {
		return first, first + each
	}
	return first + min(s.Index, more), first + each + min(s.Index+1, more)
}

// String returns the text that Grain writes into checkpoints.
func (s Shard) String() string {
	name := "ShardOptions"
	if s.Count == 0 {
		name = "NoSharding"
	}
	drop := "False"
	if s.Drop {
		drop = "True"
	}
	return fmt.Sprintf("%s(shard_index=%d, shard_count=%d, drop_remainder=%s)", name, s.Index, s.count(), drop)
}

// SamplerOptions are the arguments of IndexSampler.
type SamplerOptions struct {
	Records int64
	Shard   Shard
	Shuffle bool    // within the shard
	Epochs  int64   // 0 means without end
	Seed    *uint32 // nil means no seed; Shuffle needs a seed
}

// Sampler is IndexSampler as one shard reads it: an order.Order of record keys that seeks in
// constant time. It is immutable.
//
// The index of Grain counts over all shards: position p is index p*Count + Index. Without Drop,
// shards of unequal length begin their epochs at different indices, and the last epoch of a long
// shard is not complete.
type Sampler struct {
	options SamplerOptions
	keys    Map[int64]
	indices int64 // indices of all shards, or Endless
}

// NewSampler returns the sampler. The error is of kind errs.Invalid if Grain refuses the arguments,
// or if the shard has no record.
func NewSampler(o SamplerOptions) (*Sampler, error) {
	count := o.Shard.count()
	switch {
	case o.Records < 1 || o.Epochs < 0:
		return nil, invalid("grain.NewSampler", "at least 1 record and at least 0 epochs",
			fmt.Sprintf("%d records and %d epochs", o.Records, o.Epochs))
	case o.Epochs > 0 && o.Records > (Endless-1)/o.Epochs:
		return nil, invalid("grain.NewSampler", "fewer records in all epochs", fmt.Sprintf("%d records, %d epochs", o.Records, o.Epochs))
	case o.Shuffle && o.Seed == nil:
		return nil, invalid("grain.NewSampler", "a seed to shuffle with", "no seed")
	case o.Shard.Index < 0 || o.Shard.Index >= count || o.Shard.Count < 0:
		return nil, invalid("grain.NewSampler", "a shard index from 0 to below the shard count",
			fmt.Sprintf("shard %d of %d", o.Shard.Index, o.Shard.Count))
	}
	first, end := o.Shard.bounds(o.Records)
	if first == end {
		return nil, invalid("grain.NewSampler", "at least one record for every shard",
			fmt.Sprintf("%d records for %d shards", o.Records, count))
	}
	s := &Sampler{options: o, keys: Range(first, end, 1), indices: Endless}
	if o.Shuffle {
		s.keys = Shuffle(s.keys, *o.Seed)
	}
	if o.Epochs > 0 {
		s.indices = o.Records * o.Epochs
		if o.Shard.Drop {
			s.indices = min(s.indices, (end-first)*count*o.Epochs)
		}
	}
	return s, nil
}

// Fill implements order.Order.
func (s *Sampler) Fill(pos int64, dst []int64) int {
	n, ok := s.Len()
	if !ok {
		n = Endless
	}
	if pos < 0 || pos >= n {
		return 0
	}
	dst = dst[:min(int64(len(dst)), n-pos)]
	for i := range dst {
		dst[i], _ = s.keys.At(pos + int64(i))
	}
	return len(dst)
}

// Len implements order.Order.
func (s *Sampler) Len() (n int64, ok bool) {
	if s.indices == Endless {
		return 0, false
	}
	return max(s.indices-s.options.Shard.Index+s.options.Shard.count()-1, 0) / s.options.Shard.count(), true
}

// Indices returns the number of indices over all shards, len(IndexSampler), or Endless.
func (s *Sampler) Indices() int64 { return s.indices }

// Index returns the index over all shards for a position. It must be below 2^63.
func (s *Sampler) Index(pos int64) int64 { return pos*s.options.Shard.count() + s.options.Shard.Index }

// Random returns the random numbers that Grain passes to random transforms at a position, or nil
// without a seed.
func (s *Sampler) Random(pos int64) *numpy.Generator {
	if s.options.Seed == nil {
		return nil
	}
	p := numpy.NewPhilox(uint64(*s.options.Seed) + uint64(s.Index(pos)))
	return numpy.NewGenerator(&p)
}

// String implements order.Order. It returns the text that Grain writes into checkpoints.
func (s *Sampler) String() string {
	o := s.options
	epochs, seed, shuffle := "None", "None", "False"
	if o.Epochs > 0 {
		epochs = fmt.Sprint(o.Epochs)
	}
	if o.Seed != nil {
		seed = fmt.Sprint(*o.Seed)
	}
	if o.Shuffle {
		shuffle = "True"
	}
	fields := []string{fmt.Sprintf("num_records=%d", o.Records), "shard_options=" + o.Shard.String(), "shuffle=" + shuffle, "num_epochs=" + epochs, "seed=" + seed}
	return "IndexSampler(" + strings.Join(fields, ", ") + ")"
}
