package bivouac

import (
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/enum"
	"github.com/bivouac-ml/bivouac/store"
)

// Options of a Job. The zero value of each field but State works.
type Options struct {
	// State is what is saved and restored: a pointer to a struct, a map or a
	// *tree.Node, as tree.From and tree.Into take it. Required. It is read
	// between two steps, and written by Open. What could not be restored, such as a
	// struct by value, is refused by the first Open.
	State any
	// SaveEvery saves after each step whose number is a multiple of it.
	// 0 is 100; Never saves only at the end of Steps and when Save is called.
	SaveEvery int64
	// Keep is how many of the newest steps stay. 0 is 3; KeepAll keeps all.
	Keep int
	// Steps is how many steps are trained in all, those before a resumption included,
	// over as many passes (epochs) of the stream as that takes. 0 goes on until the
	// stream ends, which a loader never does; see package stream.
	Steps int64
	// Grace is how long the job may take to finish its step and commit it after
	// SIGTERM. 0 is 25 seconds; Never leaves the signal alone, so that it ends the
	// process as ever. See Job.Steps.
	Grace time.Duration
	// StartFresh moves all steps in the directory, and what is left of others, into a
	// new directory aside-<time> below it, and begins at step 0. Nothing is deleted. Set it
	// for one start, by a flag for instance: each start with it begins at 0 again.
	StartFresh bool
	// AcceptMissing goes on where signed steps are missing; see training.Options.
	AcceptMissing bool
	// Identity describes what else must be equal for two runs to be the same
	// run, a hash of the model's configuration for instance. A step that was
	// saved under another identity is refused.
	Identity string
	// Parity is how many blocks of redundancy each step has for 100 blocks of data, so
	// that bivouac repair can mend damage; see checkpoint/options, Bivouac.Parity.
	Parity int
	// Scrub has kept steps read again in the background; damage is told to OnEvent as
	// DamageFound.
	Scrub training.Scrub
	// OnEvent, when not nil, is told what happens. It is called one at a time, from the
	// trainer's goroutine, the one that saves or the one that scrubs, and should return soon.
	OnEvent func(Event)
	// Store, when not nil, holds the steps in place of the local file system;
	// the directory given to Open is then a name in it.
	Store store.Store
}

// Values of Options fields.
const (
	Never   = -1 // Options.SaveEvery, Options.Grace
	KeepAll = -1 // Options.Keep
)

func (o Options) withDefaults() Options {
	if o.SaveEvery == 0 {
		o.SaveEvery = 100 // minutes of work for most jobs, and rare against the cost of a save
	}
	if o.Keep == 0 {
		o.Keep = 3 // one to load, one should it be damaged, one to compare with
	}
	if o.Grace == 0 {
		o.Grace = 25 * time.Second // Kubernetes, Slurm and preemptible machines give 30
	}
	return o
}

// Validate reports the first field that makes no sense.
func (o Options) Validate() error {
	bad := func(field, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "bivouac.Open", Subject: "Options." + field, Want: want, Got: got}
	}
	switch {
	case o.State == nil:
		return bad("State", "a pointer to what is to be saved", "nil")
	case o.SaveEvery < Never:
		return bad("SaveEvery", "a number of steps, or Never", strconv.FormatInt(o.SaveEvery, 10))
	case o.Keep < KeepAll:
		return bad("Keep", "a number of steps, or KeepAll", strconv.Itoa(o.Keep))
	case o.Steps < 0:
		return bad("Steps", "a number of steps, or 0", strconv.FormatInt(o.Steps, 10))
	case o.Grace < Never:
		return bad("Grace", "a time, or Never", o.Grace.String())
	}
	return nil
}

// EventKind says what happened.
type EventKind uint8

// The kinds of events.
const (
	Resumed       EventKind = iota + 1 // Open found a step and restored it
	SaveBegin                          // the state was copied; writing begins in the background
	SaveCommitted                      // the step is durable
	SaveFailed                         // the save failed; Err says why, the next save or Close returns it
	Removed                            // retention removed a step
	Quarantined                        // Open passed over a damaged step and set it aside; Err says why
	Cleaned                            // Open removed what an interrupted save had left
	Skipped                            // a directory named as a step is not a whole step, and not listed; Err says why
	Settled                            // an uncertain save is decided: the step stays, or Err says that it is gone
	Declined                           // a step was not saved; Reason says why
	Spared                             // a step that retention gives up stays; Reason says why
	MovedAside                         // Options.StartFresh moved a step, or what was left of one, to Name
	PassEnded                          // a pass of the stream ended, such as an epoch, and the next one has begun
	Unfreed                            // bytes of a removed step are still there (Err); a later save or Open frees them
	Preempted                          // SIGTERM came, and Step is the last one; Err is the PreemptedError
	DamageFound                        // a scrub found a damaged file of a step, which Err names
	StepMissing                        // a signed step is not there any more, and AcceptMissing goes on
)

// eventKinds are the kinds of the checkpointer's events.
var eventKinds = map[training.EventKind]EventKind{
	training.SaveBegin: SaveBegin, training.SaveCommitted: SaveCommitted, training.SaveFailed: SaveFailed,
	training.Removed: Removed, training.Quarantined: Quarantined, training.Skipped: Skipped, training.Cleaned: Cleaned,
	training.Settled: Settled, training.Declined: Declined, training.Spared: Spared, training.MovedAside: MovedAside, training.Unfreed: Unfreed,
	training.DamageFound: DamageFound, training.StepMissing: StepMissing,
}

var eventNames = []string{
	"", "resumed", "save begin", "save committed", "save failed", "removed", "quarantined", "cleaned",
	"skipped", "settled", "declined", "spared", "moved aside", "pass ended", "unfreed", "preempted", "damage found", "step missing",
}

// String returns the kind in words.
func (k EventKind) String() string {
	return enum.Name(k, eventNames, "event %d")
}

// Event is a report to Options.OnEvent.
type Event struct {
	Kind    EventKind
	Step    int64         // 0 for Cleaned
	Name    string        // of the directory, below the run's
	Bytes   int64         // SaveBegin, SaveCommitted: size of the step
	Blocked time.Duration // SaveBegin: how long the trainer stood still for it
	Took    time.Duration // SaveCommitted: from the begin of the save to its commit; Resumed: of the restore
	// Uncertain is of SaveFailed: the step is seen, and whether it would survive power
	// loss is unknown. Settled follows.
	Uncertain bool
	Reason    string // Declined, Spared
	Err       error  // SaveFailed, Quarantined, Skipped, Settled, Preempted
}
