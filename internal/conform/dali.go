package main

import (
	"errors"
	"io/fs"
	"slices"

	_ "github.com/bivouac-ml/bivouac/pipeline" // registers the operators
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// daliSuite has the sections of the vectors that DALI made as families: ops, …
// The README of the vectors says what a case is. What needs an operator, a reader
// or a codec that this build lacks is skipped, by that name.
var daliSuite = suite{cases: daliCases, divergences: daliDivergences(), counted: true}

// daliSections list the cases of each section; a section whose files are not
// there, as in an excerpt, has none.
var daliSections = []func(set *dalivec.Set) ([]testCase, error){
	opsCases, orderCases, rngCases, ckptCases, generatorCases, dynamicReaderCases, ruleCases, graphCases, execCases, errorCases, dynamicCases, dynamicRngCases,
}

func daliCases(dir string) ([]testCase, error) {
	set, err := dalivec.Open(dir)
	if err != nil {
		return nil, err
	}
	var all []testCase
	for _, section := range daliSections {
		cases, err := section(set)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		all = append(all, cases...)
	}
	return all, nil
}

// daliDivergences are the kinds that docs/compat/dali.md lists, under "Divergences".
func daliDivergences() []string {
	return slices.Concat(dalivec.Divergences(), []string{"restore_checked", "compile_time", "executor_statistics", "no_audio", "compiled_checkpoint"})
}

// take makes a verdict the report's.
func (r *report) take(v dalivec.Verdict) {
	switch v.Status {
	case dalivec.Failed:
		r.fail("%s", v.Reason)
	case dalivec.Skipped:
		r.skip = v.Kind + ": " + v.Reason
	case dalivec.Divergent:
		r.diverge(v.Kind, "%s", v.Reason)
	}
}
