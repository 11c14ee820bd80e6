package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// results reads what `go test -json` writes, and prints a line for each package that ends,
// with the output of what failed in it.
type results struct {
	w        io.Writer
	finished []string
	failed   bool

	output map[[2]string]*strings.Builder // by package and test
}

// An event is a line of `go test -json`.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// take reads one line.
func (r *results) take(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		fmt.Fprintf(r.w, "%s", line) //nolint:errcheck // nobody could be told
		return
	}
	key := [2]string{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.w, e.Output) //nolint:errcheck // nobody could be told
	case "output":
		if r.output == nil {
			r.output = map[[2]string]*strings.Builder{}
		}
		if r.output[key] == nil {
			r.output[key] = &strings.Builder{}
		}
		r.output[key].WriteString(e.Output)
	case "pass", "skip", "fail":
		r.end(e, key)
	}
}

// end takes the end of a test or, where Test is empty, of a package. A package that does not
// end properly, by a panic or a time-out, leaves its running test without an end: the output
// of all its tests that have none is printed.
func (r *results) end(e event, key [2]string) {
	text := ""
	if b := r.output[key]; b != nil {
		text = b.String()
		delete(r.output, key)
	}
	if e.Test != "" {
		if e.Action == "fail" {
			fmt.Fprint(r.w, text) //nolint:errcheck // nobody could be told
		}
		return
	}
	for other, b := range r.output {
		if other[0] == e.Package && e.Action == "fail" {
			fmt.Fprint(r.w, b.String()) //nolint:errcheck // nobody could be told
		}
		if other[0] == e.Package {
			delete(r.output, other)
		}
	}
	r.finished = append(r.finished, e.Package)
	if e.Action == "fail" {
		r.failed = true
		fmt.Fprint(r.w, text) //nolint:errcheck // ends with the line FAIL
		return
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "ok") {
			fmt.Fprint(r.w, line) //nolint:errcheck // nobody could be told
		}
	}
}
