package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// Loader delivers the batches of a data set, epoch after epoch. Its methods are for one goroutine
// at a time: a call during another call fails with errs.Busy and changes nothing. A loader must be
// closed.
type Loader[S, B any] struct {
	engine   *engine[S, B]
	protocol protocol.Protocol
	turn     flow.Turn
	begun    bool // the pass in progress has been iterated over
	closed   bool

	moved    bool   // a pass was begun, or a state was set
	origin   []byte // the state before the move
	failures int    // errors of Next in a row
}

// New returns a loader over a Map. The error is of kind errs.Invalid and names the wrong option.
func New[S, B any](ds Map[S], o Options[S, B]) (*Loader[S, B], error) {
	if ds == nil {
		return nil, invalid("data set", "a Map", nil)
	}
	return build(source[S]{mapped: ds}, o)
}

// NewIterable returns a loader over an Iterable. It fails in the same cases as New.
func NewIterable[S, B any](ds Iterable[S], o Options[S, B]) (*Loader[S, B], error) {
	if ds == nil {
		return nil, invalid("data set", "an Iterable", nil)
	}
	return build(source[S]{iterable: ds}, o)
}

func build[S, B any](src source[S], o Options[S, B]) (*Loader[S, B], error) {
	if err := o.check(src.iterable != nil); err != nil {
		return nil, err
	}
	e, err := newEngine(src, o)
	if err != nil {
		return nil, err
	}
	l := &Loader[S, B]{engine: e, protocol: o.Protocol}
	if l.protocol == nil {
		l.protocol = &native{}
	}
	if err := l.protocol.Attach(e); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return l, nil
}

var _ stream.Stream[int] = (*Loader[int, int])(nil)

// Start begins the pass of the next call of Next: workers start and read ahead. Next and Epoch call
// it themselves.
func (l *Loader[S, B]) Start(ctx context.Context) error {
	if err := l.turn.Take("loader.Start"); err != nil {
		return err
	}
	defer l.turn.Leave()
	return l.start(ctx)
}

func (l *Loader[S, B]) start(ctx context.Context) error {
	if l.closed {
		return &errs.Error{Kind: errs.Closed, Op: "loader.Start"}
	}
	l.begun = false
	l.leave()
	return errs.Wrap("loader.Start", "", l.engine.start(ctx, l.protocol))
}

// leave stores the state of the start before the loader moves away from it.
func (l *Loader[S, B]) leave() {
	if n, ok := l.protocol.(*native); ok && !l.moved {
		l.origin = n.identity.Append(nil, &n.at, scopeOf(n.setup))
	}
	l.moved = true
}

// Next returns the next batch, which belongs to the caller (except with Options.Pinned). At the end
// of an epoch it returns io.EOF, and then the batches of the next epoch. Any other error comes at
// the position of its batch.
func (l *Loader[S, B]) Next(ctx context.Context) (B, error) {
	var none B
	if err := l.turn.Take("loader.Next"); err != nil {
		return none, err
	}
	defer l.turn.Leave()
	if l.closed {
		return none, &errs.Error{Kind: errs.Closed, Op: "loader.Next"}
	}
	if watcher := telemetry.Of(ctx); watcher != nil {
		return l.watched(ctx, watcher)
	}
	return l.attempt(ctx)
}

// watched is attempt for a context with an Observer. The end of an epoch is no batch, nor is a call
// that its context ended.
func (l *Loader[S, B]) watched(ctx context.Context, watcher telemetry.Observer) (B, error) {
	began := time.Now()
	b, err := l.attempt(ctx)
	t := telemetry.Batch{Engine: telemetry.Loader, Waited: time.Since(began), Err: err}
	switch {
	case err == nil:
		t.Samples = l.engine.last.Samples
	case errors.Is(err, io.EOF) || errs.KindOf(err) == errs.Canceled:
		return b, err
	}
	watcher.Batch(ctx, t)
	return b, err
}

// attempt is Next of an open loader.
func (l *Loader[S, B]) attempt(ctx context.Context) (none B, _ error) {
	b, err := l.next(ctx)
	switch {
	case err == nil:
		l.failures = 0
		return b, nil
	case errors.Is(err, io.EOF):
		l.failures = 0
		return none, io.EOF
	}
	return none, l.failed(ctx, err)
}

func (l *Loader[S, B]) next(ctx context.Context) (b B, err error) {
	if l.engine.plan == nil {
		l.leave()
		if err := l.engine.start(ctx, l.protocol); err != nil {
			return b, err
		}
	}
	l.begun = true
	return l.engine.next(ctx)
}

// failed returns the error of a batch. If the same batch fails again, the error says that Next does
// not get past it: a loop that continues after errors would never end.
func (l *Loader[S, B]) failed(ctx context.Context, err error) error {
	if ctx.Err() == nil && l.engine.setup.OnError.Action != faults.PassOn {
		l.failures++
	}
	if l.failures < 2 {
		return errs.Wrap("loader.Next", "", err)
	}
	return &errs.Error{Kind: errs.KindOf(err), Op: "loader.Next",
		Subject: fmt.Sprintf("the same batch, for the %s time", ordinal(l.failures)), Err: err,
		Remedy: "end the loop, or set Options.OnError to PassOn or Skip: " +
			"an error keeps the position, so Next tries the same batch again"}
}

