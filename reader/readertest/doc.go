// Package readertest makes tiny data sets for tests of readers.
//
// Each function makes a data set of n samples in a folder, and returns the operator that reads it
// and its arguments. The first output of sample i begins with the text "i " or has the number i, so
// that tests see which samples come.
package readertest
