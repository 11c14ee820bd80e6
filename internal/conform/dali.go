package main

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/internal/dalivec"
	_ "github.com/bivouac-ml/bivouac/pipeline" // registers the operators
)

// daliSuite has the sections of the vectors that DALI made as families: ops, …
// The README of the vectors says what a case is. What needs an operator, a reader
// or a codec that this build lacks is skipped, by that name.
var daliSuite = suite{cases: daliCases, divergences: daliDivergences(), counted: true}

// daliSections list the cases of each section; a section whose files are not
// there, as in an excerpt, has none.
var daliSections = []func(set *dalivec.Set) ([]testCase, error){opsCases, orderCases, rngCases}

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
func daliDivergences() []string { return slices.Concat(dalivec.Divergences()) }

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

// opsCases are the cases of ops: a single operator or an expression.
func opsCases(set *dalivec.Set) ([]testCase, error) {
	groups, err := set.Groups()
	var all []testCase
	for _, g := range groups {
		cases, err := set.Cases(g)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			name := path.Join("ops", g, c.Name)
			all = append(all, testCase{
				name: name, family: "ops", path: name, operators: operatorsOf(c),
				run: func(_ context.Context, r *report) {
					if c.Op == "" {
						r.skip = "expression: is not computed"
						return
					}
					r.take(set.Run(c))
				},
			})
		}
	}
	return all, err
}

// operatorsOf names the operators of a case: its own, or those that its expression calls.
func operatorsOf(c *dalivec.Case) []string {
	if c.Op != "" {
		return []string{c.Op}
	}
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	visit(c.AST, func(kind string, n []any) {
		switch kind {
		case "bin", "un", "cmp":
			add("_arithmetic_generic_op")
		case "index":
			add("_tensor_subscript")
		case "call":
			if f, ok := n[0].(string); !ok {
				return
			} else if op, ok := strings.CutPrefix(f, "fn."); ok {
				add(op)
			} else if strings.HasPrefix(f, "math.") {
				add("_arithmetic_generic_op")
			} else if f == "types.Constant" {
				add("constant")
			} else if strings.HasSuffix(f, ".shape") {
				add("_shape")
			}
		}
	})
	return names
}

// visit calls f for each node of an expression: its kind and what follows it.
func visit(x any, f func(kind string, rest []any)) {
	switch x := x.(type) {
	case []any:
		if len(x) == 0 {
			return
		}
		rest := x
		if kind, ok := x[0].(string); ok {
			f(kind, x[1:])
			rest = x[1:]
		}
		for _, y := range rest {
			visit(y, f)
		}
	case map[string]any:
		for _, y := range x {
			visit(y, f)
		}
	}
}
