// Package numpy is the part of NumPy's randomness that the orders of data loaders draw from, bit
// for bit.
//
//	seeds        SeedSequence
//	generators   PCG64 (default_rng), Philox (Philox4x64-10)
//	draws        Generator: Integers, Float64, Uniform, Permutation, Choice; Shuffle
//	legacy       RandomState: MT19937 with its Interval and Permutation
//
// NumPy bounds integers in two ways, with 32-bit words where the range allows:
// integers and choice by Lemire's multiplication, shuffle and permutation by
// masking. Both reject, so that how many words a draw takes depends on the words:
// a Generator cannot skip draws. The bit generators skip words, [PCG64.Advance]
// in at most 64 steps, [Philox.Advance] in one.
//
// On every machine the numbers equal those that NumPy 1.18 to 2.4 draws. Nothing here may be used
// by several goroutines at once.
package numpy
