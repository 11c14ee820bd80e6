package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

// slot is a task in progress, with its result.
type slot[S, B any] struct {
	task    protocol.Task
	lane    *lane[S]
	opening bool // the slot only opens the lane, there is no task

	reading int64 // the id, or number, of the item that the data set is reading, plus one; 0 if it reads nothing
	batch   B
	outcome protocol.Outcome
	state   protocol.LaneState
	samples []S   // samples of the batch; the memory is reused
	ends    []int // where each pack ends in samples
	pinned  *arena.Arena
	begun   atomic.Bool
	done    atomic.Bool
}

func (s *slot[S, B]) reset() {
	var none B
	clear(s.samples)
	s.task, s.lane, s.batch, s.outcome, s.state, s.samples, s.pinned = protocol.Task{}, nil, none, protocol.Outcome{},
		protocol.LaneState{}, s.samples[:0], nil
	s.reading = 0
	s.begun.Store(false)
	s.done.Store(false)
}

// Dead is the error of a worker whose data set panicked or ended its goroutine.
type Dead struct {
	Value any    // the value of the panic, or nil if the goroutine ended
	Stack string // the stack of the panic
}

// Error implements error.
func (d *Dead) Error() string {
	if d.Value == nil {
		return "the data set ended the goroutine of its worker"
	}
	return fmt.Sprintf("the data set panicked: %v", d.Value)
}

// fill does the task of a slot. Whatever the data set does, the slot has an outcome afterwards.
func (e *engine[S, B]) fill(s *slot[S, B]) {
	over := false
	defer func() {
		if over {
			return
		}
		dead := &Dead{Value: recover()}
		if dead.Value != nil {
			dead.Stack = string(debug.Stack())
		}
		s.outcome = protocol.Outcome{Err: e.failed(s, e.where(s, dead))}
	}()
	if s.opening {
		e.open(s)
	} else {
		e.make(s)
	}
	over = true
}

// where adds the sample or item that the data set was reading to an error.
func (e *engine[S, B]) where(s *slot[S, B], err error) error {
	what := "sample "
	switch {
	case s.reading == 0:
		return err
	case e.setup.Iterable:
		what = "item "
	}
	return errs.Wrap("", what+strconv.FormatInt(s.reading-1, 10), err)
}

func (e *engine[S, B]) open(s *slot[S, B]) {
	alone := e.setup.Workers == 0 && s.lane.of == 1
	err := s.lane.open(e.source, alone, e.options.WorkerInit)
	if err == nil {
		s.state, err = s.lane.state()
		s.state.Initial = s.lane.initial
	}
	if err != nil {
		s.outcome.Err = e.failed(s, err)
	}
}

// make reads and collates a batch.
func (e *engine[S, B]) make(s *slot[S, B]) {
	var err error
	o := &s.outcome
	if e.setup.Iterable {
		err = e.readItems(s)
	} else {
		err = e.readIDs(s)
	}
	if err == nil && !o.Ended {
		if o.Count = len(s.samples); s.task.Repeated {
			o.Repeated = o.Count
		}
		if o.Count == 0 {
			o.Empty = true
		} else if s.batch, err = e.collateSlot(s); err == nil && e.pin != nil {
			s.batch, s.pinned, err = pinned(e.pin, s.batch)
		}
	}
	if s.task.Want || o.Ended {
		st, stateErr := s.lane.state()
		o.State = &st
		err = errors.Join(err, stateErr)
	}
	if err != nil {
		o.Err = e.failed(s, err)
	}
}

// collateSlot makes a batch from the samples of a slot, or from its packs.
func (e *engine[S, B]) collateSlot(s *slot[S, B]) (B, error) {
	if e.packs == nil {
		return e.collate(s.samples)
	}
	packs, begin := make([][]S, 0, len(s.ends)), 0
	for _, end := range s.ends {
		if end > begin { // at least one sample of the pack could be read
			packs, begin = append(packs, s.samples[begin:end:end]), end
		}
	}
	return e.packs(packs)
}

// failed adds to an error where it happened.
func (e *engine[S, B]) failed(s *slot[S, B], err error) error {
	return &errs.Error{Subject: s.lane.name(), Err: err}
}

