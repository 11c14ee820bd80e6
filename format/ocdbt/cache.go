package ocdbt

import (
	"container/list"
	"sync"
)

// nodeCache keeps the nodes that were used last, by their place. It is safe for
// concurrent use.
type nodeCache struct {
	limit int64 // bytes; 0: keep nothing

	mu    sync.Mutex
	size  int64
	order list.List // of *cached, newest first
	nodes map[Node]*list.Element
}

type cached struct {
	ref  Node
	node *node
}

func (c *nodeCache) get(ref Node) *node {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.nodes[ref]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).node
}

// put keeps n. A node larger than the cache is kept alone, so that a database of
// one huge leaf is not decoded again for every key.
func (c *nodeCache) put(ref Node, n *node) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
