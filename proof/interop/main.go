// Command interop is Bivouac's side of `make interop`: it reads what the Python
// libraries wrote, and writes what they read.
//
//	go run ./proof/interop compare DIR
//	go run ./proof/interop write DIR SEED TREES
//	go run ./proof/interop exchange < REQUEST
//	go run ./proof/interop write-pipelines DIR SEED PIPELINES
//	go run ./proof/interop compare-pipelines DIR
//	go run ./proof/interop write-loaders DIR SEED LOADERS
//	go run ./proof/interop compare-loaders DIR
//	go run ./proof/interop write-streaming DIR SEED DATASETS
//	go run ./proof/interop compare-streaming DIR
//	go run ./proof/interop write-nodes DIR SEED GRAPHS
//	go run ./proof/interop compare-nodes DIR
//	go run ./proof/interop write-boards DIR SEED RUNS
//	go run ./proof/interop compare-data DIR
//	go run ./proof/interop compare-refusals DIR
//
// Below DIR each case is a directory with a case.json, which says what was
// written beside it; tools/interop/truth.py describes it. compare loads every
// case and holds each leaf against its truth, bit for bit. write makes TREES
// random trees for each layout from SEED; the same seed gives the same trees.
// exchange does one thing in a run that both sides write to in turn, and prints
// what came of it, both as JSON.
//
// write-pipelines writes random pipelines in DALI's form, with what they deliver
// and a checkpoint of each; compare-pipelines runs those that DALI wrote, from the
// beginning and from DALI's checkpoints. write-dynamic and compare-dynamic do so with
// programs of dynamic mode.
//
// write-loaders writes states of loaders in torchdata's form, with what comes after them;
// compare-loaders goes on from torchdata's states. write-streaming and compare-streaming do so with
// datasets of MosaicML Streaming. write-nodes writes graphs of nodes with what they give and their
// states; compare-nodes plays torchdata's graphs.
//
// write-boards writes event files of random runs, which TensorBoard reads
// (tools/interop/boards.py).
//
// compare-data reads the data sets that MosaicML Streaming, ArrayRecord and pyarrow wrote, and
// compares every value.
//
// compare-refusals holds what Verify says of odd and damaged checkpoints against what Orbax
// says of them.
//
// compare prints one line for each library and layout, and one for each
// difference. The exit status is 1 after a difference and when there was nothing
// to compare, 2 for a wrong call.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
)

// caseWriters write cases for the libraries.
var caseWriters = map[string]func(ctx context.Context, root string, seed uint64, cases int) error{
	"write": writeAll, "write-pipelines": writeDALI, "write-dynamic": writeDynamic, "write-loaders": writeLoaders,
	"write-streaming": writeStreaming, "write-nodes": writeNodes, "write-boards": writeBoards,
}

// caseReaders compare cases that the libraries wrote.
var caseReaders = map[string]func(ctx context.Context, root string, out io.Writer) error{
	"compare": compareAll, "compare-pipelines": compareDALI, "compare-dynamic": compareDynamic, "compare-loaders": compareLoaders,
	"compare-streaming": compareStreaming, "compare-nodes": compareNodes, "compare-refusals": compareRefusals,
	"compare-data": compareData,
}

func main() {
	ctx := context.Background()
	switch args := os.Args[1:]; {
	case len(args) == 1 && args[0] == "exchange":
		body, err := io.ReadAll(os.Stdin)
		if err == nil {
			err = exchange(ctx, body, os.Stdout)
		}
		os.Exit(status(err))
	case len(args) == 2 && caseReaders[args[0]] != nil:
		os.Exit(status(caseReaders[args[0]](ctx, args[1], os.Stdout)))
	case len(args) == 4 && caseWriters[args[0]] != nil:
		seed, err := strconv.ParseUint(args[2], 10, 64)
		n, err2 := strconv.Atoi(args[3])
		if err == nil && err2 == nil {
			os.Exit(status(caseWriters[args[0]](ctx, args[1], seed, n)))
		}
	}
	fmt.Fprintln(os.Stderr, "usage: interop compare DIR | interop write DIR SEED CASES | interop exchange < REQUEST |"+
		" interop compare-WHAT DIR | interop write-WHAT DIR SEED CASES, WHAT one of pipelines, dynamic, loaders, nodes, streaming; write has boards, compare has refusals too")
	os.Exit(2)
}

func status(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		return 1
	}
	return 0
}
