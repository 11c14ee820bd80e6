package dali

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// caller is the group of methods that runs a pipeline.
type caller uint8

const (
	nobody caller = iota
	byRun
	bySchedule
	byIterator
)

var callerNames = [...]string{"nobody", "Run", "ScheduleRun, ShareOutputs, Outputs and ReleaseOutputs", "an Iterator"}

// EnableAPICheck says whether mixing Run with ScheduleRun and its related methods is an error. By
// default it is.
func (p *Pipeline) EnableAPICheck(on bool) { p.unchecked = !on }

// enter begins a call. If it returns nil, the caller must call p.turn.Leave.
func (p *Pipeline) enter(what string, who caller) error {
	if err := p.turn.Take(what); err != nil {
		return err
	}
	err := p.admit(what, who)
	if err != nil {
		p.turn.Leave()
	}
	return err
}

func (p *Pipeline) admit(what string, who caller) error {
	switch {
	case p.closed:
		return &errs.Error{Kind: errs.Closed, Op: what}
	case p.failed != nil:
		return &errs.Error{Kind: errs.Closed, Op: what, Want: "a pipeline in which nothing failed", Got: "one that did",
			Remedy: "make another, or use Next, which tries again, and Skip", Err: p.failed}
	case p.used == nobody:
		p.used = who
	case p.used != who && !p.unchecked:
		return &errs.Error{Kind: errs.Invalid, Op: what, Want: "calls of " + callerNames[p.used] + ", as before",
			Got:    "one of " + callerNames[who],
			Remedy: "use one way, or EnableAPICheck(false)"}
	}
	return nil
}

// taking is Next or Take of the engine.
type taking func(ctx context.Context) (*pipeline.Batch, error)

// taken returns the result of a call of the engine. After a batch that failed, the pipeline does
// not run again.
func (p *Pipeline) taken(ctx context.Context, call taking) (*pipeline.Batch, error) {
	p.broken = nil
	b, err := call(ctx)
	if p.broken != nil {
		p.failed = p.broken
	}
	return b, err
}

// Build makes the pipeline ready to run. It is ready already; Build exists for programs that call
// it.
func (p *Pipeline) Build() error {
	if p.closed {
		return &errs.Error{Kind: errs.Closed, Op: "dali.Build"}
	}
	return nil
}

// Run returns the next batch, which belongs to the caller until the next call. It first feeds
// inputs, by the name of their node. That works only without batches ahead, with a Prefetch of 1 or
// NoPrefetch. At the end of an epoch Run returns io.EOF.
func (p *Pipeline) Run(ctx context.Context, inputs map[string]pipeline.Data) (*pipeline.Batch, error) {
	const what = "dali.Run"
	if err := p.enter(what, byRun); err != nil {
		return nil, err
	}
	defer p.turn.Leave()
	if len(inputs) > 0 && p.ahead > 1 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: what, Subject: "inputs",
			Want: "a Prefetch of 1, or NoPrefetch, when inputs are given",
			Got:  fmt.Sprint(p.ahead), Remedy: "use FeedInput"}
	}
	for name, data := range inputs {
		if err := p.FeedInput(name, data, nil); err != nil {
			return nil, err
		}
	}
	if err := p.demand(what); err != nil {
		return nil, err
	}
	return p.taken(ctx, p.Next)
}

// static reports whether batches that were not fed fail the pipeline.
func (p *Pipeline) static() bool { return p.options.ExecDynamic == Off }

// demand requests the batch that DALI's executor begins with this run if it is not dynamic. The
// first run begins as many batches as are prefetched, and each later run one more. A batch that was
// not fed is an error, after which the pipeline does not run again. Batches that began before are
// delivered first.
func (p *Pipeline) demand(what string) error {
	if !p.static() {
		return nil
	}
	if p.missing != nil {
		p.failed = p.missing
		return errs.Wrap(what, "", p.missing)
	}
	ahead := max(1, p.ahead)
	names, err := p.Unfed(ahead)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		p.missing = unfed(names)
		if ahead == 1 || !p.scheduled {
			p.failed = p.missing
			return errs.Wrap(what, "", p.missing)
		}
	}
	p.scheduled = true
	return nil
}

