package pages

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/mistake"
)

var write = flag.Bool("write", false, "write docs/compat/mistakes.md from the tables")

const mistakesDocument = "../../docs/compat/mistakes.md"

// mistakeTables are the tables of mistakes, which tests beside them hold.
var mistakeTables = []struct{ title, test, file string }{
	{"Saving and loading", "[TestMistakes](../../checkpoint/mistakes_test.go)", "checkpoint/testdata/mistakes.json"},
	{"Partial saves", "[TestMistakes](../../checkpoint/partial/mistakes_test.go)", "checkpoint/partial/testdata/mistakes.json"},
	{"Training", "[TestMistakes](../../checkpoint/training/mistakes_test.go)", "checkpoint/training/testdata/mistakes.json"},
	{"Leaves", "[TestLeaves](../../checkpoint/leaves_test.go)", "checkpoint/testdata/leaves.json"},
}

// measured are how many mistakes (5) and leaves (6) were tried with Orbax.
var measured = map[int]int{5: 72, 6: 47}

func mistakesOf(t *testing.T, file string) []mistake.Row {
	t.Helper()
	rows, err := mistake.Read(filepath.Join("..", "..", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// What Orbax was measured to do has its counterpart in the tables, and where it is
// silently wrong the document of names says what is done here.
func TestMistakesAreComplete(t *testing.T) {
	b, err := os.ReadFile(namesDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "silently wrong")
	section, _, _ = strings.Cut(section, "\n## ")
	ids := map[string]bool{}
	for _, table := range mistakeTables {
		for _, r := range mistakesOf(t, table.file) {
			ids[r.ID] = true
			if r.Silent() && r.Why == "" {
				t.Errorf("%s %q: Orbax is silently wrong; why is it %s here?", r.ID, r.Mistake, r.Bivouac)
			}
			if r.Silent() && !strings.Contains(section, "| "+r.Name()+" |") {
				t.Errorf("%s has no row for %q", namesDocument, r.Name())
			}
		}
	}
	for section, n := range measured {
		for k := 1; k <= n; k++ {
			if id := fmt.Sprintf("%d.%d", section, k); !ids[id] {
				t.Errorf("%s is in no table", id)
			}
		}
	}
}

// The document is what the tables say; go test -run TestMistakesDocument -args -write writes it.
func TestMistakesDocument(t *testing.T) {
	var d strings.Builder
	d.WriteString(mistakesHead)
	for _, table := range mistakeTables {
		fmt.Fprintf(&d, "\n## %s\n\nHeld by %s.\n\n| no. | mistake | Orbax | Bivouac | |\n|---|---|---|---|---|\n",
			table.title, table.test)
		for _, r := range mistakesOf(t, table.file) {
			fmt.Fprintf(&d, "| %s | %s | %s | %s | %s |\n", r.ID, cell(r.Mistake), cell(r.Orbax), r.Bivouac, cell(r.Why))
		}
	}
	if *write {
		if err := os.WriteFile(mistakesDocument, []byte(d.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(mistakesDocument)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != d.String() {
		t.Errorf("%s is not what the tables say: write it anew", mistakesDocument)
	}
}

// cell is text in a table of Markdown.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

const mistakesHead = `# What comes of mistakes

This page lists wrong calls and leaves of all types. It shows what Orbax 0.12.8 does with them, as
measured, and what Bivouac does. If Orbax refuses, Bivouac refuses too, or it can do what was
asked for. Its error names the leaf, what was expected, what was found and the remedy. In some cases
Orbax silently does something else (*no error: …*). There Bivouac refuses, or does what was asked
for. The words in the column *Bivouac* are kinds of errors of package ` + "`errs`" + `; *ok* is no error.

The page is written from the tables that the tests check.
`
