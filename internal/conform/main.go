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
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
)

// suite is one family of cases.
type suite struct {
	cases       func(dir string) ([]testCase, error)
	ignored     map[string]string // member name → why it is not compared
	divergences []string          // kinds, which a document lists
	counted     bool              // divergent cases are counted by themselves
}

// testCase is one case, by what -only may call it.
type testCase struct {
	name, family, path string
	core               bool
	operators          []string // that the case uses, in the dali suite
	run                func(ctx context.Context, r *report)
}

var suites = map[string]suite{
	"dali":       daliSuite,
	"formats":    formatsSuite,
	"grain":      grainSuite,
	"orbax":      orbaxSuite,
	"orbax-pure": pureSuite,
	"streaming":  streamingSuite,
	"torchdata":  torchdataSuite,
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	fl := flag.NewFlagSet("conform", flag.ContinueOnError)
	fl.SetOutput(stderr)
	name := fl.String("suite", "", "the suite: "+strings.Join(suiteNames(), ", "))
	only := fl.String("only", "", "comma-separated prefixes of case name, family or path; core for the flagged cases")
	asJSON := fl.Bool("json", false, "print one JSON object a case")
	status := fl.String("status", "", "the document to write the counts of the dali suite into")
	if err := fl.Parse(args); err != nil {
		return 2
	}
	s, ok := suites[*name]
	if !ok || fl.NArg() != 1 {
		fmt.Fprintf(stderr, "usage: conform -suite %s [-only a,b] [-json] DIR\n", strings.Join(suiteNames(), "|"))
		return 2
	}
	cases, err := s.cases(fl.Arg(0))
	if err != nil {
		fmt.Fprintln(stderr, "conform:", err)
		return 1
	}
	dir, err := os.MkdirTemp("", "conform")
	if err != nil {
		fmt.Fprintln(stderr, "conform:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	ctx := context.WithValue(context.Background(), scratchKey{}, dir)
	var outcomes []outcome
	if !*asJSON {
		printIgnored(stdout, s.ignored)
	}
	for _, c := range cases {
		if !selected(c, *only) {
			continue
		}
		r := &report{ignored: s.ignored, kinds: s.divergences}
		c.run(ctx, r)
		outcomes = append(outcomes, outcome{c, r.grade(s.counted)})
		if *asJSON {
			json.NewEncoder(stdout).Encode(r.asJSON(c)) //nolint:errcheck // the closing line would be missing too
			continue
		}
		r.print(stdout, c)
	}
	if *status != "" {
		if err := writeStatus(*status, outcomes); err != nil {
			fmt.Fprintln(stderr, "conform:", err)
			return 1
		}
	}
	n := count(outcomes)
	fmt.Fprintf(stdout, "%d passed, %d failed, %d skipped", n[passed], n[failed], n[skipped])
	if s.counted {
		fmt.Fprintf(stdout, ", %d divergent", n[divergent])
	}
	fmt.Fprintln(stdout)
	if n[failed] > 0 || n[passed] == 0 {
		return 1
	}
	return 0
}

// grade is what a case counts as.
type grade int

const (
	passed grade = iota
	failed
	skipped
	divergent
	grades
)

// outcome is a case with its grade.
type outcome struct {
	testCase
	grade grade
}

// count returns how many cases had each grade.
func count(outcomes []outcome) (n [grades]int) {
	for _, o := range outcomes {
		n[o.grade]++
	}
	return n
}

// scratchKey is the key of a folder, in the context of all cases, that is removed at the end.
type scratchKey struct{}

// scratch is a folder that the cases share.
func scratch(ctx context.Context) string {
	dir, _ := ctx.Value(scratchKey{}).(string)
	return dir
}

func suiteNames() []string {
	var names []string
	for n := range suites {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

func selected(c testCase, only string) bool {
	if only == "" {
		return true
	}
	return slices.ContainsFunc(strings.Split(only, ","), func(p string) bool {
		p = strings.TrimSpace(p)
		return p == "core" && c.core ||
			p != "" && (strings.HasPrefix(c.name, p) || strings.HasPrefix(c.family, p) || strings.HasPrefix(c.path, p))
	})
}

func printIgnored(w io.Writer, ignored map[string]string) {
	names := make([]string, 0, len(ignored))
	for n := range ignored {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(w, "ignored %s: %s\n", n, ignored[n])
	}
}

// report collects what one case found.
type report struct {
	ignored    map[string]string
	kinds      []string // of divergences
	failures   []string
	skip       string
	divergence string
}

func (r *report) fail(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *report) grade(counted bool) grade {
	switch {
	case len(r.failures) > 0:
		return failed
	case r.skip != "":
		return skipped
	case r.divergence != "" && counted:
		return divergent
	}
	return passed
}

// diverge says where a case is judged by another rule than that the peer does the
// same. The kind of such a divergence is one that the document lists.
func (r *report) diverge(kind, format string, args ...any) {
	if !slices.Contains(r.kinds, kind) {
		r.fail("unknown divergence %q", kind)
	}
	r.divergence = kind + ": " + fmt.Sprintf(format, args...)
}

// divergences are the kinds that docs/compat/orbax.md lists, under "Divergences".
var divergences = []string{"collision", "reference_refuses", "cast_on_save", "reference_fails", "newest"}

func (r *report) print(w io.Writer, c testCase) {
	for _, f := range r.failures {
		fmt.Fprintf(w, "FAIL %s: %s\n", c.name, f)
	}
	if r.skip != "" {
		fmt.Fprintf(w, "skip %s: %s\n", c.name, r.skip)
	}
	if r.divergence != "" {
		fmt.Fprintf(w, "divergence %s: %s\n", c.name, r.divergence)
	}
}

func (r *report) asJSON(c testCase) map[string]any {
	return map[string]any{
		"case": c.name, "family": c.family, "core": c.core,
		"passed": len(r.failures) == 0 && r.skip == "", "failures": r.failures, "skip": r.skip, "divergence": r.divergence,
	}
}
