package loader

import (
	"fmt"
)

// consistent returns an error for a place that contradicts itself: a state without
// a checksum may have been changed, and would give other samples. It takes constant
// time and draws no ids. Some numbers may be left out on purpose: an epoch that was broken
// off advances the epoch alone, and digest and coverage may be switched off for a while.
func (n *native) consistent(at *place) error {
	if err := at.checkHistory(); err != nil {
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

// batchBounds returns which numbers of samples the batches of the epoch can have; ok
// is false where the history does not tell, or not for sure.
func (p *place) batchBounds() (least, most int64, ok bool) {
	last := p.history[len(p.history)-1]
	if last.step > p.step-p.batch || len(p.ahead.bits) > 0 {
		return 0, 0, false
	}
	if p.batch == 0 {
		return 0, 0, true
	}
	return (p.batch-1)*last.global + 1, p.batch * last.global, true
}

// checkIndex holds the index against the coverage of the epoch and against the number
// of its batches: one of them proves it.
func (p *place) checkIndex(s *Setup) error {
	c := p.coverage[1]
	covered := p.covered && c.epoch == p.epoch && c.count == p.index
	if p.covered && p.epoch > 0 && p.coverage[0] != (coverage{}) && p.coverage[0].epoch != p.epoch-1 {
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
	case c.count > p.index || !known:
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
	samples, _ := s.DataLen()
	_, length := orderOf(s, samples, n.version)
	whole := at.epoch*length + at.index
	if at.position == whole {
		return nil
	}
	if at.position > whole {
		return corruptState("position", fmt.Sprintf("%d, that of epoch %d and index %d", whole, at.epoch, at.index), at.position)
	}
	// Epochs were broken off. Then the steps tell how many samples there can have been.
	last := at.history[len(at.history)-1]
	most, steps := int64(0), at.step-last.step
	for _, h := range at.history {
		most = max(most, h.global)
	}
	if left, drawn := (at.epoch+1)*most, at.position-last.position; drawn > steps*most+left || drawn < (steps-at.epoch-1)*last.global-int64(len(at.ahead.bits))*most {
		return corruptState("position", fmt.Sprintf("%d, or what %d steps give", whole, at.step), at.position)
	}
	return nil
}

// checkStreams holds the index against the items of the streams, and the turn against
// them where all batches of the epoch were full and of one size.
func (p *place) checkStreams(s *Setup) error {
	if s.World > 1 || p.world != 1 || len(p.ahead.bits) > 0 {
		return nil // other ranks have read of them, or the streams are ahead of the place
	}
	items := int64(0)
	for _, st := range p.streams {
		items += st.items
	}
	if items != p.index {
		return corruptState("extra.index", fmt.Sprint(items, ", the items of all streams"), p.index)
	}
	last := p.history[len(p.history)-1]
	streams := int64(len(p.streams))
	if p.ledger.count > 0 || last.step > p.step-p.batch || p.since > 0 || streams == 0 {
		return nil
	}
	for i, st := range p.streams {
		turns := (p.turn - int64(i) + streams - 1) / streams
		if full := turns * last.global; !st.ended && st.items != full {
			return corruptState("extra.turn", fmt.Sprintf("one at which stream %d has read %d items", i, st.items), p.turn)
		}
	}
	return nil
}
