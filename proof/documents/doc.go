// Package documents holds no code, only tests: each document that Bivouac has
// ever written to disk is read again, for ever.
//
// testdata/documents at the root of the repository has a document of every kind
// (states, runs, checkpoints, manifests, definitions, options) and beside each a
// file with the ending .want, in which stands what it gave when it was written:
// the next samples, the leaves, the errors. The tests here read, resume or run
// each and compare.
//
// Documents are never written again. To add the document of a new kind, or of a
// new version, add a specimen under a new name and record it:
//
//	go test ./proof/documents -record
//
// That writes what is missing and leaves everything that is there as it is.
package documents
