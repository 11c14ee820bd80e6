package streaming

import "github.com/bivouac-ml/bivouac/rng/numpy"

// span is the range of samples [begin, end): a shard or a piece of a shard.
type span struct{ begin, end int64 }

func (s span) size() int64 { return s.end - s.begin }

func (s span) append(ids []int64) []int64 {
	for id := s.begin; id < s.end; id++ {
		ids = append(ids, id)
	}
	return ids
}

// scattered returns the shards in the order that they keep for a whole run.
func (s Shuffle) scattered(run *numpy.Generator) []span {
	spans, begin := make([]span, len(s.Shards)), int64(0)
	for i, size := range s.Shards {
		spans[i] = span{begin, begin + size}
		begin += size
	}
	numpy.Shuffle(run, spans)
	return spans
}

// divide cuts spans of n samples into runs of equal size, one for each canonical node. A span that
// two nodes share is cut in two. Empty spans go with the span before them.
func divide(spans []span, n, nodes int64) [][]span {
	parts, done := make([][]span, nodes), int64(0)
	for node := range parts {
		end := portion(n, int64(node)+1, nodes)
		for len(spans) > 0 {
			first := spans[0]
			if done+first.size() > end {
				if cut := end - done; cut > 0 {
					parts[node] = append(parts[node], span{first.begin, first.begin + cut})
					spans[0].begin += cut
					done = end
				}
				break
			}
			parts[node] = append(parts[node], first)
			spans = spans[1:]
			done += first.size()
		}
	}
	return parts
}

// portion returns n*part/parts. The product may exceed 64 bits.
func portion(n, part, parts int64) int64 {
	return n/parts*part + n%parts*part/parts
}
