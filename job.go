package bivouac

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strconv"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/stream"
	"github.com/bivouac-ml/bivouac/tree"
)

// Names of the items of a step.
const (
	stateItem = "state"
	dataItem  = "data"
)

// Job is a training job with a memory. Its methods are for one goroutine, the
// trainer's, except Latest, which any may call.
type Job[B any] struct {
	opts  Options
	data  stream.Stream[B]
	steps *training.Checkpointer
	emit  func(Event)

	step    int64 // steps done
	saved   int64 // last step handed to the checkpointer, -1 for none
	resumed int64 // step that Open restored, -1 for none
	pending *checkpoint.Response[bool]
	closed  bool
}

// Open opens the run in dir, makes it when there is none, and restores
// Options.State and data to the newest step that is whole. What interrupted
// saves had left is removed; a damaged step is set aside under another name,
// and the one before it is taken. dir must be this job's own while it is open.
//
// The job owns data from here on and closes it in Close; when Open fails, data
// stays the caller's.
//
// Errors: Mismatch when the step is of another data set, configuration,
// identity or shape of state; Corrupt when there are steps and none is whole;
// Invalid for options; what the store says.
func Open[B any](ctx context.Context, dir string, data stream.Stream[B], o Options) (*Job[B], error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	j := &Job[B]{opts: o, data: data, emit: serialized(o.OnEvent), saved: -1, resumed: -1}
	if _, err := tree.From(o.State); err != nil {
		return nil, errs.Wrap("bivouac.Open", "Options.State", err)
	}
	keep := training.PreservationPolicy(training.LatestN{N: o.Keep})
	steps, err := training.Open(ctx, dir, &training.Options{
		Store:    o.Store,
		Save:     training.AnySave{training.InitialSave{}, training.FixedInterval{Steps: 1}}, // the job decides
		Preserve: keep,
		Clean:    true,
		OnEvent:  j.relay,
	})
	if err != nil {
		return nil, errs.Wrap("bivouac.Open", dir, err)
	}
	j.steps = steps
	if err := j.restore(ctx); err != nil {
		return nil, errors.Join(errs.Wrap("bivouac.Open", dir, err), steps.Close())
	}
	return j, nil
}

// serialized makes f safe to call from two goroutines.
func serialized(f func(Event)) func(Event) {
	if f == nil {
		return func(Event) {}
	}
	var mu sync.Mutex
	return func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		f(e)
	}
}

// relay passes on what the checkpointer tells.
func (j *Job[B]) relay(e training.Event) {
	kinds := map[training.EventKind]EventKind{
		training.SaveBegin: SaveBegin, training.SaveCommitted: SaveCommitted, training.SaveFailed: SaveFailed,
		training.Removed: Removed, training.Quarantined: Quarantined, training.Cleaned: Cleaned,
	}
	if k, ok := kinds[e.Kind]; ok {
		j.emit(Event{Kind: k, Step: e.Step, Name: e.Name, Bytes: e.Bytes, Blocked: e.Blocked, Took: e.Took, Err: e.Err})
	}
}

// document is the JSON of the data item.
type document struct {
	Version  int             `json:"version"`
	Identity string          `json:"identity,omitempty"`
	Step     int64           `json:"step"`
	Stream   json.RawMessage `json:"stream"`
}

const documentVersion = 1

// restore loads the newest step that is whole.
func (j *Job[B]) restore(ctx context.Context) error {
	start := time.Now()
	for {
		last, ok := j.steps.Latest()
		if !ok {
			return nil
		}
		items, err := j.steps.LoadCheckpointables(ctx, last.Step, nil)
		if errors.Is(err, errs.Corrupt) {
			// Not the last word: an older step carries on just as exactly.
			if qerr := j.steps.Quarantine(ctx, last.Step, err); qerr != nil {
				return errors.Join(err, qerr)
			}
			if _, more := j.steps.Latest(); !more {
				return err
			}
			continue
		}
		if err == nil {
			err = j.apply(last, items)
		}
		if err != nil {
			return errs.Wrap("", "step "+strconv.FormatInt(last.Step, 10), err)
		}
		j.step, j.saved, j.resumed = last.Step, last.Step, last.Step
		j.emit(Event{Kind: Resumed, Step: last.Step, Name: last.Directory, Took: time.Since(start)})
		return nil
	}
}

