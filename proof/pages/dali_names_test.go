package pages

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/proof/declared"
)

// The part of docs/compat/dali.md that says what became of every name and argument of DALI's
// Pipeline, pipeline_def and DataNode, and the list of these names, which
// tools/interop/dali_names.py made.
const (
	pipelineNames     = "## Pipeline, name by name"
	daliDocument      = "../../docs/compat/dali.md"
	pipelineNamesList = "../../testdata/dali-pipeline-names.txt"
)

func pipelineNameRows(t *testing.T) []nameRow {
	t.Helper()
	b, err := os.ReadFile(daliDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(b), "\n"+pipelineNames+"\n")
	if !found {
		t.Fatalf("%s has no part %q", daliDocument, pipelineNames)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return rowsOf(text, "| `")
}

// Every name and argument of DALI has one row, and there are no others.
func TestPipelineNamesAreComplete(t *testing.T) {
	b, err := os.ReadFile(pipelineNamesList)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(b)), "\n")
	compareRows(t, want, pipelineNameRows(t))
}

// What a row claims is there: the counterparts are declared, the tests exist, and what has no
// counterpart has a reason.
func TestPipelineNamesHoldWhatTheyClaim(t *testing.T) {
	reasons := []string{"GPU", "not built yet", "no memory is shared", "deprecated in DALI", "no operator shifts"}
	names := declared.In(module)
	for _, r := range pipelineNameRows(t) {
		checkCounterparts(t, names, r)
		verdict, why, _ := strings.Cut(r.verdict, ": ")
		reasoned := slices.ContainsFunc(reasons, func(p string) bool { return strings.HasPrefix(why, p) })
		switch {
		case verdict == "yes" && why == "" && r.counterpart != "—" && r.held != "—":
		case verdict == "differs" && why != "" && r.counterpart != "—" && r.held != "—":
		case verdict == "no" && reasoned && r.counterpart == "—" && r.held == "—":
		default:
			t.Errorf("%s: verdict %q with counterpart %s, held by %s", r.name, r.verdict, r.counterpart, r.held)
		}
	}
}
