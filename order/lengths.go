package order

import (
	"fmt"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
)

// Lengths holds the lengths of samples by id, in tokens or another unit of capacity.
type Lengths struct {
	of   []int32
	hash uint64
}

// NewLengths returns Lengths that own the slice. The error is of kind errs.Invalid if a length is
// negative.
func NewLengths(of []int32) (*Lengths, error) {
	l := &Lengths{of: of, hash: uint64(len(of))}
	for id, n := range of {
		if n < 0 {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "order.NewLengths", Want: "lengths of at least 0",
				Got: fmt.Sprintf("%d of id %d", n, id)}
		}
		l.hash = rng.Mix(l.hash ^ uint64(n))
	}
	return l, nil
}

// Of returns the length of an id, or 0 if the id has no length.
func (l *Lengths) Of(id int64) int64 {
	if id < 0 || id >= int64(len(l.of)) {
		return 0
	}
	return int64(l.of[id])
}

// String describes the lengths. Equal strings mean equal lengths, unless hashes of 64 bits collide.
func (l *Lengths) String() string { return fmt.Sprintf("lengths(n=%d hash=%016x)", len(l.of), l.hash) }

// maxBlock bounds the positions that are planned together.
const (
	blockBits = 20
	maxBlock  = 1 << blockBits
)

// planned is an order that rearranges blocks of positions of another order, each block by itself.
// To find the id at a position it plans only the block of the position. No block crosses the end of
// an epoch.
type planned struct {
	order  Order
	epoch  int64
	block  int64
	plan   func(ids []int64) []int32
	latest atomic.Pointer[blockPlan]
}

// blockPlan is a rearranged block: its ids in their new order, and where its groups end.
type blockPlan struct {
	first int64 // the position of its first id
	ids   []int64
	ends  []int32
}

func makePlanned(op string, o Order, block, least int64, plan func([]int64) []int32) (planned, error) {
	if block < least || block > maxBlock || block < 1 {
		return planned{}, &errs.Error{Kind: errs.Invalid, Op: op, Want: fmt.Sprintf("blocks of %d to %d positions", max(least, 1), maxBlock), Got: fmt.Sprint(block)}
	}
	return planned{order: o, epoch: epochLen(o), block: block, plan: plan}, nil
}

// at returns the block of a position, or nil after the end.
func (p *planned) at(pos int64) *blockPlan {
	if pos < 0 || p.epoch == 0 {
		return nil
	}
	epoch, i := pos/p.epoch, pos%p.epoch
	first := epoch*p.epoch + i - i%p.block
	if latest := p.latest.Load(); latest != nil && latest.first == first {
		return latest
	}
	b := &blockPlan{first: first, ids: make([]int64, min(p.block, p.epoch-(i-i%p.block)))}
	b.ids = b.ids[:p.order.Fill(first, b.ids)]
	if len(b.ids) == 0 {
		return nil
	}
	b.ends = p.plan(b.ids)
	p.latest.Store(b)
	return b
}

// fill implements Order.Fill.
func (p *planned) fill(pos int64, dst []int64) int {
	done := 0
	for done < len(dst) {
		b := p.at(pos + int64(done))
		if b == nil {
			break
		}
		at := pos + int64(done) - b.first
		if at >= int64(len(b.ids)) {
			break
		}
		done += copy(dst[done:], b.ids[at:])
	}
	return done
}

// group returns the positions [first, first+n) of the group that contains a position.
func (p *planned) group(pos int64) (first, n int64, ok bool) {
	b := p.at(pos)
	if b == nil || pos-b.first >= int64(len(b.ids)) {
		return 0, 0, false
	}
	g := sort.Search(len(b.ends), func(i int) bool { return int64(b.ends[i]) > pos-b.first })
	if g > 0 {
		first = int64(b.ends[g-1])
	}
	return b.first + first, int64(b.ends[g]) - first, true
}

// arrange rearranges ids into groups and returns where each group ends. A group is a list of places
// in ids. The first movable groups are sorted by their first place.
func arrange(ids []int64, groups [][]int32, movable int) []int32 {
	for _, g := range groups {
		slices.Sort(g)
	}
	slices.SortFunc(groups[:movable], func(a, b []int32) int { return int(a[0]) - int(b[0]) })
	old, ends, at := slices.Clone(ids), make([]int32, len(groups)), 0
	for i, g := range groups {
		for _, place := range g {
			ids[at] = old[place]
			at++
		}
		ends[i] = int32(at)
	}
	return ends
}
