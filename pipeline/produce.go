package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/internal/loan"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

// making is the part of a Pipeline that makes batches.
type making struct {
	config exec.Config
	exec   *exec.Executor // nil until the first data describes the graph's inputs
	late   late
	ring   *flow.Ring[*slot, Progress]
	ids    []int64     // of a whole batch, all ranks
	turns  []int64     // numbers of batches that begin an epoch, ascending, and are not yet delivered
	last   *exec.Frame // the frame that was started last, until it is abandoned
	stuck  bool        // the newest batch could not be begun
}

// slot is a batch in the making.
type slot struct {
	exec  *exec.Executor // of frame
	frame *exec.Frame
	batch Batch
	fed   []*feed // of each input
	ids   []int64 // memory for the ids of the batch if samples were skipped
	err   error   // the reason why it could not be begun
	lent  loan.Mark
}

// producer makes batches for the ring.
type producer struct{ p *Pipeline }

// Start implements flow.Stage.
func (m producer) Start(ctx context.Context, s *slot, at Progress, wait bool) (Progress, flow.Outcome) {
	p := m.p
	if p.stuck {
		return at, flow.Starved
	}
	at = p.turned(at)
	n, after := p.schedule.next(at.Position)
	lo, hi := order.Slice(n, p.options.Rank, p.options.World)
	if len(p.inputs) > 0 {
		fed, outcome, err := p.takeInputs(ctx, s, at, span{n: hi - lo, whole: n, slot: lo}, wait)
		switch {
		case err != nil:
			s.err, p.stuck = err, true
			return at, flow.Started
		case outcome != flow.Started:
			return at, outcome
		}
		if len(p.sources) == 0 && p.options.World == 1 {
			hi, after = fed, at.Position+int64(fed)
		}
	}
	if s.exec != p.exec {
		if s.frame != nil {
			s.frame.Drop()
		}
		s.exec, s.frame = p.exec, p.exec.NewFrame()
		s.batch.Outputs, s.batch.frame, s.batch.fed = s.frame.Outputs, s.frame, &s.fed
	}
	f := s.frame
	f.Begin(hi - lo)
	for i := range f.Positions {
		f.Positions[i], f.Slots[i] = at.Position+int64(lo+i), int32(lo+i)
	}
	next := at
	next.Position, next.Batches, next.number = after, at.Batches+1, at.number+1
	for r, o := range p.orders {
		ids := p.ids[:n]
		o.Fill(at.Position, ids)
		next.Digest.Add(ids...)
		copy(f.IDs[r], ids[lo:hi])
	}
	for i := range s.fed {
		for o := range s.fed[i].outputs {
			d := &s.fed[i].outputs[o]
			f.Feed(i, o, d.samples)
			if s.fed[i].release != nil && !p.inputs[i].source.options.RepeatLast {
				f.Lend(i, o, d.whole) // it belongs to this batch alone
			}
		}
	}
	s.batch.Position = at.Position
	s.batch.Epoch, s.batch.Index = p.epochAt(at)
	if len(f.IDs) > 0 {
		s.batch.IDs = f.IDs[0]
	}
	if p.exec.Follows() {
		f.Follow(p.last, p.came, p.remembered)
		p.last = f
	}
	p.exec.Start(f)
	return next, flow.Started
}

// epochAt returns the epoch of the batch after at, and the batch's number in that epoch. Without
// a reader, the external sources decide where epochs end.
func (p *Pipeline) epochAt(at Progress) (epoch, index int64) {
	if p.counts && p.schedule.epochs == nil {
		return at.Resets, at.Batches
	}
	return p.schedule.epoch(at.Position)
}

