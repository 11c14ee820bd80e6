// Package journaling writes the journal of a run from the events of its checkpointer, and the event
// file for TensorBoard if it is asked for.
package journaling

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/journal/tensorboard"
)

// Recorder writes the journal of an attempt. Its methods may be called concurrently. Before Open,
// events are kept, and the other methods do nothing. A Recorder that is never opened records
// nothing.
type Recorder struct {
	tell func(error)

	mu      sync.Mutex
	w       *journal.Writer     // nil in processes that do not record
	board   *tensorboard.Writer // nil unless asked for
	opened  bool
	early   []func() // events before Open
	saves   map[int64]journal.Save
	failing [2]bool // whether tell knows that the journal, or the event file, cannot be written
}

// New returns a Recorder. tell is called with the first failure after each success of a write. It
// may be called from any goroutine.
func New(tell func(error)) *Recorder {
	return &Recorder{tell: tell, saves: map[int64]journal.Save{}}
}

// Options say what is recorded.
type Options struct {
	// Off records nothing.
	Off bool
	// TensorBoard, if not empty, is a directory of this machine that gets an event file.
	TensorBoard string
}

// Open begins the attempt. If several processes make one checkpoint, only the primary records.
func (r *Recorder) Open(steps *training.Checkpointer, start journal.Start, o Options) error {
	st, dir, writer := steps.Storage()
	r.mu.Lock()
	defer r.mu.Unlock()
	if writer && !o.Off {
		w := journal.New(st, dir, start, &journal.WriterOptions{OnFlush: r.flushed})
		if o.TensorBoard != "" {
			board, err := tensorboard.Open(o.TensorBoard, w)
			if err != nil {
				return errors.Join(err, w.Close(context.Background())) // it has no row, so it writes nothing
			}
			r.board = board
		}
		r.w = w
	}
	for _, record := range r.early {
		record()
	}
	r.opened, r.early = true, nil
	return nil
}

// Recording reports whether this process writes a journal.
func (r *Recorder) Recording() bool { return r.writer() != nil }

// ID returns the id of the attempt, or "" in a process that does not record.
func (r *Recorder) ID() string {
	w := r.writer()
	if w == nil {
		return ""
	}
	return w.Start().ID
}

func (r *Recorder) writer() *journal.Writer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.w
}

// Begin makes the attempt visible soon, even if no row follows.
func (r *Recorder) Begin() {
	if w := r.writer(); w != nil {
		w.Begin()
	}
}

// Step records the scalars of a step that was done just now.
func (r *Recorder) Step(step int64, s *journal.Scalars) {
	r.step(step, s, func(w *journal.Writer) journal.Seconds { return w.Step(step, s) })
}

// StepAt records the scalars of a step that was done at a time after the begin of the attempt.
func (r *Recorder) StepAt(step int64, at time.Duration, s *journal.Scalars) {
	r.step(step, s, func(w *journal.Writer) journal.Seconds { return w.StepAt(step, at, s) })
}

func (r *Recorder) step(step int64, s *journal.Scalars, record func(*journal.Writer) journal.Seconds) {
	r.mu.Lock()
	w, board := r.w, r.board
	r.mu.Unlock()
	if w == nil {
		return
	}
	at := record(w)
	if board != nil {
		board.Step(step, at, s.All())
	}
}

// Event records something that happened.
func (r *Recorder) Event(e journal.Event) {
	r.record(func() {
		if r.w != nil {
			r.w.Event(e)
		}
	})
}

// record records an event, now or in Open. f is called with r.mu held.
func (r *Recorder) record(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.opened {
		r.early = append(r.early, f)
		return
	}
	f()
}

// unrecorded are the kinds of events that have rows of their own or belong to each save.
var unrecorded = []training.EventKind{training.SaveBegin, training.SaveCommitted, training.SaveFailed, training.Removed,
	training.Declined}

// Checkpointer records an event of the checkpointer.
func (r *Recorder) Checkpointer(e training.Event) {
	text := ""
	if e.Err != nil {
		text = e.Err.Error()
	}
	r.record(func() {
		switch e.Kind {
		case training.SaveBegin:
			r.saves[e.Step] = journal.Save{Bytes: e.Bytes, Blocked: journal.Seconds(e.Blocked.Seconds())}
		case training.SaveCommitted, training.SaveFailed:
			s := r.saves[e.Step]
			delete(r.saves, e.Step)
			s.Took, s.Error = journal.Seconds(e.Took.Seconds()), text
			if e.Bytes > 0 {
				s.Bytes = e.Bytes
			}
			if r.w != nil {
				r.w.Save(e.Step, s)
			}
		}
		if r.w != nil && !slices.Contains(unrecorded, e.Kind) {
			r.w.Event(journal.Event{Name: e.Kind.String(), Object: e.Name, Tier: e.Tier, Reason: e.Reason, Error: text})
		}
	})
}

// flushed writes the event file after a flush of the journal, and tells what has failed.
func (r *Recorder) flushed(err error) {
	r.mu.Lock()
	board := r.board
	r.mu.Unlock()
	outcomes := [2]error{err, nil}
	if board != nil {
		outcomes[1] = board.Flush()
	}
	for i, err := range outcomes {
		r.mu.Lock()
		tell := err != nil && !r.failing[i]
		r.failing[i] = err != nil
		r.mu.Unlock()
		if tell {
			r.tell(err)
		}
	}
}

// Flush makes all rows durable, before a step is committed for example. An error is told, and the
// rows are kept.
func (r *Recorder) Flush(ctx context.Context) {
	if w := r.writer(); w != nil {
		r.flushed(w.Flush(ctx))
	}
}

// End records how the attempt ended. Rows after it are dropped.
func (r *Recorder) End(e journal.End) {
	if w := r.writer(); w != nil {
		w.End(e)
	}
}

// Close writes what is left, until ctx ends. It returns an error unless the store and the event
// file have all rows.
func (r *Recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	w, board := r.w, r.board
	r.mu.Unlock()
	if w == nil {
		return nil
	}
	err := w.Close(ctx)
	if board != nil {
		err = errors.Join(err, board.Close())
	}
	return err
}
