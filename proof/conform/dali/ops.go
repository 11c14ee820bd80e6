package dali

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
)

// runOps computes a case of ops by a pipeline as DALI did: an external source for
// each input and each argument that differs by sample, then the operator or the
// expression; batches are not made ahead.
func runOps(ctx context.Context, set *dalivec.Set, c *dalivec.Case) (dalivec.Results, error) {
	inputs, err := set.Inputs(c)
	if err != nil {
		return nil, err
	}
	seed := c.Seed()
	o := daliOptions(c.Batch, &seed)
	o.Prefetch, o.ExecPipelined, o.ExecAsync = 1, dali.Off, dali.Off
	p, err := newPipeline(ctx, o, func(b *pipeline.Builder) ([]pipeline.Node, error) {
		g := &grapher{b: b}
		names := map[string]any{}
		var nodes []any
		for i, samples := range inputs {
			n, err := g.source(samples)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
			names[string(rune('a'+i))] = n
		}
		m := &machine{set: set, names: names, host: g}
		var out any
		if c.Op != "" {
			out, err = callOperator(m, g, c, nodes)
		} else {
			out, err = m.eval(c.AST)
		}
		if err != nil {
			return nil, err
		}
		return g.outputs(out)
	})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	var results dalivec.Results
	for range c.Iters {
		b, err := p.Run(ctx, nil)
		if err != nil {
			return nil, err
		}
		results = append(results, samplesOf(b))
	}
	return results, nil
}

// callOperator applies the operator of a case to its inputs. An argument that
// differs by sample comes from an external source of its own.
func callOperator(m *machine, g *grapher, c *dalivec.Case, inputs []any) (any, error) {
	args := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(c.Args)) {
		samples, ok, err := dalivec.Samples(c.Args[name])
		switch {
		case err != nil:
		case ok:
			args[name], err = g.source(samples)
		default:
			args[name], err = dalivec.Constant(c.Args[name])
		}
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", name, err)
		}
	}
	return g.operator(m, c.Op, inputs, args)
}

// opsCases are the cases of ops: a single operator or an expression.
func opsCases(set *dalivec.Set) ([]suite.Case, error) {
	groups, err := set.Groups()
	var all []suite.Case
	for _, g := range groups {
		cases, err := set.Cases(g)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			name := path.Join("ops", g, c.Name)
			all = append(all, suite.Case{
				Name: name, Family: "ops", Path: name, Operators: OperatorsOf(c),
				Run: func(ctx context.Context, r *suite.Report) {
					if !skipOperator(r, OperatorsOf(c)...) {
						settle(r, judgeFiles(ctx, c, func() dalivec.Verdict {
							return set.Judge(c, func() (dalivec.Results, error) { return runOps(ctx, set, c) })
						}))
					}
				},
			})
		}
	}
	return all, err
}

// OperatorsOf names the operators of a case: its own, or those that its expression calls.
func OperatorsOf(c *dalivec.Case) []string {
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
			for _, name := range indexOperators(n) {
				add(name)
			}
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

// indexOperators names the operators that an index of a node becomes, as DALI's DataNode does it.
func indexOperators(n []any) []string {
	if len(n) < 2 {
		return nil
	}
	if of, _ := n[0].([]any); text(of, 0) == "call" && text(of, 1) == "fn._conditional.split" {
		return nil // one of its outputs
	}
	indices, _ := n[1].([]any)
	var names []string
	last := false
	for _, x := range indices {
		i, _ := x.([]any)
		last = text(i, 0) == "call" && text(i, 1) == "newaxis"
		whole := last || text(i, 0) == "slice" && !slices.ContainsFunc(i[1:], func(p any) bool { return p != nil }) ||
			text(i, 0) == "const" && len(i) == 2 && i[1] == nil
		if last && !slices.Contains(names, "expand_dims") {
			names = append(names, "expand_dims")
		}
		if !whole && !slices.Contains(names, "_tensor_subscript") {
			names = append(names, "_tensor_subscript")
		}
	}
	if !last && !slices.Contains(names, "_tensor_subscript") {
		names = append(names, "_subscript_dim_check")
	}
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
