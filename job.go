package bivouac

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/stream"
	"github.com/bivouac-ml/bivouac/telemetry"
	"github.com/bivouac-ml/bivouac/tree"
)

// Names of the items of a step.
const (
	stateItem = "state"
	dataItem  = "data"
)

// Job is a training job that saves and resumes. Its methods are for one goroutine, the trainer's,
// except Latest, which any goroutine may call.
type Job[B any] struct {
	opts  Options
	data  stream.Stream[B]
	steps *training.Checkpointer
	emit  func(Event)
	story *recorder

	notice  *notice // set from the first call of Steps until all steps are done, or Close
	cancels []context.CancelFunc
	told    bool // whether the preemption was reported

	step    int64 // steps done
	saved   int64 // last step handed to the checkpointer, or -1
	resumed int64 // step that Open restored, or -1
	pending *checkpoint.Response[bool]
	order   string // identity of the order whose description was written

	definition definition
	closed     bool
}

// Open opens the run in dir, or makes a new run. It restores Options.State and data to the newest
// whole step of all Options.Tiers, and removes the remains of interrupted saves. If a step is
// damaged, Open restores the step before it and renames the damaged step. While dir is open no
// other job may use it. dir must not hold a step of a newer version.
//
// A run begins at step 0 only if dir has no steps and no remains of steps. If there are remains
// (training.Checkpointer.Remains) and no whole step, Open fails. If Open fails, it renames no step
// that looks whole. With Options.StartFresh the run begins at step 0 in any case, and nothing is
// deleted.
//
// From here on the job owns data and closes it in Close. If Open fails, the caller still owns data.
//
// The error is of one of these kinds, or an error of the store:
//   - Mismatch if the step has another data set, configuration, identity or shape of state
//   - Corrupt if there are steps and none is whole
//   - Unsupported if a newer version wrote one of the steps
//   - Invalid for wrong options, for a State that could not be restored, and for a directory
//     that is a checkpoint or lies in one
//   - Busy if another process saves there
func Open[B any](ctx context.Context, dir string, data stream.Stream[B], o Options) (opened *Job[B], err error) {
	ctx, told := telemetry.Begin(ctx, telemetry.Operation{Name: telemetry.Open, Path: dir, Step: telemetry.NoStep})
	defer func() { told.End(opened.outcome(err)) }()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := checkState(o.State); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	j := &Job[B]{opts: o, data: data, story: newRecorder(o), saved: -1, resumed: -1}
	j.emit = j.story.event
	keep := training.PreservationPolicy(training.LatestN{N: o.Keep})
	steps, err := training.Open(ctx, dir, &training.Options{
		Store:      o.Store,
		Save:       training.AnySave{training.InitialSave{}, training.FixedInterval{Steps: 1}}, // the job decides
		Preserve:   keep,
		Clean:      true,
		LookFirst:  true, // if Open fails, nothing was renamed
		StartFresh: o.StartFresh,
		Scrub:      o.Scrub,
		Tiers:      o.Tiers,
		Uploads:    o.Uploads,

		AcceptMissing: o.AcceptMissing,
		Options:       checkpoint.Options{Bivouac: options.Bivouac{Parity: o.Parity}},
		OnEvent:       j.story.relay,
	})
	if err != nil {
		return nil, errs.Wrap("bivouac.Open", dir, err)
	}
	j.steps = steps
	j.definition = definitionOf(data)
	j.story.made = j.definition.row()
	j.story.profile = profileOf(data)
	if err := j.restore(ctx); err != nil {
		return nil, errors.Join(errs.Wrap("bivouac.Open", dir, err), steps.Close())
	}
	origin, _ := data.AppendState(nil) //nolint:errcheck // the first save returns the error
	if err := j.story.open(steps, j.step, origin); err != nil {
		return nil, errors.Join(errs.Wrap("bivouac.Open", dir, err), steps.Close())
	}
	return j, nil
}

// outcome returns what telemetry is told of Open. j is nil after an error.
func (j *Job[B]) outcome(err error) telemetry.Outcome {
	if j == nil {
		return telemetry.Outcome{Err: err, Resumed: telemetry.NoStep}
	}
	return telemetry.Outcome{Resumed: j.resumed}
}

// document is the JSON document of the data item.
type document struct {
	Version  int             `json:"version"`
	Identity string          `json:"identity,omitempty"`
	Step     int64           `json:"step"`
	Stream   json.RawMessage `json:"stream"`
}

const documentVersion = 1

