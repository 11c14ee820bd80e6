package order

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

func asError(err error, target **errs.Error) bool { return errors.As(err, target) }

func (p *parser) sequential() (Order, error) {
	var n int64
	err := p.read("n=", &n)
	return Sequential(n), err
}

func (p *parser) cycle() (Order, error) {
	var n int64
	err := p.read("n=", &n)
	return NewCycle(n), err
}

func (p *parser) permutation() (Order, error) {
	v := version{newest: Version}
	var n int64
	var key hash
	if err := p.read("v", &v, " n=", &n, " key=", &key); err != nil {
		return nil, err
	}
	o := makePermutation(v.n, n, uint64(key))
	return &o, nil
}

func (p *parser) shuffled() (Order, error) {
	v := version{newest: Version}
	var n int64
	var seed uint64
	var domain quoted
	if err := p.read("v", &v, " n=", &n, " seed=", &seed, " domain=", &domain); err != nil {
		return nil, err
	}
	return newShuffled(v.n, n, seed, string(domain)), nil
}

func (p *parser) windows() (Order, error) {
	v := version{newest: Version}
	var shards, n, window int64
	var sum hash
	var seed uint64
	var domain quoted
	if err := p.read("v", &v, " shards=", &shards, ":", &sum, " n=", &n, " window=", &window, " seed=", &seed, " domain=", &domain); err != nil {
		return nil, err
	}
	if shards < 0 || n < 0 {
		return nil, notAnOrder(p.text)
	}
	sizes, ok := p.sizes(shards, n, uint64(sum))
	if !ok {
		return NewCycle(n), nil
	}
	o, err := NewWindows(sizes, window, seed, string(domain))
	if err != nil {
		return nil, err
	}
	return o.again(v.n, o.domain), nil
}