// unfed is the error of a batch that was not fed to external sources.
func unfed(names []string) error {
	return &errs.Error{Kind: errs.Invalid, Op: externalSource, Subject: "node " + strings.Join(names, ", "),
		Want: "a fed batch", Got: "no batch",
		Remedy: "call FeedInput before each run, and as often as InputFeedCount says before the first"}
}

// ScheduleRun begins a batch. The first call of an epoch begins as many batches as are prefetched.
// At the end of the epoch it does nothing.
func (p *Pipeline) ScheduleRun(ctx context.Context) error { return p.scheduleRun(ctx, bySchedule) }

func (p *Pipeline) scheduleRun(ctx context.Context, who caller) error {
	if err := p.enter("dali.ScheduleRun", who); err != nil {
		return err
	}
	defer p.turn.Leave()
	n := 1
	if !p.scheduled {
		n = max(1, p.ahead)
	}
	for i := range n {
		begun, err := p.Begin(ctx, i == 0)
		switch {
		case begun:
			continue
		case err == nil:
		case p.static() && errs.KindOf(err) == errs.Invalid:
			p.failed = err
			return err
		case i == 0 || errs.KindOf(err) == errs.Busy:
			return err
		}
		break
	}
	p.scheduled = true
	return nil
}

// ShareOutputs waits for the next scheduled batch and returns it. The batch belongs to the caller
// until ReleaseOutputs, which releases the oldest one, Reset or Close. If no batch is scheduled,
// ShareOutputs returns io.EOF.
func (p *Pipeline) ShareOutputs(ctx context.Context) (*pipeline.Batch, error) {
	return p.shareOutputs(ctx, bySchedule)
}

func (p *Pipeline) shareOutputs(ctx context.Context, who caller) (*pipeline.Batch, error) {
	if err := p.enter("dali.ShareOutputs", who); err != nil {
		return nil, err
	}
	defer p.turn.Leave()
	return p.taken(ctx, p.Take)
}

// ReleaseOutputs releases the batch that has been held longest, if there is one.
func (p *Pipeline) ReleaseOutputs() error { return p.releaseOutputs(bySchedule) }

func (p *Pipeline) releaseOutputs(who caller) error {
	if err := p.enter("dali.ReleaseOutputs", who); err != nil {
		return err
	}
	defer p.turn.Leave()
	return p.Release()
}

// Outputs releases the batch that has been held longest and returns the next one, like
// ShareOutputs.
func (p *Pipeline) Outputs(ctx context.Context) (*pipeline.Batch, error) {
	if err := p.ReleaseOutputs(); err != nil {
		return nil, err
	}
	return p.ShareOutputs(ctx)
}

// Empty reports whether every batch that was scheduled was handed out.
func (p *Pipeline) Empty() bool { return p.InFlight() == 0 }

// FeedInput queues a batch for the external source called name; see pipeline.Pipeline.Feed.
func (p *Pipeline) FeedInput(name string, data pipeline.Data, o *pipeline.FeedOptions) error {
	return p.FeedInputs(name, []pipeline.Data{data}, o)
}

// FeedInputs works like FeedInput for a source with several outputs.
func (p *Pipeline) FeedInputs(name string, data []pipeline.Data, o *pipeline.FeedOptions) error {
	return p.Feed(name, data, o)
}

// InputFeedCount returns how many batches the external source called name must be fed before the
// first run, so that all prefetched batches can begin.
func (p *Pipeline) InputFeedCount(name string) (int, error) {
	if !slices.Contains(p.inputs, name) {
		return 0, &errs.Error{Kind: errs.NotFound, Op: "dali.InputFeedCount", Subject: "node " + name,
			Want: "an external source: " + strings.Join(p.inputs, ", ")}
	}
	return max(1, p.ahead), nil
}