// apply moves the stream and then fills the state. The stream comes first: so the caller's state is
// partly filled only if it has another shape. If apply fails, the step is still whole and stays
// where it is.
func (j *Job[B]) apply(at training.Info, items map[string]any) error {
	raw, ok := items[dataItem].(json.RawMessage)
	if !ok {
		return &errs.Error{Kind: errs.Mismatch, Subject: dataItem, Want: "the position of a stream", Got: "no such item",
			Remedy: "the step was not written by a job; use another directory"}
	}
	node, ok := items[stateItem].(*tree.Node)
	if !ok {
		return &errs.Error{Kind: errs.Mismatch, Subject: stateItem, Want: "the trainer's state", Got: "no such item",
			Remedy: "the step was not written by a job; use another directory"}
	}
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return &errs.Error{Kind: errs.Mismatch, Subject: dataItem, Want: "the document of a job", Err: err}
	}
	switch {
	case doc.Version != documentVersion:
		return &errs.Error{Kind: errs.Unsupported, Subject: dataItem, Want: "version " + strconv.Itoa(documentVersion),
			Got: strconv.Itoa(doc.Version), Remedy: "use a newer Bivouac"}
	case doc.Identity != j.opts.Identity:
		return &errs.Error{Kind: errs.Mismatch, Subject: "identity of the run", Want: strconv.Quote(j.opts.Identity),
			Got:    strconv.Quote(doc.Identity),
			Remedy: "the directory holds another run: use another directory, or the options of that run"}
	case doc.Step != at.Step:
		return &errs.Error{Kind: errs.Mismatch, Subject: dataItem, Want: "step " + strconv.FormatInt(at.Step, 10),
			Got:    strconv.FormatInt(doc.Step, 10),
			Remedy: "the directory was renamed: rename it back to its step number"}
	}
	if err := j.data.SetState(doc.Stream); err != nil {
		return errs.Wrap("", dataItem, err)
	}
	return errs.Wrap("", stateItem, setState(j.opts.State, node))
}

// Resumed returns the step that Open restored. ok is false for a fresh run.
func (j *Job[B]) Resumed() (step int64, ok bool) { return max(j.resumed, 0), j.resumed >= 0 }

// Step returns how many steps are done, including those before a resumption.
func (j *Job[B]) Step() int64 { return j.step }

// Latest returns the newest committed step.
func (j *Job[B]) Latest() (step int64, ok bool) {
	last, ok := j.steps.Latest()
	return last.Step, ok
}

// Steps yields the batches after the last step that was done. A batch is valid until the loop body
// ends. Saves are made between steps. After Options.Steps, or at the end of the stream, the last
// step is saved, and Steps waits for the save. OnEvent is told when a pass of the stream (an epoch)
// ends, and the loop continues; see package stream.
//
// An error of the stream or of a save is yielded once and ends the iteration; the step that failed
// was not done. Ranging over Steps again continues. If the stream ends before Options.Steps, the
// error has io.ErrUnexpectedEOF in its chain and comes after the last step is saved. After Close
// the error is of kind errs.Closed.
//
// From the first call of Steps until all steps are done or Close is called, SIGTERM does not end
// the process. The current step is finished and committed, and the loop ends with a PreemptedError,
// which says "preempted at step 12, committed". The rest of Options.Grace is for copies of this
// step to Options.Tiers. If the commit takes longer than Options.Grace, the run keeps the commit
// before it, and another SIGTERM ends the process.
func (j *Job[B]) Steps(ctx context.Context) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		var zero B
		if j.closed {
			yield(zero, &errs.Error{Kind: errs.Closed, Op: "bivouac.Job", Subject: "Steps"})
			return
		}
		pulling, watcher := j.begin(ctx), telemetry.Of(ctx)
		j.story.begin()
		fail := func(err error) {
			if j.notice.wasGiven(ctx) {
				err = j.leave(ctx)
			}
			j.story.failed(err)
			yield(zero, err)
		}
		ended := false
		for j.opts.Steps == 0 || j.step < j.opts.Steps {
			if j.notice.isGiven() {
				fail(nil)
				return
			}
			if ctx.Err() != nil { // a step that is done now could not be committed
				fail(errs.Wrap("bivouac.Job", "step "+strconv.FormatInt(j.step+1, 10), context.Cause(ctx)))
				return
			}
			j.story.waiting()
			batch, err := j.next(pulling)
			if ended = errors.Is(err, io.EOF); ended {
				break
			}
			if err != nil {
				fail(err)
				return
			}
			j.story.training()
			if !yield(batch, nil) {
				return
			}
			j.step++
			if done := j.story.stepDone(j.step); watcher != nil {
				watcher.Step(ctx, done)
			}
			if j.opts.SaveEvery > 0 && j.step%j.opts.SaveEvery == 0 {
				if err := j.saveAsync(ctx); err != nil {
					fail(err)
					return
				}
			}
		}
		if err := j.saveLast(ctx); err != nil {
			fail(err)
			return
		}
		j.endNotice()
		j.story.allDone()
		if ended && j.opts.Steps > 0 {
			yield(zero, j.tooShort())
		}
	}
}

// begin starts to catch SIGTERM. It returns the context for calls of the stream, which ends when
// the signal comes.
func (j *Job[B]) begin(ctx context.Context) context.Context {
	if j.opts.Grace < 0 {
		return ctx
	}
	if j.notice == nil {
		j.notice = newNotice(j.opts.Grace)
	}
	pulling, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(j.notice.came, func() { cancel(ErrPreempted) })
	j.cancels = append(j.cancels, func() { stop(); cancel(nil) })
	return pulling
}

// endNotice stops catching SIGTERM.
func (j *Job[B]) endNotice() {
	j.notice.stop()
	j.notice = nil
	for _, cancel := range j.cancels {
		cancel()
	}
	j.cancels = nil
}

