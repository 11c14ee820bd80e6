package bivouac

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/enum"
	"github.com/bivouac-ml/bivouac/store"
)

// Options configure a Job. The zero value of each field except State works.
type Options struct {
	// State is what is saved and restored: a pointer to a struct, a map or a *tree.Node, as tree.From
	// and tree.Into take it, or a TreeState. It is required. The job reads it between two steps, and
	// Open writes it. The first Open returns an error for a State that could not be restored, such as
	// a struct by value.
	State any
	// SaveEvery is the number of steps from one save to the next: each step that is a multiple of it
	// is saved. 0 means 100. Never saves only at the end of Steps and when Save is called.
	SaveEvery int64
	// Keep is how many of the newest steps stay. 0 means 3; KeepAll keeps all.
	Keep int
	// Steps is how many steps are trained in total, including those before a resumption, over as many
	// passes (epochs) of the stream as needed. 0 trains until the stream ends, which a loader never
	// does; see package stream.
	Steps int64
	// Grace is how long the job may take to finish its step and commit it after SIGTERM. 0 means 25
	// seconds. With Never the job does not catch the signal, and it ends the process as usual. See
	// Job.Steps.
	Grace time.Duration
	// StartFresh moves all steps in the directory, and all remains of steps, into a new directory
	// aside-<time> below it, and begins at step 0. Nothing is deleted. Set it for one start only, for
	// example by a flag: each start with it begins at step 0 again.
	StartFresh bool
	// AcceptMissing continues even if signed steps are missing; see training.Options.
	AcceptMissing bool
	// Identity describes what else must be equal for two runs to be the same run, for example a hash
	// of the model's configuration. Open does not accept a step that was saved under another identity.
	Identity string
	// Parity is how many blocks of redundancy each step has for 100 blocks of data, so that bivouac
	// repair can mend damage; see Bivouac.Parity in package checkpoint/options.
	Parity int
	// Scrub makes the job read kept steps again in the background. OnEvent is told about damage as
	// DamageFound.
	Scrub training.Scrub
	// Tiers are further directories for the steps, such as a bucket, from the nearest to the furthest.
	// Steps are copied there in the background. Open restores the newest step of all tiers, from the
	// nearest whole copy. After SIGTERM the newest step is copied to all tiers, within Grace.
	Tiers []training.Tier
	// Uploads bounds the copies to Tiers.
	Uploads training.Uploads
	// OnEvent, if not nil, is called for each event. The calls do not overlap. They come from the
	// goroutine of the trainer, of a save, of a scrub or of a copy to a tier. OnEvent should return
	// soon.
	OnEvent func(Event)
	// BatchSize is the number of samples of one step, of all ranks. 0 means that it is not known. It
	// is for Job.Scalar: the journal then has the samples a second.
	BatchSize int64
	// NoJournal turns off the journal, the record of each step in the directory of the run; see
	// Job.Scalar.
	NoJournal bool
	// TensorBoard, if not empty, is a directory of this machine that gets an event file of each
	// attempt, with the scalars of the journal. The file grows when the journal is written. Give each
	// run a directory of its own. If the directory is lost, bivouac export --tensorboard writes the
	// files anew. The URL of a bucket is an error of kind Unsupported, because event files grow in
	// place.
	TensorBoard string
	// Log gets a line with the step and its scalars from time to time. nil means slog.Default().
	Log *slog.Logger
	// LogEvery is the time between two such lines. 0 means 30 seconds; Never writes none.
	LogEvery time.Duration
	// Store, if not nil, holds the steps instead of the local file system. The directory given to Open
	// is then a name in it.
	Store store.Store
}

// Values of Options fields.
const (
	Never   = -1 // Options.SaveEvery, Options.Grace, Options.LogEvery
	KeepAll = -1 // Options.Keep
)

