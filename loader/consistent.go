package loader

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// consistent returns an error for a place that contradicts itself: a state without
// a checksum may have been changed, and would give other samples. One with a checksum
// is as a loader wrote it. It takes constant time and draws no ids. Some numbers may be
// left out on purpose: an epoch that was broken off advances the epoch alone, and digest
// and coverage may be switched off for a while.
func (n *native) consistent(at *place) error {
	if err := at.checkHistory(); err != nil || at.sealed {
		return err
	}
	s := n.setup
	if s.Iterable {
		return at.checkStreams(s)
	}
	if err := at.checkIndex(s); err != nil {
		return err
	}
	if s.Sampler != nil && at.draws != at.index {
		return corruptState("extra.sampler.draws", fmt.Sprint(at.index, ", as many as the index"), at.draws)
	}
	if s.BatchSampler == nil && s.Sampler == nil && at.draws != 0 {
		return corruptState("extra.sampler", "none, for the order is no sampler's", at.draws)
	}
	return n.checkPosition(at)
}

// checkHistory holds steps and positions of the history against those of the place.
func (p *place) checkHistory() error {
	if p.batch > p.step {
		return corruptState("batch", fmt.Sprint("at most the ", p.step, " steps"), p.batch)
	}
	before := segment{}
	for i, h := range p.history {
		if i == 0 && len(p.history) < mostSegments && (h.step != 0 || h.position != 0) {
			return corruptState("extra.history", "a first entry at step 0", fmt.Sprint(h.step, ", ", h.position))
		}
		if h.global < 1 || h.step < before.step || h.position < before.position || h.step > p.step || h.position > p.position {
			return corruptState("extra.history", fmt.Sprintf("entries that rise up to step %d and position %d", p.step, p.position), fmt.Sprint(h.step, ", ", h.position, ", ", h.global))
		}
		before = h
	}
	return nil
}

// sizes returns the least and the most samples that a full batch behind a step can
// have, where no batch that was drawn before it can be left; ok is false where the
// history does not tell. The batches of a window keep their size when the loader goes
// on with another, so that a segment can give batches long after the next has begun,
// but not in the epoch after.
func (p *place) sizes(step int64) (least, most int64, ok bool) {
	if len(p.history) == mostSegments && p.history[0].step >= step {
		return 0, 0, false // one that was forgotten may have given some
	}
	least = math.MaxInt64
	for i, h := range p.history {
		if i+1 == len(p.history) || p.history[i+1].step >= step {
			least, most = min(least, h.global), max(most, h.global)
		}
	}
	return least, most, true
}

// batchBounds returns which numbers of samples the batches of the epoch can have; ok
// is false where the history does not tell.
func (p *place) batchBounds() (least, most int64, ok bool) {
	least, most, ok = p.sizes(p.step - p.batch)
	if p.batch == 0 {
		return 0, 0, true
	}
	return (p.batch-1)*least + 1, p.batch * most, ok
}

// checkIndex holds the index against the coverage of the epoch and against the number
// of its batches: one of them proves it.
func (p *place) checkIndex(s *protocol.Setup) error {
	c := p.coverage[1]
	covered := p.covered && c.epoch == p.epoch && c.count == p.index
	if p.covered && p.epoch > 0 && p.coverage[0].epoch != 0 && p.coverage[0].epoch != p.epoch-1 {
		return corruptState("extra.coverage", fmt.Sprint("epoch ", p.epoch-1, " before this one"), p.coverage[0].epoch)
	}
	begun := p.covered && (c.epoch != p.epoch || c.count != p.index) // NoDigest was on at first, or it is wrong
	least, most, known := p.batchBounds()
	if known && s.BatchSampler == nil && (p.index < least || p.index > most) {
		return corruptState("extra.index", fmt.Sprintf("%d to %d, in %d batches", least, most, p.batch), p.index)
	}
	switch {
	case covered || !p.covered:
		return nil
	case begun && c.epoch != p.epoch && c.epoch != 0:
		return corruptState("extra.coverage", fmt.Sprint("epoch ", p.epoch, ", that of the state"), c.epoch)
	case c.count > p.index:
		return corruptState("extra.coverage", fmt.Sprint(p.index, " samples, as the index says"), c.count)
	}
	return nil
}

// checkPosition holds the position against epoch and index, where the order tells how
// long epochs are.
func (n *native) checkPosition(at *place) error {
	s := n.setup
	if s.Sampler != nil || s.BatchSampler != nil {
		return nil
	}
	_, length := orderOf(s, at.spans[0].samples, n.version) // such a state is from before any extension
	whole := at.epoch*length + at.index
	if at.position == whole {
		return nil
	}
	if at.epoch == 0 {
		return corruptState("position", fmt.Sprint(whole, ", the index"), at.position)
	}
	// Epochs were broken off, or the data set had another length. Then the steps tell how
	// many samples there can have been; each epoch can have had one batch that was not
	// full, or samples that DropLast left out.
	least, most, known := at.sizes(0)
	if known && (at.position > at.step*most+(at.epoch+1)*most || at.position < (at.step-at.epoch-1)*least) {
		return corruptState("position", fmt.Sprintf("%d, or what %d steps give", whole, at.step), at.position)
	}
	return nil
}

// checkStreams holds the turn against the batches, and the items of the streams against
// the index and the turn. Which loader wrote the state is not known: where errors were
// passed on batches are not full, and what was handed out ahead of an interruption is
// among the items alone. Both together cannot be told from damage; then a loader that
// does one of them takes the state, and another one refuses it.
func (p *place) checkStreams(s *protocol.Setup) error {
	if s.World > 1 || p.world != 1 || len(p.ahead.bits) > 0 {
		return nil // other ranks have read of them, or streams are ahead of the place
	}
	least, most, known := p.sizes(p.step - p.batch)
	full := known && least == most && p.ledger.Count == 0 && p.since == 0
	items, ended := int64(0), false
	streams := int64(len(p.streams))
	for i, st := range p.streams {
		items += st.items
		ended = ended || st.ended
		turns := (p.turn - int64(i) + streams - 1) / streams
		full = full && (st.ended || st.items == turns*most)
	}
	switch {
	case p.turn < p.batch || !ended && p.turn > p.batch:
		return corruptState("extra.turn", fmt.Sprint(p.batch, ", as many as batches, or more where streams have ended"), p.turn)
	case items < p.index, items > p.index && s.InOrder && s.OnError.Action != faults.PassOn && known && least == most && p.ledger.Count == 0 && p.since == 0 && !full:
		return corruptState("extra.index", fmt.Sprint(items, ", the items of all streams"), p.index)
	}
	return nil
}
