package orbax

import (
	"context"
	"encoding/json"
	"fmt"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// PureSuite has one case for each entry of the JSON arrays in the folder. The
// name of a file is the family; one that pureFamilies lacks fails as a whole.
var PureSuite = suite.Suite{Cases: pureCases, Ignored: map[string]string{}}

// pureFamilies hold one case against the rules of the product.
var pureFamilies = map[string]func(r *suite.Report, o *suite.Object){
	"policies":  comparePreservation,
	"decisions": compareDecision,
	"names":     compareNames,
	"chunks":    compareChunks,
	"merge":     compareMerge,
}

func pureCases(dir string) ([]suite.Case, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var cases []suite.Case
	for _, file := range files {
		family := strings.TrimSuffix(filepath.Base(file), ".json")
		compare, ok := pureFamilies[family]
		if !ok {
			cases = append(cases, suite.Failing(family, fmt.Sprintf("unknown family %q", family)))
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var entries []json.RawMessage
		if err := json.Unmarshal(b, &entries); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(entries) == 0 {
			cases = append(cases, suite.Failing(family, "no cases"))
		}
		for i, entry := range entries {
			name := family + "/" + strconv.Itoa(i)
			cases = append(cases, suite.Case{
				Name: name, Family: family, Path: name, Core: true,
				Run: func(_ context.Context, r *suite.Report) { runPure(r, entry, compare) },
			})
		}
	}
	return cases, nil
}

func runPure(r *suite.Report, entry json.RawMessage, compare func(*suite.Report, *suite.Object)) {
	m, err := suite.Decode(entry)
	if err != nil {
		r.Fail("%v", err)
		return
	}
	o := suite.NewObject(r, "", m)
	o.Text = entry
	compare(r, o)
	o.Done()
	if len(r.Failures) > 0 {
		r.Fail("the case: %s", entry)
	}
}

// verdict compares an answer with the members result and error of a case: one
// of them is there. What the error says is not compared.
func verdict[T any](r *suite.Report, o *suite.Object, got T, err error) {
	refused := o.Has("error") && o.Get("error") != nil
	want := o.Get("result")
	switch {
	case refused == o.Has("result"):
		r.Fail("%swant either a result or an error", o.Where)
	case refused && err == nil:
		r.Fail("%sgot %v, want a refusal (%v)", o.Where, got, o.Get("error"))
	case !refused && err != nil:
		r.Fail("%s%v, want %v", o.Where, err, want)
	case !refused:
		b, err := json.Marshal(got)
		if err != nil {
			r.Fail("%s%v", o.Where, err)
			return
		}
		if have, err := suite.ParseJSON(b); err != nil || !suite.SameJSON(have, want) {
			r.Fail("%sgot %s, want %v", o.Where, b, want)
		}
	}
}
