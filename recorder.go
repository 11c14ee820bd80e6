package bivouac

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/checkpoint/training/journaling"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// Names of the scalars that the job records by itself.
const (
	ownPrefix        = "job/"
	secondsScalar    = ownPrefix + "seconds"
	dataScalar       = ownPrefix + "data_seconds"
	blockedScalar    = ownPrefix + "blocked_seconds"
	samplesScalar    = ownPrefix + "samples_per_second"
	nonfiniteScalar  = ownPrefix + "nonfinite"
	lastFlushTimeout = 30 * time.Second // of Close: a store that hangs must not hold the program for good
)

// recorder measures the steps of a job and writes its journal. Its methods are for the goroutine of
// the trainer, except relay.
type recorder struct {
	opts Options
	made *journal.Data // what the data were made from, or nil
	emit func(Event)   // tells Options.OnEvent, from any goroutine

	scalars journal.Scalars
	mark    time.Time     // the end of the last step
	pulled  time.Time     // when the job began to wait for the batch
	data    time.Duration // how long it waited
	logged  time.Time
	logStep int64
	refused error         // why a scalar was not recorded; the first reason counts
	told    bool          // OnEvent was told of refused
	blocked time.Duration // by saves since the last step
	outcome journal.Outcome
	err     error // why the loop ended

	rows      *journaling.Recorder
	profile   func() stream.Profile // of the data; nil if they tell nothing
	operators *operators            // nil unless it is written what they do
}

func newRecorder(o Options) *recorder {
	r := &recorder{opts: o, outcome: journal.Stopped}
	r.rows = journaling.New(func(err error) { r.emit(Event{Kind: JournalFailed, Err: err}) })
	r.emit = func(Event) {}
	if o.OnEvent != nil {
		r.emit = serialized(o.OnEvent)
	}
	return r
}

// serialized makes f safe to call from two goroutines.
func serialized(f func(Event)) func(Event) {
	var mu sync.Mutex
	return func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		f(e)
	}
}

// relay records an event of the checkpointer, and passes it on.
func (r *recorder) relay(e training.Event) {
	r.rows.Checkpointer(e)
	r.emit(Event{
		Kind: eventKinds[e.Kind], Step: e.Step, Name: e.Name, Tier: e.Tier, Bytes: e.Bytes, Blocked: e.Blocked, Took: e.Took,
		Uncertain: e.Uncertain, Reason: e.Reason, Err: e.Err,
	})
}

// event records an event of the job, and passes it on.
func (r *recorder) event(e Event) {
	text := ""
	if e.Err != nil {
		text = e.Err.Error()
	}
	r.rows.Event(journal.Event{Name: e.Kind.String(), Object: e.Name, Error: text})
	r.emit(e)
}

// open begins the attempt, which continues from a step. origin is the state of the stream there.
func (r *recorder) open(steps *training.Checkpointer, from int64, origin []byte) error {
	start := journal.Start{From: from, Fresh: r.opts.StartFresh, Identity: r.opts.Identity, Steps: r.opts.Steps,
		SaveEvery: max(r.opts.SaveEvery, 0), Batch: r.opts.BatchSize, Data: r.made,
		Runtime: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH}
	describeProgram(&start)
	describeStream(&start, origin)
	err := r.rows.Open(steps, start, journaling.Options{Off: r.opts.NoJournal, TensorBoard: r.opts.TensorBoard})
	if id := r.rows.ID(); err == nil && id != "" && r.profile != nil {
		st, dir, _ := steps.Storage()
		r.operators = newOperators(st, dir, journal.Operators{Attempt: id, Step: from, World: max(start.World, 1)}, r.profile,
			func(err error) { r.emit(Event{Kind: JournalFailed, Err: err}) })
	}
	return err
}

// describeStream fills in what the state of a loader or a pipeline says about the stream.
func describeStream(s *journal.Start, token []byte) {
	d, err := state.Unmarshal(token)
	if err != nil {
		return // another stream: its ranks and its seed are not known
	}
	s.Seed = d.Fields["seed"]
	var world int
	if json.Unmarshal(d.Extra["world"], &world) == nil {
		s.World = world
	}
}

// module is the path of this module in the build information of a program.
const module = "github.com/bivouac-ml/bivouac"

// describeProgram fills in which program this is.
func describeProgram(s *journal.Start) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	s.Program, s.Build = info.Path, info.Main.Version
	if info.Main.Path == module {
		s.Bivouac = info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == module {
			s.Bivouac = m.Version
		}
	}
	for _, set := range info.Settings {
		if set.Key == "vcs.revision" {
			s.Build = strings.TrimSpace(s.Build + " " + set.Value)
		}
	}
}

// begin makes the attempt visible when the loop begins.
func (r *recorder) begin() {
	now := time.Now()
	r.mark, r.logged = now, now
	r.rows.Begin()
	r.operators.begin()
}

// waiting notes that the job begins to wait for a batch.
func (r *recorder) waiting() { r.pulled = time.Now() }

