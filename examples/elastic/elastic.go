// Package elastic is the demonstration that a run goes on over any number of ranks.
//
// A run over 8 ranks stops in mid-epoch; 6 ranks with other batches go on from its
// state, stop too, then 13, then 1. What all of them delivered is held against a run
// over one rank that nobody interrupted: the samples in their order, the random
// numbers with which each was augmented, and each sample exactly once in an epoch.
// The proof is the consumer's: it counts what it was given and trusts no state.
//
// The states of 8, 6 and 13 ranks are the same documents that one rank writes.
package elastic

import (
	"context"
	"fmt"
	"io"
	"math/bits"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/state"
)

// Options say how large the demonstration is. The zero Options are the defaults.
type Options struct {
	Samples int64 // of the data set; 0 is 100,003, a prime
	Epochs  int64 // 0 is 3
	Seed    uint64
}

// WithDefaults fills in what is zero.
func (o Options) WithDefaults() Options {
	if o.Samples == 0 {
		o.Samples = 100_003
	}
	if o.Epochs == 0 {
		o.Epochs = 3
	}
	return o
}

// leastSamples leaves room for a stop in mid-epoch in every leg.
const leastSamples = 5_000

// Validate reports the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Samples < leastSamples || o.Samples > 100_000_000:
		return invalid("samples", "5000 to 100000000", o.Samples)
	case o.Epochs < 1 || o.Epochs > 1000:
		return invalid("epochs", "1 to 1000", o.Epochs)
	}
	return nil
}

func invalid(field, want string, got int64) error {
	return &errs.Error{Kind: errs.Invalid, Op: "demo elastic", Subject: field, Want: want, Got: strconv.FormatInt(got, 10)}
}

// Screen shows how far the demonstration is. Calls come one at a time.
type Screen interface {
	Begin(task string, total int64)
	Advance(done int64, note string)
	End()
}

// plan is the ranks of a leg, the size of their batches together, and how many
// goroutines read for each rank.
type plan struct{ ranks, batch, workers int }

// legs returns the legs of the run. The last leg continues to the end.
func legs() []plan { return []plan{{8, 256, 2}, {6, 192, 0}, {13, 416, 1}, {1, 100, 4}} }

// sample is what the data set gives: an id, and a random number as an augmentation would draw it.
type sample struct {
	id   int64
	draw uint64
}

// Run does the demonstration. The report tells what was found; an error means that
// the demonstration itself failed.
func Run(ctx context.Context, o Options, screen Screen) (*Report, error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	d := &demonstration{Options: o, screen: screen}
	want, err := d.runCalm(ctx)
	if err != nil {
		return nil, err
	}
	got, err := d.runElastic(ctx)
	if err != nil {
		return nil, err
	}
	return d.report(want, got), nil
}

type demonstration struct {
	Options
	screen Screen
	legs   []Leg
}

// total is the number of samples of the whole run.
func (d *demonstration) total() int64 { return d.Samples * d.Epochs }

// open returns the loader of a rank.
func (d *demonstration) open(p plan, rank int) (*loader.Loader[sample, []sample], error) {
	data := loader.Func(d.Samples, func(_ context.Context, id int64, r loader.Random) (sample, error) {
		draws := r.Stream("augment")
		return sample{id, draws.Uint64()}, nil
	})
	return loader.New(data, loader.Options[sample, []sample]{
		Shuffle: true, Seed: d.Seed, GlobalBatch: p.batch, Rank: rank, World: p.ranks, Workers: p.workers,
		Collate: func(s []sample) ([]sample, error) { return append([]sample(nil), s...), nil },
	})
}

// runCalm is the run that nobody interrupts.
func (d *demonstration) runCalm(ctx context.Context) (*ledger, error) {
	l := newLedger(d.Options)
	d.screen.Begin("1 rank", d.total())
	defer d.screen.End()
	_, err := d.run(ctx, plan{ranks: 1, batch: 64}, nil, d.total(), l)
	return l, err
}

