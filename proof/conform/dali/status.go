package dali

import (
	"bytes"
	"fmt"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"maps"
	"os"
	"slices"
	"strings"
)

// The lines of a document between which writeStatus writes.
const (
	StatusBegin = "<!-- counts: go run ./internal/conform -suite dali -status docs/compat/dali.md ../shared/vectors/dali -->\n"
	StatusEnd   = "<!-- end of counts -->\n"
)

// WriteStatus writes two tables into a document: how many cases of each section,
// and how many that use each operator, had which grade.
func WriteStatus(file string, outcomes []suite.Outcome) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, ok1 := bytes.Cut(b, []byte(StatusBegin))
	_, tail, ok2 := bytes.Cut(rest, []byte(StatusEnd))
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q", file, StatusBegin, StatusEnd)
	}
	return os.WriteFile(file, slices.Concat(head, []byte(StatusBegin), []byte(statusTables(outcomes)), []byte(StatusEnd),
		tail), 0o666)
}

func statusTables(outcomes []suite.Outcome) string {
	var out strings.Builder
	out.WriteString("\n")
	table(&out, "Section", outcomes, func(o suite.Outcome) []string { return []string{sectionOf(o)} })
	out.WriteString("\n")
	table(&out, "Operator", outcomes, func(o suite.Outcome) []string {
		var quoted []string
		for _, name := range o.Operators {
			quoted = append(quoted, "`"+name+"`")
		}
		return quoted
	})
	out.WriteString("\n")
	return out.String()
}

// sectionOf is the family, with the group where there are any: "ops/arith".
func sectionOf(o suite.Outcome) string {
	rest := strings.TrimPrefix(o.Name, o.Family+"/")
	if group, _, ok := strings.Cut(rest, "/"); ok {
		return o.Family + "/" + group
	}
	return o.Family
}

// table writes a row for each key of the outcomes, sorted.
func table(w *strings.Builder, title string, outcomes []suite.Outcome, keys func(suite.Outcome) []string) {
	rows := map[string][]suite.Outcome{}
	for _, o := range outcomes {
		for _, k := range keys(o) {
			rows[k] = append(rows[k], o)
		}
	}
	fmt.Fprintf(w, "| %s | Passed | Failed | Skipped | Divergent |\n|---|--:|--:|--:|--:|\n", title)
	for _, k := range slices.Sorted(maps.Keys(rows)) {
		n := suite.Count(rows[k])
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d |\n", k, n[suite.Passed], n[suite.Failed], n[suite.Skipped],
			n[suite.Divergent])
	}
}
