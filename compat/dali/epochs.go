package dali

import (
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// epoch holds the samples that an epoch delivers, without padding.
type epoch struct {
	number int64
	ids    []int32
	list   []int32 // with ShuffleAfterEpoch: the list of which ids are a part
}

// epoch returns an epoch, from the cache or computed.
func (r *ReaderOrder) epoch(number int64) *epoch {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, e := range r.recent {
		if e != nil && e.number == number {
			r.recent[0], r.recent[i] = e, r.recent[0]
			return e
		}
	}
	e := &epoch{number: number}
	first, last := r.shards.First(r.shards.Of(number)), r.shards.First(r.shards.Of(number)+1)
	if r.options.ShuffleAfterEpoch {
		e.list = r.shuffled(number)
		e.ids = e.list[first:last]
	}
	if r.options.RandomShuffle {
		e.ids = r.picked(number, first, last, e.ids)
	}
	r.recent[0], r.recent[1] = e, r.recent[0]
	return e
}

// shuffled returns the list that ShuffleAfterEpoch makes for an epoch. Without checkpointing it
// continues from the latest kept list that is not after the epoch.
func (r *ReaderOrder) shuffled(number int64) []int32 {
	if r.options.Container {
		return r.shuffledFiles(number)
	}
	list, from := identity(r.options.Samples), int64(0)
	if r.options.Checkpointing {
		from = number
	} else if before := r.before(number); before != nil {
		copy(list, before.list)
		from = before.number + 1
	}
	for e := from; e <= number; e++ {
		g := libstdcxx.NewMT19937x64(uint64(*r.options.ShuffleSeed) + uint64(e+1)<<32)
		libstdcxx.Shuffle(&g, list)
	}
	return list
}

// shuffledFiles returns the list of a reader of containers: the samples of its files, which are
// shuffled.
func (r *ReaderOrder) shuffledFiles(number int64) []int32 {
	sizes := r.options.Files
	files, starts := identity(int64(len(sizes))), make([]int32, len(sizes))
	for i := 1; i < len(sizes); i++ {
		starts[i] = starts[i-1] + int32(sizes[i-1])
	}
	g := libstdcxx.NewMT19937x64(uint64(*r.options.ShuffleSeed) + uint64(number+1)<<32)
	libstdcxx.Shuffle(&g, files)
	list := make([]int32, 0, r.options.Samples)
	for _, f := range files {
		for i := range int32(sizes[f]) {
			list = append(list, starts[f]+i)
		}
	}
	return list
}

func (r *ReaderOrder) before(number int64) *epoch {
	var best *epoch
	for _, e := range r.recent {
		if e != nil && e.number < number && (best == nil || e.number > best.number) {
			best = e
		}
	}
	return best
}

// picked returns a part of the list as RandomShuffle picks from it in an epoch. list has the part
// if each epoch has a list of its own.
func (r *ReaderOrder) picked(number, first, last int64, list []int32) []int32 {
	ids := make([]int32, last-first)
	switch {
	case list != nil:
		copy(ids, list)
	case r.list != nil:
		copy(ids, r.list[first:last])
	default:
		for i := range ids {
			ids[i] = int32(first) + int32(i)
		}
	}
	g := r.numbers.start(number)
	r.numbers.draw(&g, int64(len(ids)), func(i, offset int64) {
		ids[i], ids[i+offset] = ids[i+offset], ids[i]
	})
	return ids
}

func identity(n int64) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// keptNumbers bounds the states that numbers keeps, to 4 bytes each.
const keptNumbers = 1 << 12

// numbers is the generator of RandomShuffle at the beginning of each epoch. It keeps the state at
// every stride-th epoch that was reached, and doubles the stride if there are too many.
type numbers struct {
	shards order.Shards
	fill   int64
	first  int64 // the epoch before which nothing is known
	stride int64
	starts []libstdcxx.MinstdRand0 // of epochs first, first+stride, first+2*stride, …
}

// start returns the generator as it is when an epoch begins.
func (n *numbers) start(number int64) libstdcxx.MinstdRand0 {
	k := min(max(0, number-n.first)/n.stride, int64(len(n.starts)-1))
	g := n.starts[k]
	for e := n.first + k*n.stride; e < number; {
		n.draw(&g, n.shards.Size(e), nil)
		if e++; e == n.first+int64(len(n.starts))*n.stride {
			n.keep(g)
		}
	}
	return g
}

func (n *numbers) keep(g libstdcxx.MinstdRand0) {
	n.starts = append(n.starts, g)
	if len(n.starts) < keptNumbers {
		return
	}
	for i := range len(n.starts) / 2 {
		n.starts[i] = n.starts[2*i]
	}
	n.starts = n.starts[:len(n.starts)/2]
	n.stride *= 2
}

// draw draws the numbers of an epoch of the given size. Each number picks among the samples that
// are left, or the first fill of them. pick may be nil.
func (n *numbers) draw(g *libstdcxx.MinstdRand0, size int64, pick func(i, offset int64)) {
	i := int64(0)
	if whole := size - n.fill + 1; pick == nil && whole > 0 {
		g.DiscardInts(uint64(whole), uint32(n.fill-1))
		i = whole
	}
	for ; i < size; i++ {
		offset := libstdcxx.UniformInt(g, 0, min(n.fill, size-i)-1)
		if pick != nil {
			pick(i, offset)
		}
	}
}
