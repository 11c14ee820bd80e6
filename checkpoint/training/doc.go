// Package training keeps the checkpoints of a training run: a directory of
// steps, what to save when, and what to keep.
//
//	c, err := training.Open(ctx, "runs/digits", &training.Options{Preserve: training.LatestN{N: 3}})
//	…
//	r, err := c.SaveAsync(ctx, step, &model, nil)   // blocked for a copy of the memory only
//	…
//	err = c.LoadInto(ctx, training.Latest, &model)
//	err = c.Close()                                 // waits, and returns what went wrong
//
// The directory is one that Orbax's Checkpointer and CheckpointManager list and
// load, and theirs are listed and loaded here:
//
//	root/
//	  metadata/_ROOT_METADATA     metadata of the run, when given
//	  metadata/<name>             what PutMetadata keeps of the run
//	  23/                         a step; NameFormat spells the number
//	    _CHECKPOINT_METADATA
//	    commit_success.txt
//	    bivouac.manifest
//	    <item>/…  commit_success.txt
//	    metrics/metrics           the metrics, when given
//
// # What is a step
//
// A directory whose name the NameFormat would have written, that holds a
// _CHECKPOINT_METADATA and, when it is one of ours, a manifest all of whose files
// are there with their sizes. Anything else is not listed, never the latest,
// and never deleted; OnEvent is told of it. Where Options.Clean says so, damaged
// ones are renamed to <name>.damaged.
//
// # Policies
//
// A [SavePolicy] decides whether a step is saved: FixedInterval, SpecificSteps,
// InitialSave, Continuous, Preemption (see Options.Preempted), AnySave and AllSave.
// A [PreservationPolicy] decides what is kept: PreserveAll, LatestN,
// LatestDuration, EveryInterval, EveryNSteps, EveryNStepsClosest, CustomSteps,
// BestN, AnyPreservation and AllPreservation. Each is a value; [PolicySpec] is its
// form as data, under Orbax's names. Steps that are not saved are told to OnEvent
// with the reason, and Checkpointer.Retention says beforehand what would be
// removed and what keeps the rest.
//
// # What is deleted
//
// Steps in the sense above, checked once more: after a commit, the steps that the preservation
// policy gives up, and the steps of Delete. The policy removes neither the newest step, which Orbax
// removes if its policy does not keep it, nor the last whole step. If Options.Clean says so,
// staging directories are deleted by name. Nothing else is ever deleted.
//
// # Numbers
//
// Steps are 0 and above. Orbax takes negative ones too; here -1 is [Latest], and
// saving a negative step is errs.Invalid.
//
// # Own checkpointers
//
// [Interface] is what a training loop needs, in parts that can be embedded and
// overridden one by one; its example keeps some steps on a second disk.
package training
