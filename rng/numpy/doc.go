// Package numpy makes NumPy's random numbers bit for bit. It has the parts that the orders of data
// loaders need.
//
//	seeds        SeedSequence
//	generators   PCG64 (default_rng), Philox (Philox4x64-10)
//	draws        Generator: Integers, Float64, Uniform, Permutation, Choice; Shuffle
//	legacy       RandomState: MT19937 with its Interval and Permutation
//
// NumPy bounds integers in two ways: integers and choice by Lemire's multiplication, shuffle and
// permutation by masking. Both use 32-bit words if the range allows. Both reject some words, so the
// number of words per draw depends on the words, and a Generator cannot skip draws. The bit
// generators can skip words: [PCG64.Advance] in at most 64 steps, [Philox.Advance] in one step.
//
// On every machine the numbers equal the numbers of NumPy 1.18 to 2.4. Nothing in this package may
// be used by several goroutines at once.
package numpy
