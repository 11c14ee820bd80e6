// Package conform compares Bivouac with cases that the real systems recorded: a package a suite,
// and the command that runs them, see internal/conform.
package conform

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"github.com/bivouac-ml/bivouac/proof/conform/dali"
	"github.com/bivouac-ml/bivouac/proof/conform/formats"
	"github.com/bivouac-ml/bivouac/proof/conform/grain"
	"github.com/bivouac-ml/bivouac/proof/conform/orbax"
	"github.com/bivouac-ml/bivouac/proof/conform/streaming"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/conform/torchdata"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
)

var suites = map[string]suite.Suite{
	"dali":       dali.Suite,
	"formats":    formats.Suite,
	"grain":      grain.Suite,
	"orbax":      orbax.Suite,
	"orbax-pure": orbax.PureSuite,
	"streaming":  streaming.Suite,
	"torchdata":  torchdata.Suite,
}

// Run is the command: it runs the cases that args ask for and returns the exit status.
func Run(args []string, stdout, stderr io.Writer) int {
	fl := flag.NewFlagSet("conform", flag.ContinueOnError)
	fl.SetOutput(stderr)
	name := fl.String("suite", "", "the suite: "+strings.Join(suiteNames(), ", "))
	only := fl.String("only", "", "comma-separated prefixes of case name, family or path; core for the flagged cases")
	asJSON := fl.Bool("json", false, "print one JSON object a case")
	status := fl.String("status", "", "the document to write the counts of the dali suite into")
	arguments := fl.Bool("arguments", false, "print the cases and idle arguments of the dali suite, and no verdicts")
	if err := fl.Parse(args); err != nil {
		return 2
	}
	s, ok := suites[*name]
	if !ok || fl.NArg() != 1 {
		fmt.Fprintf(stderr, "usage: conform -suite %s [-only a,b] [-json] DIR\n", strings.Join(suiteNames(), "|"))
		return 2
	}
	if *arguments && *name == "dali" {
		return printArguments(fl.Arg(0), stdout, stderr)
	}
	cases, err := s.Cases(fl.Arg(0))
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
	ctx := suite.WithScratch(context.Background(), dir)
	var outcomes []suite.Outcome
	if !*asJSON {
		printIgnored(stdout, s.Ignored)
	}
	for _, c := range cases {
		if !selected(c, *only) {
			continue
		}
		r := &suite.Report{Ignored: s.Ignored, Kinds: s.Divergences}
		c.Run(ctx, r)
		outcomes = append(outcomes, suite.Outcome{Case: c, Grade: r.Grade(s.Counted)})
		if *asJSON {
			json.NewEncoder(stdout).Encode(r.AsJSON(c)) //nolint:errcheck // the closing line would be missing too
			continue
		}
		r.Print(stdout, c)
	}
	if *status != "" {
		if err := dali.WriteStatus(*status, outcomes); err != nil {
			fmt.Fprintln(stderr, "conform:", err)
			return 1
		}
	}
	n := suite.Count(outcomes)
	fmt.Fprintf(stdout, "%d passed, %d failed, %d skipped", n[suite.Passed], n[suite.Failed], n[suite.Skipped])
	if s.Counted {
		fmt.Fprintf(stdout, ", %d divergent", n[suite.Divergent])
	}
	fmt.Fprintln(stdout)
	if n[suite.Failed] > 0 || n[suite.Passed] == 0 {
		return 1
	}
	return 0
}

// printArguments prints how the cases in a folder use operators and their arguments.
func printArguments(dir string, stdout, stderr io.Writer) int {
	scratch, err := os.MkdirTemp("", "conform")
	if err != nil {
		fmt.Fprintln(stderr, "conform:", err)
		return 1
	}
	defer os.RemoveAll(scratch)
	uses, err := dali.Uses(suite.WithScratch(context.Background(), scratch), dir)
	if err != nil {
		fmt.Fprintln(stderr, "conform:", err)
		return 1
	}
	dali.WriteUses(stdout, uses)
	return 0
}

func suiteNames() []string {
	var names []string
	for n := range suites {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

func selected(c suite.Case, only string) bool {
	if only == "" {
		return true
	}
	return slices.ContainsFunc(strings.Split(only, ","), func(p string) bool {
		p = strings.TrimSpace(p)
		return p == "core" && c.Core ||
			p != "" && (strings.HasPrefix(c.Name, p) || strings.HasPrefix(c.Family, p) || strings.HasPrefix(c.Path, p))
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
