// Package order maps stream positions to sample ids.
//
// An Order is a pure function: position in, sample id out. The state is the position, and seeking
// costs nothing. Ranks, workers, threads and prefetch depth are not arguments, so they cannot
// change the sequence.
//
//	Sequential      0, 1, …, n-1                       once
//	Cycle           0, 1, …, n-1, 0, 1, …              endless
//	Permutation     a keyed bijection of [0, n)        once, with its inverse
//	Shuffled        a new Permutation for every epoch  endless
//	Windows         shards permuted, mixed window by window  endless
//	Mixture         draws from several orders by weights that may change
//	Selected        maps an order to the ids of a Selection; Filtered leaves ids out of an order
//	Packs, Buckets  place samples side by side that fit together, or are alike in length
//	Segments        pieces of orders, one after the other; Repeat repeats an order
//	Batches         global batches with their Tail; a Rank is one rank's part of them
//
// Orders combine: a Rank of Batches of Packs of a Mixture of Windows is still a function of its
// position.
package order

// Order yields sample ids by stream position. Implementations are immutable
// and safe for concurrent use.
type Order interface {
	// Fill writes the ids of positions pos, pos+1, … into dst and returns how
	// many it wrote: len(dst), or less at the end of the order. pos must be >= 0.
	Fill(pos int64, dst []int64) int
	// Len is the number of positions; ok is false when the order never ends.
	Len() (n int64, ok bool)
	// String describes the order with all its parameters; equal strings mean
	// equal orders. It enters fingerprints.
	String() string
}
