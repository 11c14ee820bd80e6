// Package readertest makes tiny data sets in every format that readers read, for tests.
//
// Each function writes a data set of n samples into a directory and returns the reader and its
// arguments.
package readertest
