// Package dali is the suite of cases that DALI recorded: operators, orders, random numbers,
// checkpoints, graphs, dynamic mode and errors.
package dali

import (
	"errors"
	"io/fs"
	"slices"

	_ "github.com/bivouac-ml/bivouac/pipeline" // registers the operators
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// Suite has the sections of the vectors that DALI made as families: ops, …
// The README of the vectors says what a case is. What needs an operator, a reader
// or a codec that this build lacks is skipped, by that name.
var Suite = suite.Suite{Cases: Cases, Divergences: Divergences(), Counted: true}

// daliSections list the cases of each section; a section whose files are not
// there, as in an excerpt, has none.
var daliSections = []func(set *dalivec.Set) ([]suite.Case, error){
	opsCases, orderCases, rngCases, ckptCases, generatorCases, dynamicReaderCases, ruleCases, graphCases, execCases, errorCases, dynamicCases, dynamicRngCases,
}

// Cases returns the cases in a folder, by section.
func Cases(dir string) ([]suite.Case, error) {
	set, err := dalivec.Open(dir)
	if err != nil {
		return nil, err
	}
	var all []suite.Case
	for _, section := range daliSections {
		cases, err := section(set)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		all = append(all, cases...)
	}
	return all, nil
}

// Divergences are the kinds that docs/compat/dali.md lists, under "Divergences".
func Divergences() []string {
	return slices.Concat(dalivec.Divergences(), []string{"restore_checked", "compile_time", "executor_statistics",
		"compiled_checkpoint"})
}

// settle makes a verdict the report's.
func settle(r *suite.Report, v dalivec.Verdict) {
	switch v.Status {
	case dalivec.Failed:
		r.Fail("%s", v.Reason)
	case dalivec.Skipped:
		r.Skip = v.Kind + ": " + v.Reason
	case dalivec.Divergent:
		r.Diverge(v.Kind, "%s", v.Reason)
	}
}
