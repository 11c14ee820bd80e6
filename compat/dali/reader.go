package dali

import (
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// Defaults of DALI.
const (
	DefaultInitialFill = 1024
	DefaultShuffleSeed = 524287 // also shuffles the list with RandomShuffle
)

// ReaderOptions are the arguments of a DALI reader and of its pipeline that decide which samples it
// delivers, under DALI's names. Other arguments do not affect the order. For example,
// SkipCachedImages only leaves samples empty that a decoder has cached.
type ReaderOptions struct {
	Samples   int64 // samples of the whole data set, at most 2^31-1
	BatchSize int   // the largest batch of the pipeline, which PadLastBatch fills; 0 means 1

	RandomShuffle bool
	InitialFill   int   // samples to pick from with RandomShuffle; 0 means DefaultInitialFill
	Seed          int64 // seed of the operator; without one, the next of PipelineSeeds, or -1 in dynamic mode

	NumShards, ShardID int // 0 shards means 1
	StickToShard       bool
	PadLastBatch       bool

	// ShuffleAfterEpoch shuffles the whole list for every epoch, with ShuffleSeed; nil means
	// DefaultShuffleSeed. It implies StickToShard and excludes RandomShuffle and an explicit
	// StickToShard.
	ShuffleAfterEpoch bool
	ShuffleSeed       *int64

	// Checkpointing is the pipeline's option. Under ShuffleAfterEpoch each epoch shuffles the
	// original list if it is set, and the list of the epoch before if it is not.
	Checkpointing bool
	// Container marks a reader of containers (tfrecord, mxnet, webdataset, caffe), which never
	// shuffles the list of all samples. ShuffleAfterEpoch shuffles its files for every epoch, always
	// the original list of them, and does not exclude RandomShuffle. Files has the number of samples
	// of each file; nil means one file.
	Container bool
	Files     []int64
}

func (o ReaderOptions) withDefaults() ReaderOptions {
	if o.BatchSize == 0 {
		o.BatchSize = 1
	}
	if o.InitialFill == 0 {
		o.InitialFill = DefaultInitialFill
	}
	if o.NumShards == 0 {
		o.NumShards = 1
	}
	if o.Files == nil {
		o.Files = []int64{o.Samples}
	}
	if o.ShuffleSeed == nil {
		seed := int64(DefaultShuffleSeed)
		o.ShuffleSeed = &seed
	}
	return o
}

func sum(list []int64) (total int64) {
	for _, n := range list {
		total += n
	}
	return total
}

// validate returns an error for options that DALI refuses. Defaults must be filled in.
func (o ReaderOptions) validate() error {
	for _, c := range []struct {
		ok        bool
		want, got string
	}{
		{o.Samples >= 1 && o.Samples <= math.MaxInt32, "1 to 2147483647 samples", strconv.FormatInt(o.Samples, 10)},
		{o.BatchSize > 0 && o.Samples+int64(o.BatchSize) <= math.MaxInt32, "a BatchSize above 0 that is below 2147483647 with the samples", strconv.Itoa(o.BatchSize)},
		{o.InitialFill > 0, "an InitialFill above 0", strconv.Itoa(o.InitialFill)},
		{o.NumShards > 0 && int64(o.NumShards) <= o.Samples, "no more shards than samples", fmt.Sprintf("%d shards of %d samples", o.NumShards, o.Samples)},
		{o.ShardID >= 0 && o.ShardID < o.NumShards, "0 <= ShardID < NumShards", fmt.Sprintf("shard %d of %d", o.ShardID, o.NumShards)},
		{!o.ShuffleAfterEpoch || !o.RandomShuffle || o.Container, "ShuffleAfterEpoch without RandomShuffle", "both"},
		{!o.ShuffleAfterEpoch || !o.StickToShard, "ShuffleAfterEpoch without StickToShard", "both"},
		{sum(o.Files) == o.Samples, fmt.Sprintf("Files with %d samples", o.Samples), strconv.FormatInt(sum(o.Files), 10)},
	} {
		if !c.ok {
			return &errs.Error{Kind: errs.Invalid, Op: "dali.NewReaderOrder", Want: c.want, Got: c.got}
		}
	}
	return nil
}

// ReaderOrder is the order in which a DALI reader delivers the samples of a data set. Samples are
// numbered in the order in which the reader lists them. It never ends, and implements order.Order:
// its state is the position.
//
// Without shuffling any position is found at once. With RandomShuffle the order replays random
// numbers, but no samples: one for each position before the epoch, about 2 ns each, or fewer if it
// has kept the beginning of an earlier epoch. ShuffleAfterEpoch shuffles the list once for an
// epoch; without Checkpointing, once for each epoch from the start. A shuffled epoch takes 4 bytes
// a sample and the whole list 4 more. Two epochs are kept, so that reading on costs no more than in
// DALI.
type ReaderOrder struct {
	options ReaderOptions
	shards  order.Shards
	list    []int32 // the list, shuffled at the start; nil for 0, 1, …
	numbers *numbers
	resumed resumed

	mu     sync.Mutex
	recent [2]*epoch // the one used last comes first; immutable
}

// NewReaderOrder returns the order of a reader. The error is of kind errs.Invalid if DALI refuses
// the arguments.
func NewReaderOrder(o ReaderOptions) (*ReaderOrder, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	r := &ReaderOrder{options: o, shards: shardsOf(o)}
	first := libstdcxx.SeedSeq{uint32(o.Seed)}.Minstd()
	r.numbers = &numbers{shards: r.shards, fill: int64(o.InitialFill), stride: 1, starts: []libstdcxx.MinstdRand0{first}}
	if o.RandomShuffle && !o.Container {
		r.list = identity(o.Samples)
		g := libstdcxx.NewMT19937(DefaultShuffleSeed)
		libstdcxx.Shuffle(&g, r.list)
	}
	return r, nil
}

func shardsOf(o ReaderOptions) order.Shards {
	s := order.Shards{Samples: o.Samples, Count: int64(o.NumShards), ID: int64(o.ShardID),
		Stick: o.StickToShard || o.ShuffleAfterEpoch}
	if o.PadLastBatch {
		s.Pad = int64(o.BatchSize)
	}
	return s
}

// Fill implements order.Order. It may wait for another call that computes an
// epoch.
func (r *ReaderOrder) Fill(pos int64, dst []int64) int {
	if pos < 0 {
		return 0
	}
	if left := math.MaxInt64 - pos; int64(len(dst)) > left {
		dst = dst[:left]
	}
	for done := 0; done < len(dst); {
		number, age := r.Locate(pos + int64(done))
		part := dst[done:]
		if left := r.EpochLength(number) - age; int64(len(part)) > left {
			part = part[:left]
		}
		r.fillEpoch(number, age, part)
		done += len(part)
	}
	return len(dst)
}

// fillEpoch writes the ids that an epoch delivers, from its position age on.
func (r *ReaderOrder) fillEpoch(number, age int64, dst []int64) {
	last := r.shards.Size(number) - 1
	if !r.options.RandomShuffle && !r.options.ShuffleAfterEpoch {
		first := r.shards.First(r.shards.Of(number))
		for i := range dst {
			dst[i] = first + min(age+int64(i), last)
		}
		return
	}
	ids := r.epoch(number).ids
	for i := range dst {
		dst[i] = int64(ids[min(age+int64(i), last)])
	}
}

// Len implements order.Order: a reader never ends.
func (r *ReaderOrder) Len() (n int64, ok bool) { return 0, false }

// String implements order.Order. It leaves out options that do not affect the order.
func (r *ReaderOrder) String() string {
	o := r.options
	s := fmt.Sprintf("dali-reader(n=%d shard=%d/%d", o.Samples, o.ShardID, o.NumShards)
	if o.PadLastBatch {
		s += fmt.Sprintf(" pad=%d", o.BatchSize)
	}
	if o.RandomShuffle {
		s += fmt.Sprintf(" fill=%d seed=%d container=%t", o.InitialFill, uint32(o.Seed), o.Container)
	}
	if o.ShuffleAfterEpoch {
		s += fmt.Sprintf(" shuffle=%d original=%t", *o.ShuffleSeed, o.Checkpointing)
		if o.Container {
			s += fmt.Sprintf(" files=%d", len(o.Files))
		}
	}
	if r.shards.Stick {
		s += " stick"
	}
	return s + ")"
}

// ReaderMeta is the result of Pipeline.reader_meta in DALI.
type ReaderMeta struct {
	EpochSize       int64 `json:"epoch_size"`
	EpochSizePadded int64 `json:"epoch_size_padded"`
	NumberOfShards  int   `json:"number_of_shards"`
	ShardID         int   `json:"shard_id"`
	PadLastBatch    int   `json:"pad_last_batch"`
	StickToShard    int   `json:"stick_to_shard"`
}

// Meta returns the sizes and options of the reader as DALI does.
func (r *ReaderOrder) Meta() ReaderMeta {
	o := r.options
	m := ReaderMeta{EpochSize: o.Samples, EpochSizePadded: o.Samples, NumberOfShards: o.NumShards, ShardID: o.ShardID}
	if o.PadLastBatch {
		m.EpochSizePadded = r.shards.Largest() * int64(o.NumShards)
		m.PadLastBatch = 1
	}
	if r.shards.Stick {
		m.StickToShard = 1
	}
	return m
}

// Locate returns the epoch of a position (>= 0), and how many samples of the epoch come before it.
func (r *ReaderOrder) Locate(pos int64) (epoch, age int64) {
	t := r.resumed
	if t.length == 0 {
		return r.shards.Locate(pos)
	}
	switch begin := r.shards.Begin(t.epoch); {
	case pos < begin:
		return r.shards.Locate(pos)
	case pos < begin+t.length:
		return t.epoch, pos - begin
	}
	return r.shards.Locate(pos - t.length + r.shards.EpochLength(t.epoch))
}

// EpochLength returns how many samples an epoch (>= 0) delivers, with padding.
func (r *ReaderOrder) EpochLength(epoch int64) int64 {
	if t := r.resumed; t.length > 0 && epoch == t.epoch {
		return t.length
	}
	return r.shards.EpochLength(epoch)
}
