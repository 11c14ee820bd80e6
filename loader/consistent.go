package loader

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/loader/internal/document"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// consistent returns an error for a place that contradicts itself. A state without a checksum may
// have been changed and would deliver other samples. A state with a checksum is as a loader wrote
// it. consistent takes constant time and draws no ids. Some numbers may disagree without damage: an
// epoch that was broken off advances only the epoch, and digest and coverage may be switched off
// for a while.
func (n *native) consistent(at *document.Place) error {
	if err := checkHistory(at); err != nil || at.Sealed {
		return err
	}
	s := n.setup
	if s.Iterable {
		return checkStreams(at, s)
	}
	if err := checkIndex(at, s); err != nil {
		return err
	}
	if s.Sampler != nil && at.Draws != at.Index {
		return document.Corrupt("extra.sampler.draws", fmt.Sprint(at.Index, ", as many as the index"), at.Draws)
	}
	if s.BatchSampler == nil && s.Sampler == nil && at.Draws != 0 {
		return document.Corrupt("extra.sampler", "none, for the order is no sampler's", at.Draws)
	}
	return n.checkPosition(at)
}

// checkHistory compares the steps and positions of the history with the step and position of the
// place.
func checkHistory(p *document.Place) error {
	if p.Batch > p.Step {
		return document.Corrupt("batch", fmt.Sprint("at most the ", p.Step, " steps"), p.Batch)
	}
	before := document.Segment{}
	for i, h := range p.History {
		if i == 0 && len(p.History) < document.MaxSegments && (h.Step != 0 || h.Position != 0) {
			return document.Corrupt("extra.history", "a first entry at step 0", fmt.Sprint(h.Step, ", ", h.Position))
		}
		if h.Global < 1 || h.Step < before.Step || h.Position < before.Position || h.Step > p.Step ||
			h.Position > p.Position {
			return document.Corrupt("extra.history", fmt.Sprintf("entries that rise, up to step %d and position %d", p.Step,
				p.Position), fmt.Sprint(h.Step, ", ", h.Position, ", ", h.Global))
		}
		before = h
	}
	return nil
}

// sizes returns the least and the most samples that a full batch after a step can have, if no batch
// that was drawn before the step can be left. ok is false if the history does not tell. The batches
// of a window keep their size when the loader continues with another size. So a segment can deliver
// batches long after the next segment has begun, but not in the next epoch.
func sizes(p *document.Place, step int64) (least, most int64, ok bool) {
	if len(p.History) == document.MaxSegments && p.History[0].Step >= step {
		return 0, 0, false // a forgotten segment may have delivered some of the batches
	}
	least = math.MaxInt64
	for i, h := range p.History {
		if i+1 == len(p.History) || p.History[i+1].Step >= step {
			least, most = min(least, h.Global), max(most, h.Global)
		}
	}
	return least, most, true
}

// batchBounds returns the least and the most batches that the epoch can have had. ok is false if
// the history does not tell.
func batchBounds(p *document.Place) (least, most int64, ok bool) {
	least, most, ok = sizes(p, p.Step-p.Batch)
	if p.Batch == 0 {
		return 0, 0, true
	}
	return (p.Batch-1)*least + 1, p.Batch * most, ok
}

// checkIndex compares the index with the coverage of the epoch and with the number of its batches.
// One of them is enough to confirm the index.
func checkIndex(p *document.Place, s *protocol.Setup) error {
	c := p.Coverage[1]
	covered := p.Covered && c.Epoch == p.Epoch && c.Count == p.Index
	if p.Covered && p.Epoch > 0 && p.Coverage[0].Epoch != 0 && p.Coverage[0].Epoch != p.Epoch-1 {
		return document.Corrupt("extra.coverage", fmt.Sprint("epoch ", p.Epoch-1, " before this one"), p.Coverage[0].Epoch)
	}
	begun := p.Covered && (c.Epoch != p.Epoch || c.Count != p.Index) // NoDigest was on at first, or the coverage is wrong
	least, most, known := batchBounds(p)
	if known && s.BatchSampler == nil && (p.Index < least || p.Index > most) {
		return document.Corrupt("extra.index", fmt.Sprintf("%d to %d, in %d batches", least, most, p.Batch), p.Index)
	}
	switch {
	case covered || !p.Covered:
		return nil
	case begun && c.Epoch != p.Epoch && c.Epoch != 0:
		return document.Corrupt("extra.coverage", fmt.Sprint("epoch ", p.Epoch, ", as in the state"), c.Epoch)
	case c.Count > p.Index:
		return document.Corrupt("extra.coverage", fmt.Sprint(p.Index, " samples, as the index says"), c.Count)
	}
	return nil
}

// checkPosition compares the position with epoch and index, if the order tells how long epochs are.
func (n *native) checkPosition(at *document.Place) error {
	s := n.setup
	if s.Sampler != nil || s.BatchSampler != nil {
		return nil
	}
	_, length := orderOf(s, at.Spans[0].Samples, n.version) // such a state is from before any extension
	whole := at.Epoch*length + at.Index
	if at.Position == whole {
		return nil
	}
	if at.Epoch == 0 {
		return document.Corrupt("position", fmt.Sprint(whole, ", the index"), at.Position)
	}
	// Epochs were broken off, or the data set had another length. Then the steps tell how many samples
	// there can have been. Each epoch can have had one batch that was not full, or samples that Tail
	// left out.
	least, most, known := sizes(at, 0)
	if known && (at.Position > at.Step*most+(at.Epoch+1)*most || at.Position < (at.Step-at.Epoch-1)*least) {
		return document.Corrupt("position", fmt.Sprintf("%d, or what %d steps give", whole, at.Step), at.Position)
	}
	return nil
}

// checkStreams compares the turn with the batches, and the items of the streams with the index and
// the turn. It does not know which loader wrote the state. Batches are not full if errors were
// passed on. Batches that were handed out before an interruption are counted only in the items. If
// both happened, the state looks like a damaged one. Then a loader that does one of the two accepts
// the state, and any other loader rejects it.
func checkStreams(p *document.Place, s *protocol.Setup) error {
	if s.World > 1 || p.World != 1 || len(p.Ahead.Bits) > 0 {
		return nil // other ranks have read from the streams, or streams are ahead of the place
	}
	least, most, known := sizes(p, p.Step-p.Batch)
	full := known && least == most && p.Ledger.Count == 0 && p.Since == 0
	items, ended := int64(0), false
	streams := int64(len(p.Streams))
	for i, st := range p.Streams {
		items += st.Items
		ended = ended || st.Ended
		turns := (p.Turn - int64(i) + streams - 1) / streams
		full = full && (st.Ended || st.Items == turns*most)
	}
	switch {
	case p.Turn < p.Batch || !ended && p.Turn > p.Batch:
		return document.Corrupt("extra.turn", fmt.Sprint(p.Batch, ", as many as batches, or more where streams have ended"),
			p.Turn)
	case items < p.Index, items > p.Index && s.InOrder && s.OnError.Action != faults.PassOn && known && least == most &&
		p.Ledger.Count == 0 && p.Since == 0 && !full:
		return document.Corrupt("extra.index", fmt.Sprint(items, ", the items of all streams"), p.Index)
	}
	return nil
}
