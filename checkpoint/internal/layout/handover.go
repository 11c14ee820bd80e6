package layout

import (
	"context"

	"github.com/bivouac-ml/bivouac/internal/crc"
)

// handover hands the checksum of memory from the store that fills it to the code that compares it,
// so that each byte is summed once. The store sums ranges of a file, and the code sums parts of
// arrays. A part of an array is mostly one range of its file, or several that follow each other.
//
// One goroutine uses a handover: it expects memory, reads into it with the context of with, and
// takes the checksum by update. The zero value hands nothing over, and update sums the memory. So
// it does if the store has not filled all of the memory, from its start to its end.
type handover struct {
	want []byte // the expected memory; empty if none is expected
	n    int    // how many of its bytes were filled
	sum  uint32 // of these bytes
}

// handoverKey is the key of a context for its handover.
type handoverKey struct{}

// with returns a context for reads that fill expected memory.
func (h *handover) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, handoverKey{}, h)
}

// handing returns the handover of a context, or nil.
func handing(ctx context.Context) *handover {
	h, _ := ctx.Value(handoverKey{}).(*handover)
	return h
}

// expect says that p is read next, and that its bytes do not change before update is called for
// it. It forgets what was expected before.
func (h *handover) expect(p []byte) { *h = handover{want: p} }

// sumOf returns the checksum of memory that was read. A nil handover works too.
func (h *handover) sumOf(p []byte) uint32 {
	if h == nil || len(p) == 0 || h.n == len(h.want) || &h.want[h.n] != &p[0] {
		return crc.Sum(p)
	}
	n := min(len(p), len(h.want)-h.n)
	sum := crc.Sum(p[:n])
	h.sum = crc.Combine(h.sum, sum, int64(n))
	h.n += n
	return crc.Combine(sum, crc.Sum(p[n:]), int64(len(p)-n))
}

// update returns the checksum of the bytes whose checksum is sum followed by p, as crc.Update does.
// If p is the expected memory and was filled, its bytes are not summed again. A second call sums
// them.
func (h *handover) update(sum uint32, p []byte) uint32 {
	handed := len(p) > 0 && h.n == len(p) && len(h.want) == len(p) && &h.want[0] == &p[0]
	all := h.sum
	if h.expect(nil); !handed {
		return crc.Update(sum, p)
	}
	return crc.Combine(sum, all, int64(len(p)))
}
