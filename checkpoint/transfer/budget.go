package transfer

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
)

// A transfer reads and writes pieces of files, several at once.
const (
	pieceBytes    = 8 << 20 // a part of an upload, so that a store needs no buffer of its own
	defaultMemory = 8 * pieceBytes
	smallestPiece = 64 << 10 // smaller pieces cost more than they save
)

// Budget bounds what transfers take together.
type Budget struct {
	rate   int64
	piece  int64
	memory *flow.Budget

	mu   sync.Mutex
	next time.Time // when the next byte may be sent
}

// NewBudget returns a budget of rate bytes a second, 0 for no bound, and of memory bytes in flight,
// 0 for 64 MiB. The memory is at least 64 KiB. A store may need buffers of its own beside it: an
// object store keeps a second copy of each small object until it was sent.
func NewBudget(rate, memory int64) *Budget {
	memory = max(cmp.Or(memory, defaultMemory), smallestPiece)
	piece := int64(pieceBytes)
	if memory < 2*piece {
		piece = max(memory/2, smallestPiece) &^ (4<<10 - 1) // whole blocks of any disk
	}
	return &Budget{rate: rate, piece: piece, memory: flow.NewBudget(memory)}
}

// Peak returns the most bytes that were in flight at once.
func (b *Budget) Peak() int64 {
	_, peak := b.memory.Used()
	return peak
}

// take takes n bytes of memory. The caller must give them back.
func (b *Budget) take(ctx context.Context, n int64) error {
	defer context.AfterFunc(ctx, b.memory.Wake)()
	if b.memory.Acquire(n, func() bool { return ctx.Err() != nil }) {
		return nil
	}
	return canceled(ctx)
}

func (b *Budget) give(n int64) { b.memory.Release(n) }

// pace waits until n bytes may be sent.
func (b *Budget) pace(ctx context.Context, n int64) error {
	if b.rate <= 0 || n == 0 {
		return nil
	}
	now := time.Now()
	b.mu.Lock()
	if b.next.Before(now) {
		b.next = now
	}
	b.next = b.next.Add(time.Duration(float64(n) / float64(b.rate) * float64(time.Second)))
	wait := b.next.Sub(now)
	b.mu.Unlock()
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return canceled(ctx)
	}
}

func canceled(ctx context.Context) error {
	return &errs.Error{Kind: errs.Canceled, Op: "transfer", Err: context.Cause(ctx)}
}
