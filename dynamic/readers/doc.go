// Package readers holds the readers of dynamic mode: data sets that are iterated
// epoch by epoch, and whose position a checkpoint captures.
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
// [Reader.NextEpoch] goes through one epoch of the reader's shard in batches, and
// [Reader.Samples] sample by sample. A reader keeps to one of both, and to one batch
// size. The next epoch is of the next shard, unless StickToShard.
//
//	            as it is by itself                      with Options.Compat of DALI
//	last batch  has the samples that are left           is full, and goes on into the next epoch
//	order       Bivouac's, as that of pipelines         DALI's
//	break       the next NextEpoch has what is left     the next NextEpoch has a whole epoch's number
//	states      documents, see package state            DALI's protobuf in base64
//
// PrefetchQueueDepth is the number of batches that are made ahead. The state stands after the batch
// delivered last, however far ahead the reader is.
//
// # States
//
// A reader has states when it was told so in time: by Options.EnableCheckpointing, by
// SetState, or by Checkpoint.Register before its first batch. [Reader.State] is an error of kind
// errs.Sequence before the first iteration has begun, and without checkpointing;
// [Reader.SetState] is one afterwards.
//
// # Going on in the middle of an epoch
//
// A restored reader ends the epoch where it would have ended. DALI's counts a whole
// epoch's number of batches from the restored position, so that the boundaries of
// epochs shift; [Restore] has that for those who need it. The batches are the same.
//
// # Elastic states
//
// States of Bivouac's own form name places in the data set, not in a shard: when all
// shards had delivered the same number of samples of an epoch, the state of any of them can go
// on with another number of shards, which share what is left of the epoch.
package readers

//go:generate go test -run TestGenerated -update .
