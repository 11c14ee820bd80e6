package bivouac

import (
	"context"
	"syscall"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/stream"
)

// Operators writes what the operators of the data do.
type Operators struct{ *operators }

// NewOperators returns the writer of the run in dir.
func NewOperators(st store.Store, dir string, profile func() stream.Profile, tell func(error)) Operators {
	return Operators{newOperators(st, dir, journal.Operators{Attempt: "0123456789abcdef", World: 1}, profile, tell)}
}

// Begin, StepDone and Close are what the job calls.
func (o Operators) Begin()                    { o.begin() }
func (o Operators) StepDone(step int64)       { o.stepDone(step) }
func (o Operators) Close(ctx context.Context) { o.close(ctx) }

// KindOfTraining is as what an event of the checkpointer is told.
func KindOfTraining(k training.EventKind) EventKind { return eventKinds[k] }

// AwaitSignal returns when SIGTERM has reached the job.
func AwaitSignal[B any](j *Job[B]) { <-j.notice.came.Done() }

// AwaitGrace returns when the grace time after SIGTERM is over.
func AwaitGrace[B any](j *Job[B]) { <-j.notice.over.Done() }

// Notice is what waits for SIGTERM.
type Notice struct{ *notice }

// NewNotice waits for SIGTERM.
func NewNotice(grace time.Duration) Notice { return Notice{newNotice(grace)} }

// Signal is as if the signal came.
func (n Notice) Signal() { n.signals <- syscall.SIGTERM }

// Over is closed when the grace time is over.
func (n Notice) Over() <-chan struct{} { return n.over.Done() }

// Stop ends the waiting.
func (n Notice) Stop() { n.stop() }
