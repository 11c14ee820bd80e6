// Package rng is the randomness of Bivouac: Philox4x32-10, a counter-based generator, and streams
// that are keyed by position, so that no generator state is carried along.
//
// # Philox
//
// [Philox] turns a 64-bit key and a 128-bit counter into four 32-bit words (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Its state is small, any word can be
// reached at once, and it is a value: copying it forks it. Words, skipping and the text form of the
// state are as in DALI.
//
//	counter   high 64 bits: sequence   low 64 bits: block
//	word      4*block + phase, phase 0 to 3
//
// # Keyed streams
//
// A [Keyer] gives the stream for (seed, stream position, node, call number), so that a random
// operator draws the same numbers for any number of threads, ranks and batches, and after any
// interruption, without state.
//
// The default Keyer derives the key from seed and node, takes the position as
// sequence and the call as the high half of the block number: under one key,
// streams of different positions or calls are disjoint for 2^34 words.
//
// What these functions return is a promise across versions, numbered [Version].
// Integers and uniform floats are the same on every machine; Normal may differ
// in the last bit between architectures, as the functions of package math do.
package rng

// Version numbers the mapping from seeds to numbers. It changes when the same
// seed gives other numbers, and enters the configuration hash of a stream.
const Version = 1
