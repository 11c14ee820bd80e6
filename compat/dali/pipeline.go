package dali

import (
	"context"
	"log/slog"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// Pipeline is DALI's Pipeline: the engine's pipeline with DALI's calls.
//
// Run is the simple way. ScheduleRun, ShareOutputs, Outputs and ReleaseOutputs control when each
// batch begins, is handed out and is released. Mixing the two ways is an error, unless
// EnableAPICheck(false) was called. These methods do not run a pipeline again after a batch failed.
// The methods of the engine's pipeline work as well: Next and Batches are Go's way, and are not
// part of the check.
//
// The methods are for one goroutine at a time. A call during another call fails with errs.Busy.
type Pipeline struct {
	*pipeline.Pipeline

	options PipelineOptions // defaults filled in
	ahead   int             // batches in progress while one is in use
	inputs  []string        // names of the external sources

	turn      flow.Turn
	used      caller
	unchecked bool
	scheduled bool  // the first batches of the epoch were scheduled
	broken    error // why the batch of this call failed
	failed    error // why the pipeline is not run again
	missing   error // why the next run fails
	closed    bool
}

// newPipeline returns a pipeline at its beginning, or at the state that the options name.
func newPipeline(ctx context.Context, d *Definition, o PipelineOptions) (*Pipeline, error) {
	if err := d.checkStates(o); err != nil {
		return nil, err
	}
	p := &Pipeline{options: o}
	e := o.engine()
	p.ahead = max(0, e.Prefetch)
	if e.Prefetch == 0 {
		p.ahead = defaultDepth
	}
	e.OnEvent = p.heard
	if d.setup != nil {
		e.BeforeBatch = func(*pipeline.Pipeline) (err error) {
			p.turn.Callback(func() { err = d.setup.IterSetup(p) })
			return errs.Wrap("dali.IterSetup", "", err)
		}
	}
	inner, err := d.Definition.With(func(into *pipeline.Options) { *into = e })
	if err != nil {
		return nil, err
	}
	o.warn()
	if p.Pipeline, err = inner.New(ctx, nil); err != nil {
		return nil, err
	}
	p.options = o.inForce(p.Pipeline.Options())
	for _, n := range d.Graph().Fed() {
		p.inputs = append(p.inputs, n.Name)
	}
	if o.Checkpoint != nil {
		if err := p.SetState(o.Checkpoint); err != nil {
			p.Close() //nolint:errcheck // the error of the state is the one to return
			return nil, errs.Wrap("dali.New", "", err)
		}
	}
	return p, nil
}

// heard handles the events of the engine.
func (p *Pipeline) heard(e pipeline.Event) {
	switch e.Kind {
	case pipeline.EpochEnded:
		p.scheduled, p.missing = false, nil
	case pipeline.BatchFailed:
		p.broken = e.Err
	case pipeline.OperatorTolerated:
		p.options.logger().Warn("no output needs the operator " + e.Operator + ", which failed: " + e.Err.Error())
	}
	if tell := p.options.OnEvent; tell != nil {
		p.turn.Callback(func() { tell(e) })
	}
}

// warn logs once which options have no effect.
func (o PipelineOptions) warn() {
	names := o.withoutEffect()
	if len(names) == 0 {
		return
	}
	o.logger().Warn("dali: options without effect on the CPU: " + strings.Join(names, ", "))
}

// logger returns what takes warnings.
func (o PipelineOptions) logger() *slog.Logger {
	if o.Log == nil {
		return slog.Default()
	}
	return o.Log
}

// Options returns the options in force, with defaults.
func (p *Pipeline) Options() PipelineOptions { return p.options }

// Checkpoint returns the state, as AppendState appends it.
func (p *Pipeline) Checkpoint() ([]byte, error) { return p.AppendState(nil) }

// SetState moves the pipeline to a state; see pipeline.Pipeline.SetState.
func (p *Pipeline) SetState(b []byte) error {
	stays := b == nil && p.Position() == 0
	err := p.Pipeline.SetState(b)
	if err == nil && !stays {
		p.scheduled, p.missing = false, nil
	}
	return err
}

// Close stops all work; see pipeline.Pipeline.Close.
func (p *Pipeline) Close() error {
	err := p.Pipeline.Close()
	if errs.KindOf(err) != errs.Busy {
		p.closed = true
	}
	return err
}

// ReaderMeta describes the reader called name.
func (p *Pipeline) ReaderMeta(name string) (ReaderMeta, error) {
	for _, r := range p.Readers() {
		if r.Name == name {
			return metaOf(r), nil
		}
	}
	return ReaderMeta{}, &errs.Error{Kind: errs.NotFound, Op: "dali.ReaderMeta", Subject: "node " + name,
		Want: "a reader"}
}

// EpochSizes returns the padded size of the data set of every reader, by the name of its node.
func (p *Pipeline) EpochSizes() map[string]int64 {
	sizes := map[string]int64{}
	for _, r := range p.Readers() {
		sizes[r.Name] = metaOf(r).EpochSizePadded
	}
	return sizes
}

func metaOf(r pipeline.ReaderInfo) ReaderMeta {
	m := ReaderMeta{EpochSize: r.Samples, EpochSizePadded: r.Samples, NumberOfShards: int(r.NumShards),
		ShardID: int(r.ShardID)}
	if r.PadLastBatch {
		m.PadLastBatch, m.EpochSizePadded = 1, (r.Samples+r.NumShards-1)/r.NumShards*r.NumShards
	}
	if r.StickToShard {
		m.StickToShard = 1
	}
	return m
}

// ExecutorStatistics returns what each operator has done, by the name of its node.
func (p *Pipeline) ExecutorStatistics() map[string]pipeline.OperatorStatistics { return p.Operators() }
