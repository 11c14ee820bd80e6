package pipeline

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/tensor"
)

// parallel calls the function of an indexed source ahead of the pipeline, on several goroutines.
// The batches come in order. They do not depend on the goroutine that made them, because they are
// functions of their index.
type parallel struct {
	in    *input
	calls *flow.Pool[call]
	ahead []*ahead // batches that were begun, in order
}

// ahead is a batch in the making.
type ahead struct {
	source  *Source
	info    BatchInfo
	span    span
	ctx     context.Context
	cancel  context.CancelFunc
	data    []Data            // of a batch function
	samples [][]tensor.Tensor // of a sample function
	errs    []error           // of each call
	pending atomic.Int64      // calls that are not finished
	done    chan struct{}
}

// call is one call of the function: for a sample, or the whole batch.
type call struct {
	batch  *ahead
	sample int
}

func newParallel(in *input, calls *flow.Pool[call]) *parallel { return &parallel{in: in, calls: calls} }

func (g *parallel) give(ctx context.Context, info BatchInfo, samples span, f *feed, wait bool) error {
	if len(g.ahead) > 0 && (g.ahead[0].info != info || g.ahead[0].span != samples) {
		g.drop() // it was begun for another position
	}
	for len(g.ahead) <= g.in.source.options.Prefetch {
		g.begin(info, samples)
	}
	a := g.ahead[0]
	if !wait {
		select {
		case <-a.done:
		default:
			return errLater
		}
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		return errLater
	}
	g.ahead = g.ahead[:copy(g.ahead, g.ahead[1:])]
	a.cancel()
	return g.collect(a, f)
}

// begin starts the batch after the last one that was begun. info and samples describe the first
// batch.
func (g *parallel) begin(info BatchInfo, samples span) {
	if n := len(g.ahead); n > 0 {
		last := g.ahead[n-1]
		info, samples = last.info, last.span
		info.Iteration++
		samples.first += int64(samples.whole)
	}
	a := &ahead{source: &g.in.source.source, info: info, span: samples, done: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	calls := make([]call, 1)
	if a.source.sample != nil {
		calls = make([]call, samples.n)
		a.samples = make([][]tensor.Tensor, samples.n)
	}
	for i := range calls {
		calls[i] = call{a, i}
	}
	a.errs = make([]error, len(calls))
	a.pending.Store(int64(len(calls)))
	g.ahead = append(g.ahead, a)
	g.calls.Submit(calls...)
}

// run makes the call.
func (c call) run() {
	a := c.batch
	if err := a.ctx.Err(); err != nil {
		a.errs[c.sample] = err
	} else {
		a.errs[c.sample] = c.invoke()
	}
	if a.pending.Add(-1) == 0 {
		close(a.done)
	}
}

// invoke calls the function. A panic of the function becomes an error of the batch.
func (c call) invoke() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &errs.Error{Op: "external_source", Got: fmt.Sprintf("the source panicked: %v\n%s", p, debug.Stack())}
		}
	}()
	a := c.batch
	if a.source.sample != nil {
		a.samples[c.sample], err = a.source.sample(a.ctx, a.span.info(a.info, c.sample))
		return err
	}
	a.data, err = a.source.batch(a.ctx, a.info)
	return err
}

// collect fills f with the results of the calls. It returns their first error.
func (g *parallel) collect(a *ahead, f *feed) error {
	for _, err := range a.errs {
		if err != nil {
			g.drop() // so that a second try calls the function again
			return err
		}
	}
	if a.source.sample == nil {
		return g.in.fill(f, a.data, "", g.in.source.options.NoCopy)
	}
	f.begin()
	for _, sample := range a.samples {
		if err := g.in.append(f, sample); err != nil {
			return err
		}
	}
	return g.in.finish(f)
}

// drop drops the batches that were begun. Running calls continue, and their results are ignored.
func (g *parallel) drop() {
	for _, a := range g.ahead {
		a.cancel()
	}
	clear(g.ahead)
	g.ahead = g.ahead[:0]
}

func (g *parallel) restart() error { g.drop(); return nil }
func (g *parallel) stop()          { g.drop() }
