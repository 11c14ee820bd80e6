package readers

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/reader"
	_ "github.com/bivouac-ml/bivouac/reader/frames" // readers.sequence
	_ "github.com/bivouac-ml/bivouac/reader/video"  // experimental.readers.video
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// slot is a batch in the making.
type slot struct{ frame *exec.Frame }

// begin makes the executor, and the ring at the given place.
func (r *Reader) begin(plan *Arrangement, at Place) {
	r.plan, r.pending = plan, nil
	ahead := op.Get[int](r.node.Config, "prefetch_queue_depth")
	r.exec = exec.New(r.graph, []reader.Source{r.source}, exec.Config{
		BatchSize: r.batch, Workers: 1, Fetchers: r.options.IOWorkers, ReadAhead: r.options.ReadAheadBytes,
		Keyers: []rng.Keyer{rng.NewKeyer(0)}, Take: true, Limits: r.options.Limits, InFlight: ahead + 1,
	})
	r.ring = flow.NewRing[*slot, Place](producer{r}, ahead, func() *slot { return &slot{frame: r.exec.NewFrame()} }, at)
}

// producer makes batches for the ring. Start is called with the reader's lock held.
type producer struct{ r *Reader }

// Start implements flow.Stage.
func (m producer) Start(_ context.Context, s *slot, at Place, _ bool) (Place, flow.Outcome) {
	r := m.r
	if at.Left <= 0 {
		at.Left = r.plan.Length(at.Epoch)
	}
	n := int64(r.batch)
	if !r.plan.Whole {
		n = min(n, at.Left)
	}
	s.frame.Begin(int(n))
	ids := r.ids[:n]
	r.plan.Order.Fill(at.Position, ids)
	for i := range ids {
		s.frame.Positions[i], s.frame.Slots[i] = at.Position+int64(i), int32(i)
	}
	copy(s.frame.IDs[0], ids)
	r.exec.Start(s.frame)
	at.Position += n
	if at.Left -= n; at.Left <= 0 {
		at.Left = 0
		at.Epoch++
	}
	return at, flow.Started
}

// Wait implements flow.Stage.
func (m producer) Wait(ctx context.Context, s *slot) error { return m.r.exec.Wait(ctx, s.frame) }

// Err implements flow.Stage.
func (m producer) Err(s *slot) error { return m.r.exec.Err(s.frame) }

// Abandon implements flow.Stage.
func (m producer) Abandon(s *slot) { m.r.exec.Abandon(s.frame) }

// step returns the samples of each output of the next batch, and whether the batch is the last of
// its epoch. The samples belong to the caller.
func (r *Reader) step(ctx context.Context) (outputs [][]tensor.Tensor, last bool, err error) {
	if r.closed {
		return nil, false, r.fail(errs.Closed, string(r.use), "", "", "")
	}
	s, _, err := r.ring.Next(ctx)
	if err != nil {
		return nil, false, r.wrap(err)
	}
	r.fresh = false
	for i := range r.node.Specs {
		samples, _ := s.frame.Take(i)
		outputs = append(outputs, samples)
	}
	return outputs, r.ring.Token().Left == 0, nil
}
