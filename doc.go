// Package bivouac runs a training job that does not lose its place.
//
// A Job ties a stream of batches to a directory of steps. It hands out batches. Every few steps it
// saves the trainer's state and the stream's position in one atomic step. A save stops the trainer
// only while its memory is copied. After any interruption the Job continues after the last
// committed step, with the same samples, the same augmentations and the same weights.
//
//	job, err := bivouac.Open(ctx, "runs/digits", pipe, bivouac.Options{State: &model, SaveEvery: 100, Keep: 3})
//	if err != nil {
//		return err
//	}
//	defer job.Close()
//	for batch, err := range job.Steps(ctx) {
//		if err != nil {
//			return err
//		}
//		model.Train(batch)
//	}
//
// # What a step is
//
// A step is one batch and what the loop body did with it. It is done when the body asks for the
// next batch, never on break, return or panic. In the run directory a step has these files, which
// orbax-checkpoint opens as its own:
//
//	<run>/<step>/state/   the trainer's state as a tree of arrays
//	<run>/<step>/data/    the stream's position, JSON
//
// # What makes a resumed run equal
//
// Everything that the loop body reads must come from the batch or be in Options.State: weights,
// optimizer moments, counters, the state of random generators. The stream checks its own part. It
// does not accept the position of another data set or configuration, and its error names the
// difference.
package bivouac
