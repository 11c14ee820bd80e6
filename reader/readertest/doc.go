// Package readertest makes small data sets of every format and reads them, for tests, suites and
// benchmarks.
package readertest
