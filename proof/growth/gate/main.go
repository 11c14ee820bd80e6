// Gate runs the table over the public operations: each at n, 2n, 4n and 8n, with
// the steps of all code of the module counted, and exits with 1 if a cost grows too
// fast. See package growth.
//
//	make growth GROWTH_FLAGS='-v -run tree'
package main

import (
	"context"
	"crypto/ed25519"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/proof/growth"
)

// tables are all rows.
func tables() []growth.Op {
	return slices.Concat(treeOps(), orderOps(), nodesOps(), checkpointOps(), severalOps(), formatOps(), stateOps(),
		resumeOps())
}

func main() {
	verbose := flag.Bool("v", false, "print all costs")
	run := flag.String("run", "", "only operations whose name matches")
	flag.Parse()
	only, err := regexp.Compile(*run)
	if err != nil {
		fail("growth: -run: %v", err)
	}
	if !growth.Counted() {
		fail("growth: this build counts no steps: use `make growth`")
	}
	if !check(planted, *verbose).failed() {
		fail("growth: a planted search of all elements for each element was not found")
	}
	failed := false
	for _, op := range tables() {
		if !only.MatchString(op.Name) {
			continue
		}
		r := check(op, *verbose)
		for _, f := range r.faults {
			fmt.Fprintln(os.Stderr, "growth:", f)
		}
		failed = failed || r.failed()
	}
	if failed {
		os.Exit(1)
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(2)
}

// signingKey signs what the operations save.
var signingKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// planted is quadratic in a way that allocates nothing.
var planted = growth.Op{Name: "planted search", N: 500, Prepare: func(_ growth.TB, n int) func() error {
	s := make([]int, n)
	return func() error {
		for i := range s {
			if slices.ContainsFunc(s[:i], func(v int) bool { return v == i }) {
				return fmt.Errorf("%d is there", i)
			}
			s[i] = i
		}
		clear(s)
		return nil
	}
}}

// check runs one operation.
func check(op growth.Op, verbose bool) (r *run) {
	r = &run{}
	defer func() {
		for _, dir := range r.dirs {
			os.RemoveAll(dir)
		}
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
	}()
	sizes, costs := growth.Check(r, op)
	if verbose {
		var b strings.Builder
		for i, c := range costs {
			fmt.Fprintf(&b, "  %d: %d allocations, %d bytes, %d steps", sizes[i], c.Allocs, c.Bytes, c.Steps.Total())
		}
		fmt.Printf("%-40s%s\n", op.Name, b.String())
	}
	return r
}

// run is the growth.TB of one operation.
type run struct {
	faults, dirs []string
}

func (r *run) failed() bool             { return len(r.faults) > 0 }
func (r *run) Helper()                  {}
func (r *run) Context() context.Context { return context.Background() }

func (r *run) Errorf(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func (r *run) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(r)
}

func (r *run) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

func (r *run) TempDir() string {
	dir, err := os.MkdirTemp("", "growth")
	if err != nil {
		r.Fatal(err)
	}
	r.dirs = append(r.dirs, dir)
	return dir
}
