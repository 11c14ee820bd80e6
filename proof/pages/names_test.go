package pages

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/conform/orbax"
	"github.com/bivouac-ml/bivouac/proof/declared"
)

// namesDocument says what became of every public name of Orbax v1; package compat/orbax has the
// table.
const namesDocument = "../../docs/compat/orbax.md"

var (
	quoted = regexp.MustCompile("`([^`]+)`")
	linked = regexp.MustCompile(`\[(\w+)\]\(([^)]+)\)`)
)

// nameRow is one row of the document.
type nameRow struct{ name, counterpart, verdict, held string }

// rowsOf returns the rows of four cells that begin so.
func rowsOf(text, begin string) []nameRow {
	var rows []nameRow
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.TrimSpace(line), " | "); strings.HasPrefix(line, begin) && len(cells) == 4 {
			rows = append(rows, nameRow{strings.Trim(cells[0], "|` "), cells[1], cells[2], strings.TrimSuffix(cells[3], " |")})
		}
	}
	return rows
}

// compareRows reports names without a row, and rows without a name.
func compareRows(t *testing.T, want []string, rows []nameRow) {
	t.Helper()
	var got []string
	for _, r := range rows {
		got = append(got, r.name)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		for _, n := range want {
			if !slices.Contains(got, n) {
				t.Errorf("%s has no row", n)
			}
		}
		t.Errorf("%d rows, %d names: rows of names that are not in the list, or two of one", len(got), len(want))
	}
}

// checkCounterparts reports counterparts that are not declared, and tests that do not exist.
func checkCounterparts(t *testing.T, names *declared.Names, r nameRow) {
	t.Helper()
	for _, m := range quoted.FindAllStringSubmatch(r.counterpart, -1) {
		if err := names.Check(m[1]); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
	for _, m := range linked.FindAllStringSubmatch(r.held, -1) {
		if err := names.Test(m[1], path.Join("docs/compat", m[2])); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

// What a run prints as a divergence is in the document.
func TestDivergencesAreListed(t *testing.T) {
	b, err := os.ReadFile(namesDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## Divergences\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, kind := range orbax.Divergences {
		if !strings.Contains(section, "| `"+kind+"` |") {
			t.Errorf("%s does not list %s", namesDocument, kind)
		}
	}
	if rows := strings.Count(section, "\n| `"); rows != len(orbax.Divergences) {
		t.Errorf("%d rows, %d divergences", rows, len(orbax.Divergences))
	}
}
