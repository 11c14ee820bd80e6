// Package readers has the readers of dynamic mode. A reader is a data set that a program iterates
// epoch by epoch. A checkpoint captures its position.
//
//	r, err := readers.NewFile(opargs.ReadersFile{FileRoot: "train", RandomShuffle: true}, readers.Options{EnableCheckpointing: true})
//	defer r.Close()
//	for batch, err := range r.NextEpoch(ctx, 64) {
//		jpegs, labels := batch[0], batch[1]
//		…
//		state, err := r.State()
//	}
//
// # Iteration
//
// [Reader.NextEpoch] goes through one epoch of the reader's shard in batches, and [Reader.Samples]
// sample by sample. A program uses only one of both with a reader, and one batch size. The next
// epoch has the next shard, unless StickToShard is set.
//
//	            as it is by itself                      with Options.Compat of DALI
//	last batch  has the samples that are left           is full, and goes on into the next epoch
//	order       Bivouac's, as that of pipelines         DALI's
//	break       the next NextEpoch has what is left     the next NextEpoch has a whole epoch's number
//	states      documents, see package state            DALI's protobuf in base64
//
// PrefetchQueueDepth is the number of prefetched batches. The state covers only delivered batches.
//
// # States
//
// A reader has states if checkpointing was enabled in time: by Options.EnableCheckpointing, by
// SetState, or by Checkpoint.Register before its first batch. [Reader.State] fails with
// errs.Sequence before the first iteration has begun, and without checkpointing. [Reader.SetState]
// fails with errs.Sequence after the first iteration has begun.
//
// # Resuming in the middle of an epoch
//
// A restored reader ends the epoch where it would have ended. DALI's reader counts a whole epoch of
// batches from the restored position, so that the boundaries of epochs shift. [Restore] does the
// same. The batches are the same.
//
// # Elastic states
//
// States of Bivouac's own form name places in the data set, not in a shard. If all shards had
// delivered the same number of samples of an epoch, you can resume from the state of any shard with
// another number of shards. The new shards share the rest of the epoch.
package readers

//go:generate go test -run TestGenerated -update .
