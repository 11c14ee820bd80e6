package loader

import (
	"math"

	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/order"
)

// length returns the number of batches of an epoch.
func (e *engine[S, B]) length() (n int64, known bool) {
	s := &e.setup
	if s.BatchSampler != nil {
		n = s.BatchSampler.Len()
		return (n + int64(s.World) - 1) / int64(s.World), n >= 0
	}
	n, known = s.DataLen()
	if !s.Iterable {
		switch {
		case s.Sampler != nil:
			if n = s.Sampler.Len(); n < 0 {
				return 0, false
			}
		case s.Packs:
			return 0, false // only the order knows: see packsLen
		default:
			_, n = orderOf(s, n, 0)
		}
	}
	if !known {
		return 0, false
	}
	if s.Iterable {
		e.announced.Store(n + 1)
	}
	return batchesOf(s, n), true
}

// batchesOf returns the number of batches that n samples, or packs, make.
func batchesOf(s *protocol.Setup, n int64) int64 {
	size := int64(s.Global)
	if s.Tail == order.Drop && s.Batched {
		return n / size
	}
	return (n + size - 1) / size
}

// counted is the number of batches of packs in an epoch of a given length.
type counted struct{ epoch, length, batches int64 }

// packsLen returns the number of batches of packs in the current epoch: those delivered and those
// that are left. It is not known if the epoch never ends.
func (n *native) packsLen() (batches int64, known bool) {
	s, at := n.setup, &n.at
	o, length := orderOf(s, at.SpanOf(at.Epoch).Samples, n.version)
	packs, ok := o.(order.Packer)
	if !ok || length == math.MaxInt64 {
		return 0, false
	}
	if c := n.counted; c != nil && c.epoch == at.Epoch && c.length == length {
		return c.batches, true
	}
	left, start := int64(0), n.epochStart(at, o, length)
	for index := at.Index; index < length; left++ {
		_, size, ok := packs.Pack(start + index)
		if !ok || size < 1 {
			return 0, false
		}
		index += size
	}
	n.counted = &counted{at.Epoch, length, at.Batch + batchesOf(s, left)}
	return n.counted.batches, true
}