func (o Options) withDefaults() Options {
	if o.SaveEvery == 0 {
		o.SaveEvery = 100 // minutes of work for most jobs, and much more than the cost of a save
	}
	if o.Keep == 0 {
		o.Keep = 3 // one to load, one in case it is damaged, one to compare with
	}
	if o.Grace == 0 {
		o.Grace = 25 * time.Second // Kubernetes, Slurm and preemptible machines give 30
	}
	if o.LogEvery == 0 {
		o.LogEvery = 30 * time.Second // often enough to watch, and a thousand lines in a night
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// Validate returns an error for the first field with an invalid value.
func (o Options) Validate() error {
	bad := func(field, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "bivouac.Open", Subject: "Options." + field, Want: want, Got: got}
	}
	switch {
	case o.State == nil:
		return bad("State", "a pointer to the state that is saved", "nil")
	case o.SaveEvery < Never:
		return bad("SaveEvery", "a number of steps, or Never", strconv.FormatInt(o.SaveEvery, 10))
	case o.Keep < KeepAll:
		return bad("Keep", "a number of steps, or KeepAll", strconv.Itoa(o.Keep))
	case o.Steps < 0:
		return bad("Steps", "a number of steps, or 0", strconv.FormatInt(o.Steps, 10))
	case o.Grace < Never:
		return bad("Grace", "a time, or Never", o.Grace.String())
	case o.LogEvery < Never:
		return bad("LogEvery", "a time, or Never", o.LogEvery.String())
	case o.BatchSize < 0:
		return bad("BatchSize", "a number of samples, or 0", strconv.FormatInt(o.BatchSize, 10))
	case o.TensorBoard != "" && o.NoJournal:
		return bad("TensorBoard", "a job with a journal, of which the event files are made", "NoJournal")
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
	SaveFailed                         // the save failed; Err says why, and the next save or Close returns it
	Removed                            // retention removed a step
	Quarantined                        // Open passed over a damaged step and set it aside; Err says why
	Cleaned                            // Open removed the remains of an interrupted save
	Skipped                            // a directory named like a step is not a whole step and is not listed; Err says why
	Settled                            // an uncertain save is decided: the step stays, or Err says that it is gone
	Declined                           // a step was not saved; Reason says why
	Spared                             // a step stays although retention would remove it; Reason says why
	MovedAside                         // Options.StartFresh moved a step, or the remains of a step, to Name
	PassEnded                          // a pass of the stream ended, such as an epoch, and the next one has begun
	Unfreed                            // bytes of a removed step are still there (Err); a later save or Open frees them
	Preempted                          // SIGTERM came, and Step is the last one; Err is the PreemptedError
	DamageFound                        // a scrub found a damaged file of a step, which Err names
	StepMissing                        // a signed step is missing, and AcceptMissing lets the job continue
	Uploaded                           // Tier has the step, whole and verified
	UploadFailed                       // a copy to Tier failed (Err); it is tried again unless GivenUp follows
	GivenUp                            // the step will not be copied to Tier; Reason says why
	FellBack                           // the step was read from Tier, because nearer copies could not be read (Err)
	TierFailed                         // Tier could not be listed (Err)
	TierState                          // copying is over: Step is the newest of Tier, or -1; Err says what Tier lacks
	JournalFailed                      // the journal could not be written (Err); it is tried again
)

// eventKinds are the kinds of the checkpointer's events.
var eventKinds = map[training.EventKind]EventKind{
	training.SaveBegin: SaveBegin, training.SaveCommitted: SaveCommitted, training.SaveFailed: SaveFailed,
	training.Removed: Removed, training.Quarantined: Quarantined, training.Skipped: Skipped, training.Cleaned: Cleaned,
	training.Settled: Settled, training.Declined: Declined, training.Spared: Spared, training.MovedAside: MovedAside, training.Unfreed: Unfreed,
	training.DamageFound: DamageFound, training.StepMissing: StepMissing, training.Uploaded: Uploaded,
	training.UploadFailed: UploadFailed, training.GivenUp: GivenUp, training.FellBack: FellBack,
	training.TierFailed: TierFailed, training.TierState: TierState,
}

var eventNames = []string{
	"", "resumed", "save begin", "save committed", "save failed", "removed", "quarantined", "cleaned",
	"skipped", "settled", "declined", "spared", "moved aside", "pass ended", "unfreed", "preempted", "damage found", "step missing",
	"uploaded", "upload failed", "given up", "fell back", "tier failed", "tier state", "journal failed",
}

// String returns the kind in words.
func (k EventKind) String() string {
	return enum.Name(k, eventNames, "event %d")
}

// Event is a report to Options.OnEvent.
type Event struct {
	Kind    EventKind
	Step    int64         // 0 for Cleaned
	Name    string        // name of the directory, relative to the run directory
	Tier    string        // the further tier that the event is about; empty for the run directory
	Bytes   int64         // SaveBegin, SaveCommitted: size of the step
	Blocked time.Duration // SaveBegin: how long it stopped the trainer
	Took    time.Duration // SaveCommitted: from the begin of the save to its commit; Resumed: how long the restore took
	// Uncertain is set with SaveFailed if the step is visible, but may not survive power loss. An
	// event Settled follows.
	Uncertain bool
	Reason    string // Declined, Spared, GivenUp, TierFailed, TierState
	Err       error  // SaveFailed, Quarantined, Skipped, Settled, Preempted, JournalFailed, and of tiers
}
