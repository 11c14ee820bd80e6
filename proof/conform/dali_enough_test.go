package conform

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/conform/dali"
)

// enoughCases is how many recorded cases of the repository an operator has, unless the document
// lists it.
const enoughCases = 20

var quoted = regexp.MustCompile("`([^`]+)`")

// Each operator has cases enough in testdata/dali, and the document lists those that have fewer,
// with their number.
func TestOperatorsHaveCases(t *testing.T) {
	cases, err := dali.Cases(committedDali)
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]int{}
	for _, c := range cases {
		if c.Family == "dynamic" {
			continue // cases of ops and rng once more
		}
		for _, name := range c.Operators {
			recorded[name]++
		}
	}
	listed := fewCases(t)
	for _, s := range op.Schemas() {
		name := s.FullName()
		switch want, few := listed[name]; {
		case s.Reader && recorded[name] == 0 && !few:
		case few && (recorded[name] != want || want >= enoughCases):
			t.Errorf("%s has %d cases, %s lists %d", name, recorded[name], daliDocument, want)
		case !few && recorded[name] < enoughCases:
			t.Errorf("%s has %d cases, want %d, or its number in %s", name, recorded[name], enoughCases, daliDocument)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("%s lists %s, which is no operator", daliDocument, name)
	}
}

// fewCases reads the document's table of operators with few cases.
func fewCases(t *testing.T) map[string]int {
	t.Helper()
	b, err := os.ReadFile(daliDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "\n| cases | operators |\n|---|---|\n")
	table, _, ok2 := strings.Cut(rest, "\n\n")
	if !ok || !ok2 {
		t.Fatalf("%s has no table of operators with few cases", daliDocument)
	}
	listed := map[string]int{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		n, err := strconv.Atoi(strings.TrimSpace(cells[0]))
		if err != nil || len(cells) != 2 {
			t.Fatalf("%s: %q is no number of cases and a list of operators", daliDocument, line)
		}
		names := quoted.FindAllStringSubmatch(cells[1], -1)
		if len(names) == 0 || slices.ContainsFunc(names, func(m []string) bool { _, twice := listed[m[1]]; return twice }) {
			t.Fatalf("%s: %q lists nothing, or an operator twice", daliDocument, line)
		}
		for _, m := range names {
			listed[m[1]] = n
		}
	}
	return listed
}
