// Package pipeline turns files into batches: a graph of operators, declared
// once, checked before it runs, and a stream of batches that can be stopped
// anywhere and carried on exactly.
//
//	def, err := pipeline.Define(pipeline.Options{BatchSize: 64, Seed: 7}, func(p *pipeline.Builder) []pipeline.Node {
//		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: "train", RandomShuffle: true})
//		images := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
//		…
//		return []pipeline.Node{images, labels}
//	})
//	pipe, err := def.New(ctx, nil)
//	defer pipe.Close()
//	for batch, err := range pipe.Batches(ctx) { … }
//
// # The stream
//
// A pipeline delivers an endless stream: epoch after epoch, each in an order of
// its own when the reader shuffles. What it delivers is a function of the
// definition, the data set's fingerprint, the seed and the position, and of
// nothing else: numbers of threads, prefetch depth and ranks do not enter. So the
// state of a stream is little more than its position, and going there takes no
// longer at position 10^9 than at 0.
//
// Random numbers are keyed by seed, position and the name of the node that
// draws. Adding an operator leaves the numbers of the others as they are.
//
// # Epochs
//
// An epoch is the data set of the first reader of the graph, once; Options.LastBatch says what
// happens at its end. Further readers give their samples for the same positions,
// in an order of their own. A graph without readers has no epochs.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/exec"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/internal/graph"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/stream"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Batch is what a pipeline delivers. It and all memory in it belong to the
// pipeline, and are the caller's until the next call of Next, SetState, Skip or Close.
type Batch struct {
	Outputs  []*tensor.Batch // in the order in which the definition returned its nodes
	Epoch    int64           // from 0 on; that of the first sample
	Index    int64           // of the batch within its epoch, from 0 on
	Position int64           // of the batch's first sample in the stream, over all ranks
	IDs      []int64         // ids of this rank's samples in the data set of the first reader
}

// Pipeline is a stream of batches; it implements stream.Stream. Its methods are
// for one goroutine at a time.
type Pipeline struct {
	options  Options
	sources  []reader.Source
	orders   []order.Order
	schedule schedule
	identity identity
	codec    Codec
	exec     *exec.Executor
	ring     *flow.Ring[*slot, Progress]
	ids      []int64 // of a whole batch, all ranks
	samples  int64   // of the first reader's data set
	closed   bool
}

var _ stream.Stream[*Batch] = (*Pipeline)(nil)

// slot is a batch in the making.
type slot struct {
	frame *exec.Frame
	batch Batch
}

func newPipeline(g *graph.Graph, sources []reader.Source, o Options) (*Pipeline, error) {
	a, err := o.compat().Arrange(g, sources, o)
	if err != nil {
		return nil, err
	}
	p := &Pipeline{options: o, sources: sources, orders: a.Orders, codec: a.Codec}
	p.schedule = schedule{epochs: a.Epochs, batch: int64(o.BatchSize), last: a.LastBatch}
	if n := p.schedule.length(); len(sources) > 0 && a.LastBatch == Drop && n < int64(o.BatchSize) {
		return nil, invalid("BatchSize", fmt.Sprintf("at most the %d samples of an epoch when the last batch is dropped", n), o.BatchSize)
	}
	if len(sources) > 0 {
		p.ids, p.samples = make([]int64, o.BatchSize), sources[0].Info().Samples
	}
	if p.identity, err = newIdentity(g, sources, p.orders, o); err != nil {
		return nil, err
	}
	if p.codec == nil {
		p.codec = documents{identity: p.identity, schedule: p.schedule}
	}
	largest := 0
	for n := range o.BatchSize + 1 { // of the rank's shares, the largest batch need not give the largest
		lo, hi := share(n, o.Rank, o.World)
		largest = max(largest, hi-lo)
	}
	p.exec = exec.New(g, sources, exec.Config{
		BatchSize: largest, Threads: o.NumThreads, Fetchers: o.IOThreads, ReadAhead: o.ReadAheadBytes,
		Keyers: a.Keyers,
	})
	slots := make([]*slot, 1+o.ahead())
	for i := range slots {
		slots[i] = &slot{frame: p.exec.NewFrame()}
		slots[i].batch.Outputs = slots[i].frame.Outputs
	}
	p.ring = flow.NewRing[*slot, Progress](producer{p}, slots, Progress{})
	return p, nil
}

// producer makes batches for the ring.
type producer struct{ p *Pipeline }

