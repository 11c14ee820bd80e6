package layout

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// spans are the ranges of a file that were read, each with its checksum. It may be used
// concurrently.
type spans struct {
	mu   sync.Mutex
	list []span // in the order of their first reads
}

// span is a range of a file.
type span struct {
	off, end int64
	sum      uint32
}

// recentSpans is how many spans may grow. Workers read files from front to back at some places at
// once, so that most reads follow one of the spans that were noted last.
const recentSpans = 64

// add notes a range that was read.
func (s *spans) add(n span) {
	if n.off == n.end {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.list) - 1; i >= max(0, len(s.list)-recentSpans); i-- {
		switch old := &s.list[i]; {
		case old.end == n.off:
			old.sum, old.end = crc.Combine(old.sum, n.sum, n.end-n.off), n.end
			return
		case old.off <= n.off && n.end <= old.end:
			return // it was read before
		}
	}
	s.list = append(s.list, n)
}

// chain returns spans in the order of a file of size bytes that do not overlap. It leaves out spans
// with fewer than least bytes between two gaps: one read over such a span and both gaps is better
// than two reads.
func (s *spans) chain(size, least int64) []span {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.list, func(a, b span) int { return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(b.end, a.end)) })
	var out []span
	at := int64(0)
	for _, n := range s.list {
		if n.off < at {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].end == n.off {
			out[last].sum, out[last].end = crc.Combine(out[last].sum, n.sum, n.end-n.off), n.end
		} else {
			out = append(out, n)
		}
		at = n.end
	}
	return slices.DeleteFunc(out, func(n span) bool { return n.end-n.off < least && n.off > 0 && n.end < size })
}

const (
	// gapBytes is how much of a file is read at once between the spans.
	gapBytes = 1 << 20
	// leastSpan is the size of spans that are worth a second read around them.
	leastSpan = 4 << 10
)

// complete returns the checksum of a file, of which the chain was read. It reads the rest. told
// receives how many bytes it has read.
func complete(ctx context.Context, r store.Reader, chain []span, told func(n int)) (uint32, error) {
	sum, at, size := uint32(0), int64(0), r.Size()
	var buf []byte
	for at < size {
		if len(chain) > 0 && chain[0].off == at {
			sum, at = crc.Combine(sum, chain[0].sum, chain[0].end-at), chain[0].end
			chain = chain[1:]
			continue
		}
		end := size
		if len(chain) > 0 {
			end = chain[0].off
		}
		n := int(min(end-at, gapBytes))
		if cap(buf) < n {
			buf = make([]byte, n)
		}
		p := buf[:n]
		if err := r.ReadAt(ctx, p, at); err != nil {
			return 0, err
		}
		sum = crc.Update(sum, p)
		at += int64(n)
		told(n)
	}
	return sum, nil
}
