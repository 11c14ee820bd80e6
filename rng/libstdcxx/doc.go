// Package libstdcxx makes the random numbers of the C++ standard library as GNU libstdc++ computes
// them. It has the engines and std::seed_seq, which the C++ standard defines bit for bit, and
// std::shuffle and the distributions, which the standard leaves to the library. It serves to
// imitate programs written in C++, such as DALI's readers and random operators.
//
//	engines         MinstdRand0, MT19937, MT19937x64; Words makes one of a Philox
//	seeds           SeedSeq
//	integers        UniformInt, Shuffle and the forms of GCC 10
//	real numbers    Canonical, UniformReal, Bernoulli, Discrete
//	with log, pow   Normal, Exponential, Gamma, Poisson
//
// On every machine, integers and uniform reals equal libstdc++ on 64-bit Linux, bit for bit. The
// distributions in the last row use logarithms and powers, which the C library and package math
// sometimes round differently. So their results may differ in the last bits, and a Poisson or Gamma
// at the edge of a rejection would continue with other words. float32 results are computed by way
// of float64 and are nearly always equal.
//
// Engines are values: a copy continues independently with the same numbers. An engine must not be
// used by several goroutines at once. Its text is the text of the C++ operators << and >>.
package libstdcxx

// Source is a generator of uniform integers, the UniformRandomBitGenerator of
// C++.
type Source interface {
	// Next returns the next number, which lies within the Bounds.
	Next() uint64
	// Bounds are the smallest and the largest number, min() and max() in C++.
	// They never change, and lo < hi.
	Bounds() (lo, hi uint64)
}
