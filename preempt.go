package bivouac

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// ExitPreempted is the exit status for a program whose job was preempted: EX_TEMPFAIL of
// sysexits.h, "try again later". A supervisor that sees it starts the program again, and the run
// continues after the last committed step. The program must exit itself:
//
//	if errors.Is(err, bivouac.ErrPreempted) {
//		os.Exit(bivouac.ExitPreempted)
//	}
const ExitPreempted = 75

// ErrPreempted is in the chain of the error with which Steps ends after SIGTERM; see
// PreemptedError.
var ErrPreempted = errors.New("preempted")

// PreemptedError says how far a job came before it was preempted. errors.Is reports that it is
// ErrPreempted and errs.Canceled.
type PreemptedError struct {
	Step      int64 // steps done
	Committed int64 // the newest committed step, or -1
	Err       error // why Step is not committed; nil if it is
	// Tiers is what Options.Tiers lack, and why; nil if each has all that it was to get.
	Tiers error
}

// Error implements error: "preempted at step 12, committed".
func (e *PreemptedError) Error() string {
	text := "bivouac.Job: preempted at step " + strconv.FormatInt(e.Step, 10)
	switch {
	case e.Err == nil:
		text += ", committed"
	case e.Committed < 0:
		text += ", not committed, as no step before it: " + e.Err.Error()
	default:
		text += ", not committed; step " + strconv.FormatInt(e.Committed, 10) + " is the last that is: " + e.Err.Error()
	}
	if e.Tiers != nil {
		text += "; not in all tiers: " + e.Tiers.Error()
	}
	return text
}

// Is reports whether target is ErrPreempted or errs.Canceled.
func (e *PreemptedError) Is(target error) bool {
	return target == ErrPreempted || target == errs.Canceled
}

// Unwrap returns why the step is not committed.
func (e *PreemptedError) Unwrap() error { return e.Err }

// notice catches SIGTERM. The signal has no other effect until the grace time after the first
// signal ends, or until stop is called.
type notice struct {
	grace   time.Duration
	signals chan os.Signal
	came    context.Context // ends with the first signal
	give    context.CancelFunc
	asked   chan chan<- struct{} // answered when all signals delivered before are known
	over    context.Context      // ends with the grace time
	expire  context.CancelCauseFunc
	quit    chan struct{}
	done    sync.WaitGroup
}

func newNotice(grace time.Duration) *notice {
	n := &notice{grace: grace, signals: make(chan os.Signal, 1), asked: make(chan chan<- struct{}),
		quit: make(chan struct{})}
	n.came, n.give = context.WithCancel(context.Background())
	n.over, n.expire = context.WithCancelCause(context.Background())
	signal.Notify(n.signals, syscall.SIGTERM)
	n.done.Go(n.watch)
	return n
}

func (n *notice) watch() {
	var deadline <-chan time.Time
	take := func() {
		if deadline == nil {
			deadline = time.After(n.grace)
			n.give()
		}
	}
	for {
		select {
		case <-n.signals:
			take()
		case answer := <-n.asked:
			select {
			case <-n.signals:
				take()
			default:
			}
			close(answer)
		case <-deadline:
			signal.Stop(n.signals) // another signal then ends the process
			n.expire(&errs.Error{Kind: errs.Canceled, Got: "Options.Grace of " + n.grace.String() + " is over"})
			deadline = make(chan time.Time)
		case <-n.quit:
			return
		}
	}
}

// isGiven reports whether the notice has received the signal, which may have come a moment before.
func (n *notice) isGiven() bool { return n != nil && n.came.Err() != nil }

// wasGiven works like isGiven. It also reports a signal that the system gave to another receiver in
// the process, which then ended ctx, while the notice existed or before.
func (n *notice) wasGiven(ctx context.Context) bool {
	if n == nil || n.isGiven() {
		return n.isGiven()
	}
	signal.Notify(n.signals, syscall.SIGTERM) // returns when all deliveries are done
	if endedBySIGTERM(ctx) {
		select {
		case n.signals <- syscall.SIGTERM: // delivered before the notice existed
		default:
		}
	}
	answer := make(chan struct{})
	n.asked <- answer
	<-answer
	return n.isGiven()
}

// endedBySIGTERM reports whether signal.NotifyContext has ended ctx because of SIGTERM. The cause
// of ctx has no exported type, only this text.
func endedBySIGTERM(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return cause != nil && cause.Error() == syscall.SIGTERM.String()+" signal received"
}

// stop stops catching the signal.
func (n *notice) stop() {
	if n == nil {
		return
	}
	signal.Stop(n.signals)
	close(n.quit)
	n.done.Wait()
	n.expire(nil)
	n.give()
}

// leave commits the current step within the grace time and returns the error that ends
// the loop.
func (j *Job[B]) leave(ctx context.Context) error {
	over := j.notice.over
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx)) // ctx may have ended because of the same signal
	defer cancel(nil)
	defer context.AfterFunc(over, func() { cancel(context.Cause(over)) })()
	err := context.Cause(over)
	if err == nil {
		err = j.commitLast(ctx)
	}
	if over.Err() != nil {
		err = context.Cause(over)
		if j.pending != nil {
			j.pending.Cancel() // Close must not wait for this save
		}
	}
	e := &PreemptedError{Step: j.step, Committed: -1, Err: err}
	if last, ok := j.Latest(); ok {
		e.Committed = last
		if last == j.step {
			e.Err = nil
		}
	}
	e.Tiers = j.drain(over)
	if !j.told {
		j.emit(Event{Kind: Preempted, Step: j.step, Err: e})
	}
	j.told = true
	j.story.preempted(over, e)
	return e
}

// drain copies the newest step to the further tiers, until over ends.
func (j *Job[B]) drain(over context.Context) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	defer context.AfterFunc(over, func() { cancel(context.Cause(over)) })()
	j.Wait(ctx) //nolint:errcheck // the caller has the error, or Close returns it
	return j.steps.Drain(ctx, &training.DrainOptions{Newest: true})
}

// commitLast saves the current step, even if the save before failed.
func (j *Job[B]) commitLast(ctx context.Context) error {
	j.Save(ctx) //nolint:errcheck // the last committed step decides
	if last, ok := j.Latest(); ok && last == j.step {
		return nil
	}
	return j.Save(ctx)
}
