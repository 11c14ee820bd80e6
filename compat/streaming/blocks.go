package streaming

import (
	"slices"

	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// blocks implements Py1br.
func (s Shuffle) blocks(n int64, epoch *numpy.Generator) ([]int64, error) {
	low, high, err := s.blockSizes()
	if err != nil {
		return nil, err
	}
	if low < 1 {
		return nil, invalid("streaming.Shuffle", "a block of at least 2 samples", "1")
	}
	nodes := divide(s.scattered(numpy.DefaultRNG(uint64(s.Seed))), n, s.CanonicalNodes)
	for _, spans := range nodes {
		numpy.Shuffle(epoch, spans)
	}
	stagger := make([]int64, len(nodes))
	for i := range stagger {
		stagger[i] = epoch.Integers(0, low)
	}
	ids := make([]int64, 0, n)
	for node, spans := range nodes {
		begin := int64(len(ids))
		for _, sp := range spans {
			ids = sp.append(ids)
		}
		var sizes []span
		for at, end := begin, int64(len(ids)); at < end; {
			size := epoch.Integers(low, high)
			block := span{max(at-stagger[node], begin), min(at+size-stagger[node], end)}
			sizes = append(sizes, block)
			at += block.size()
		}
		for _, block := range sizes {
			numpy.Shuffle(epoch, ids[block.begin:block.end])
		}
	}
	return ids, nil
}

// expanded implements Py1e.
func (s Shuffle) expanded(n int64, epoch *numpy.Generator) ([]int64, error) {
	low, high, err := s.blockSizes()
	if err != nil {
		return nil, err
	}
	nodes := divide(s.scattered(numpy.DefaultRNG(uint64(s.Seed))), n, s.CanonicalNodes)
	for _, spans := range nodes {
		numpy.Shuffle(epoch, spans)
	}
	ids := make([]int64, 0, n)
	for _, spans := range nodes {
		begin := len(ids)
		for _, sp := range spans {
			at := len(ids)
			ids = sp.append(ids)
			numpy.Shuffle(epoch, ids[at:])
		}
		own := ids[begin:]
		if len(own) == 0 {
			return nil, invalid("streaming.Shuffle", "at least one sample for every canonical node", "a node without samples")
		}
		sortBy(own, moved(spans, len(own), low, high, epoch))
	}
	return ids, nil
}

// moved returns the new positions of the samples of a canonical node. Each sample of a span moves
// to either side by at most the reach of the block of the span, and stays within the node.
func moved(spans []span, n int, low, high int64, epoch *numpy.Generator) []float64 {
	positions, offset := make([]float64, 0, n), int64(0)
	for _, sp := range spans {
		size := sp.size()
		reach := max(float64(epoch.Integers(low, high)-size)/2, 0)
		left := max(-reach, -float64(offset))
		right := min(reach, float64(int64(n)-offset-size))
		for i := range size {
			positions = append(positions, float64(offset+i)+epoch.Uniform(left, right))
		}
		offset += size
	}
	return positions
}

// sortBy sorts ids by their positions, which lie in [0, len(ids)). They are spread evenly, so
// sorting the positions of each integer takes linear time. Equal positions keep their order.
func sortBy(ids []int64, positions []float64) {
	type placed struct {
		position float64
		id       int64
	}
	last := len(ids) - 1
	bucket := func(position float64) int { return min(max(int(position), 0), last) }
	ends := make([]int, len(ids)+1)
	for _, p := range positions {
		ends[bucket(p)+1]++
	}
	for i := range last {
		ends[i+1] += ends[i]
	}
	sorted := make([]placed, len(ids))
	for i, p := range positions {
		b := bucket(p)
		sorted[ends[b]] = placed{p, ids[i]}
		ends[b]++
	}
	begin := 0
	for _, end := range ends[:len(ids)] {
		if end-begin > 1 {
			slices.SortStableFunc(sorted[begin:end], func(a, b placed) int {
				switch {
				case a.position < b.position:
					return -1
				case a.position > b.position:
					return 1
				}
				return 0
			})
		}
		begin = end
	}
	for i, p := range sorted {
		ids[i] = p.id
	}
}
