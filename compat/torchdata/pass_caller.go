package torchdata

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/protocol"
)

// callerPass is a pass without workers. It draws the next ids when a batch is requested, and its
// state is the current state.
type callerPass struct {
	p         *books
	index     drawing
	yielded   int64
	announced *int64
	ended     bool  // the iterable has no items left
	over      bool  // _iterator_finished
	atEnd     bool  // this pass has come to its end
	failed    error // error of the task that was settled last
	from      protocol.LaneStart
	last      protocol.LaneState // the state at the end of the pass
}

func (c *callerPass) open(ctx context.Context, saved []byte) error {
	c.announced = c.p.lenCalled()
	c.index = drawing{of: c.p.index}
	c.index.restart()
	BaseSeed(c.p.generator)
	if saved == nil {
		return c.p.engine.Open(ctx, c)
	}
	d, err := parseSingle(saved)
	if err != nil {
		return err
	}
	return c.resume(ctx, d)
}

// resume continues from a state.
func (c *callerPass) resume(ctx context.Context, d *singleDoc) (err error) {
	if c.from.Dataset, err = extracted(d.Dataset); err != nil {
		return err
	}
	if d.Fetcher != nil {
		c.from.Ended = d.Fetcher.Ended
		if c.from.Iterator, err = extracted(d.Fetcher.Iterator); err != nil {
			return err
		}
	}
	replay := c.p.setup.Iterable && c.from.Dataset == nil && c.from.Iterator == nil
	if replay {
		c.from.Ended = false
	} else if err = c.index.resume(d.Drawn, d.IndexSampler, d.Cursor); err != nil {
		return err
	} else {
		c.yielded = *d.Yielded
	}
	c.announced = d.LenCalled
	if err := c.p.engine.Open(ctx, c); err != nil {
		return err
	}
	if replay {
		err = c.p.fastForward(ctx, *d.Yielded, &c.failed)
	}
	c.over = d.Finished
	return err
}

func (c *callerPass) reset(context.Context) error {
	return &errs.Error{Kind: errs.Invalid, Op: "torchdata.Begin", Subject: "persistent_workers", Want: "workers"}
}

func (c *callerPass) finished() bool { return c.over }

// Lanes implements protocol.Plan, and so do the following methods.
func (c *callerPass) Lanes() int { return 1 }

func (c *callerPass) Lane(int) protocol.LaneStart { return c.from }

func (c *callerPass) Opened(int, protocol.LaneState) {}

func (c *callerPass) Prime(dst []protocol.Task) []protocol.Task { return dst }

func (c *callerPass) Next() (protocol.Task, bool, error) {
	if c.ended {
		return protocol.Task{}, false, c.end()
	}
	at := c.index.drawn
	ids, ok, err := c.index.next()
	if err == nil && !ok {
		err = c.end()
	}
	if !ok || err != nil {
		return protocol.Task{}, false, err
	}
	return taskOf(c.p.setup, 0, at, ids), true, nil
}

// end keeps the state of the end, after which the engine drops the iterator.
func (c *callerPass) end() (err error) {
	c.over, c.atEnd = true, true
	c.last, err = c.p.engine.Lane(0)
	return err
}

// taskOf returns the task for drawn ids.
func taskOf(s *protocol.Setup, lane int, seq int64, ids []int64) protocol.Task {
	t := protocol.Task{Lane: lane, Pos: seq * int64(s.BatchSize), Seq: seq}
	if s.Iterable {
		t.N = len(ids)
	} else {
		t.IDs = ids
	}
	return t
}

func (c *callerPass) Settle(_ protocol.Task, o *protocol.Outcome, dst []protocol.Task) []protocol.Task {
	c.failed = o.Err
	switch {
	case o.Ended:
		c.ended = true
	case o.Err == nil && !o.Empty:
		c.yielded++
		c.p.overrun(c.announced, c.yielded)
	}
	return dst
}

func (c *callerPass) document() (any, error) {
	lane, err := c.last, error(nil)
	if !c.atEnd {
		lane, err = c.p.engine.Lane(0)
	}
	if err != nil {
		return nil, err
	}
	d := &singleDoc{Drawn: c.index.drawn, Yielded: new(c.yielded), LenCalled: c.announced, Finished: c.over,
		Fetcher: fetcherOf(c.p.setup, &lane), Dataset: embedded(lane.Dataset)}
	d.IndexSampler, d.Cursor, err = c.index.states()
	return d, err
}
