package order

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// Packer is an order in which samples that belong to one pack follow each other.
type Packer interface {
	Order
	// Pack returns the positions [first, first+n) of the pack that contains pos, which must be >= 0.
	// ok is false after the end. The next pack begins at first+n.
	Pack(pos int64) (first, n int64, ok bool)
}

// PackOptions configure the packs.
type PackOptions struct {
	Capacity int64 // how much length a pack holds, at least 1
	Block    int64 // positions of a block, which is packed by itself; 0 means 1024
	Most     int64 // most samples of a pack; 0 means no limit
	// Padded counts every sample of a pack with the length of the longest one.
	Padded bool
}

// Packs is an order in which samples that fit into one pack follow each other. It has the positions
// and epochs of the order below: samples change places only within a block of positions. So the
// state is the position of the first sample of a pack. To find a position, Packs packs the block
// that contains it, which takes about Block*log(Block) steps and 12 bytes a position. The latest
// block is cached.
//
// Packs are filled by best fit, longest sample first, and come in the order of their first sample
// below. With Padded, a pack is a run of samples sorted by length. A sample that exceeds the
// capacity has its own pack. Packs is immutable except for the cached block, and safe for
// concurrent use.
type Packs struct {
	planned
	lengths *Lengths
	options PackOptions
}

// NewPacks packs the samples of an order by their lengths. The error is of kind errs.Invalid if an
// option is out of bounds.
func NewPacks(o Order, lengths *Lengths, options PackOptions) (*Packs, error) {
	if options.Block == 0 {
		options.Block = 1024
	}
	if options.Most == 0 {
		options.Most = math.MaxInt64
	}
	if options.Capacity < 1 || options.Capacity > math.MaxInt64/maxBlock || options.Most < 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "order.NewPacks",
			Want: "a capacity of at least 1 and at least 0 samples a pack", Got: fmt.Sprintf("%+v", options)}
	}
	p := &Packs{lengths: lengths, options: options}
	var err error
	p.planned, err = makePlanned("order.NewPacks", o, options.Block, 1, p.plan())
	return p, err
}

func (p *Packs) plan() func(ids []int64) []int32 {
	if p.options.Padded {
		return p.runs
	}
	return p.bestFit
}

// over returns the same packs over another order.
func (p *Packs) over(o Order) *Packs {
	next := &Packs{lengths: p.lengths, options: p.options}
	next.planned.order, next.epoch, next.block, next.planned.plan = o, p.epoch, p.block, next.plan()
	return next
}

// longestFirst returns the places of ids, sorted by length, longest first. Equal lengths keep their
// order.
func (p *Packs) longestFirst(ids []int64) []int32 {
	keys := make([]uint64, len(ids))
	for place, id := range ids {
		keys[place] = uint64(math.MaxInt32-p.lengths.Of(id))<<32 | uint64(place)
	}
	slices.Sort(keys)
	places := make([]int32, len(ids))
	for i, key := range keys {
		places[i] = int32(key)
	}
	return places
}

// bestFit plans packs that are as full as the sum of the lengths of their samples.
func (p *Packs) bestFit(ids []int64) []int32 {
	var packs [][]int32
	var open keySet // packs with room for more: room<<blockBits | pack
	for _, place := range p.longestFirst(ids) {
		n := p.lengths.Of(ids[place])
		pack, room := len(packs), p.options.Capacity
		if key, ok := open.takeFrom(uint64(n) << blockBits); ok {
			pack, room = int(key%maxBlock), int64(key>>blockBits)
		} else {
			packs = append(packs, make([]int32, 0, 4))
		}
		packs[pack] = append(packs[pack], place)
		if room -= n; room >= 0 && int64(len(packs[pack])) < p.options.Most {
			open.add(uint64(room)<<blockBits | uint64(pack))
		}
	}
	return arrange(ids, packs, len(packs))
}

// runs plans packs that are as full as their longest length times the number of their samples.
func (p *Packs) runs(ids []int64) []int32 {
	var packs [][]int32
	longest := int64(0)
	for _, place := range p.longestFirst(ids) {
		last := len(packs) - 1
		if last < 0 || int64(len(packs[last])+1)*longest > p.options.Capacity || int64(len(packs[last])) >= p.options.Most {
			longest = p.lengths.Of(ids[place])
			packs, last = append(packs, nil), last+1
		}
		packs[last] = append(packs[last], place)
	}
	return arrange(ids, packs, len(packs))
}

// Pack implements Packer.
func (p *Packs) Pack(pos int64) (first, n int64, ok bool) { return p.group(pos) }

// Fill implements Order.
func (p *Packs) Fill(pos int64, dst []int64) int { return p.fill(pos, dst) }

// Len implements Order.
func (p *Packs) Len() (n int64, ok bool) { return p.order.Len() }

// EpochLen implements Epochs.
func (p *Packs) EpochLen() int64 { return p.epoch }

// String implements Order.
func (p *Packs) String() string { return p.describe(p.lengths, p.order.String()) }

// describe returns the String of these packs over an order with the description below and these
// lengths.
func (p *Packs) describe(lengths *Lengths, below string) string {
	o := p.options
	return fmt.Sprintf("packs(v%d capacity=%d block=%d most=%d padded=%t %s of %s)", plannedVersion, o.Capacity, o.Block, o.Most, o.Padded, lengths, below)
}
