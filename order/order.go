// Package order maps stream positions to sample ids.
//
// An Order is a pure function: position in, sample id out. State is the
// position; seeking costs nothing. Ranks, workers, threads and prefetch depth
// are no arguments of it, so they cannot change the sequence.
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
