// Command conform holds Bivouac against cases that the real systems made.
//
//	go run ./internal/conform -suite dali|formats|grain|orbax|orbax-pure|streaming|torchdata [-only a,b] [-json] [-status FILE] DIR
//
// A case is what the suite's README says it is. Every member of an expectation
// is compared, or stands on the list of ignored names that the run prints; an
// unknown member or layout is a failure. Only the public API is used. -only
// takes prefixes of a case's name, family or path without extension, and the
// word core for the cases that are flagged so (in the orbax suite: the default
// layout).
//
// A line is printed for each failure, each skip and each divergence that was
// judged by its own rule, all of which docs/compat/orbax.md, dali.md and torchdata.md list; the
// last line is
//
//	N passed, N failed, N skipped
//
// and in the suites dali and torchdata ", N divergent", for there these are counted by
// themselves. -status writes the counts of that suite, by section and by operator,
// into a document.
//
// The exit status is 1 after a failure and when nothing passed, 2 for a wrong
// call.
package main

import (
	"github.com/bivouac-ml/bivouac/proof/conform"
	"os"
)

func main() { os.Exit(conform.Run(os.Args[1:], os.Stdout, os.Stderr)) }
