package pipeline

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
)

// This file is DALI's way to run a pipeline. Run is the simple way; ScheduleRun,
// ShareOutputs, Outputs and ReleaseOutputs say when each batch is begun, handed
// out and given back. The two are not mixed, unless the check is off, and a
// pipeline in which a batch failed is not run again this way.
//
// [Pipeline.Next] and [Pipeline.Batches] are the natural way in Go, and are not part of the check.

// manual is what the methods of this file keep.
type manual struct {
	used      caller
	unchecked bool
	scheduled bool  // the first batches of the epoch were scheduled
	failed    error // why the pipeline is not run again
	missing   error // why the next run fails
}

// caller is who runs the pipeline.
type caller uint8

const (
	nobody caller = iota
	byRun
	bySchedule
	byIterator
)

var callerNames = [...]string{"nobody", "Run", "ScheduleRun, ShareOutputs, Outputs and ReleaseOutputs", "an Iterator"}

// EnableAPICheck says whether mixing Run with ScheduleRun and its kin is refused, as it is at first.
func (p *Pipeline) EnableAPICheck(on bool) { p.manual.unchecked = !on }

// enter begins a call of who.
func (p *Pipeline) enter(what string, who caller) error {
	m := &p.manual
	switch {
	case p.closed:
		return &errs.Error{Kind: errs.Closed, Op: what}
	case m.failed != nil:
		return &errs.Error{Kind: errs.Closed, Op: what, Want: "a pipeline in which nothing failed", Got: "one that did",
			Remedy: "make another, or use Next, which tries again, and Skip", Err: m.failed}
	case m.used == nobody:
		m.used = who
	case m.used != who && !m.unchecked:
		return &errs.Error{Kind: errs.Invalid, Op: what, Want: "calls of " + callerNames[m.used] + ", as before", Got: "one of " + callerNames[who],
			Remedy: "use one way, or EnableAPICheck(false)"}
	}
	return nil
}

// Build makes the pipeline ready to run. It is so when it was made; Build is there for programs that call it.
func (p *Pipeline) Build() error {
	if p.closed {
		return &errs.Error{Kind: errs.Closed, Op: "pipeline.Build"}
	}
	return nil
}

// Run returns the next batch, which is the caller's until the next call. inputs are fed first,
// by the name of their node; that works only without batches ahead, PrefetchDepth of 1 or NoPrefetch. At the end of
// an epoch it returns io.EOF.
func (p *Pipeline) Run(ctx context.Context, inputs map[string]Data) (*Batch, error) {
	const what = "pipeline.Run"
	if err := p.enter(what, byRun); err != nil {
		return nil, err
	}
	if ahead := p.options.ahead(); len(inputs) > 0 && ahead > 1 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: what, Subject: "inputs", Want: "a PrefetchDepth of 1, or NoPrefetch, when inputs are given",
			Got: fmt.Sprint(ahead), Remedy: "use FeedInput"}
	}
	for name, data := range inputs {
		if err := p.FeedInput(name, data, nil); err != nil {
			return nil, err
		}
	}
	if err := p.turn.Take(what); err != nil {
		return nil, err
	}
	defer p.turn.Leave()
	if err := p.demand(what); err != nil {
		return nil, err
	}
	s, ok, err := p.ring.Next(ctx)
	p.fail(err)
	return p.deliver(ctx, what, s, ok, err)
}

// demand asks for the batch that DALI's executor begins with this run when it is not dynamic: the first run begins
// as many as are prefetched, and each one after it another. One that was not fed is an error, after which the
// pipeline is not run again. What was begun before is delivered first.
func (p *Pipeline) demand(what string) error {
	if p.options.ExecDynamic != Off {
		return nil
	}
	m, at := &p.manual, p.ring.Token().number
	if m.missing != nil {
		m.failed = m.missing
		return errs.Wrap(what, "", m.missing)
	}
	ahead := int64(max(1, p.options.ahead()))
	for _, in := range p.inputs {
		if in.gives != nil || in.last != nil && in.source.options.RepeatLast || int64(len(in.window)) >= at-in.base+ahead {
			continue
		}
		m.missing = p.unfed([]string{in.node.Name})
		if ahead == 1 || !m.scheduled {
			m.failed = m.missing
			return errs.Wrap(what, "", m.missing)
		}
	}
	m.scheduled = true
	return nil
}

// ScheduleRun begins a batch; the first call of an epoch as many as are prefetched. At the end of
// the epoch it does nothing.
func (p *Pipeline) ScheduleRun(ctx context.Context) error { return p.scheduleRun(ctx, bySchedule) }

func (p *Pipeline) scheduleRun(ctx context.Context, who caller) error {
	const what = "pipeline.ScheduleRun"
	if err := p.turn.Take(what); err != nil {
		return err
	}
	defer p.turn.Leave()
	if err := p.enter(what, who); err != nil {
		return err
	}
	n := 1
	if !p.manual.scheduled {
		n = max(1, p.options.ahead())
	}
	for i := range n {
		switch p.ring.Schedule(ctx, i == 0) {
		case flow.Ended:
			return nil
		case flow.Starved:
			switch {
			case p.options.ExecDynamic == Off && !p.stuck && ctx.Err() == nil:
				p.manual.failed = p.hungry()
				return errs.Wrap(what, "", p.manual.failed)
			case i > 0 || p.stuck:
				p.manual.scheduled = true
				return nil
			case ctx.Err() != nil:
				return &errs.Error{Kind: errs.Canceled, Op: what, Err: context.Cause(ctx)}
			}
			return errs.Wrap(what, "", p.hungry())
		}
	}
	p.manual.scheduled = true
	return nil
}

