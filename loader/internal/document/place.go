package document

import (
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// Place is the place of a run: everything that its state holds except the identity.
type Place struct {
	Epoch    int64
	Index    int64 // samples drawn in the epoch, over all ranks; for streams, items read
	Position int64 // samples drawn since the beginning
	Batch    int64 // batches of the epoch, empty ones included
	Step     int64 // batches since the beginning
	Since    int64 // batches handed out after this place, which must be made again

	Repeated int64 // samples repeated by ranks that had none of their own, over all ranks
	Own      bool  // other ranks may have handed out other batches: the state belongs to one rank
	Rank     int64 // the rank of a state that belongs to one rank
	Settle   int64 // all ranks agree every Settle steps; 0 means only at the end of the epoch

	Digest   state.Digest
	Coverage [2]Coverage // of the last epoch and of this one
	Covered  bool        // the parsed state has a coverage
	World    int64       // world size of the parsed state
	Sealed   bool        // the parsed state has a checksum
	Ahead    Window
	History  []Segment
	Spans    []Span // lengths of the data set; the first is the length at the start
	Ledger   faults.Ledger
	Reason   string // why the last sample of the ledger was skipped

	Draws           int64  // items drawn from the cursor of a sampler in the epoch
	Sampler, Cursor []byte // states of a sampler and of its cursor

	Turn    int64 // turn of the streams
	Streams []Stream
}

// Coverage counts the ids drawn in an epoch, in any order. The count, sum and exclusive or of the
// ids 0 to n-1 are known. So it shows whether an epoch has drawn each id exactly once.
type Coverage struct {
	Count int64 `json:"count"`
	Epoch int64 `json:"epoch"`
	Sum   int64 `json:"sum"` // modulo 2^63
	XOR   int64 `json:"xor"`
}

// Add adds ids to the coverage.
func (c *Coverage) Add(ids []int64) {
	sum, xor := c.Sum, c.XOR
	for _, id := range ids {
		sum += id
		xor ^= id
	}
	c.Count += int64(len(ids))
	c.Sum, c.XOR = sum&(1<<63-1), xor
}

// Segment is the beginning of batches of another size.
type Segment struct{ Step, Position, Global int64 }

// MaxSegments is how many changes of the batch size a state holds.
const MaxSegments = 8

// Span is a length of the data set: the epoch from which on it is valid, the number of samples, and
// the position of an endless order at which that epoch begins.
type Span struct{ Epoch, Samples, Start int64 }

// maxSpans is how many changes of the length a state holds.
const maxSpans = 32

// SpanOf returns the span of an epoch.
func (p *Place) SpanOf(epoch int64) Span {
	s := p.Spans[0]
	for _, next := range p.Spans[1:] {
		if next.Epoch <= epoch {
			s = next
		}
	}
	return s
}

// Begun reports whether a sample of the epoch was drawn.
func (p *Place) Begun() bool {
	return p.Index > 0 || p.Batch > 0 || len(p.Ahead.Bits) > 0
}

// Grow records that the data set has another length: from this epoch on if no sample of it was
// drawn, else from the next one on.
func (p *Place) Grow(samples int64) {
	epoch := p.Epoch
	if p.Begun() {
		epoch++
	}
	for len(p.Spans) > 0 && p.Spans[len(p.Spans)-1].Epoch >= epoch && (len(p.Spans) > 1 || epoch == 0) {
		p.Spans = p.Spans[:len(p.Spans)-1]
	}
	next := Span{Epoch: epoch, Samples: samples}
	if len(p.Spans) > 0 {
		last := p.Spans[len(p.Spans)-1]
		if last.Samples == samples {
			return
		}
		next.Start = last.Start + (epoch-last.Epoch)*last.Samples
	}
	if len(p.Spans) == maxSpans {
		p.Spans = p.Spans[:copy(p.Spans, p.Spans[1:])]
	}
	p.Spans = append(p.Spans, next)
}

// Window records which batches were handed out beyond the place if batches come out of order. Bit i
// says that the batch i after the place was handed out.
type Window struct {
	Global, World int64 // size of these batches, and number of ranks
	Bits          []bool
}

// Stream is the state of a stream.
type Stream struct {
	Items             int64
	Ended             bool
	Dataset, Iterator []byte
}

// Bounds of the ledger in a state.
const (
	MaxSkipped = 8
	maxReason  = 100
)

// Note adds faults to the ledger.
func (p *Place) Note(failed []faults.Fault) {
	for _, f := range failed {
		p.Ledger.Add(f, MaxSkipped)
		p.Reason = CutText(f.Reason, maxReason)
	}
}

// Clone returns a copy that shares no memory that changes.
func (p *Place) Clone() Place {
	c := *p
	c.Ahead.Bits = append([]bool(nil), p.Ahead.Bits...)
	c.History = append([]Segment(nil), p.History...)
	c.Spans = append([]Span(nil), p.Spans...)
	c.Ledger.Last = append([]faults.Fault(nil), p.Ledger.Last...)
	c.Streams = append([]Stream(nil), p.Streams...)
	return c
}

// NextEpoch moves to the start of the next epoch, which begins at position. A data set with a state
// keeps its state, even if it is its own iterator.
func (p *Place) NextEpoch(position int64, stateful bool) {
	p.Epoch++
	p.Index, p.Batch, p.Draws, p.Turn, p.Position = 0, 0, 0, 0, position
	p.Cursor = nil
	p.Ahead.Bits = p.Ahead.Bits[:0]
	p.Coverage[0], p.Coverage[1] = p.Coverage[1], Coverage{Epoch: p.Epoch}
	for i := range p.Streams {
		s := &p.Streams[i]
		if stateful && s.Dataset == nil {
			s.Dataset = s.Iterator
		}
		s.Items, s.Ended, s.Iterator = 0, false, nil
	}
}

// CutText returns at most n bytes of a text, in whole characters.
func CutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
