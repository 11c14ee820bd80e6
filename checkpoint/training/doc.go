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
// Orbax's Checkpointer and CheckpointManager list and load this directory, and this package lists
// and loads theirs:
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
// A step is a directory whose name the NameFormat could have written, with a _CHECKPOINT_METADATA.
// A step of Bivouac also has a manifest, and all files of the manifest are there with their sizes.
// Any other directory is not listed, never the latest, and never deleted; OnEvent hears of it. With
// Options.Clean damaged steps are renamed to <name>.damaged.
//
// # Policies
//
// A [SavePolicy] decides whether a step is saved: FixedInterval, SpecificSteps, InitialSave,
// Continuous, Preemption (see Options.Preempted), AnySave and AllSave. A [PreservationPolicy]
// decides what is kept: PreserveAll, LatestN, LatestDuration, EveryInterval, EveryNSteps,
// EveryNStepsClosest, CustomSteps, BestN, AnyPreservation and AllPreservation. Each is a value;
// [PolicySpec] is its form as data, under Orbax's names. OnEvent hears of each step that is not
// saved, with the reason. Checkpointer.Retention says in advance what would be removed, and which
// policy keeps the rest.
//
// # What is deleted
//
// After a commit, the steps that the preservation policy does not keep are deleted. Delete deletes
// the steps that it is given. Both check once more that the directory is a step in the sense above.
// The policy never removes the last whole step. It never removes the newest step either; Orbax does
// so if its policy does not keep it. Neither removes a step with tags; see [Checkpointer.Tag]. With
// Options.Clean staging directories are deleted by name.
// Nothing else is ever deleted.
//
// # Numbers
//
// Steps are 0 and above. Orbax takes negative steps too. Here -1 is [Latest], and saving a negative
// step is errs.Invalid.
//
// # Own checkpointers
//
// [Interface] has the methods that a training loop needs, in parts that can be embedded and
// overridden one by one. Its example keeps some steps on a second disk.
package training
