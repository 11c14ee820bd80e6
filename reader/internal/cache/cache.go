// Package cache keeps values that are expensive to make, such as expanded shards and decoded pages,
// within a budget of bytes.
package cache

import (
	"container/list"
	"context"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// Cache holds values by key. It makes each value once, however many callers want it at a time, and
// drops the values that were not used for the longest time. Values must not change. A value that
// was dropped lives on until its users let go of it. All methods are safe for concurrent use.
type Cache[K comparable, V any] struct {
	budget int64

	mu      sync.Mutex
	entries map[K]*entry[V]
	order   *list.List // of keys, the last used first
	bytes   int64
}

type entry[V any] struct {
	ready chan struct{} // closed when the value or the error is there
	value V
	err   error
	bytes int64
	place *list.Element // nil while the value is made
}

// New returns a cache of at most budget bytes. The value that was made last stays, whatever its
// size.
func New[K comparable, V any](budget int64) *Cache[K, V] {
	return &Cache[K, V]{budget: budget, entries: map[K]*entry[V]{}, order: list.New()}
}

// Get returns the value of a key, and makes it with load if it is not there. load returns how many
// bytes the value takes. An error is not kept. If the context of the caller that makes a value
// ends, another caller that waits for the value makes it.
func (c *Cache[K, V]) Get(ctx context.Context, key K, load func(ctx context.Context) (v V, bytes int64, err error)) (V,
	error) {
	for {
		e, mine := c.claim(key)
		if mine {
			return c.make(ctx, key, e, load)
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			var zero V
			return zero, ctx.Err()
		}
		if e.err == nil || errs.KindOf(e.err) != errs.Canceled || ctx.Err() != nil {
			return e.value, e.err
		}
	}
}

// claim returns the entry of a key. mine reports that the caller has to make the value.
func (c *Cache[K, V]) claim(key K) (e *entry[V], mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		if e.place != nil {
			c.order.MoveToFront(e.place)
		}
		return e, false
	}
	e = &entry[V]{ready: make(chan struct{})}
	c.entries[key] = e
	return e, true
}

// make makes the value of an entry.
func (c *Cache[K, V]) make(ctx context.Context, key K, e *entry[V], load func(context.Context) (V, int64, error)) (V,
	error) {
	// A panic of load must not leave the others waiting.
	e.err = &errs.Error{Kind: errs.Canceled, Got: "a panic while the value was made"}
	defer func() {
		c.mu.Lock()
		if e.err != nil {
			delete(c.entries, key)
		} else {
			e.place = c.order.PushFront(key)
			c.bytes += e.bytes
			for c.bytes > c.budget && c.order.Len() > 1 {
				c.drop()
			}
		}
		c.mu.Unlock()
		close(e.ready)
	}()
	e.value, e.bytes, e.err = load(ctx)
	if e.err != nil && ctx.Err() != nil && errs.KindOf(e.err) != errs.Canceled {
		e.err = &errs.Error{Kind: errs.Canceled, Err: e.err}
	}
	return e.value, e.err
}

// drop drops the value that was not used for the longest time. c.mu is held.
func (c *Cache[K, V]) drop() {
	last := c.order.Back()
	key := last.Value.(K)
	c.bytes -= c.entries[key].bytes
	delete(c.entries, key)
	c.order.Remove(last)
}

// Clear drops all values.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.order.Len() > 0 {
		c.drop()
	}
}

// Bytes returns how many bytes the kept values take.
func (c *Cache[K, V]) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}