// next returns the next batch and continues after the end of a pass. It returns io.EOF if the
// stream has ended.
func (j *Job[B]) next(ctx context.Context) (B, error) {
	batch, err := j.data.Next(ctx)
	if !errors.Is(err, io.EOF) {
		return batch, err
	}
	batch, err = j.data.Next(ctx)
	if r, ok := j.data.(stream.Resetter); ok && errors.Is(err, io.EOF) && j.opts.Steps > 0 {
		if err := r.Reset(); err != nil {
			return batch, err
		}
		batch, err = j.data.Next(ctx)
	}
	if err == nil {
		j.emit(Event{Kind: PassEnded, Step: j.step})
	}
	return batch, err
}

// saveLast commits the current step. After a preemption it takes at most the grace time.
func (j *Job[B]) saveLast(ctx context.Context) error {
	if j.notice == nil {
		return j.Save(ctx)
	}
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	over := j.notice.over
	defer context.AfterFunc(over, func() { cancel(context.Cause(over)) })()
	return j.Save(bounded)
}

// tooShort returns the error for a stream that has ended before the last step.
func (j *Job[B]) tooShort() error {
	return &errs.Error{Kind: errs.Invalid, Op: "bivouac.Job", Subject: "Options.Steps",
		Want:   strconv.FormatInt(j.opts.Steps, 10) + " steps",
		Got:    "the end of the stream after " + strconv.FormatInt(j.step, 10) + " steps, which are committed",
		Remedy: "set Options.Steps to 0 to train to the end of the stream", Err: io.ErrUnexpectedEOF}
}

// Save commits the current step, unless it is saved already. It waits for this save and any save
// before it. After a failure it may be called again, and tries again. Do not call it while a loop
// body of Steps runs: the current batch would not count as delivered, but its effects would be
// saved.
func (j *Job[B]) Save(ctx context.Context) error {
	if j.saved != j.step {
		if err := j.saveAsync(ctx); err != nil {
			return err
		}
	}
	err := j.Wait(ctx)
	if err != nil && ctx.Err() == nil {
		j.forget(ctx)
	}
	return err
}

// forget drops a failed save whose error was returned already, so that the next save tries again.
func (j *Job[B]) forget(ctx context.Context) {
	j.steps.Wait(ctx) //nolint:errcheck // the same error, which the next save would return once more
	j.pending, j.saved = nil, -1
}

// saveAsync copies the state and starts to write it. It waits for the previous save and returns its
// error.
func (j *Job[B]) saveAsync(ctx context.Context) error {
	defer j.story.blocking()()
	if j.closed {
		return &errs.Error{Kind: errs.Closed, Op: "bivouac.Job", Subject: "save"}
	}
	if err := j.Wait(ctx); err != nil {
		if ctx.Err() == nil {
			j.forget(ctx)
		}
		return err
	}
	token, err := j.data.AppendState(nil)
	if err != nil {
		return errs.Wrap("bivouac.Job", "state of the stream", err)
	}
	if err := j.keepDescription(ctx, token); err != nil {
		return err
	}
	if err := j.keepDefinition(ctx); err != nil {
		return err
	}
	raw, err := json.Marshal(document{Version: documentVersion, Identity: j.opts.Identity, Step: j.step, Stream: token})
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: "bivouac.Job", Subject: "state of the stream", Want: "JSON", Err: err}
	}
	state, err := stateOf(j.opts.State)
	if err != nil {
		return errs.Wrap("bivouac.Job", "Options.State", err)
	}
	r, err := j.steps.SaveCheckpointablesAsync(ctx, j.step,
		map[string]any{stateItem: state, dataItem: json.RawMessage(raw)},
		&training.SaveOptions{Before: j.story.beforeCommit})
	if err != nil {
		return err
	}
	j.pending, j.saved = r, j.step
	return nil
}

// Wait waits for the save in flight and returns its error. It returns the error at each call until
// the next save begins, or until Save or the loop has returned it.
func (j *Job[B]) Wait(ctx context.Context) error {
	if j.pending == nil {
		return nil
	}
	_, err := j.pending.Result(ctx)
	return err
}

// Close waits for the save in flight and closes the stream. It returns the first error that no call
// has returned yet. It does not save the current step, because a loop that ended early may not have
// finished it. Close may be called twice.
func (j *Job[B]) Close() error {
	if j.closed {
		return nil
	}
	j.closed = true
	var preempted error
	if j.notice.isGiven() && !j.told {
		e := &PreemptedError{Step: j.step, Committed: -1, Err: errors.New("the loop ended before")}
		if last, ok := j.Latest(); ok {
			e.Committed = last
		}
		e.Tiers = j.drain(j.notice.over)
		preempted = e
	}
	j.endNotice()
	told := j.story.close(preempted, j.Wait)
	err := j.steps.Close()
	if j.told && errors.Is(err, errs.Canceled) {
		err = nil // the save was ended by the grace time, and leave has returned the error
	}
	return errors.Join(preempted, err, told, j.data.Close())
}
