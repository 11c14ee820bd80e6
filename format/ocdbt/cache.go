package ocdbt

import (
	"container/list"
	"context"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// nodeCache caches recently used nodes by their place. It is safe for concurrent use.
type nodeCache struct {
	limit int64 // bytes; 0: keep nothing

	mu    sync.Mutex
	size  int64
	order list.List // of *cached, newest first
	nodes map[Node]*list.Element
	under map[Node]*flight // nodes that are being read
}

// flight is a node that one caller reads and others wait for.
type flight struct {
	done chan struct{}
	node *node
	err  error
}

// load returns a node from the cache, or from read, which only one caller at a time calls for a
// node. A caller whose context ends stops waiting.
func (c *nodeCache) load(ctx context.Context, ref Node, read func() (*node, error)) (*node, error) {
	for {
		c.mu.Lock()
		if e, ok := c.nodes[ref]; ok {
			c.order.MoveToFront(e)
			c.mu.Unlock()
			return e.Value.(*cached).node, nil
		}
		f, wait := c.under[ref]
		if !wait {
			f = &flight{done: make(chan struct{})}
			if c.under == nil {
				c.under = map[Node]*flight{}
			}
			c.under[ref] = f
		}
		c.mu.Unlock()
		if !wait {
			f.node, f.err = read()
			c.land(ref, f)
			return f.node, f.err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, &errs.Error{Kind: errs.Canceled, Op: "ocdbt", Err: context.Cause(ctx)}
		}
		if f.err == nil {
			return f.node, nil
		}
		// The error may concern only the other caller, whose context ended.
		if errs.KindOf(f.err) != errs.Canceled {
			return nil, f.err
		}
	}
}

// land ends a flight.
func (c *nodeCache) land(ref Node, f *flight) {
	c.mu.Lock()
	delete(c.under, ref)
	if f.err == nil && f.node != nil {
		c.put(ref, f.node)
	}
	c.mu.Unlock()
	close(f.done)
}

type cached struct {
	ref  Node
	node *node
}

// put keeps n. A node larger than the cache is kept alone, so that a database of
// one huge leaf is not decoded again for every key. The mutex is held.
func (c *nodeCache) put(ref Node, n *node) {
	if c.limit <= 0 {
		return
	}
	if _, ok := c.nodes[ref]; ok {
		return
	}
	if c.nodes == nil {
		c.nodes = map[Node]*list.Element{}
	}
	c.nodes[ref] = c.order.PushFront(&cached{ref, n})
	c.size += n.size
	for c.size > c.limit && c.order.Len() > 1 {
		e := c.order.Back()
		old := c.order.Remove(e).(*cached)
		delete(c.nodes, old.ref)
		c.size -= old.node.size
	}
}
