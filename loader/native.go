package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/internal/document"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// native is Bivouac's own Protocol. Its state is a position.
type native struct {
	engine   protocol.Engine
	setup    *protocol.Setup
	identity document.Identity
	at       document.Place // the committed place, after the batch that was handed out last
	snap     document.Place // the place of the last snapshot, if not every batch has one
	pass     *pass          // the pass in progress, or nil
	version  int            // version of the order: 0 for the newest, 1 for states that name it
	lenWarn  bool

	unevenTold bool
	counted    *counted // result of packsLen; nil if it is not known, or another state was set
}

// Attach implements protocol.Protocol.
func (n *native) Attach(e protocol.Engine) error {
	n.engine, n.setup = e, e.Setup()
	s := n.setup
	n.at.History = []document.Segment{{Global: int64(s.Global)}}
	if s.Iterable || s.Stateful {
		streams := s.Streams
		if streams == 0 {
			streams = max(1, s.Workers)
		}
		if s.Iterable && streams%s.World != 0 {
			return invalid("Streams", fmt.Sprintf("a multiple of the %d ranks", s.World), streams)
		}
		n.at.Streams = make([]document.Stream, streams)
	}
	if n.ordered() {
		samples, _ := s.DataLen()
		n.at.Spans = []document.Span{{Samples: samples}}
	}
	n.identify()
	if err := n.checkEmpty(); err != nil {
		return err
	}
	n.takeSnapshot()
	n.warnOfUnevenEnd()
	n.warnOfPacks()
	return nil
}

// ordered reports whether an order decides the batches, and no stream or sampler.
func (n *native) ordered() bool {
	return !n.setup.Iterable && n.setup.Sampler == nil && n.setup.BatchSampler == nil
}

// laned reports whether batches belong to streams.
func (n *native) laned() bool { return len(n.at.Streams) > 0 }

// identify makes the identity again, because the length of a data set may have changed.
func (n *native) identify() {
	samples, _ := n.setup.DataLen()
	n.identity = newIdentity(n.setup, samples, n.version, false)
}

// snapshots reports whether there are batches without a state of their own. Batches that are handed
// out out of order always have one.
func (n *native) snapshots() bool { return n.laned() && n.setup.InOrder && n.setup.SnapshotEvery != 1 }

// Begin implements protocol.Protocol.
func (n *native) Begin(ctx context.Context) error {
	if n.snapshots() { // batches handed out after the snapshot are made again
		n.at = n.snap.Clone()
	}
	since := n.at.Since
	n.at.Since, n.snap.Since = 0, 0
	n.identify()
	if samples, _ := n.setup.DataLen(); n.ordered() && n.at.Spans[len(n.at.Spans)-1].Samples != samples {
		n.at.Grow(samples)
	}
	err := n.open(ctx)
	if err == nil {
		err = n.replay(ctx, since)
	}
	if err != nil {
		n.engine.Abandon()
		n.pass = nil
		if n.snapshots() {
			n.at = n.snap.Clone()
		}
		n.at.Since, n.snap.Since = since, since
	}
	return err
}

func (n *native) open(ctx context.Context) error {
	p, err := n.newPass()
	if err != nil {
		return err
	}
	n.pass = p
	return n.engine.Open(ctx, p)
}

// replay makes the batches after a snapshot again.
func (n *native) replay(ctx context.Context, since int64) error {
	for range since {
		err := n.engine.Skip(ctx, 1)
		switch {
		case errors.Is(err, io.EOF):
			return &errs.Error{Kind: errs.Mismatch, Subject: "data set",
				Want: fmt.Sprint("at least ", since, " batches after the snapshot, as before"), Got: "an end before"}
		case err != nil && (n.setup.OnError.Action != faults.PassOn || ctx.Err() != nil):
			return err
		}
	}
	return nil
}

func (n *native) newPass() (*pass, error) {
	s, at := n.setup, &n.at
	p := &pass{native: n, drawn: *at, depth: max(1, s.Workers*s.Prefetch)}
	if s.Iterable {
		return p, nil
	}
	samples, _ := s.DataLen()
	deal := dealer{s.Rank, s.World, s.Uneven == order.RepeatSample}
	var err error
	switch {
	case s.BatchSampler != nil:
		f := &batchFeed{sampler: s.BatchSampler, samples: samples, dealer: deal}
		f.cursor, err = openCursor(s.BatchSampler, s.BatchSampler.Open, at)
		p.feed = f
	case s.Sampler != nil:
		f := &samplerFeed{sampler: s.Sampler, samples: samples, dealer: deal, tail: s.Tail}
		f.cursor, err = openCursor(s.Sampler, s.Sampler.Open, at)
		p.feed = f
	default:
		o, length := orderOf(s, at.SpanOf(at.Epoch).Samples, n.version)
		start := n.epochStart(at, o, length)
		f := &orderFeed{order: o, start: start, length: length, index: at.Index, samples: samples, dealer: deal,
			tail: s.Tail}
		if s.Packs {
			f.packs, _ = o.(order.Packer)
		}
		p.feed = f
	}
	return p, err
}

