// Package growth holds operations to a cost that grows no faster than their
// input does.
//
// Check runs an operation at n, 2n, 4n and 8n and counts what it costs: never by
// the clock, which says something else on each machine, but in
//
//   - allocations and allocated bytes, which every build counts;
//   - steps: how often each basic block of the code ran, which a program that is
//     built with -cover and -covermode=atomic counts, for the packages that
//     -coverpkg names.
//
// An operation fails if a cost grows by more than Factor from one size to the
// next, where linear is 2, n log n a little more, and quadratic 4. Steps are
// judged block by block, so that a search in a list is found at sizes at which
// it is still cheap beside the rest, and the message names its line.
//
// The table over the public operations is package proof/growth/gate, whose test
// counts allocations and bytes, and which `make test` also runs as a program that
// counts steps. A new operation of the public interface that takes a collection adds
// its row there:
//
//	{Name: "diff of trees", N: 500, Prepare: func(tb growth.TB, n int) func() error {
//		a, b := wide(n), wide(n)
//		return func() error { _ = tree.Diff(a, b); return nil }
//	}},
package growth
