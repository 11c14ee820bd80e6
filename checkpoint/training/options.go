package training

import (
	"context"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Options of a Checkpointer. The zero value keeps every checkpoint under plain
// integers and saves as DefaultSave does, as Orbax's Checkpointer.
//
// The embedded options say how arrays are stored, how much memory copies of the state take and
// which key signs, as in checkpoint.SaveOptions. Steps of one directory may differ. A state that is
// larger than Bivouac.MemoryBudget is read while it is written, and the caller of SaveAsync blocked
// until it was read.
//
// Bivouac.Signing signs each step under its Label, whatever Bivouac.Label says.
// Bivouac.Verification must have signed the steps: steps that it did not sign under the name that
// they have are reported to OnEvent and not listed, so that Latest is the newest step that it
// signed. It holds for loads too. Without it the Verification of checkpoint.LoadOptions asks for a
// signature, of the step that is named.
type Options struct {
	// Options take precedence over the options of the process. The options of the context and the call
	// take precedence over Options.
	checkpoint.Options
	// Store holds the directory. nil is Options.File.Store, or if that is nil too, the local file
	// system.
	Store store.Store
	// Save decides whether a step is saved; nil is DefaultSave().
	Save SavePolicy
	// Preserve decides what is kept; nil is PreserveAll.
	Preserve PreservationPolicy
	// Deletion says where deleted steps are moved to; the zero value removes them.
	Deletion options.Deletion
	// Foreground makes a save wait until the steps that the preservation policy does not keep are
	// removed, and return a failure of the removal. Without it they are removed in the background,
	// after the commit.
	Foreground bool
	// Preempted tells the policies that the process will be stopped; nil never does. NotifySignals and
	// FileNotice make such notices.
	Preempted PreemptionNotice
	// Names spells steps as directory names; nil is StandardNames{}.
	Names NameFormat
	// Custom is metadata of the run, a value that encodes to a JSON object. It is written if the
	// directory has no such metadata yet, and never overwritten.
	Custom any
	// Clean makes Open and Reload remove the leftovers of interrupted saves below the directory, and
	// rename damaged steps to <name>.damaged, so that their steps can be saved again. Set it only in
	// the one process that saves there, or in all processes that save together (Multiprocessing): the
	// primary does the work.
	Clean bool
	// LookFirst makes Open rename no damaged step, for a caller that may refuse to go on. With Clean
	// the next Reload renames them.
	LookFirst bool
	// StartFresh makes Open move all steps and remains of steps (see Checkpointer.Remains) into a new
	// directory aside-<time> below the directory. Nothing is deleted. The process must be the writer:
	// Open takes the lock for it. Set it for one start only: each Open with it moves the steps of
	// earlier runs.
	StartFresh bool
	// AcceptMissing makes Open continue if signed steps of the run are missing (see
	// Checkpointer.MissingSteps), and send the event StepMissing for each. Without it such an Open
	// fails with errs.Corrupt if there is a key (Bivouac.Verification or Bivouac.Signing). The next
	// signed save makes the steps that then exist the list of the run.
	AcceptMissing bool
	// NoLock makes the process save without the lock that keeps a second writer out of the directory;
	// see Open. If several processes save together (Multiprocessing), the primary takes the lock and
	// the others need none.
	NoLock bool
	// Reserve is how many bytes of snapshot memory to prepare in the background at Open, so that the
	// first SaveAsync need not wait for fresh pages; 0 prepares none. It is at most the memory budget,
	// if there is one.
	Reserve int64
	// Dedup links data files that did not change since the step before, instead of writing them.
	Dedup Dedup
	// Pace slows saves in the background down, so that they do not slow the steps of the trainer down.
	Pace Pace
	// Scrub reads kept steps again in the background, to find damage.
	Scrub Scrub
	// Tiers are further directories for the steps, such as a bucket, from the nearest to the furthest.
	// Each committed step that a tier wants is copied there in the background. A step is read from the
	// nearest tier that has it whole. See Tier, and docs/guide/many-machines.md.
	Tiers []Tier
	// Uploads bounds the copies to all Tiers.
	Uploads Uploads
	// OnEvent, when not nil, receives events. It is called from the goroutine of the caller, of the
	// save, of the scrub or of a copy to a tier, with one call at a time per goroutine. It must not
	// save, delete or wait.
	OnEvent func(Event)
	// Inspect, when not nil, is called by Open and Reload for each directory with a whole step, while
	// the step is open. integrity.Verify, called with the context and with the path of the step, reads
	// the step in this opening. The path is Directory and Info.Directory, joined by filepath.Join, or
	// the name in Store. Inspect is called by one goroutine, again for a step that was replaced
	// meanwhile, and for steps that are then not listed, because another directory has the same step
	// or a key did not sign them. If it returns an error, the step is not whole. An error of kind
	// errs.Canceled, errs.IO, errs.Permission or errs.Exhausted is the error of Open or Reload.
	Inspect func(ctx context.Context, step Info) error
	// Now replaces time.Now in tests. It gives the times that are recorded.
	Now func() time.Time
}

// Dedup says whether steps share data files with the steps before them. The arrays of a step lie in
// data files of at most 64 MiB, unless OCDBTTargetDataFileSize says otherwise, larger arrays in
// files of their own; a file all of whose arrays have the bytes that they had in the latest step is
// a hard link to the file there. Either step may be removed without the other. The zero value
// writes every step whole.
//
// A file is the same when 128 bits of hash over its bytes are. Checksums of
// everything are in the manifest of each step.
type Dedup struct {
	On bool
	// VerifyEvery says how often a file is read back before it is linked again: in at least every
	// VerifyEvery-th step in a row; 1 is each step, 0 is every tenth. A damaged file is written anew.
	// So damage does not spread to all copies.
	VerifyEvery int
}

// Pace is how fast saves are written. The zero value is as fast as the disk
// takes them, on all cores.
type Pace struct {
	// Background runs the writers on threads of the lowest priority, on Linux. They use the time that
	// the trainer leaves.
	Background bool
	// Writers is the largest number of writers; 0 is 8.
	Writers int
	// Rate is the largest number of bytes that a writer writes in a second; 0 is no bound.
	Rate int64
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Save == nil {
		d.Save = DefaultSave() // as Orbax decides
	}
	if d.Preserve == nil {
		d.Preserve = PreserveAll{} // a policy must ask for deletions
	}
	if d.Names == nil {
		d.Names = StandardNames{} // as Orbax spells steps
	}
	if d.OnEvent == nil {
		d.OnEvent = func(Event) {} // so that it can always be called
	}
	if d.Now == nil {
		d.Now = time.Now // a test sets its own
	}
	d.Tiers = slices.Clone(d.Tiers)
	for i, t := range d.Tiers {
		d.Tiers[i] = t.withDefaults()
	}
	return d
}

// Validate reports the first option that makes no sense.
func (o Options) Validate() error {
	if err := o.Options.Validate(); err != nil {
		return err
	}
	if o.Reserve < 0 {
		return &errs.Error{Kind: errs.Invalid, Subject: "Options.Reserve", Want: "at least 0 bytes"}
	}
	if o.Dedup.VerifyEvery < 0 {
		return &errs.Error{Kind: errs.Invalid, Subject: "Options.Dedup.VerifyEvery", Want: "at least 0 steps"}
	}
	if o.Pace.Writers < 0 || o.Pace.Rate < 0 {
		return &errs.Error{Kind: errs.Invalid, Subject: "Options.Pace",
			Want: "at least 0 writers and at least 0 bytes a second"}
	}
	if o.Scrub.Every < 0 || o.Scrub.Rate < 0 {
		return &errs.Error{Kind: errs.Invalid, Subject: "Options.Scrub",
			Want: "a duration of at least 0, and at least 0 bytes a second"}
	}
	for i, t := range o.Tiers {
		if err := t.validate(i); err != nil {
			return err
		}
	}
	if err := o.Uploads.validate(); err != nil {
		return err
	}
	for _, part := range []interface{ Validate() error }{o.Names, o.Save, o.Preserve} {
		if part == nil {
			continue
		}
		if err := part.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// SaveOptions modify one save; nil is the zero value.
type SaveOptions struct {
	// Options take precedence over the options of the context and the Checkpointer.
	checkpoint.Options
	// Force saves the step even if the policy declines it or it is below the latest step.
	Force bool
	// Overwrite replaces a checkpoint of this step. Without it the checkpoint is errs.Exists. A
	// directory that is not a checkpoint is errs.Exists in any case.
	Overwrite bool
	// Metrics are kept with the checkpoint; BestN ranks by them.
	Metrics map[string]float64
	// Custom is the checkpoint's metadata, a value that encodes to a JSON object.
	Custom any
	// Release, when not nil, hands the items over to SaveAsync: only scalars and small arrays are
	// copied, and the caller must not change the items before Release is called. Release is called
	// once, from another goroutine, also if the save fails. It is not called if SaveAsync itself
	// returns an error.
	Release func()
	// Watch checksums items that were handed over at once. If the caller changes them too early, the
	// save fails with errs.Mismatch.
	Watch bool
	// Progress, when not nil, receives how many bytes of the data files were written, of how many, one
	// call at a time and from other goroutines.
	Progress func(done, total int64)
	// Before, when not nil, runs in the background before the step is written. If it fails, the save
	// fails with its error. What it makes durable is there when the step is committed.
	Before func(context.Context) error
}