func ordinal(n int) string {
	if n == 3 {
		return "third"
	}
	if n == 2 {
		return "second"
	}
	return fmt.Sprint(n, "th")
}

// Epoch returns the batches of one epoch: the rest of the epoch if a state was set, else a whole
// new epoch. After a break, Epoch does not deliver the rest of that loop; Next does.
func (l *Loader[S, B]) Epoch(ctx context.Context) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		if l.begun && l.engine.plan != nil && !l.closed {
			if err := l.Restart(ctx); err != nil {
				var none B
				yield(none, err)
				return
			}
		}
		for {
			b, err := l.Next(ctx)
			if errors.Is(err, io.EOF) || !yield(b, err) {
				return
			}
			if err != nil && (l.closed || ctx.Err() != nil || l.engine.plan == nil) {
				return
			}
		}
	}
}

// Restart drops the rest of the epoch and begins the next one.
func (l *Loader[S, B]) Restart(ctx context.Context) error {
	if err := l.turn.Take("loader.Restart"); err != nil {
		return err
	}
	defer l.turn.Leave()
	if r, ok := l.protocol.(interface{ Leave() }); ok && l.engine.plan != nil {
		r.Leave()
	}
	l.engine.drop()
	return l.start(ctx)
}

// AppendState appends the state after the delivered batches. It may be called whenever no Next is
// running.
func (l *Loader[S, B]) AppendState(dst []byte) ([]byte, error) {
	if err := l.turn.Take("loader.AppendState"); err != nil {
		return dst, err
	}
	defer l.turn.Leave()
	if l.closed {
		return dst, &errs.Error{Kind: errs.Closed, Op: "loader.AppendState"}
	}
	b, err := l.protocol.AppendState(context.Background(), dst)
	return b, errs.Wrap("loader.AppendState", "", err)
}

// SetState makes the loader continue from a state of its own, or of another loader of the same data
// set and order. A nil state is the start of the first epoch, so the first run of a job needs no
// special case. An empty state that is not nil is an error. If SetState returns an error, the
// loader stays where it is. The error is of one of these kinds:
//   - errs.Mismatch if the state is for another data set or order; the error names the
//     difference
//   - errs.Unsupported if the state is of a newer version
//   - errs.Corrupt if the text is not a state
func (l *Loader[S, B]) SetState(b []byte) error { return l.setState("loader.SetState", b) }

func (l *Loader[S, B]) setState(op string, b []byte) error {
	if err := l.turn.Take(op); err != nil {
		return err
	}
	defer l.turn.Leave()
	if l.closed {
		return &errs.Error{Kind: errs.Closed, Op: op}
	}
	if extend := &l.engine.setup.Extend; op == extendOp && !*extend {
		*extend = true
		defer func() { *extend = false }()
	}
	if b == nil {
		if !l.moved {
			return nil
		}
		b = l.origin
	}
	l.leave()
	if err := l.protocol.SetState(b); err != nil {
		return errs.Wrap(op, "", err)
	}
	l.failures = 0
	l.engine.drop()
	l.begun = false
	return nil
}

var _ state.Stateful = (*Loader[int, int])(nil)

// Len returns the number of batches in an epoch. It asks the sampler. For an Iterable it uses the
// length that the Iterable announces, which may differ from what it yields. known is false if the
// length is unknown. Epochs of packs may differ in length: Len then counts the current epoch and
// plans all of it once, which takes about 200 ns a sample.
func (l *Loader[S, B]) Len() (n int64, known bool) {
	if p, ok := l.protocol.(*native); ok && p.setup.Packs {
		return p.packsLen()
	}
	return l.engine.length()
}

// LastBatch describes the batch that Next returned last, for example how many of its samples are
// repeated.
func (l *Loader[S, B]) LastBatch() BatchInfo { return l.engine.last }

// Description returns the full String of the loader's order. It is "" if samplers, streams or
// another protocol decide the order. A state holds only a digest of a long description: store the
// description once beside the states, for timeline.Open. It changes when a state of an earlier
// version is set.
func (l *Loader[S, B]) Description() string {
	n, ok := l.protocol.(*native)
	if !ok || n.setup.Iterable || n.setup.Sampler != nil || n.setup.BatchSampler != nil {
		return ""
	}
	samples, _ := n.setup.DataLen()
	o, _ := orderOf(n.setup, samples, n.version)
	return o.String()
}

// Definition returns what Definition of the data set returns: the text from which it was made, such
// as a data.yaml, and the directory to which paths in it are relative. Without such a method text
// is nil. A job keeps both with the run.
func (l *Loader[S, B]) Definition() (text []byte, base string) {
	if d, ok := l.engine.source.dataset().(interface{ Definition() ([]byte, string) }); ok {
		return d.Definition()
	}
	return nil, ""
}

// Close ends all workers and waits for them. The error names workers that do not end because the
// data set blocks for longer than Options.Timeout, or five seconds without a timeout. Close may be
// called twice.
func (l *Loader[S, B]) Close() error {
	if err := l.turn.Take("loader.Close"); err != nil {
		return err
	}
	defer l.turn.Leave()
	if l.closed {
		return nil
	}
	l.closed = true
	return errs.Wrap("loader.Close", "", l.engine.close())
}