// epochStart returns the position of an order at which the epoch of a place begins. An order that
// ends begins again in each epoch. An order without epochs continues.
func (n *native) epochStart(at *document.Place, o order.Order, length int64) int64 {
	if _, once := o.Len(); once {
		return 0
	}
	if _, epochs := o.(interface{ EpochLen() int64 }); epochs {
		return at.Epoch * length
	}
	s := at.SpanOf(at.Epoch)
	return s.Start + (at.Epoch-s.Epoch)*length
}

// domainOf returns the domain of Shuffle's order, or of random numbers, for a purpose.
func domainOf(s *protocol.Setup, purpose string) string {
	if s.Name == "" {
		return purpose
	}
	return purpose + "/" + s.Name
}

// randomSeed returns the seed of the random numbers of samples.
func randomSeed(s *protocol.Setup) uint64 {
	if s.Name == "" {
		return s.Seed
	}
	return order.Key(s.Seed, 0, domainOf(s, "random"))
}

// orderOf returns the order of a data set with the given number of samples, and the length of its
// epochs. version is the version of package order that defines the order; 0 is the newest.
func orderOf(s *protocol.Setup, samples int64, version int) (o order.Order, epoch int64) {
	switch {
	case s.Order != nil:
		o = s.Order
		if version != 0 {
			o = order.At(o, version)
		}
		if now, _ := s.DataLen(); samples < now { // the epoch began before the data set grew
			if first, ok := order.First(o, samples); ok {
				o = first
			}
		}
		if e, ok := o.(interface{ EpochLen() int64 }); ok {
			return o, e.EpochLen()
		}
		if n, once := o.Len(); once {
			return o, n
		}
		return o, samples
	case s.Shuffle && version != 0:
		return order.At(order.NewShuffled(samples, s.Seed, domainOf(s, "loader")), version), samples
	case s.Shuffle:
		return order.NewShuffled(samples, s.Seed, domainOf(s, "loader")), samples
	}
	return order.Sequential(samples), samples
}

// Leave drops the rest of the epoch.
func (n *native) Leave() {
	n.pass = nil
	n.nextEpoch(n.at.Position)
	n.takeSnapshot()
}

// nextEpoch moves to the next epoch, which begins at position.
func (n *native) nextEpoch(position int64) {
	n.at.NextEpoch(position, n.setup.Stateful)
	n.at.Own = n.at.Own && n.setup.Iterable
}

// AppendState implements protocol.Protocol.
func (n *native) AppendState(_ context.Context, dst []byte) ([]byte, error) {
	at := &n.at
	if n.snapshots() {
		at = &n.snap
	} else if n.pass != nil {
		n.pass.window(&n.at.Ahead)
	}
	return n.identity.Append(dst, at, scopeOf(n.setup)), nil
}

// SetState implements protocol.Protocol.
func (n *native) SetState(b []byte) (err error) {
	before := n.version
	defer func() {
		if err != nil {
			n.version = before
			n.identify()
		}
	}()
	at, err := n.parse(b)
	if errs.KindOf(err) == errs.Mismatch && n.setup.Extend {
		at, err = n.parseEarlier(b, err)
	}
	if err != nil {
		return err
	}
	if n.ordered() {
		samples, _ := n.setup.DataLen()
		if len(at.Spans) == 0 {
			at.Spans = []document.Span{{Samples: samples}}
		}
		if last := at.Spans[len(at.Spans)-1]; last.Samples != samples {
			return document.Corrupt("extra.spans", fmt.Sprint(samples, " samples in the last span"), last.Samples)
		}
	}
	if err := n.fits(&at); err != nil {
		return err
	}
	if last := at.History[len(at.History)-1]; last.Global != int64(n.setup.Global) {
		if len(at.History) == document.MaxSegments {
			at.History = at.History[:copy(at.History, at.History[1:])]
		}
		at.History = append(at.History, document.Segment{Step: at.Step, Position: at.Position, Global: int64(n.setup.Global)})
	}
	n.at, n.pass, n.counted = at, nil, nil
	n.takeSnapshot()
	return nil
}

// parse reads a state as the newest version of orders, or else as the first version.
func (n *native) parse(b []byte) (at document.Place, err error) {
	for i, version := range []int{0, 1} {
		n.version = version
		n.identify()
		var failed error
		if at, failed = n.identity.Parse(b, scopeOf(n.setup)); failed == nil {
			return at, nil
		}
		if order.IsDigest(n.identity.Document.Fields["order"]) && errs.KindOf(failed) == errs.Mismatch {
			samples, _ := n.setup.DataLen()
			full := newIdentity(n.setup, samples, version, true)
			if at, err := full.Parse(b, scopeOf(n.setup)); err == nil {
				return at, nil // later states have the digest
			}
		}
		if i == 0 || errs.KindOf(failed) != errs.Mismatch {
			err = failed
		}
		if errs.KindOf(failed) != errs.Mismatch || n.setup.Name != "" {
			break // in version 1 loaders had no names
		}
	}
	return at, err
}

