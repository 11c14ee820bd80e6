package order

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
)

// Windows is an endless shuffle for storage that is read shard by shard. In every epoch the shards
// are permuted and divided into windows of that many shards. The samples of each window are
// shuffled together, so at most one window of shards is open at a time:
//
//	shards in their order   4 1 7 │ 0 6 2 │ 3 5         window 3
//	ids                     of 4, 1 and 7 mixed │ of 0, 6 and 2 mixed │ …
//
// Each epoch has every id once. Windows seeks in logarithmic time. If shards differ in size (other
// than a shorter last shard), the first use of an epoch makes a table of 8 bytes a shard, which
// takes as long as permuting the shards. The latest two tables are cached. Windows is immutable
// except for these tables, and safe for concurrent use.
type Windows struct {
	version  int
	first    []int64 // first id of each shard, and the end of the last
	window   int64
	seed     uint64
	domain   string
	shards   uint64 // base of the keys of permutations of shards
	samples  uint64 // base of the keys of permutations within windows
	uniform  bool
	hash     uint64
	epochs   [2]atomic.Pointer[shardOrder]
	capacity int64 // samples of a shard, if uniform
}

// NewWindows returns the order of shards of the given sizes. The ids of a shard follow the ids of
// the shard before. The error is of kind errs.Invalid if window < 1 or if a size is negative.
func NewWindows(sizes []int64, window int64, seed uint64, domain string) (*Windows, error) {
	w := &Windows{version: Version, first: make([]int64, 1, len(sizes)+1), window: window, seed: seed, domain: domain,
		shards: base(seed, domain+"/shards"), samples: base(seed, domain+"/windows"), uniform: true}
	invalid := func(want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "order.NewWindows", Want: want, Got: got}
	}
	if window < 1 {
		return nil, invalid("a window of at least 1 shard", fmt.Sprint(window))
	}
	n := int64(0)
	for i, size := range sizes {
		if size < 0 || size > math.MaxInt64-n {
			return nil, invalid("sizes of at least 0, with a sum below 2^63", fmt.Sprintf("%d of shard %d", size, i))
		}
		n += size
		w.first = append(w.first, n)
		w.hash = rng.Mix(w.hash ^ uint64(size))
		w.uniform = w.uniform && (size == sizes[0] || i == len(sizes)-1 && size < sizes[0])
	}
	if len(sizes) > 0 {
		w.capacity = sizes[0]
	}
	return w, nil
}

// again returns the same windows under another version and domain.
func (w *Windows) again(version int, domain string) *Windows {
	return &Windows{version: version, first: w.first, window: w.window, seed: w.seed, domain: domain,
		shards: base(w.seed, domain+"/shards"), samples: base(w.seed, domain+"/windows"), uniform: w.uniform, hash: w.hash, capacity: w.capacity}
}

// shardOrder is the order of the shards in an epoch.
type shardOrder struct {
	epoch  int64
	p      Permutation
	before []int64 // the number of samples before each place; nil if uniform
	// If uniform: the place of the last shard, and how many samples it lacks.
	last, missing int64
}

// of returns the order of the shards in an epoch.
func (w *Windows) of(epoch int64) *shardOrder {
	kept := &w.epochs[epoch&1]
	if o := kept.Load(); o != nil && o.epoch == epoch {
		return o
	}
	k := int64(len(w.first) - 1)
	o := &shardOrder{epoch: epoch, p: makePermutation(w.version, k, epochKey(w.shards, epoch))}
	if w.uniform {
		o.last, o.missing = o.p.Inverse(k-1), w.capacity-(w.first[k]-w.first[k-1])
	} else {
		o.before = make([]int64, k+1)
		o.p.Fill(0, o.before[1:])
		sum := int64(0)
		for i, shard := range o.before[1:] {
			sum += w.first[shard+1] - w.first[shard]
			o.before[i+1] = sum
		}
	}
	kept.Store(o)
	return o
}

// before returns the number of samples before a place in the order of the shards.
func (w *Windows) before(o *shardOrder, place int64) int64 {
	if o.before != nil {
		return o.before[place]
	}
	n := place * w.capacity
	if place > o.last {
		n -= o.missing
	}
	return n
}

// span returns the number of the window that contains index i of the epoch, and the places [from,
// to) of its shards.
func (w *Windows) span(o *shardOrder, i int64) (number, from, to int64) {
	k := int64(len(w.first) - 1)
	number = int64(sort.Search(int((k-1)/w.window), func(n int) bool { return w.before(o, (int64(n)+1)*w.window) > i }))
	from = number * w.window
	return number, from, min(from+w.window, k)
}

// Fill implements Order.
func (w *Windows) Fill(pos int64, dst []int64) int {
	return fillEpochs(w.EpochLen(), pos, dst, func(epoch, i int64, part []int64) {
		o := w.of(epoch)
		for len(part) > 0 {
			filled := w.fillWindow(o, i, part)
			i, part = i+int64(filled), part[filled:]
		}
	})
}

// listed is the number of shards of a window that are looked up together.
const listed = 64

// fillWindow writes the ids from index i of an epoch to the end of a window.
func (w *Windows) fillWindow(o *shardOrder, i int64, dst []int64) int {
	number, from, to := w.span(o, i)
	first := w.before(o, from)
	n := w.before(o, to) - first
	p := makePermutation(w.version, n, epochKey(epochKey(w.samples, o.epoch), number))
	filled := p.Fill(i-first, dst)
	var shards, ends [listed]int64 // the shards of the window, if it has at most that many
	places := min(to-from, listed)
	if to-from <= listed && filled > int(places) {
		o.p.Fill(from, shards[:places])
		for m := range places {
			ends[m] = w.before(o, from+m+1) - first
		}
		for j, k := range dst[:filled] {
			m := int64(0)
			for step := int64(listed / 2); step > 0; step /= 2 {
				if next := m + step; next <= places-1 && ends[next-1] <= k {
					m = next
				}
			}
			begin := int64(0)
			if m > 0 {
				begin = ends[m-1]
			}
			dst[j] = w.first[shards[m]] + k - begin
		}
		return filled
	}
	for j, k := range dst[:filled] {
		place := from + int64(sort.Search(int(to-from-1), func(m int) bool { return w.before(o, from+int64(m)+1)-first > k }))
		dst[j] = w.first[o.p.At(place)] + first + k - w.before(o, place)
	}
	return filled
}

// Shards returns the shards of the window that contains a position (>= 0), in the order in which to
// open them, and the positions [first, first+n) of the window. For an empty order it returns
// nothing.
func (w *Windows) Shards(pos int64) (shards []int64, first, n int64) {
	length := w.EpochLen()
	if length == 0 || pos < 0 {
		return nil, 0, 0
	}
	o := w.of(pos / length)
	_, from, to := w.span(o, pos%length)
	shards = make([]int64, to-from)
	o.p.Fill(from, shards)
	first = w.before(o, from)
	return shards, pos/length*length + first, w.before(o, to) - first
}

// Len implements Order. The order never ends, except if it has no samples.
func (w *Windows) Len() (n int64, ok bool) { return 0, w.EpochLen() == 0 }

// EpochLen implements Epochs.
func (w *Windows) EpochLen() int64 { return w.first[len(w.first)-1] }

// String implements Order.
func (w *Windows) String() string {
	return fmt.Sprintf("windows(v%d shards=%d:%016x n=%d window=%d seed=%d domain=%s)", w.version, len(w.first)-1, w.hash, w.EpochLen(), w.window, w.seed, strconv.Quote(w.domain))
}