// Start implements flow.Stage.
func (m producer) Start(s *slot, at Progress) (Progress, bool) {
	p := m.p
	n, after := p.schedule.next(at.Position)
	lo, hi := share(n, p.options.Rank, p.options.World)
	f := s.frame
	f.Begin(hi - lo)
	for i := range f.Positions {
		f.Positions[i], f.Slots[i] = at.Position+int64(lo+i), int32(lo+i)
	}
	next := Progress{Position: after, Batches: at.Batches + 1, Resets: at.Resets, Digest: at.Digest}
	for r, o := range p.orders {
		ids := p.ids[:n]
		o.Fill(at.Position, ids)
		next.Digest.Add(ids...)
		copy(f.IDs[r], ids[lo:hi])
	}
	s.batch.Position = at.Position
	s.batch.Epoch, s.batch.Index = p.schedule.epoch(at.Position)
	if len(f.IDs) > 0 {
		s.batch.IDs = f.IDs[0]
	}
	p.exec.Start(f)
	return next, true
}

// Wait implements flow.Stage.
func (m producer) Wait(ctx context.Context, s *slot) error { return m.p.exec.Wait(ctx, s.frame) }

// Err implements flow.Stage.
func (m producer) Err(s *slot) error {
	if err := m.p.exec.Err(s.frame); err != nil {
		return err
	}
	return m.p.options.declared().checkBatch(s.batch.Outputs)
}

// Abandon implements flow.Stage.
func (m producer) Abandon(s *slot) { m.p.exec.Abandon(s.frame) }

// Next returns the next batch of the stream, which does not end.
//
// An error keeps the position, so that state and digest are those of the batch
// delivered before. When a sample failed, the error names operator, file and
// reason; the next Next tries the same batch again, Skip leaves it out. When ctx
// ends, Next returns at once with an errs.Canceled, and what was begun goes on.
func (p *Pipeline) Next(ctx context.Context) (*Batch, error) {
	if p.closed {
		return nil, &errs.Error{Kind: errs.Closed, Op: "pipeline.Next"}
	}
	s, ok, err := p.ring.Next(ctx)
	if err != nil {
		return nil, errs.Wrap("pipeline.Next", "", err)
	}
	if !ok {
		return nil, io.EOF
	}
	return &s.batch, nil
}

// Skip passes over the next batch without making it. Its samples do not enter the digest.
func (p *Pipeline) Skip() error {
	if p.closed {
		return &errs.Error{Kind: errs.Closed, Op: "pipeline.Skip"}
	}
	at := p.ring.Token()
	_, at.Position = p.schedule.next(at.Position)
	at.Batches++
	p.ring.Reset(at)
	return nil
}

// Batches yields the batches from the current position to the end of the epoch:
// a whole epoch when one has just begun. It stops after an error, which keeps the
// position as Next does. A batch counts as delivered when it is yielded, so that
// another loop after a break goes on behind it.
func (p *Pipeline) Batches(ctx context.Context) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		for {
			b, err := p.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(b, err) || err != nil {
				return
			}
			if epoch, _ := p.schedule.epoch(p.ring.Token().Position); epoch > b.Epoch {
				return
			}
		}
	}
}

// Specs describes the samples of the outputs.
func (p *Pipeline) Specs() []tensor.Spec { return p.exec.Specs() }

// Options returns the options in force, defaults filled in.
func (p *Pipeline) Options() Options { return p.options }

// NumSamples returns the size of the data set of the first reader, or 0 without readers.
func (p *Pipeline) NumSamples() int64 { return p.samples }

// EpochSize returns how many samples of an epoch are delivered, over all ranks.
func (p *Pipeline) EpochSize() int64 { return p.schedule.delivered() }

// EpochBatches returns the number of batches of an epoch; with Fill, of the first.
func (p *Pipeline) EpochBatches() int64 { return p.schedule.batches() }

// ReadAhead returns the bytes of fetched samples that are held now, and the most that ever were.
func (p *Pipeline) ReadAhead() (now, peak int64) { return p.exec.ReadAhead() }

// Close stops all work, waits for it and releases everything. The pipeline and
// its batches are unusable afterwards. It may be called twice.
func (p *Pipeline) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	p.ring.Reset(p.ring.Token())
	p.exec.Close()
	var failed error
	for _, s := range p.sources {
		failed = errors.Join(failed, s.Close())
	}
	return failed
}