// runElastic is the run of all legs, each from the state of the one before.
func (d *demonstration) runElastic(ctx context.Context) (*ledger, error) {
	l := newLedger(d.Options)
	all := legs()
	var saved []byte
	for i, p := range all {
		until := d.total()
		if i < len(all)-1 { // in mid-epoch: legs end at odd parts of the run
			until = d.total() * int64(2*i+1) / int64(2*len(all)-1)
		}
		task := "1 rank again"
		if p.ranks > 1 {
			task = fmt.Sprint(p.ranks, " ranks")
		}
		d.screen.Begin(task, until)
		leg := Leg{Ranks: p.ranks, Batch: p.batch, Workers: p.workers, From: l.count}
		var err error
		if saved, err = d.run(ctx, p, saved, until, l); err != nil {
			return nil, err
		}
		d.screen.End()
		leg.To, leg.Digest, leg.StateBytes = l.count, l.digest.Sum(), len(saved)
		if doc, err := state.Unmarshal(saved); err == nil {
			leg.StateDigest = doc.Digest
		}
		d.legs = append(d.legs, leg)
	}
	return l, nil
}

// run reads from a state until the given number of samples is counted. It returns the state of the
// last rank, which all ranks share.
func (d *demonstration) run(ctx context.Context, p plan, saved []byte, until int64, l *ledger) (after []byte, err error) {
	ranks := make([]*loader.Loader[sample, []sample], 0, p.ranks)
	defer func() {
		for _, r := range ranks {
			if e := r.Close(); err == nil {
				err = e
			}
		}
	}()
	for rank := range p.ranks {
		r, err := d.open(p, rank)
		if err != nil {
			return nil, err
		}
		ranks = append(ranks, r)
		if saved != nil {
			if err := r.SetState(saved); err != nil {
				return nil, err
			}
		}
	}
	ended := make([]bool, p.ranks)
	for steps := 0; l.count < until; steps++ {
		if err := d.step(ctx, ranks, ended, l); err != nil {
			return nil, err
		}
		if steps%64 == 0 {
			d.screen.Advance(l.count, "")
		}
	}
	d.screen.Advance(until, "")
	return ranks[len(ranks)-1].AppendState(nil)
}

// step takes a batch of each rank, in their order. A rank that has no part of the
// last batch of an epoch has ended it; it waits for the others.
func (d *demonstration) step(ctx context.Context, ranks []*loader.Loader[sample, []sample], ended []bool, l *ledger) error {
	delivered := false
	for i, r := range ranks {
		if ended[i] {
			continue
		}
		batch, err := r.Next(ctx)
		if err == io.EOF {
			ended[i] = true
			continue
		}
		if err != nil {
			return err
		}
		delivered = true
		l.add(batch)
	}
	if !delivered {
		clear(ended)
	}
	return nil
}

// ledger is what the consumer counts.
type ledger struct {
	samples int64
	count   int64
	digest  state.Digest // of the ids, in their order
	draws   state.Digest // of the random numbers
	seen    []uint64     // a bit for each sample of this epoch
	once    int64        // epochs of which each sample came exactly once
	twice   int64        // samples that came again in their epoch
}

func newLedger(o Options) *ledger {
	return &ledger{samples: o.Samples, seen: make([]uint64, (o.Samples+63)/64)}
}

func (l *ledger) add(batch []sample) {
	for _, s := range batch {
		l.digest.Add(s.id)
		l.draws.Add(int64(s.draw))
		bit := uint64(1) << (s.id % 64)
		if l.seen[s.id/64]&bit != 0 {
			l.twice++
		}
		l.seen[s.id/64] |= bit
		if l.count++; l.count%l.samples == 0 {
			l.endEpoch()
		}
	}
}

func (l *ledger) endEpoch() {
	n := int64(0)
	for _, word := range l.seen {
		n += int64(bits.OnesCount64(word))
	}
	if n == l.samples {
		l.once++
	}
	clear(l.seen)
}