// apply moves the stream and fills the state: the stream first, so that only a
// state of another shape leaves the caller's half filled. Whatever it refuses,
// the step is whole and stays where it is.
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
		return &errs.Error{Kind: errs.Mismatch, Subject: dataItem, Want: "a job's document", Err: err}
	}
	switch {
	case doc.Version != documentVersion:
		return &errs.Error{Kind: errs.Unsupported, Subject: dataItem, Want: "version " + strconv.Itoa(documentVersion),
			Got: strconv.Itoa(doc.Version), Remedy: "use a newer Bivouac"}
	case doc.Identity != j.opts.Identity:
		return &errs.Error{Kind: errs.Mismatch, Subject: "identity of the run", Want: strconv.Quote(j.opts.Identity), Got: strconv.Quote(doc.Identity),
			Remedy: "the directory holds another run: use another directory, or the options of that run"}
	case doc.Step != at.Step:
		return &errs.Error{Kind: errs.Mismatch, Subject: dataItem, Want: "step " + strconv.FormatInt(at.Step, 10), Got: strconv.FormatInt(doc.Step, 10),
			Remedy: "the directory was renamed; give it its number back"}
	}
	if err := j.data.SetState(doc.Stream); err != nil {
		return errs.Wrap("", dataItem, err)
	}
	return errs.Wrap("", stateItem, tree.Into(node, j.opts.State))
}

// Resumed returns the step that Open restored; ok is false for a fresh run.
func (j *Job[B]) Resumed() (step int64, ok bool) { return max(j.resumed, 0), j.resumed >= 0 }

// Step returns how many steps are done, those before a resumption included.
func (j *Job[B]) Step() int64 { return j.step }

// Latest returns the newest committed step.
func (j *Job[B]) Latest() (step int64, ok bool) {
	last, ok := j.steps.Latest()
	return last.Step, ok
}

// Steps yields the batches that follow the last step done. A batch is valid
// until the loop body ends. Saves are made between steps; at the end of the
// stream, or after Options.Steps, the last step is saved and waited for.
//
// An error of the stream or of a save is yielded once, and ends the iteration;
// the step it stands for was not done. Ranging again carries on.
func (j *Job[B]) Steps(ctx context.Context) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		var zero B
		for j.opts.Steps == 0 || j.step < j.opts.Steps {
			batch, err := j.data.Next(ctx)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				yield(zero, err)
				return
			}
			if !yield(batch, nil) {
				return
			}
			j.step++
			if j.opts.SaveEvery > 0 && j.step%j.opts.SaveEvery == 0 {
				if err := j.saveAsync(ctx); err != nil {
					yield(zero, err)
					return
				}
			}
		}
		if err := j.Save(ctx); err != nil {
			yield(zero, err)
		}
	}
}

// Save commits the current step, unless it is saved already, and waits for it
// and any save before it. It must not be called while a loop body of Steps runs:
// the batch in hand would count as not seen, and its effects as saved.
func (j *Job[B]) Save(ctx context.Context) error {
	if j.saved != j.step {
		if err := j.saveAsync(ctx); err != nil {
			return err
		}
	}
	return j.Wait(ctx)
}

// saveAsync copies the state and starts writing it. It waits for the save
// before, whose error it returns.
func (j *Job[B]) saveAsync(ctx context.Context) error {
	if j.closed {
		return &errs.Error{Kind: errs.Closed, Op: "bivouac.Job", Subject: "save"}
	}
	if err := j.Wait(ctx); err != nil {
		if ctx.Err() == nil {
			j.pending, j.saved = nil, -1 // reported; the next call tries again
		}
		return err
	}
	token, err := j.data.AppendState(nil)
	if err != nil {
		return errs.Wrap("bivouac.Job", "state of the stream", err)
	}
	raw, err := json.Marshal(document{Version: documentVersion, Identity: j.opts.Identity, Step: j.step, Stream: token})
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: "bivouac.Job", Subject: "state of the stream", Want: "JSON", Err: err}
	}
	r, err := j.steps.SaveCheckpointablesAsync(ctx, j.step, map[string]any{stateItem: j.opts.State, dataItem: json.RawMessage(raw)}, nil)
	if err != nil {
		return err
	}
	j.pending, j.saved = r, j.step
	return nil
}

// Wait waits for the save in flight and returns its error, every time until
// the next save.
func (j *Job[B]) Wait(ctx context.Context) error {
	if j.pending == nil {
		return nil
	}
	_, err := j.pending.Result(ctx)
	return err
}

// Close waits for the save in flight and closes the stream. It returns the
// first error that no call has returned yet. The current step is not saved: a
// loop that ended early may not have finished it. Close may be called twice.
func (j *Job[B]) Close() error {
	if j.closed {
		return nil
	}
	j.closed = true
	return errors.Join(j.steps.Close(), j.data.Close())
}
