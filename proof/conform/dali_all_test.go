package conform

import (
	"github.com/bivouac-ml/bivouac/proof/conform/dali"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var allDali = filepath.Join("..", "..", "..", "shared", "vectors", "dali")

// The excerpt in the repository: nothing fails, and only what is not there yet is skipped.
func TestCommittedDali(t *testing.T) {
	code, out := conform("-suite", "dali", committedDali)
	checkDali(t, code, out)
}

// All vectors, where they lie beside the checkout.
func TestAllDali(t *testing.T) {
	if _, err := os.Stat(allDali); err != nil {
		t.Skip("the full set of cases is not beside this checkout")
	}
	code, out := conform("-suite", "dali", allDali)
	checkDali(t, code, out)
}

// skipsOfDali are the reasons for which a case may be skipped: what the next parts bring.
var skipsOfDali = []string{"operator", "reader", "codec"}

func checkDali(t *testing.T, code int, out string) {
	t.Helper()
	for line := range strings.Lines(out) {
		switch {
		case strings.HasPrefix(line, "FAIL"):
			t.Error(strings.TrimSpace(line))
		case strings.HasPrefix(line, "skip"):
			_, reason, _ := strings.Cut(line, ": ")
			kind, _, _ := strings.Cut(reason, ":")
			if !slices.Contains(skipsOfDali, kind) {
				t.Errorf("skipped for another reason: %s", line)
			}
		}
	}
	if code != 0 || !strings.Contains(lastLine(out), " 0 failed") {
		t.Errorf("exit %d: %s", code, lastLine(out))
	}
}

// The document claims no more than a run over all vectors shows.
func TestDaliCountsHold(t *testing.T) {
	if _, err := os.Stat(allDali); err != nil {
		t.Skip("the full set of cases is not beside this checkout")
	}
	b, err := os.ReadFile(daliDocument)
	if err != nil {
		t.Fatal(err)
	}
	current := filepath.Join(t.TempDir(), "dali.md")
	writeFile(t, current, b)
	if code, out := conform("-suite", "dali", "-status", current, allDali); code != 0 {
		t.Fatal(lastLine(out))
	}
	again, err := os.ReadFile(current)
	if err != nil {
		t.Fatal(err)
	}
	claimed, counted := countsIn(t, string(b)), countsIn(t, string(again))
	if len(claimed) < 50 {
		t.Errorf("%s has %d rows of counts", daliDocument, len(claimed))
	}
	for row, c := range claimed {
		if n := counted[row]; c[suite.Passed] > n[suite.Passed] || c[suite.Failed] > 0 ||
			c[suite.Divergent] < n[suite.Divergent] {
			t.Errorf("%s: %s %v, a run shows %v; the command that writes the counts stands there", daliDocument, row, c, n)
		}
	}
}

// countsIn reads the tables that writeStatus writes.
func countsIn(t *testing.T, document string) map[string][suite.Grades]int {
	t.Helper()
	_, tables, ok := strings.Cut(document, dali.StatusBegin)
	tables, _, ok2 := strings.Cut(tables, dali.StatusEnd)
	if !ok || !ok2 {
		t.Fatal("there are no counts")
	}
	rows := map[string][suite.Grades]int{}
	for line := range strings.Lines(tables) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		var n [suite.Grades]int
		if len(cells) != 1+len(n) {
			continue
		}
		numbers := 0
		for i := range n {
			if v, err := strconv.Atoi(strings.TrimSpace(cells[i+1])); err == nil {
				n[i] = v
				numbers++
			}
		}
		if numbers == len(n) {
			rows[strings.TrimSpace(cells[0])] = n
		}
	}
	return rows
}