// readIDs reads the samples of a Map.
func (e *engine[S, B]) readIDs(s *slot[S, B]) error {
	l, t := s.lane, &s.task
	s.samples, s.ends = s.samples[:0], append(s.ends[:0], t.Ends...)
	if l.bulk != nil {
		samples, err := l.bulk.AtAll(l.ctx, t.IDs, func(i int) Random { return e.random(t.Pos + int64(i)) })
		switch {
		case err == nil && len(samples) == len(t.IDs):
			s.samples = samples
			return nil
		case err == nil:
			return &errs.Error{Kind: errs.Mismatch, Subject: "AtAll", Want: fmt.Sprint(len(t.IDs), " samples"),
				Got: fmt.Sprint(len(samples))}
		case e.setup.OnError == faults.Policy{} || l.ctx.Err() != nil:
			return err
		}
	}
	pack := 0
	for i, id := range t.IDs {
		for ; pack < len(t.Ends) && t.Ends[pack] == i; pack++ {
			s.ends[pack] = len(s.samples)
		}
		r := Random{e.keyer, t.Pos + int64(i)}
		s.reading = id + 1
		sample, err := l.data.mapped.At(l.ctx, id, r)
		if err != nil {
			if sample, err = e.excuse(s, err, id, r); err != nil {
				return err
			}
			if n := len(s.outcome.Faults); n > 0 && s.outcome.Faults[n-1].Position == r.pos {
				continue
			}
		}
		s.samples = append(s.samples, sample)
	}
	if pack < len(s.ends) {
		s.ends[pack] = len(s.samples)
	}
	s.reading = 0
	if len(s.samples) == 0 {
		e.readSpare(s)
	}
	return nil
}

// readSpare reads a sample of another rank if all samples of this rank were skipped. Without a
// batch the rank would be one step behind the other ranks.
func (e *engine[S, B]) readSpare(s *slot[S, B]) {
	l, t := s.lane, &s.task
	for i, id := range t.Spare {
		if slices.Contains(t.IDs, id) {
			continue
		}
		s.reading = id + 1
		sample, err := l.data.mapped.At(l.ctx, id, Random{e.keyer, t.SparePos + int64(i)})
		if s.reading = 0; err == nil {
			s.samples, s.ends = append(s.samples, sample), append(s.ends[:0], 1)
			s.outcome.Repeated = 1
			return
		}
		if l.ctx.Err() != nil {
			return
		}
	}
}

func (e *engine[S, B]) random(pos int64) Random { return Random{e.keyer, pos} }

// excuse tries a sample again. If it fails and may be skipped, excuse adds it to the faults.
func (e *engine[S, B]) excuse(s *slot[S, B], err error, id int64, r Random) (sample S, _ error) {
	l, policy := s.lane, e.setup.OnError
	for i := 0; i < policy.Retries && err != nil; i++ {
		if l.ctx.Err() != nil || !pause(l.ctx, policy.Backoff<<min(i, 30)) {
			break
		}
		sample, err = l.data.mapped.At(l.ctx, id, r)
	}
	if err == nil || l.ctx.Err() == nil && policy.Action == faults.Skip {
		if err != nil {
			s.outcome.Faults = append(s.outcome.Faults, skippedAs(r.pos, id, err))
		}
		return sample, nil
	}
	return sample, e.where(s, err)
}

func skippedAs(position, id int64, err error) faults.Fault {
	return faults.Fault{Position: position, ID: id, Action: faults.Skip, Reason: err.Error(), Err: err}
}

// pause waits for d. It returns false if ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// mostFailures is how many items in a row may fail before an Iterable counts as broken.
const mostFailures = 1000

// readItems reads items of an Iterable.
func (e *engine[S, B]) readItems(s *slot[S, B]) error {
	l, t := s.lane, &s.task
	s.samples = append(s.samples[:0], l.partial...)
	l.partial = l.partial[:0]
	for failures := 0; len(s.samples) < t.N && !l.ended; {
		s.reading = l.items + 1
		item, err := l.iterator.Next(l.ctx)
		switch {
		case err == nil:
			l.items++
			failures = 0
			s.samples = append(s.samples, item)
			continue
		case errors.Is(err, io.EOF):
			l.ended = true
			continue
		case l.ctx.Err() != nil:
			l.partial = append(l.partial, s.samples...)
			return err
		}
		l.items++
		if failures++; e.setup.OnError.Action != faults.Skip || failures > mostFailures {
			return e.where(s, err)
		}
		s.outcome.Faults = append(s.outcome.Faults, skippedAs(l.items-1, -1, err))
	}
	s.reading = 0
	if len(s.samples) == 0 || len(s.samples) < t.N && e.setup.Tail == order.Drop && e.setup.Batched {
		s.outcome.Ended = true
	}
	return nil
}