// takeInputs gives the slot its batches of the external sources. Each of them has fed samples.
func (p *Pipeline) takeInputs(
	ctx context.Context, s *slot, at Progress, samples span, wait bool,
) (fed int, o flow.Outcome, err error) {
	info := BatchInfo{EpochIdx: at.Resets, Iteration: at.Batches}
	samples.first = at.Position - at.First + int64(samples.slot)
	if !p.counts {
		info.EpochIdx, info.Iteration = p.schedule.epoch(at.Position)
		_, in := p.schedule.epochs.Locate(at.Position)
		samples.first = in + int64(samples.slot)
	}
	s.fed = s.fed[:0]
	if o, err := p.prepare(at.number); o != flow.Started || err != nil {
		return 0, o, err
	}
	for _, in := range p.inputs {
		f, o, err := in.at(ctx, at.number, info, samples, wait)
		if err != nil || o != flow.Started {
			p.dropInputs(s)
			return 0, o, err
		}
		f.uses++
		s.fed = append(s.fed, f)
		if err := p.checkSize(in, f.samples, s.fed[0].samples, samples.n); err != nil {
			p.dropInputs(s)
			return 0, o, err
		}
	}
	if p.exec == nil {
		if err := p.specialize(); err != nil {
			p.dropInputs(s)
			return 0, flow.Started, err
		}
	}
	return s.fed[0].samples, flow.Started, nil
}

// prepare calls Options.BeforeBatch once before the batch with the given number.
func (p *Pipeline) prepare(number int64) (flow.Outcome, error) {
	if p.options.BeforeBatch == nil || number < p.prepared {
		return flow.Started, nil
	}
	var err error
	p.turn.Callback(func() { err = p.options.BeforeBatch(p) })
	switch {
	case errors.Is(err, io.EOF):
		return flow.Ended, nil
	case err != nil:
		return flow.Started, errs.Wrap("pipeline.BeforeBatch", "", err)
	}
	p.prepared = number + 1
	return flow.Started, nil
}

// checkSize returns an error for a batch of n samples if at most `most` samples are allowed, or if
// the first input has another number of samples, first.
func (p *Pipeline) checkSize(in *input, n, first, most int) error {
	want := ""
	switch {
	case n > most:
		want = fmt.Sprintf("at most %d samples, the batch size", most)
	case n != most && (len(p.sources) > 0 || p.options.World > 1):
		want = fmt.Sprintf("%d samples, the rest of the batch", most)
	case n != first:
		want = fmt.Sprintf("%d samples, as from node %s", first, p.inputs[0].node.Name)
	default:
		return nil
	}
	return in.wrap(&errs.Error{Kind: errs.Mismatch, Want: want, Got: fmt.Sprint(n)})
}

// specialize makes the executor for inputs that the first data describes.
func (p *Pipeline) specialize() error {
	g, err := p.described()
	if err != nil {
		return err
	}
	p.begin(g)
	return nil
}

// described returns the graph with everything that the data so far describes.
func (p *Pipeline) described() (*graph.Graph, error) {
	if p.graph.Known() {
		return p.graph, nil
	}
	specs := make([][]tensor.Spec, len(p.inputs))
	for i, in := range p.inputs {
		specs[i] = in.specs
	}
	return p.seen.of(p.graph, specs, p.late.specs)
}

// dropInputs ends the slot's use of its fed batches.
func (p *Pipeline) dropInputs(s *slot) {
	for i, f := range s.fed {
		p.inputs[i].drop(f)
	}
	s.fed = s.fed[:0]
}

// Wait implements flow.Stage.
func (m producer) Wait(ctx context.Context, s *slot) error {
	if s.err != nil {
		return nil
	}
	p := m.p
	if !p.options.EnableTiming {
		return s.exec.Wait(ctx, s.frame)
	}
	start := time.Now()
	if !s.exec.Ready(s.frame) {
		p.meter.starved.Add(1)
	}
	err := s.exec.Wait(ctx, s.frame)
	p.meter.waited.Add(int64(time.Since(start)))
	return err
}

// Err implements flow.Stage.
func (m producer) Err(s *slot) error {
	if s.err != nil {
		return s.err
	}
	if err := s.exec.Err(s.frame); err != nil {
		return err
	}
	return m.p.declared.checkBatch(s.batch.Outputs)
}

// Abandon implements flow.Stage.
func (m producer) Abandon(s *slot) {
	if loan.Debug && s.lent.IsSet() {
		defer func() { // memory that was lent is no output any more: its owner has it
			for _, o := range s.batch.Outputs {
				loan.Back(o.Data, "a batch of a pipeline", &s.lent)
			}
		}()
	}
	if s.err == nil {
		if m.p.last == s.frame { // the next frame follows the last delivered batch
			m.p.last = nil
		}
		s.exec.Abandon(s.frame)
	} else {
		s.err, m.p.stuck = nil, false
	}
	m.p.dropInputs(s)
}
