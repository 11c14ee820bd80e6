package unpack

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// DefaultBudget is the size of a cache.
const DefaultBudget = 64 << 20

// Cache keeps blocks that were decompressed. It is safe for concurrent use.
type Cache struct {
	budget int64

	mu     sync.Mutex
	blocks map[key]*entry
	recent *list.List // of the keys of blocks that are there, the last used first
	bytes  int64
}

// key is a block of a file.
type key struct {
	file  int
	block int64
}

type entry struct {
	ready chan struct{} // closed when the block is there
	b     []byte
	err   error
	place *list.Element
}

// NewCache returns a cache of at most budget bytes. The last block stays, however large it is.
func NewCache(budget int64) *Cache {
	return &Cache{budget: budget, blocks: map[key]*entry{}, recent: list.New()}
}

// Get returns a block of a file, and calls decode for it if it is not there. Callers that want the
// same block at a time wait for one of them. Errors are not kept.
func (c *Cache) Get(ctx context.Context, file int, block int64, decode func() ([]byte, error)) ([]byte, error) {
	k := key{file, block}
	for {
		c.mu.Lock()
		e := c.blocks[k]
		if e == nil {
			e = &entry{ready: make(chan struct{})}
			c.blocks[k] = e
			c.mu.Unlock()
			return c.fill(k, e, decode)
		}
		if e.place != nil {
			c.recent.MoveToFront(e.place)
		}
		c.mu.Unlock()
		select {
		case <-e.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// The caller that decompressed may have given up, because its context ended.
		if !errors.Is(e.err, context.Canceled) && !errors.Is(e.err, context.DeadlineExceeded) || ctx.Err() != nil {
			return e.b, e.err
		}
	}
}

// fill makes a block.
func (c *Cache) fill(k key, e *entry, decode func() ([]byte, error)) ([]byte, error) {
	done := false
	defer func() {
		if !done { // decode panicked
			e.err = errors.New("unpack: decompressing a block panicked")
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		close(e.ready)
		if e.err != nil {
			delete(c.blocks, k)
			return
		}
		e.place = c.recent.PushFront(k)
		for c.bytes += int64(len(e.b)); c.bytes > c.budget && c.recent.Len() > 1; {
			last := c.recent.Remove(c.recent.Back()).(key)
			c.bytes -= int64(len(c.blocks[last].b))
			delete(c.blocks, last)
		}
	}()
	e.b, e.err = decode()
	done = true
	return e.b, e.err
}