func (p *parser) mixture() (Order, error) {
	v := version{newest: Version}
	var exhaustion int
	err := p.read("v", &v, " exhaustion=", &exhaustion)
	if err != nil {
		return nil, err
	}
	var phases []Phase
	for p.skips(" ") {
		phase := Phase{}
		if err := p.read(&phase.From, ":["); err != nil {
			return nil, err
		}
		for _, w := range strings.Split(p.until("]"), " ") {
			weight, err := strconv.ParseFloat(w, 64)
			if err != nil {
				return nil, notAnOrder(p.text)
			}
			phase.Weights = append(phase.Weights, weight)
		}
		if err := p.expect("]"); err != nil {
			return nil, err
		}
		phases = append(phases, phase)
	}
	var sources []Source
	var blocks []idBlock
	for p.skips("; ") && len(sources) <= maxSources {
		if p.skips("ids") {
			if blocks, err = p.blocks(len(sources)); err != nil {
				return nil, err
			}
			break
		}
		var s Source
		if err := p.read(&s.Samples, " of ", &s.Order); err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	if len(phases) == 0 || phases[0].From != 0 || len(phases[0].Weights) != len(sources) || exhaustion < 0 || exhaustion > int(CycleOn) {
		return nil, notAnOrder(p.text)
	}
	if p.weights += len(phases); exhaustion == int(DropEnded) {
		p.weights += len(sources)
	}
	if p.weights > mostWeights {
		return nil, &errs.Error{Kind: errs.Exhausted, Want: fmt.Sprintf("mixtures with at most %d sets of weights together", mostWeights)}
	}
	for i, w := range phases[0].Weights {
		sources[i].Weight = w
	}
	m := &Mixture{sources: sources, version: v.n, blocks: blocks}
	if err := m.init(Exhaustion(exhaustion), phases[1:]); err != nil {
		return nil, err
	}
	return m, nil
}

// blocks reads which ids of a mixture are of which of its sources.
func (p *parser) blocks(sources int) (blocks []idBlock, err error) {
	for p.skips(" ") {
		var b idBlock
		if err := p.read(&b.source, ":", &b.n); err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	if len(blocks) <= sources {
		return nil, notAnOrder(p.text) // ids of sources that simply follow each other are not written
	}
	return blocks, nil
}

// grown reads the order of a source that got more samples.
func (p *parser) grown() (Order, error) {
	var stages []grownStage
	for !p.skips("of ") {
		var s grownStage
		if err := p.read(&s.pass, ":", &s.samples, " "); err != nil {
			return nil, err
		}
		stages = append(stages, s)
	}
	var below Order
	if err := p.read(&below); err != nil || len(p.missing) > 0 {
		return below, err
	}
	if p.shards -= int64(len(stages)) * shardsOf(below); p.shards < 0 || len(stages) > mostStages {
		return nil, &errs.Error{Kind: errs.Exhausted, Want: fmt.Sprintf("orders that grew at most %d times, of few shards", mostStages-1)}
	}
	return errOr(newGrown(below, stages))
}

// shardsOf returns the number of shards that an order has, each of which takes memory.
func shardsOf(o Order) int64 {
	switch o := o.(type) {
	case *Windows:
		return int64(len(o.first))
	case *Packs:
		return shardsOf(o.order)
	case *Buckets:
		return shardsOf(o.order)
	case *Selected:
		return shardsOf(o.order)
	case *Filtered:
		return shardsOf(o.order)
	}
	return 0
}

func (p *parser) packs() (Order, error) {
	v := version{newest: plannedVersion}
	var o PackOptions
	if err := p.read("v", &v, " capacity=", &o.Capacity, " block=", &o.Block, " most=", &o.Most, " padded=", &o.Padded, " "); err != nil {
		return nil, err
	}
	below, lengths, err := p.overLengths()
	if err != nil || lengths == nil {
		return below, err
	}
	return errOr(NewPacks(below, lengths, o))
}

func (p *parser) buckets() (Order, error) {
	v := version{newest: plannedVersion}
	var batch, block int64
	if err := p.read("v", &v, " batch=", &batch, " block=", &block, " bounds=["); err != nil {
		return nil, err
	}
	var bounds []int64
	if !p.skips("] ") {
		for _, b := range strings.Split(p.until("]"), " ") {
			bound, err := strconv.ParseInt(b, 10, 64)
			if err != nil {
				return nil, notAnOrder(p.text)
			}
			bounds = append(bounds, bound)
		}
		if err := p.expect("] "); err != nil {
			return nil, err
		}
	}
	below, lengths, err := p.overLengths()
	if err != nil || lengths == nil {
		return below, err
	}
	return errOr(NewBuckets(below, lengths, bounds, batch, block))
}

// overLengths reads lengths and the order that they belong to. If the lengths are missing, it
// returns nil for them and reads on, to find all missing tables.
func (p *parser) overLengths() (below Order, lengths *Lengths, err error) {
	start := p.at
	var n int64
	var sum hash
	if err := p.read("lengths(n=", &n, " hash=", &sum, ")"); err != nil {
		return nil, nil, err
	}
	lengths = p.lengths(p.text[start:p.at], n)
	return below, lengths, p.read(" of ", &below)
}

func (p *parser) selected() (Order, error) {
	below, s, _, err := p.overSelection()
	if err != nil || s == nil {
		return below, err
	}
	return NewSelected(below, s), nil
}

func (p *parser) filtered() (Order, error) {
	below, s, count, err := p.overSelection()
	if err != nil {
		return nil, err
	}
	epochs, ok := below.(Epochs)
	switch {
	case !ok:
		return nil, notAnOrder(p.text)
	case s == nil:
		return NewCycle(count), nil
	}
	return errOr(NewFiltered(epochs, s))
}

// overSelection reads a selection, with the number of ids that it has, and the order that
// it is of. A selection that is missing is nil.
func (p *parser) overSelection() (below Order, s *Selection, count int64, err error) {
	start := p.at
	var n int64
	var sum hash
	if err := p.read("selection(", &count, "/", &n, " hash=", &sum, ")"); err != nil {
		return nil, nil, 0, err
	}
	s = p.selection(p.text[start:p.at], n)
	return below, s, count, p.read(" of ", &below)
}

func (p *parser) segments() (Order, error) {
	var segments []Segment
	end := int64(0)
	for more := true; more; more = p.skips("; ") {
		var s Segment
		if err := p.read(&s.First, "+", &s.Len, " of ", &s.Order); err != nil {
			return nil, err
		}
		segments = append(segments, s)
		end += s.Len
	}
	// An endless piece at the end was given without a length; it is written with the largest.
	last := &segments[len(segments)-1]
	if _, ends := last.Order.Len(); !ends && last.Len == math.MaxInt64-max(end-last.Len, last.First) {
		last.Len = 0
	}
	return errOr(NewSegments(segments...))
}

func (p *parser) repeat() (Order, error) {
	var epochs int64
	var below Order
	if err := p.read("epochs=", &epochs, " of ", &below); err != nil {
		return nil, err
	}
	return errOr(Repeat(below, epochs))
}

func (p *parser) rank() (Order, error) {
	var rank, world, size int64
	var below Order
	if err := p.read(&rank, "/", &world, " of batches(size=", &size, " tail="); err != nil {
		return nil, err
	}
	tail, err := ParseTail(p.until(" "))
	if err != nil {
		return nil, notAnOrder(p.text)
	}
	if err := p.read(" of ", &below, ")"); err != nil {
		return nil, err
	}
	b, err := NewBatches(below, size, tail)
	if err != nil {
		return nil, err
	}
	return errOr(NewRank(b, rank, world))
}

func (p *parser) shard() (Order, error) {
	var batch, rank, world int
	var below Order
	if err := p.read("batch=", &batch, " rank=", &rank, "/", &world, " of ", &below); err != nil {
		return nil, err
	}
	return errOr(NewShard(below, batch, rank, world))
}

func (p *parser) sharded() (Order, error) {
	var s Shards
	var below Order
	if err := p.read("shard=", &s.ID, "/", &s.Count, " pad=", &s.Pad, " stick=", &s.Stick, " of ", &below); err != nil {
		return nil, err
	}
	e, ok := below.(Epochs)
	if !ok {
		return nil, notAnOrder(p.text)
	}
	s.Samples = e.EpochLen()
	return errOr(NewSharded(below, s))
}

// errOr returns an order of any type, or the error.
func errOr[O Order](o O, err error) (Order, error) {
	if err != nil {
		return nil, err
	}
	return o, nil
}
