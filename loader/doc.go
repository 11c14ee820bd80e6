// Package loader delivers the batches of any data set, in any order, with an exact state.
// Goroutines make the batches. After an interruption a run continues as if nothing had happened.
//
//	Map, Iterable        what is read: by id, or one item after the other
//	Options              how it is read, and what is delivered
//	Loader               Epoch, Next; AppendState, SetState
//	Random               the random numbers of a sample, in every worker
//
// # One engine
//
// A loader is an engine and a protocol (package loader/protocol). The engine reads. It has lanes,
// each with a copy of the data set. They run on Options.Workers goroutines or in the caller, task
// by task. The protocol decides which ids make the next batch, in which lane, and what the state
// is.
//
//	          Protocol                          engine
//	Begin ──▶ Plan ── Open(plan) ─────────────▶ opens the lanes
//	          Plan.Prime, Next, Settle ─ Task ▶ lane: read, collate
//	          Plan.Settle ◀─ Outcome ────────── in the order of tasks
//	                                            └─▶ Next returns the batch
//
// A batch is settled when it is delivered, not when it is made. So batches that were read ahead
// never enter the state.
//
// # The order and its state
//
// Bivouac's own protocol delivers a function of (data set, seed, position). An epoch has an order.
// Global batch t is its next BatchSize*World positions, and rank r of World takes its slice of
// them. Lanes, goroutines, prefetching and ranks are not arguments. So all of them, and the size of
// a batch, may change when a run continues. The state is a state.Document of the kind "loader":
//
//	position      samples drawn since the beginning, over all ranks
//	epoch         the epoch; it tells the end of one from the start of the next
//	digest        of the ids drawn, in their order, over all ranks
//	fingerprint   of the data set
//	fields        what must not change: order, samples, seed, …
//	extra         the index in the epoch, coverage of this epoch and the last, batches
//	              delivered out of order, streams, samplers, skipped and repeated
//	              samples, and the rank if the state belongs to one rank only
//
// From a state, Next returns what it would have returned without the interruption: io.EOF after the
// last batch of an epoch, and the next epoch after io.EOF. Package stream has this rule for all
// streams.
//
// Taking the state needs less than a microsecond and no allocation. Its size is the same for a
// billion samples as for a thousand.
//
// Streams read iterable data sets and data sets with a state. The number of streams is part of the
// state: Options.Streams, or the number of workers at the start. Batch t belongs to the next stream
// in turn that has not ended. Any number of goroutines executes them.
//
// # Failures
//
// An error surfaces at the position of its batch and names the worker and the sample. The position
// stays, unless Options.OnError says otherwise. A data set that panics or ends its goroutine fails
// its batch. A data set that blocks fails its batch after Options.Timeout. Neither stops the loop.
package loader