// fits returns an error for a place that no run of this loader can reach.
func (n *native) fits(at *document.Place) error {
	s := n.setup
	if n.laned() != (len(at.Streams) > 0) {
		return &errs.Error{Kind: errs.Mismatch, Subject: "streams", Want: strconv.Itoa(len(n.at.Streams)),
			Got:    strconv.Itoa(len(at.Streams)),
			Remedy: "the state belongs to another kind of data set"}
	}
	if s.Iterable && len(at.Streams)%s.World != 0 {
		return &errs.Error{Kind: errs.Mismatch, Subject: "world",
			Want: fmt.Sprintf("a divisor of the %d streams of the state", len(at.Streams)), Got: strconv.Itoa(s.World)}
	}
	if s.Iterable && at.Since > 0 && at.World != int64(s.World) {
		// The state does not tell which batches after the snapshot belong to which streams.
		return &errs.Error{Kind: errs.Mismatch, Subject: "world",
			Want: fmt.Sprint(at.World, " ranks (the state covers ", at.Since,
				" batches after its snapshot)"), Got: strconv.Itoa(s.World),
			Remedy: "continue with the same number of ranks up to a step with a snapshot or to the end of the epoch, " +
				"and take the state there; with Options.SnapshotEvery 1 every step has a snapshot"}
	}
	if err := fitsRank(at, s); err != nil {
		return err
	}
	if !s.Iterable && s.Sampler == nil && s.BatchSampler == nil {
		_, length := orderOf(s, at.SpanOf(at.Epoch).Samples, n.version)
		if at.Index > length {
			return document.Corrupt("extra.index", fmt.Sprintf("at most the %d samples of an epoch", length), at.Index)
		}
		if length > 0 && at.Epoch >= math.MaxInt64/length {
			return document.Corrupt("epoch", "an epoch that can be reached", at.Epoch)
		}
	}
	return n.consistent(at)
}

// fitsRank returns an error for the state of one rank if this is another rank. Batches that a run
// of one rank handed out out of order continue over any number of ranks, because all of them are
// known.
func fitsRank(at *document.Place, s *protocol.Setup) error {
	world := at.Ahead.World
	if at.Own {
		world = at.World
	}
	rank := fmt.Sprintf("rank %d of %d", s.Rank, s.World)
	switch {
	case at.Own && (at.World != int64(s.World) || at.Rank != int64(s.Rank)) && s.Iterable:
		return &errs.Error{Kind: errs.Mismatch, Subject: "world",
			Want: fmt.Sprintf("rank %d of %d, which has read the streams of the state", at.Rank, at.World), Got: rank,
			Remedy: "merge the states of all ranks with loader.Merge: any number of ranks can continue from the merged state"}
	case at.Own && (at.World != int64(s.World) || at.Rank != int64(s.Rank)), !at.Own && len(at.Ahead.Bits) > 0 &&
		world != int64(s.World) && (world != 1 || s.BatchSampler != nil):
		want := fmt.Sprint(world, " ranks")
		if at.Own {
			want = fmt.Sprintf("rank %d of %d", at.Rank, at.World)
		}
		return &errs.Error{Kind: errs.Mismatch, Subject: "world", Want: want + " (batches were handed out out of order)",
			Got: rank,
			Remedy: "continue with the same ranks, each from its own state, to the end of the epoch, " +
				"or take states at the steps of Options.SettleEvery, from which any number of ranks can continue"}
	}
	return nil
}

// takeSnapshot makes the current place the one to continue from.
func (n *native) takeSnapshot() {
	if n.snapshots() {
		n.snap = n.at.Clone()
	}
}

// snapshotBefore takes the snapshot that is due before a turn. Turns of streams that have ended may
// come before it.
func (n *native) snapshotBefore(turn int64) {
	every := int64(n.setup.SnapshotEvery)
	if n.snapshots() && every > 0 && turn/every > n.at.Turn/every {
		n.takeSnapshot()
	}
}

// snapshotBehind takes the snapshot that is due after the last turn.
func (n *native) snapshotBehind() {
	every := int64(n.setup.SnapshotEvery)
	if n.snapshots() && every > 0 && n.at.Turn%every == 0 {
		n.takeSnapshot()
	}
}

// endSampler stores the state of a sampler after an epoch.
func (n *native) endSampler() (err error) {
	var sampler any = n.setup.Sampler
	if n.setup.BatchSampler != nil {
		sampler = n.setup.BatchSampler
	}
	if s, ok := sampler.(state.Stateful); ok {
		n.at.Sampler, err = s.AppendState(nil)
	}
	return errs.Wrap("", "state of the sampler", err)
}

// overrun warns if an Iterable yields more batches than it announced.
func (n *native) overrun() {
	announced, known := n.setup.AnnouncedLen()
	announced = batchesOf(n.setup, announced)
	if !known || n.lenWarn || n.at.Batch <= announced {
		return
	}
	n.lenWarn = true
	m := fmt.Sprintf("the data set announced %d batches, when Len was asked, but has given %d", announced, n.at.Batch)
	if n.setup.Workers > 0 {
		m += "; it may not give each worker items of its own (see WorkerInfoOf)"
	}
	n.setup.Warn(m)
}
