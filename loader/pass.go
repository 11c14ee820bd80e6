package loader

import (
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/loader/internal/document"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// pass is the Plan of one epoch of the native protocol. It draws batches ahead of the place of the
// loader. The place moves when a batch and all batches before it are settled.
type pass struct {
	native *native
	feed   feed           // nil for an Iterable
	drawn  document.Place // how far tasks were given: index, position, turn, and which streams have ended
	depth  int            // records that may be open
	open   []*record
	free   []*record
	seq    int64
	ended  bool  // the feed has no more batches
	failed error // the error of the feed; it is returned after the batches before it
}

// record is a batch that was drawn and not yet committed.
type record struct {
	seq             int64
	ids             []int64 // ids of all ranks
	global          int     // the requested size over all ranks
	lo, hi          int     // the slice of this rank
	ends            []int   // where each pack ends in ids
	own             []int   // the same for the slice of this rank
	repeats         int     // how many ranks have no sample of their own and repeat one of another rank
	repeated        bool    // this rank repeats a sample
	pos             int64   // position of ids[0]
	draws           int64   // draws from the cursor of a sampler
	sampler, cursor []byte  // states after the batch
	turn            int64
	settled         bool
	ended           bool // the stream has ended, and there is no batch
	items           int64
}

// Lanes implements protocol.Plan.
func (p *pass) Lanes() int {
	s := p.native.setup
	switch {
	case s.Iterable:
		return len(p.native.at.Streams) / s.World
	case p.native.laned():
		return len(p.native.at.Streams)
	}
	return max(1, s.Workers)
}

// stream returns the number of a lane's stream among all streams.
func (p *pass) stream(lane int) int {
	if s := p.native.setup; s.Iterable {
		return lane*s.World + s.Rank
	}
	return lane
}

// Lane implements protocol.Plan.
func (p *pass) Lane(i int) protocol.LaneStart {
	n, s := p.native, p.native.setup
	id := p.stream(i)
	start := protocol.LaneStart{Seed: order.Key(s.Seed, n.at.Epoch, domainOf(s, "worker "+strconv.Itoa(id))),
		Keep: s.Persistent}
	if !n.laned() {
		return start
	}
	at := n.at.Streams[id]
	start.ID, start.N = id, len(n.at.Streams)
	start.Dataset, start.Iterator, start.Items, start.Ended = at.Dataset, at.Iterator, at.Items, at.Ended
	if at.Dataset == nil && at.Iterator == nil {
		start.Skip = at.Items
	}
	return start
}

// Opened implements protocol.Plan. It stores the state of the lane, so that the lane can return to
// its beginning.
func (p *pass) Opened(i int, s protocol.LaneState) {
	if n := p.native; n.laned() {
		at := &n.at.Streams[p.stream(i)]
		if at.Items > 0 || at.Iterator != nil {
			return // the lane is within a pass
		}
		at.Dataset = s.Initial
		if n.snapshots() {
			n.snap.Streams[p.stream(i)] = *at
		}
	}
}

// Prime implements protocol.Plan.
func (p *pass) Prime(dst []protocol.Task) []protocol.Task {
	p.drawn.Streams = append([]document.Stream(nil), p.drawn.Streams...)
	dst = p.reissue(dst)
	if p.native.setup.Workers == 0 {
		return dst
	}
	return p.fill(dst)
}

// reissue draws the batches of the window again, with the size that they had. Those that were
// handed out out of order are skipped, and all others become tasks.
func (p *pass) reissue(dst []protocol.Task) []protocol.Task {
	w := p.native.at.Ahead
	for _, done := range w.Bits {
		r := p.draw(int(w.Global))
		if r == nil {
			break
		}
		if r.settled = done; !done {
			dst = append(dst, p.task(r))
		}
	}
	return dst
}

// fill draws batches until the window of open batches is full. Batches of another size are drawn
// only after all batches of one size are done, so that a window has one size.
func (p *pass) fill(dst []protocol.Task) []protocol.Task {
	for len(p.open) < p.depth && (len(p.open) == 0 || p.open[0].global == p.native.setup.Global) && !p.settles() {
		r := p.draw(p.native.setup.Global)
		if r == nil {
			break
		}
		dst = append(dst, p.task(r))
	}
	return dst
}

// settles reports whether the next batch has to wait until all batches before it are handed out.
func (p *pass) settles() bool {
	s, open := p.native.setup, int64(len(p.open))
	every := int64(s.SettleEvery)
	return every > 0 && !s.InOrder && open > 0 && (p.native.at.Step+open)%every == 0
}

// draw opens the next record. It returns nil at the end, or if the feed fails.
func (p *pass) draw(global int) *record {
	if p.ended || p.failed != nil {
		return nil
	}
	var r *record
	if n := len(p.free); n > 0 {
		r, p.free = p.free[n-1], p.free[:n-1]
	} else {
		r = &record{}
	}
	*r = record{seq: p.seq, global: global, ids: r.ids, ends: r.ends[:0], own: r.own[:0], sampler: r.sampler[:0],
		cursor: r.cursor[:0], pos: p.drawn.Position}
	if !p.takeTurn(r) {
		p.ended = true
		return nil
	}
	if p.feed != nil {
		if err := p.feed.draw(r, global); err != nil {
			if p.ended = errors.Is(err, io.EOF); !p.ended {
				p.failed = err
			}
			return nil
		}
		p.drawn.Position += int64(len(r.ids))
	}
	p.drawn.Turn = r.turn + 1
	p.seq++
	p.open = append(p.open, r)
	return r
}

// takeTurn gives a record to the next stream that has not ended. It returns false if all streams
// have ended. A turn of a stream that has ended counts.
func (p *pass) takeTurn(r *record) bool {
	lanes := int64(p.Lanes())
	r.turn = p.drawn.Turn
	if !p.native.setup.Iterable {
		return true
	}
	for range lanes {
		if !p.drawn.Streams[p.stream(int(r.turn%lanes))].Ended {
			return true
		}
		r.turn++
	}
	return false
}

func (p *pass) task(r *record) protocol.Task {
	n, s := p.native, p.native.setup
	t := protocol.Task{Lane: protocol.AnyLane, IDs: r.ids[r.lo:r.hi], N: s.BatchSize, Pos: r.pos + int64(r.lo), Seq: r.seq,
		Ends: r.own, Repeated: r.repeated}
	if s.OnError.Action == faults.Skip && s.World > 1 && s.Uneven == order.RepeatSample {
		t.Spare, t.SparePos = r.ids, r.pos
	}
	if n.laned() {
		lanes := int64(p.Lanes())
		t.Lane = int(r.turn % lanes)
		t.Want = true
		if n.snapshots() {
			every := int64(s.SnapshotEvery)
			t.Want = every > 0 && every-r.turn%every <= lanes
		}
	}
	return t
}

// Next implements protocol.Plan.
func (p *pass) Next() (protocol.Task, bool, error) {
	if r := p.draw(p.native.setup.Global); r != nil {
		return p.task(r), true, nil
	}
	n := p.native
	if p.failed != nil {
		n.pass = nil
		n.engine.Abandon()
		return protocol.Task{}, false, p.failed
	}
	position := n.at.Position
	if f, ok := p.feed.(*orderFeed); ok {
		position += f.length - n.at.Index // includes the samples that order.Drop left out
	}
	n.pass = nil
	n.nextEpoch(position)
	if err := n.endSampler(); err != nil {
		n.engine.Abandon()
		return protocol.Task{}, false, err
	}
	n.takeSnapshot()
	return protocol.Task{}, false, nil
}

// Settle implements protocol.Plan.
func (p *pass) Settle(t protocol.Task, o *protocol.Outcome, dst []protocol.Task) []protocol.Task {
	n := p.native
	r := p.find(t.Seq)
	if o.Err != nil && n.setup.OnError.Action != faults.PassOn {
		p.window(&n.at.Ahead)
		n.pass = nil
		n.engine.Abandon()
		return dst
	}
	n.snapshotBefore(r.turn)
	r.settled, r.ended = true, o.Ended
	if o.Ended || o.State != nil && o.State.Ended {
		p.drawn.Streams[p.stream(t.Lane)].Ended = true
	}
	if o.State != nil {
		st := &n.at.Streams[p.stream(t.Lane)]
		r.items = o.State.Items - st.Items
		*st = document.Stream{Items: o.State.Items, Ended: o.State.Ended || o.Ended, Dataset: o.State.Dataset,
			Iterator: o.State.Iterator}
	}
	n.at.Note(o.Faults)
	n.markOwn()
	p.commit()
	if !o.Ended && !o.Empty {
		n.snap.Since++
		n.overrun()
	}
	n.snapshotBehind()
	if n.setup.Workers > 0 {
		dst = p.fill(dst)
	}
	p.unmarkOwn()
	return dst
}

// markOwn records that the other ranks may have handed out other batches than this rank.
func (n *native) markOwn() {
	s, at := n.setup, &n.at
	switch every := int64(s.SettleEvery); {
	case s.World == 1 || !s.Iterable && (s.InOrder || s.Workers == 0):
	case !at.Own:
		at.Own, at.Settle = true, every
	case at.Settle != every:
		at.Settle = 0
	}
}

// unmarkOwn records that all ranks have handed out the same batches: at a settled step, and at the
// end of an epoch. Ranks of an Iterable never have.
func (p *pass) unmarkOwn() {
	at := &p.native.at
	if !at.Own || p.native.setup.Iterable || slices.ContainsFunc(p.open, func(r *record) bool { return r.settled }) {
		return
	}
	if p.ended && len(p.open) == 0 || at.Settle > 0 && at.Step%at.Settle == 0 {
		at.Own = false
	}
}

// find returns the record of a task. There is one open record for each batch in flight, in the
// order of their numbers.
func (p *pass) find(seq int64) *record {
	i, ok := slices.BinarySearchFunc(p.open, seq, func(r *record, seq int64) int { return cmp.Compare(r.seq, seq) })
	if !ok {
		return nil
	}
	return p.open[i]
}

// commit moves the place past all settled records before the first one that is not settled.
func (p *pass) commit() {
	done := 0
	for done < len(p.open) && p.open[done].settled {
		p.native.pass.commitOne(p.open[done])
		done++
	}
	p.free = append(p.free, p.open[:done]...)
	p.open = p.open[:copy(p.open, p.open[done:])]
}

func (p *pass) commitOne(r *record) {
	n := p.native
	at := &n.at
	at.Turn = r.turn + 1
	if p.feed == nil {
		if r.items > 0 && !n.setup.NoDigest {
			at.Digest.Add(int64(p.stream(int(r.turn%int64(p.Lanes())))), r.items)
		}
		at.Index += r.items
		at.Position += r.items
	} else {
		at.Index += int64(len(r.ids))
		at.Position += int64(len(r.ids))
		at.Draws += r.draws
		if at.Repeated += int64(r.repeats); r.repeats > 0 {
			n.tellUneven(int64(n.setup.World-r.repeats), "parts")
		}
		if !n.setup.NoDigest {
			at.Digest.Add(r.ids...)
			at.Coverage[1].Add(r.ids)
		}
	}
	if len(r.sampler) > 0 {
		at.Sampler, r.sampler = r.sampler, at.Sampler
	}
	if len(r.cursor) > 0 {
		at.Cursor, r.cursor = r.cursor, at.Cursor
	}
	if !r.ended {
		at.Batch++
		at.Step++
	}
}

// window writes into w which of the open records were handed out already.
func (p *pass) window(w *document.Window) {
	w.Global, w.World, w.Bits = int64(p.native.setup.Global), int64(p.native.setup.World), w.Bits[:0]
	if len(p.open) > 0 {
		w.Global = int64(p.open[0].global)
	}
	last := 0
	for i, r := range p.open {
		if r.settled {
			last = i + 1
		}
	}
	for _, r := range p.open[:last] {
		w.Bits = append(w.Bits, r.settled)
	}
}