// training notes that the loop body begins.
func (r *recorder) training() { r.data = time.Since(r.pulled) }

// scalar records a number of the current step.
func (r *recorder) scalar(name string, value float64) {
	err := error(nil)
	if strings.HasPrefix(name, ownPrefix) {
		err = &errs.Error{Kind: errs.Invalid, Op: "bivouac.Scalar", Subject: name,
			Want:   "a name that does not begin with " + ownPrefix,
			Remedy: "choose another name: the job records scalars with such names"}
	} else {
		err = r.scalars.Set(name, value)
	}
	if r.refused == nil {
		r.refused = err
	}
}

// blocking notes that the trainer waits, until the function that it returns is called.
func (r *recorder) blocking() func() {
	start := time.Now()
	return func() { r.blocked += time.Since(start) }
}

// stepDone records a step, and returns its times.
func (r *recorder) stepDone(step int64) telemetry.Step {
	now := time.Now()
	took := now.Sub(r.mark)
	times := telemetry.Step{Number: step, Took: took, Data: r.data, Blocked: r.blocked}
	r.mark = now
	nonfinite := 0
	for _, v := range r.scalars.All() {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			nonfinite++
		}
	}
	r.own(secondsScalar, took.Seconds())
	r.own(dataScalar, r.data.Seconds())
	if r.blocked > 0 {
		r.own(blockedScalar, r.blocked.Seconds())
		r.blocked = 0
	}
	if r.opts.BatchSize > 0 && took > 0 {
		r.own(samplesScalar, float64(r.opts.BatchSize)/took.Seconds())
	}
	if nonfinite > 0 {
		r.own(nonfiniteScalar, float64(nonfinite))
	}
	r.rows.Step(step, &r.scalars)
	r.operators.stepDone(step)
	if r.refused != nil && !r.told {
		r.told = true
		r.emit(Event{Kind: JournalFailed, Step: step, Err: r.refused})
	}
	if r.opts.LogEvery > 0 && now.Sub(r.logged) >= r.opts.LogEvery {
		r.log(step, now)
	}
	r.scalars.Clear()
	return times
}

func (r *recorder) own(name string, v float64) {
	r.scalars.Set(name, v) //nolint:errcheck // only if the program has too many names, which was told
}

// log writes a line about a step.
func (r *recorder) log(step int64, now time.Time) {
	args := []any{slog.Int64("step", step)}
	if r.opts.Steps > 0 {
		args = append(args, slog.Int64("of", r.opts.Steps))
	}
	if r.logStep > 0 {
		args = append(args, slog.Float64("steps_per_second", rounded(float64(step-r.logStep)/now.Sub(r.logged).Seconds())))
	}
	for name, v := range r.scalars.All() {
		if !strings.HasPrefix(name, ownPrefix) {
			args = append(args, slog.Float64(name, rounded(v)))
		}
	}
	r.opts.Log.Info("training", args...)
	r.logged, r.logStep = now, step
}

// rounded returns v with four significant digits.
func rounded(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	if out := math.Round(v*scale) / scale; !math.IsNaN(out) && !math.IsInf(out, 0) {
		return out
	}
	return v
}

// beforeCommit makes the rows of all steps durable before a step is committed. A journal that
// cannot be written does not stop the save.
func (r *recorder) beforeCommit(ctx context.Context) error {
	r.rows.Flush(ctx)
	return nil
}

// failed notes that an error ended the loop. The loop may begin again.
func (r *recorder) failed(err error) {
	if !errors.Is(err, ErrPreempted) {
		r.outcome, r.err = journal.Failed, err
	}
}

// allDone notes that all steps are done.
func (r *recorder) allDone() { r.outcome, r.err = journal.Done, nil }

// preempted ends the attempt: the program may not have the time to call Close.
func (r *recorder) preempted(over context.Context, err error) {
	r.outcome, r.err = journal.Preempted, err
	r.rows.End(journal.End{Outcome: journal.Preempted, Error: err.Error()})
	r.rows.Flush(over)
}

// close ends the attempt. wait waits for the save in flight. It is not called after a preemption:
// the grace time has ended that save. close returns an error if rows are missing in the store.
func (r *recorder) close(preempted error, wait func(context.Context) error) error {
	if !r.rows.Recording() {
		return nil
	}
	if r.outcome != journal.Preempted {
		wait(context.Background()) //nolint:errcheck // Close of the checkpointer returns it
	}
	e := journal.End{Outcome: r.outcome}
	if preempted != nil {
		e.Outcome, r.err = journal.Preempted, preempted
	}
	if r.err != nil {
		e.Error = r.err.Error()
	}
	r.rows.End(e)
	ctx, cancel := context.WithTimeout(context.Background(), lastFlushTimeout)
	defer cancel()
	r.operators.close(ctx)
	return errs.Wrap("bivouac.Job", "journal", errors.Join(r.refused, r.rows.Close(ctx)))
}
