package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// The lines of a document between which writeStatus writes.
const (
	statusBegin = "<!-- counts: go run ./internal/conform -suite dali -status docs/compat/dali.md ../shared/vectors/dali -->\n"
	statusEnd   = "<!-- end of counts -->\n"
)

// writeStatus writes two tables into a document: how many cases of each section,
// and how many that use each operator, had which grade.
func writeStatus(file string, outcomes []outcome) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, ok1 := bytes.Cut(b, []byte(statusBegin))
	_, tail, ok2 := bytes.Cut(rest, []byte(statusEnd))
	if !ok1 || !ok2 {
		return fmt.Errorf("%s has no lines %q and %q", file, statusBegin, statusEnd)
	}
	return os.WriteFile(file, slices.Concat(head, []byte(statusBegin), []byte(statusTables(outcomes)), []byte(statusEnd), tail), 0o666)
}

func statusTables(outcomes []outcome) string {
	var out strings.Builder
	out.WriteString("\n")
	table(&out, "Section", outcomes, func(o outcome) []string { return []string{sectionOf(o)} })
	out.WriteString("\n")
	table(&out, "Operator", outcomes, func(o outcome) []string {
		var quoted []string
		for _, name := range o.operators {
			quoted = append(quoted, "`"+name+"`")
		}
		return quoted
	})
	out.WriteString("\n")
	return out.String()
}

// sectionOf is the family, with the group where there are any: "ops/arith".
func sectionOf(o outcome) string {
	rest := strings.TrimPrefix(o.name, o.family+"/")
	if group, _, ok := strings.Cut(rest, "/"); ok {
		return o.family + "/" + group
	}
	return o.family
}

// table writes a row for each key of the outcomes, sorted.
func table(w *strings.Builder, title string, outcomes []outcome, keys func(outcome) []string) {
	rows := map[string][]outcome{}
	for _, o := range outcomes {
		for _, k := range keys(o) {
			rows[k] = append(rows[k], o)
		}
	}
	fmt.Fprintf(w, "| %s | Passed | Failed | Skipped | Divergent |\n|---|--:|--:|--:|--:|\n", title)
	for _, k := range slices.Sorted(maps.Keys(rows)) {
		n := count(rows[k])
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d |\n", k, n[passed], n[failed], n[skipped], n[divergent])
	}
}
