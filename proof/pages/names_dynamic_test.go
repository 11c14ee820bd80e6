package pages

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/pipeline/fn" // enters the operators
	"github.com/bivouac-ml/bivouac/proof/declared"
)

var part = regexp.MustCompile(`(^|[._])(\w)`)

// goName is how an operator is called in package fn, or random.
func goName(operator string) string {
	operator, found := strings.CutPrefix(operator, "random.")
	name := part.ReplaceAllStringFunc(operator,
		func(s string) string { return strings.ToUpper(strings.TrimLeft(s, "._")) })
	if found {
		return "random." + name
	}
	return "fn." + name
}

// Every public name of DALI's dynamic mode has its row, and every operator that there is its
// function.
func TestNamesOfDynamicMode(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(module, "docs", "compat", "dali-dynamic.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range quoted.FindAllStringSubmatch(string(text), -1) {
		listed[strings.TrimPrefix(m[1], "ndd.")] = true
	}
	names, err := os.ReadFile(filepath.Join("testdata", "dali-dynamic-names.txt"))
	if err != nil {
		t.Fatal(err)
	}
	functions := 0
	inGo := declared.In(module)
	for name := range strings.FieldsSeq(string(names)) {
		if !listed[name] {
			t.Errorf("%s is not in the document", name)
		}
		switch _, err := op.Lookup(name); {
		case errors.Is(err, errs.NotFound), errors.Is(err, errs.Unsupported): // no operator, or one that is not there yet
			continue
		case err != nil:
			t.Error(err)
		}
		functions++
		if err := inGo.Check(goName(name)); err != nil {
			t.Error(err)
		}
	}
	if functions < 80 {
		t.Errorf("%d operators", functions)
	}
}
