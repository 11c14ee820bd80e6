// Command interop is Bivouac's side of `make interop`: it reads what the Python
// libraries wrote, and writes what they read.
//
//	go run ./internal/interop compare DIR
//	go run ./internal/interop write DIR SEED TREES
//
// Below DIR each case is a directory with a case.json, which says what was
// written beside it; tools/interop/truth.py describes it. compare loads every
// case and holds each leaf against its truth, bit for bit. write makes TREES
// random trees for each layout from SEED; the same seed gives the same trees.
//
// compare prints one line for each library and layout, and one for each
// difference. The exit status is 1 after a difference and when there was nothing
// to compare, 2 for a wrong call.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
)

func main() {
	ctx := context.Background()
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "compare":
		os.Exit(status(compareAll(ctx, args[1], os.Stdout)))
	case len(args) == 4 && args[0] == "write":
		seed, err := strconv.ParseUint(args[2], 10, 64)
		trees, err2 := strconv.Atoi(args[3])
		if err == nil && err2 == nil {
			os.Exit(status(writeAll(ctx, args[1], seed, trees)))
		}
	}
	fmt.Fprintln(os.Stderr, "usage: interop compare DIR | interop write DIR SEED TREES")
	os.Exit(2)
}

func status(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		return 1
	}
	return 0
}
