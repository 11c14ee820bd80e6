package dali

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// State returns the state that DALI saves for a reader that has delivered pos samples (>= 0): the
// generator of RandomShuffle at the beginning of an epoch, the number of the epoch, and how many
// samples of it were delivered. The error is of kind errs.Unsupported if the number of the epoch
// exceeds DALI's 31 bits.
func (r *ReaderOrder) State(pos int64) (stateproto.Loader, error) {
	number, age := r.Locate(pos)
	if number > math.MaxInt32 {
		return stateproto.Loader{}, &errs.Error{Kind: errs.Unsupported, Op: "dali.ReaderOrder.State",
			Want: "an epoch below 2^31", Got: "epoch " + strconv.FormatInt(number, 10)}
	}
	return stateproto.Loader{RNG: r.start(number).String(), Epoch: int32(number), Age: int32(age)}, nil
}

// Position returns how many samples the reader had delivered when it saved s. The error is of kind
// errs.Mismatch if this reader is never in that state, because it has another seed, data set, shard
// or batch size. DALI continues silently, with another order. Without RandomShuffle Position
// ignores the random state. With RandomShuffle it takes as long as a Fill in that epoch, whatever
// number the state has.
func (r *ReaderOrder) Position(s stateproto.Loader) (int64, error) {
	number, age := int64(s.Epoch), int64(s.Age)
	bad := func(want, got string) error {
		return &errs.Error{Kind: errs.Mismatch, Op: "dali.ReaderOrder.Position", Want: want, Got: got,
			Remedy: "resume with the data set, seed, shards and batch size of the reader that was saved"}
	}
	if number < 0 || age < 0 || age >= r.shards.EpochLength(number) {
		return 0, bad(fmt.Sprintf("an age below %d", r.shards.EpochLength(max(number, 0))),
			fmt.Sprintf("epoch %d, age %d", number, age))
	}
	if r.options.RandomShuffle {
		if want := r.start(number).String(); s.RNG != want {
			return 0, bad(fmt.Sprintf("random state %s in epoch %d", want, number), strconv.Quote(s.RNG[:min(len(s.RNG), 20)]))
		}
	}
	return r.shards.Begin(number) + age, nil
}

// From returns the order in which DALI continues from a state, and the position in it, even if the
// state belongs to another reader. DALI takes the random state as it is, and skips age samples from
// the beginning of the epoch. Before that epoch the order is undefined. Negative epochs and ages
// count as 0. The error is of kind errs.Corrupt if the random state is not valid. A reader that
// does not shuffle continues without it; DALI's reader would shuffle forever.
func (r *ReaderOrder) From(s stateproto.Loader) (*ReaderOrder, int64, error) {
	var start libstdcxx.MinstdRand0
	if engine, err := s.Engine(); err == nil {
		start = libstdcxx.NewMinstdRand0(uint64(engine))
	} else if r.options.RandomShuffle {
		return nil, 0, err
	}
	number := int64(max(0, s.Epoch))
	n := &numbers{shards: r.shards, fill: int64(r.options.InitialFill), first: number, stride: 1,
		starts: []libstdcxx.MinstdRand0{start}}
	next := &ReaderOrder{options: r.options, shards: r.shards, list: r.list, numbers: n, resumed: r.resumedAt(s)}
	return next, r.shards.Begin(number) + int64(max(0, s.Age)), nil
}

// resumed is an epoch that continues with other batches than it began with. PadLastBatch fills the
// last of these batches, so the epoch has another length than an epoch that is read from its
// beginning.
type resumed struct{ epoch, length int64 } // length 0: no such epoch

// resumedAt returns how the epoch of a state continues. Batches begin at the position of the state.
func (r *ReaderOrder) resumedAt(s stateproto.Loader) resumed {
	number, age := int64(max(0, s.Epoch)), int64(max(0, s.Age))
	batch, most := r.shards.Pad, r.shards.Largest()
	if batch == 0 || age%batch == 0 || age >= most {
		return resumed{}
	}
	return resumed{number, age + (most-age+batch-1)/batch*batch}
}

// resumedFrom returns the order for a reader that continues from a state of r, with batches that
// begin there.
func (r *ReaderOrder) resumedFrom(s stateproto.Loader) *ReaderOrder {
	t := r.resumedAt(s)
	if t.length == 0 {
		return r
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := *r.numbers
	n.starts = slices.Clone(n.starts)
	return &ReaderOrder{options: r.options, shards: r.shards, list: r.list, numbers: &n, resumed: t}
}

// start returns the generator at the beginning of an epoch. It changes only with RandomShuffle.
func (r *ReaderOrder) start(number int64) libstdcxx.MinstdRand0 {
	if !r.options.RandomShuffle {
		number = r.numbers.first
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.numbers.start(number)
}
