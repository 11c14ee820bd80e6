package pages

import (
	"os"
	"strings"
	"testing"
)

// Each figure of docs/why.md is a figure of docs/performance.md: the row with the same first cell
// has its other cells.
func TestWhyCopiesPerformance(t *testing.T) {
	read := func(name string) string {
		b, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	measured := map[string][][]string{}
	for _, r := range rowsIn(read("performance.md")) {
		measured[r[0]] = append(measured[r[0]], r[1:])
	}
	_, text, found := strings.Cut(read("why.md"), "\n## Beside others\n")
	if !found {
		t.Fatal("want a part \"Beside others\", got none")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	n := 0
	for _, r := range rowsIn(text) {
		if r[0] == "what" {
			continue
		}
		n++
		if !copied(r[1:], measured[r[0]]) {
			t.Errorf("%q: want the figures of docs/performance.md, got %q", r[0], r[1:])
		}
	}
	if n < 10 {
		t.Errorf("only %d figures were found", n)
	}
}

// rowsIn returns the cells of the rows of all tables in a text.
func rowsIn(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		var cells []string
		for _, c := range strings.Split(strings.Trim(line, "|"), " | ") {
			cells = append(cells, strings.TrimSpace(c))
		}
		rows = append(rows, cells)
	}
	return rows
}

// copied reports whether one of the rows has all cells.
func copied(cells []string, rows [][]string) bool {
	for _, row := range rows {
		all := strings.Join(row, " | ")
		whole := true
		for _, c := range cells {
			whole = whole && c != "" && strings.Contains(all, c)
		}
		if whole {
			return true
		}
	}
	return false
}

// The comparison finds a figure that was changed.
func TestWhySelfTest(t *testing.T) {
	rows := [][]string{{"2.5 µs", "172 x DALI"}}
	for cell, want := range map[string]bool{"172 x DALI": true, "173 x DALI": false, "": false} {
		if copied([]string{cell}, rows) != want {
			t.Errorf("%q: want %t", cell, want)
		}
	}
}
