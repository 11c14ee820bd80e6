package conform

import (
	"github.com/bivouac-ml/bivouac/proof/conform/dali"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	ran := ranAllDali(t)
	checkDali(t, ran.code, ran.out)
}

// daliRun is what a run over all vectors returned, printed and wrote into the document.
type daliRun struct {
	code          int
	out, document string
}

// ranAllDali returns the one run over all vectors that several tests judge. It skips a test where
// the vectors are not there.
func ranAllDali(t *testing.T) daliRun {
	t.Helper()
	if _, err := os.Stat(allDali); err != nil {
		t.Skip("the full set of cases is not beside this checkout")
	}
	ran, err := runAllDali()
	if err != nil {
		t.Fatal(err)
	}
	return ran
}

var runAllDali = sync.OnceValues(func() (ran daliRun, err error) {
	b, err := os.ReadFile(daliDocument)
	if err != nil {
		return ran, err
	}
	dir, err := os.MkdirTemp("", "dali")
	if err != nil {
		return ran, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "dali.md")
	if err := os.WriteFile(file, b, 0o666); err != nil {
		return ran, err
	}
	ran.code, ran.out = conform("-suite", "dali", "-status", file, allDali)
	b, err = os.ReadFile(file)
	ran.document = string(b)
	return ran, err
})

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
	ran := ranAllDali(t)
	if ran.code != 0 {
		t.Fatal(lastLine(ran.out))
	}
	b, err := os.ReadFile(daliDocument)
	if err != nil {
		t.Fatal(err)
	}
	claimed, counted := countsIn(t, string(b)), countsIn(t, ran.document)
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
