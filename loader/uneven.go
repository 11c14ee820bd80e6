package loader

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/order"
)

// warnOfUnevenEnd warns when the loader is made if some ranks get no sample of the last batch of an
// epoch, and says what they do.
func (n *native) warnOfUnevenEnd() {
	s := n.setup
	if s.Iterable || s.Tail == order.Drop || s.World < 2 || s.Packs {
		return
	}
	samples, _ := s.DataLen()
	what, size := "samples", int64(s.Global)
	switch {
	case s.BatchSampler != nil:
		what, samples, size = "batches of the sampler", s.BatchSampler.Len(), int64(s.World)
	case s.Sampler != nil:
		samples = s.Sampler.Len()
	default:
		_, samples = orderOf(s, samples, n.version)
	}
	if rest := samples % size; rest > 0 && rest < int64(s.World) {
		n.tellUneven(rest, what)
	}
}

// tellUneven warns once about ranks that get no sample.
func (n *native) tellUneven(rest int64, what string) {
	if n.unevenTold {
		return
	}
	n.unevenTold = true
	world := int64(n.setup.World)
	if n.setup.Uneven == order.RepeatSample {
		n.setup.Warn(fmt.Sprintf("the last batch of an epoch has %d %s for %d ranks: %d of them repeat what another rank has, so that all ranks end the epoch in the same step; "+
			"LastBatch tells which, the state counts them apart; set Tail to order.Drop to leave that batch out",
			rest, what, world, world-rest))
		return
	}
	n.setup.Warn(fmt.Sprintf("the last batch of an epoch has %d %s for %d ranks: %d of them end the epoch a step before the others, and a collective call in that step waits for ever; "+
		"set Tail to order.Drop, another batch size, or Uneven to RepeatSample", rest, what, world, world-rest))
}

// warnOfPacks warns if packs are cut.
func (n *native) warnOfPacks() {
	s := n.setup
	if _, packs := s.Order.(order.Packer); packs && !s.Packs {
		s.Warn(fmt.Sprintf("the order gives packs, and BatchSize counts samples: batches of %d samples do not end where packs do; set CollatePacks, and BatchSize counts packs", s.BatchSize))
	}
}
