package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// pureSuite has one case for each entry of the JSON arrays in the folder. The
// name of a file is the family; one that pureFamilies lacks fails as a whole.
var pureSuite = suite{cases: pureCases, ignored: map[string]string{}}

// pureFamilies hold one case against the rules of the product.
var pureFamilies = map[string]func(r *report, o *object){
	"policies":  comparePreservation,
	"decisions": compareDecision,
	"names":     compareNames,
	"chunks":    compareChunks,
	"merge":     compareMerge,
}

func pureCases(dir string) ([]testCase, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	var cases []testCase
	for _, file := range files {
		family := strings.TrimSuffix(filepath.Base(file), ".json")
		compare, ok := pureFamilies[family]
		if !ok {
			cases = append(cases, failing(family, fmt.Sprintf("unknown family %q", family)))
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
			cases = append(cases, failing(family, "no cases"))
		}
		for i, entry := range entries {
			name := family + "/" + strconv.Itoa(i)
			cases = append(cases, testCase{
				name: name, family: family, path: name, core: true,
				run: func(_ context.Context, r *report) { runPure(r, entry, compare) },
			})
		}
	}
	return cases, nil
}

func runPure(r *report, entry json.RawMessage, compare func(*report, *object)) {
	m, err := decode(entry)
	if err != nil {
		r.fail("%v", err)
		return
	}
	o := newObject(r, "", m)
	o.text = entry
	compare(r, o)
	o.done()
	if len(r.failures) > 0 {
		r.fail("the case: %s", entry)
	}
}

// verdict compares an answer with the members result and error of a case: one
// of them is there. What the error says is not compared.
func verdict[T any](r *report, o *object, got T, err error) {
	refused := o.has("error") && o.get("error") != nil
	want := o.get("result")
	switch {
	case refused == o.has("result"):
		r.fail("%swant either a result or an error", o.where)
	case refused && err == nil:
		r.fail("%sgot %v, want a refusal (%v)", o.where, got, o.get("error"))
	case !refused && err != nil:
		r.fail("%s%v, want %v", o.where, err, want)
	case !refused:
		b, err := json.Marshal(got)
		if err != nil {
			r.fail("%s%v", o.where, err)
			return
		}
		if have, err := parseJSON(b); err != nil || !sameJSON(have, want) {
			r.fail("%sgot %s, want %v", o.where, b, want)
		}
	}
}