// ShareOutputs returns the next batch that was scheduled, when it is made. It is the caller's
// until ReleaseOutputs, which gives the oldest back, Reset or Close. When nothing is scheduled it returns io.EOF.
func (p *Pipeline) ShareOutputs(ctx context.Context) (*Batch, error) {
	return p.shareOutputs(ctx, bySchedule)
}

func (p *Pipeline) shareOutputs(ctx context.Context, who caller) (*Batch, error) {
	const what = "pipeline.ShareOutputs"
	if err := p.turn.Take(what); err != nil {
		return nil, err
	}
	defer p.turn.Leave()
	if err := p.enter(what, who); err != nil {
		return nil, err
	}
	s, ok, err := p.ring.Share(ctx)
	if !ok && err == nil {
		return nil, io.EOF
	}
	p.fail(err)
	return p.deliver(ctx, what, s, ok, err)
}

// ReleaseOutputs gives the batch back that has been held longest, if any.
func (p *Pipeline) ReleaseOutputs() error { return p.releaseOutputs(bySchedule) }

func (p *Pipeline) releaseOutputs(who caller) error {
	if err := p.turn.Take("pipeline.ReleaseOutputs"); err != nil {
		return err
	}
	defer p.turn.Leave()
	if err := p.enter("pipeline.ReleaseOutputs", who); err != nil {
		return err
	}
	p.ring.Release()
	return nil
}

// Outputs gives the batch back that has been held longest and returns the next one, as ShareOutputs does.
func (p *Pipeline) Outputs(ctx context.Context) (*Batch, error) {
	if err := p.ReleaseOutputs(); err != nil {
		return nil, err
	}
	return p.ShareOutputs(ctx)
}

// Empty reports whether no batch is scheduled that was not handed out.
func (p *Pipeline) Empty() bool { return p.ring.InFlight() == 0 }

// fail notes the failure of a batch, after which the pipeline is not run again.
func (p *Pipeline) fail(err error) {
	if err != nil && errs.KindOf(err) != errs.Canceled {
		p.manual.failed = err
	}
}

// FeedOptions say how data is fed.
type FeedOptions struct {
	Layout string // of the samples; by default that of the data, or the one that was declared
	NoCopy bool   // the data is used where it lies, and stays as it is until its batch is released
}

// FeedInput queues a batch for the external source called name, which must have no function
// or sequence to take it from. Later batches may be of other sizes, up to the batch size.
//
// It is one of the calls of which one goroutine makes one at a time: a source must not call it. Errors: errs.Busy
// beside another call, errs.NotFound for an unknown name, errs.Invalid and errs.Mismatch for data that does not fit.
func (p *Pipeline) FeedInput(name string, data Data, o *FeedOptions) error {
	return p.feed(name, []Data{data}, o)
}

// FeedInputs is FeedInput for a source with several outputs.
func (p *Pipeline) FeedInputs(name string, data []Data, o *FeedOptions) error {
	return p.feed(name, data, o)
}

func (p *Pipeline) feed(name string, data []Data, o *FeedOptions) error {
	const what = "pipeline.FeedInput"
	if err := p.turn.Take(what); err != nil {
		return err
	}
	defer p.turn.Leave()
	if p.closed {
		return &errs.Error{Kind: errs.Closed, Op: what}
	}
	in, err := p.input(what, name)
	if err != nil {
		return err
	}
	if in.gives != nil {
		return &errs.Error{Kind: errs.Invalid, Op: what, Subject: "node " + name, Want: "an external source that is fed", Got: "one with a source of its own"}
	}
	if o == nil {
		o = &FeedOptions{}
	}
	f := in.empty()
	defer in.drop(f)
	if err := in.fill(f, data, o.Layout, o.NoCopy || in.source.options.NoCopy); err != nil {
		return errs.Wrap(what, "", err)
	}
	if n := p.config.BatchSize; f.samples > n {
		return errs.Wrap(what, "", in.wrap(&errs.Error{Kind: errs.Invalid, Want: fmt.Sprintf("at most %d samples, the batch size", n), Got: fmt.Sprint(f.samples)}))
	}
	in.push(f)
	if in.source.options.RepeatLast {
		if in.last != nil {
			in.drop(in.last)
		}
		f.uses++
		in.last = f
	}
	return nil
}

// input returns the external source called name.
func (p *Pipeline) input(what, name string) (*input, error) {
	names := make([]string, len(p.inputs))
	for i, in := range p.inputs {
		if in.node.Name == name {
			return in, nil
		}
		names[i] = in.node.Name
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: what, Subject: "node " + name, Want: "an external source: " + strings.Join(names, ", ")}
}

// InputFeedCount returns how many batches the external source called name has to be fed before
// the first run, so that all which are prefetched can begin.
func (p *Pipeline) InputFeedCount(name string) (int, error) {
	if _, err := p.input("pipeline.InputFeedCount", name); err != nil {
		return 0, err
	}
	return max(1, p.options.ahead()), nil
}

// hungry is the error of a batch for which nothing was fed.
func (p *Pipeline) hungry() error {
	var names []string
	for _, in := range p.inputs {
		if in.gives == nil && int64(len(in.window)) <= p.ring.Token().number-in.base {
			names = append(names, in.node.Name)
		}
	}
	return p.unfed(names)
}

func (p *Pipeline) unfed(names []string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "external_source", Subject: "node " + strings.Join(names, ", "), Want: "a batch", Got: "none that was fed",
		Remedy: "call FeedInput before each run, and as often as InputFeedCount says before the first"}
}
