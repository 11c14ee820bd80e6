// Package rng makes the random numbers of Bivouac: Philox4x32-10, a counter-based generator, and
// streams that are keyed by position. So there is no generator state to carry along.
//
// # Philox
//
// [Philox] turns a 64-bit key and a 128-bit counter into four 32-bit words (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Its state is small, and it can skip to
// any word at once. It is a value: a copy is an independent generator. Words, skipping and the text
// form of the state are the same as in DALI.
//
//	counter   high 64 bits: sequence   low 64 bits: block
//	word      4*block + phase, phase 0 to 3
//
// # Keyed streams
//
// A [Keyer] returns the stream for (seed, stream position, node, call number). So a random operator
// draws the same numbers for any number of threads, ranks and batches, and after any interruption,
// without state.
//
// The default Keyer derives the key from seed and node. The position is the sequence, and the call
// is the high half of the block number. Under one key, streams of different positions or calls are
// disjoint for 2^34 words.
//
// The results of these functions do not change between releases with the same [Version]. Integers
// and uniform floats are the same on every machine. Normal may differ in the last bit between
// architectures, like the functions of package math.
package rng

// Version is the version of the mapping from seeds to numbers. It changes if the same seed gives
// other numbers, and it is part of the configuration hash of a stream.
const Version = 1
