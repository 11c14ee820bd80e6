package dali

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// dynamicCases are the cases of ops and rng again, each operator called in dynamic mode with
// the generator that DALI's pipeline gave it.
func dynamicCases(set *dalivec.Set) ([]suite.Case, error) {
	groups, err := set.Groups()
	if err != nil {
		return nil, err
	}
	var all []suite.Case
	for _, g := range groups {
		cases, err := set.Cases(g)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			if hasBranches(c) {
				continue
			}
			name := path.Join("dynamic", g, c.Name)
			all = append(all, suite.Case{Name: name, Family: "dynamic", Path: name,
				Run: func(ctx context.Context, r *suite.Report) {
					if !skipOperator(r, OperatorsOf(c)...) {
						settle(r, judgeFiles(ctx, c, func() dalivec.Verdict {
							return set.Judge(c, func() (dalivec.Results, error) { return callOps(ctx, set, c) })
						}))
					}
				}})
		}
	}
	return all, nil
}

// hasBranches reports whether a case uses operators of conditionals, which dynamic mode has not.
func hasBranches(c *dalivec.Case) bool {
	return slices.ContainsFunc(OperatorsOf(c), func(name string) bool { return strings.HasPrefix(name, "_conditional.") })
}

// callOps computes a case of ops in dynamic mode, on batches.
func callOps(ctx context.Context, set *dalivec.Set, c *dalivec.Case) (dalivec.Results, error) {
	return callSamples(ctx, set, c, -1)
}

// callSamples computes a case on batches or, where sample is not negative, on that sample alone.
func callSamples(ctx context.Context, set *dalivec.Set, c *dalivec.Case, sample int) (dalivec.Results, error) {
	inputs, err := set.Inputs(c)
	if err != nil {
		return nil, err
	}
	h := &caller{ctx: ctx, size: c.Batch, sample: sample, words: dali.PipelineSeeds(c.Seed())}
	if sample >= 0 {
		h.size = 0
	}
	names := map[string]any{}
	var values []any
	for i, samples := range inputs {
		v := h.given(samples)
		values = append(values, v)
		names[string(rune('a'+i))] = v
	}
	var results dalivec.Results
	for i := range c.Iters {
		h.sequence, h.drawn = uint64(i*c.Batch), 0
		m := &machine{set: set, names: names, host: h}
		var out any
		if c.Op != "" {
			out, err = h.callCase(m, c, values)
		} else {
			out, err = m.eval(c.AST)
		}
		if err != nil {
			return nil, err
		}
		samples, err := h.samples(out)
		if err != nil {
			return nil, err
		}
		results = append(results, samples)
	}
	return results, nil
}

// caller is the host that calls operators of dynamic mode.
type caller struct {
	ctx      context.Context
	size     int // of batches that no input tells the size of; 0 for Tensors
	sample   int // that Tensors are of
	words    [1024]uint32
	drawn    int         // words that were given to operators
	sequence uint64      // of the generators
	at       *rng.Philox // where operators draw from, in place of all that
}

// given is a Batch of recorded samples, or the Tensor of one.
func (h *caller) given(samples []tensor.Tensor) dynamic.Value {
	if h.sample >= 0 {
		return dynamic.TensorOf(samples[h.sample])
	}
	return dynamic.BatchOf(samples)
}

// place is a generator that stands there at every call.
type place struct{ rng.Philox }

// Draw implements dynamic.Draw.
func (p place) Draw() rng.Philox { return p.Philox }

// draw returns the generator that DALI's pipeline gives the next operator, which may have a seed.
func (h *caller) draw(seed any) place {
	if h.at != nil {
		return place{*h.at}
	}
	if s, ok := seed.(int); ok && s != -1 {
		return place{rng.NewPhilox(uint64(s), h.sequence, 0)}
	}
	w := h.words[h.drawn%len(h.words)]
	h.drawn++
	return place{rng.NewPhilox(uint64(w), h.sequence, 0)}
}

// callCase applies the operator of a case to its inputs.
func (h *caller) callCase(m *machine, c *dalivec.Case, inputs []any) (any, error) {
	args := map[string]any{}
	for name, v := range c.Args {
		samples, ok, err := dalivec.Samples(v)
		switch {
		case err != nil:
		case ok:
			args[name] = h.given(samples)
		default:
			args[name], err = dalivec.Constant(v)
		}
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", name, err)
		}
	}
	return h.operator(m, c.Op, inputs, args)
}

// operator calls an operator on a batch: its output, or a list when there are several.
func (h *caller) operator(_ *machine, name string, inputs []any, kw map[string]any) (any, error) {
	s, err := op.Lookup(name)
	if err != nil {
		return nil, err
	}
	call := dynamic.Call{Op: name, Batch: h.size}
	args := op.Args{}
	for k, v := range kw {
		if t, ok := v.(tensor.Tensor); ok {
			c, err := h.constant(constantOf(t))
			if err != nil {
				return nil, err
			}
			v = c
		}
		args[k] = v
	}
	if s.Random {
		call.Draw = h.draw(args["seed"])
		delete(args, "seed")
	}
	call.Args = args
	for _, in := range inputs {
		v, err := h.value(in)
		if err != nil {
			return nil, err
		}
		call.Inputs = append(call.Inputs, v)
	}
	return listed(dynamic.Invoke(h.ctx, call))
}

// listed is a value alone, or a list of several.
func listed(out []dynamic.Value) (any, error) {
	list := make([]any, len(out))
	for i, v := range out {
		if err := v.Err(); err != nil {
			return nil, err
		}
		list[i] = v
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

// value makes an operand a value.
func (h *caller) value(v any) (dynamic.Value, error) {
	switch v := v.(type) {
	case dynamic.Value:
		return v, nil
	case tensor.Tensor:
		return h.constant(constantOf(v))
	}
	c, ok := v.(pipeline.Constant)
	if !ok {
		var err error
		if c, err = typesConstant(v, nil); err != nil {
			return nil, err
		}
	}
	return h.constant(c)
}

// samples waits for what an expression gave: [output][sample].
func (h *caller) samples(v any) ([][]tensor.Tensor, error) {
	switch v := v.(type) {
	case dynamic.Value:
		list, err := samplesOfValue(h.ctx, v)
		if err != nil {
			return nil, err
		}
		if _, one := v.(*dynamic.Tensor); one { // of an expression of constants alone
			for len(list) < h.size {
				list = append(list, list[0])
			}
		}
		return [][]tensor.Tensor{list}, nil
	case []any:
		var all [][]tensor.Tensor
		for _, x := range v {
			s, err := h.samples(x)
			if err != nil {
				return nil, err
			}
			all = append(all, s...)
		}
		return all, nil
	case tuple:
		return h.samples([]any(v))
	}
	x, err := h.value(v)
	if err != nil {
		return nil, err
	}
	return h.samples(x)
}
