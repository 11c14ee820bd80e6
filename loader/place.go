package loader

import (
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// place is where a run stands: all that its state remembers but the identity.
type place struct {
	epoch    int64
	index    int64 // samples drawn in the epoch, over all ranks; of streams, items read
	position int64 // samples drawn since the beginning
	batch    int64 // batches of the epoch, counting those that were empty
	step     int64 // batches since the beginning
	since    int64 // batches handed out after this place, which are to be made again

	repeated int64 // what ranks repeated that had nothing of their own, over all ranks
	own      bool  // other ranks have, or may have, handed out other batches: the state is one rank's
	rank     int64 // of an own state that was read
	settle   int64 // every how many steps of an own place all ranks have the same; 0: not before the epoch ends

	digest   state.Digest
	coverage [2]coverage // of the last epoch and of this one
	covered  bool        // the state that was read has a coverage
	world    int64       // of the state that was read
	sealed   bool        // it has a checksum
	ahead    window
	history  []segment
	spans    []span // lengths of the data set; the first is that of the start
	ledger   faults.Ledger
	reason   string // why the last sample of the ledger was skipped

	draws           int64  // items drawn from the cursor of a sampler in the epoch
	sampler, cursor []byte // states of a sampler and of its cursor

	turn    int64 // of the streams
	streams []streamPlace
}

// coverage is a count of the ids drawn in an epoch, whatever their order: count, sum
// and exclusive or of the ids 0 to n-1 are known, so that an epoch that has drawn
// each exactly once can be told.
type coverage struct {
	epoch           int64
	count, sum, xor int64 // sum modulo 2^63
}

func (c *coverage) add(ids []int64) {
	sum, xor := c.sum, c.xor
	for _, id := range ids {
		sum += id
		xor ^= id
	}
	c.count += int64(len(ids))
	c.sum, c.xor = sum&(1<<63-1), xor
}

// segment begins where batches have another size than before.
type segment struct{ step, position, global int64 }

// mostSegments is how many changes of the batch size are remembered.
const mostSegments = 8

// span is from which epoch on the data set has had how many samples, and at which
// position of an endless order that epoch begins.
type span struct{ epoch, samples, start int64 }

// mostSpans is how many changes of the length are remembered.
const mostSpans = 32

// spanOf returns the span of an epoch.
func (p *place) spanOf(epoch int64) span {
	s := p.spans[0]
	for _, next := range p.spans[1:] {
		if next.epoch <= epoch {
			s = next
		}
	}
	return s
}

// begun reports whether something of the epoch was drawn.
func (p *place) begun() bool {
	return p.index > 0 || p.batch > 0 || len(p.ahead.bits) > 0
}

// grow notes that the data set has another length: from this epoch on if nothing of it was
// drawn, else from the next one on.
func (p *place) grow(samples int64) {
	epoch := p.epoch
	if p.begun() {
		epoch++
	}
	for len(p.spans) > 0 && p.spans[len(p.spans)-1].epoch >= epoch && (len(p.spans) > 1 || epoch == 0) {
		p.spans = p.spans[:len(p.spans)-1]
	}
	next := span{epoch: epoch, samples: samples}
	if len(p.spans) > 0 {
		last := p.spans[len(p.spans)-1]
		if last.samples == samples {
			return
		}
		next.start = last.start + (epoch-last.epoch)*last.samples
	}
	if len(p.spans) == mostSpans {
		p.spans = p.spans[:copy(p.spans, p.spans[1:])]
	}
	p.spans = append(p.spans, next)
}

// window is what was handed out beyond the place when batches come out of order:
// bit i says that the batch i after it was.
type window struct {
	global, world int64 // size of these batches, and of how many ranks
	bits          []bool
}

// streamPlace is where a stream stands.
type streamPlace struct {
	items             int64
	ended             bool
	dataset, iterator []byte
}

// What a state keeps of the ledger.
const (
	mostSkipped   = 8
	longestReason = 100
)

// note puts faults into the ledger.
func (p *place) note(failed []faults.Fault) {
	for _, f := range failed {
		p.ledger.Add(f, mostSkipped)
		p.reason = cutText(f.Reason, longestReason)
	}
}

// clone returns a place that shares nothing that changes.
func (p *place) clone() place {
	c := *p
	c.ahead.bits = append([]bool(nil), p.ahead.bits...)
	c.history = append([]segment(nil), p.history...)
	c.spans = append([]span(nil), p.spans...)
	c.ledger.Last = append([]faults.Fault(nil), p.ledger.Last...)
	c.streams = append([]streamPlace(nil), p.streams...)
	return c
}

// nextEpoch moves to the start of the next epoch; position is where it begins. A
// data set with a state keeps it, also one that is its own iterator.
func (p *place) nextEpoch(position int64, stateful bool) {
	p.epoch++
	p.index, p.batch, p.draws, p.turn, p.position = 0, 0, 0, 0, position
	p.cursor = nil
	p.ahead.bits = p.ahead.bits[:0]
	p.coverage[0], p.coverage[1] = p.coverage[1], coverage{epoch: p.epoch}
	for i := range p.streams {
		s := &p.streams[i]
		if stateful && s.dataset == nil {
			s.dataset = s.iterator
		}
		s.items, s.ended, s.iterator = 0, false, nil
	}
}

// cutText returns at most n bytes of a text, in whole characters.
func cutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
