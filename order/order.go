// Package order maps stream positions to sample ids.
//
// An Order is a pure function: position in, sample id out. State is the
// position; seeking costs nothing. Ranks, workers, threads and prefetch depth
// are no arguments of it, so they cannot change the sequence.
//
//	Sequential      0, 1, …, n-1                       once
//	Cycle           0, 1, …, n-1, 0, 1, …              endless
//	Permutation     a keyed bijection of [0, n)        once, with its inverse
//	Shuffled        a new Permutation for every epoch  endless
//	Shard           a rank's slices of global batches  as long as its order
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
