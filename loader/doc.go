// Package loader delivers the batches of any data set, in any order, made by
// goroutines, with an exact state: after an interruption a run goes on as if there had
// been none.
//
//	Map, Iterable        what is read: by id, or one item after the other
//	Options              how it is read, and what is delivered
//	Loader               Epoch, Next; AppendState, SetState
//	Random               the random numbers of a sample, whoever reads it
//
// # One engine
//
// A loader is an engine and a protocol (package loader/protocol). The engine reads: it
// has lanes, each a copy of the data set, that run on Options.Workers goroutines or in
// the caller, and does what it is told, task by task. The protocol decides: which ids
// make the next batch, in which lane, and what the state is.
//
//	          Protocol                          engine
//	Begin ──▶ Plan ── Open(plan) ─────────────▶ opens the lanes
//	          Plan.Prime, Next, Settle ─ Task ▶ lane: read, collate
//	          Plan.Settle ◀─ Outcome ────────── in the order of tasks
//	                                            └─▶ Next returns the batch
//
// A batch is settled when it is handed out and not when it is made: what was
// read ahead never enters the state.
//
// # The order and its state
//
// Bivouac's own protocol delivers a function of (data set, seed, position). An
// epoch has an order; global batch t is its next BatchSize*World positions, and
// rank r of World takes its slice of them. Lanes, goroutines, prefetching and
// ranks are no arguments of it, so all of them, and the size of a batch, may be
// others when a run goes on. The state is a state.Document of the kind "loader":
//
//	position      samples drawn since the beginning, over all ranks
//	epoch         the epoch; with it the end of one and the start of the next differ
//	digest        of the ids drawn, in their order, over all ranks
//	fingerprint   of the data set
//	fields        what must not change: order, samples, seed, …
//	extra         where in the epoch, coverage of this epoch and the last, batches
//	              delivered out of order, streams, samplers, what was skipped or
//	              repeated, and the rank where the state is of one rank alone
//
// A state is followed by what followed it: behind the last batch of an epoch by io.EOF,
// behind io.EOF by the next epoch. Package stream has this rule for all streams.
//
// It is taken in less than a microsecond, without allocation, and is as large
// for a billion samples as for a thousand.
//
// Iterable data sets and those with a state are read by streams, whose number is
// part of the state: Options.Streams, or the number of workers at the start.
// Batch t belongs to the next stream in turn that has not ended. Any number of
// goroutines executes them.
//
// # Failures
//
// An error surfaces at the position of its batch, with the worker and the sample
// named, and keeps the position unless Options.OnError says otherwise. A data
// set that panics or ends its goroutine fails its batch; one that blocks fails
// it after Options.Timeout. Neither stops the loop.
package loader
