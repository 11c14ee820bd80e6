package orbax_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/orbax"
	"github.com/bivouac-ml/bivouac/proof/declared"
)

const root = "../.."

// Every public name of Orbax has one row, and there are no other rows. tools/interop/names.py made
// the list.
func TestNamesAreComplete(t *testing.T) {
	b, err := os.ReadFile(root + "/testdata/orbax-v1-names.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(b))
	var got []string
	for _, n := range orbax.Names() {
		got = append(got, n.Orbax)
	}
	slices.Sort(want)
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-names of Orbax +rows\n%s", d)
	}
}

// What a row claims is there: the counterparts are declared, the tests exist, and
// what is refused belongs to devices.
func TestNamesHoldWhatTheyClaim(t *testing.T) {
	names := declared.In(root)
	for _, n := range orbax.Names() {
		for _, name := range n.Go {
			if err := names.Check(name); err != nil {
				t.Errorf("%s: %v", n.Orbax, err)
			}
		}
		for _, held := range n.Held {
			test, file, _ := strings.Cut(held, " ")
			if err := names.Test(test, file); err != nil {
				t.Errorf("%s: %v", n.Orbax, err)
			}
		}
		switch {
		case n.Verdict == orbax.Yes && n.Why == "" && n.Go != nil && n.Held != nil:
		case n.Verdict == orbax.Differs && n.Why != "" && n.Held != nil:
		case n.Verdict == orbax.No && (strings.Contains(n.Why, "JAX") || strings.Contains(n.Why, "Pathways")):
		default:
			t.Errorf("%s: verdict %s (%s) with counterpart %v, held by %v", n.Orbax, n.Verdict, n.Why, n.Go, n.Held)
		}
	}
}

// The document shows the rows of the table in the same order, and counts the verdicts.
func TestDocumentShowsNames(t *testing.T) {
	b, err := os.ReadFile(root + "/docs/compat/orbax.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	count := map[orbax.Verdict]int{}
	for _, n := range orbax.Names() {
		want = append(want, row(n))
		count[n.Verdict]++
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "| `v1") {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-compat/orbax/names.tsv +docs/compat/orbax.md\n%s", d)
	}
	if s := fmt.Sprintf("%d yes, %d differs, %d no", count[orbax.Yes], count[orbax.Differs],
		count[orbax.No]); !strings.Contains(string(b), s) {
		t.Errorf("the document does not say %q", s)
	}
}

// row is a row of the document.
func row(n orbax.Name) string {
	counterpart, verdict, held := "—", string(n.Verdict), "—"
	if n.Go != nil {
		counterpart = "`" + strings.Join(n.Go, "`, `") + "`"
	}
	if n.Why != "" {
		verdict += ": " + n.Why
	}
	if n.Held != nil {
		var links []string
		for _, h := range n.Held {
			test, file, _ := strings.Cut(h, " ")
			links = append(links, "["+test+"](../../"+file+")")
		}
		held = strings.Join(links, ", ")
	}
	return "| `" + n.Orbax + "` | " + counterpart + " | " + verdict + " | " + held + " |"
}

func TestLookup(t *testing.T) {
	if n, ok := orbax.Lookup("v1.save_async"); !ok || !slices.Equal(n.Go, []string{"checkpoint.SaveAsync"}) {
		t.Errorf("got %v, %v", n, ok)
	}
	if n, ok := orbax.Lookup("v1.nothing"); ok {
		t.Errorf("got %v", n)
	}
}
