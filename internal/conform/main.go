// Command conform checks Bivouac against cases that the real systems made.
//
//	go run ./internal/conform -suite dali|formats|grain|orbax|orbax-pure|streaming|torchdata [-only a,b] [-json] [-status FILE] DIR
//
// The README of a suite says what a case is. Every member of an expectation is compared, or is on
// the list of ignored names that the run prints. An unknown member or layout is a failure. Only the
// public API is used. -only takes prefixes of a case's name, family or path without extension. The
// word core selects the cases with the flag core (in the orbax suite: the default layout).
//
// The command prints a line for each failure, each skip and each divergence that was judged by a
// rule of its own. docs/compat/orbax.md, dali.md and torchdata.md list these rules. The last line
// is
//
//	N passed, N failed, N skipped
//
// and in the suites dali and torchdata also ", N divergent", because these suites count divergences
// separately. -status writes the counts of that suite, by section and by operator, into a document.
// -arguments prints instead how many cases of the dali suite each operator has, and which of its
// arguments change no recorded result.
//
// The exit status is 1 after a failure and if no case passed, and 2 for a wrong call.
package main

import (
	"github.com/bivouac-ml/bivouac/proof/conform"
	"os"
)

func main() { os.Exit(conform.Run(os.Args[1:], os.Stdout, os.Stderr)) }
