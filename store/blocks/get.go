package blocks

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// Waits for another process that gets a block.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 50 * time.Millisecond
	// patience is how long a process waits for another one that gets the same block. Then it requests
	// the block for itself: the other one may have been stopped.
	patience = 30 * time.Second
)

// get gets blocks that follow each other, and finishes each of them.
func (c *Cache) get(o *Object, run []*block) {
	// The turn comes first, so that few files are open and locked at a time.
	if err := c.enter(); err != nil {
		for _, b := range run {
			c.finish(b, nil, nil, err)
		}
		return
	}
	defer c.leave()
	if c.disk == nil {
		c.request(o, run, nil)
		return
	}
	// Blocks that this process gets are locked. They are requested together where they follow each
	// other.
	var mine []*block
	var locks []*os.File
	send := func() {
		if len(mine) > 0 {
			c.request(o, mine, locks)
		}
		mine, locks = nil, nil
	}
	var others []*block
	for _, b := range run {
		if c.fromDisk(b, true) {
			send()
			continue
		}
		part, err := c.disk.lock(b.at)
		if errors.Is(err, errLocked) {
			others = append(others, b)
			send()
			continue
		}
		if err == nil && c.fromDisk(b, false) { // another process was quicker
			c.disk.unlock(part, b.at)
			send()
			continue
		}
		if err != nil {
			c.full(err)
		}
		mine, locks = append(mine, b), append(locks, part) // without a part it is not kept
	}
	send()
	for _, b := range others {
		c.busy.Go(func() { c.await(o, b) })
	}
}

// fromDisk finishes a block that lies on the disk. With tell, it reports damage.
func (c *Cache) fromDisk(b *block, tell bool) bool {
	buf := c.buffer(b.size)
	defer c.recycle(buf)
	f, err := c.disk.open(b.at, buf)
	if err == nil {
		c.hits.Add(1)
		c.finish(b, nil, f, nil)
		return true
	}
	if tell && errors.Is(err, errs.Corrupt) {
		c.damaged.Add(1)
		slog.Warn("a block of the cache is damaged and is requested again", "file", c.disk.path(b.at), "error", err)
	}
	return false
}

// await waits for a block that another process gets.
func (c *Cache) await(o *Object, b *block) {
	pause, began := firstPause, time.Now()
	for time.Since(began) < patience {
		select {
		case <-c.ctx.Done():
			c.finish(b, nil, nil, &errs.Error{Kind: errs.Canceled, Op: "blocks.ReadAt", Err: context.Cause(c.ctx)})
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
		if c.fromDisk(b, false) {
			return
		}
		part, err := c.disk.lock(b.at)
		if errors.Is(err, errLocked) {
			continue
		}
		if err == nil && c.fromDisk(b, false) {
			c.disk.unlock(part, b.at)
			return
		}
		if err != nil {
			c.full(err)
		}
		c.requestOne(o, b, part) // the other process failed, or was killed
		return
	}
	c.requestOne(o, b, nil)
}

// requestOne requests a block that another process did not get.
func (c *Cache) requestOne(o *Object, b *block, part *os.File) {
	if err := c.enter(); err != nil {
		if part != nil {
			c.disk.unlock(part, b.at)
		}
		c.finish(b, nil, nil, err)
		return
	}
	defer c.leave()
	c.request(o, []*block{b}, []*os.File{part})
}

// enter waits until few enough requests are under way.
func (c *Cache) enter() error {
	select {
	case c.turn <- struct{}{}:
		return nil
	case <-c.ctx.Done():
		return &errs.Error{Kind: errs.Canceled, Op: "blocks.ReadAt", Err: context.Cause(c.ctx)}
	}
}

func (c *Cache) leave() { <-c.turn }

// request requests blocks that follow each other and finishes them. locks are their locked files;
// a block whose lock is nil stays in memory.
func (c *Cache) request(o *Object, run []*block, locks []*os.File) {
	first := run[0].at.number * c.o.Block
	last := run[len(run)-1]
	n := last.at.number*c.o.Block + last.size - first
	var whole []byte
	if len(run) == 1 {
		whole = c.buffer(n)
	} else {
		room := c.runs.Get().(*[]byte) //nolint:forcetypeassert // nothing else is in the pool
		defer c.runs.Put(room)
		whole = (*room)[:n]
	}
	err := c.ask(o, whole, first)
	for i, b := range run {
		var part *os.File
		if locks != nil {
			part = locks[i]
		}
		if err != nil {
			if part != nil {
				c.disk.unlock(part, b.at)
			}
			c.finish(b, nil, nil, err)
			continue
		}
		from := b.at.number*c.o.Block - first
		data := whole[from : from+b.size : from+b.size]
		if part != nil {
			writeErr := c.disk.keep(part, b.at, data)
			if writeErr == nil {
				c.finish(b, nil, part, nil)
				if len(run) == 1 {
					c.recycle(whole)
				}
				continue
			}
			c.disk.unlock(part, b.at)
			c.full(writeErr)
		}
		if len(run) > 1 { // so that the blocks can be dropped one by one
			data = append(c.buffer(b.size)[:0], data...)
		} else {
			data = whole
		}
		c.finish(b, data, nil, nil)
	}
}

// full notes a block that the disk does not keep.
func (c *Cache) full(err error) {
	if c.unkept.Add(1) == 1 {
		slog.Warn("the cache cannot keep a block, which stays in memory; this is said once", "directory", c.o.Dir,
			"error", err)
	}
}

// ask sends one request.
func (c *Cache) ask(o *Object, p []byte, off int64) error {
	c.requests.Add(1)
	c.bytes.Add(int64(len(p)))
	return o.fetch(c.ctx, p, off)
}
