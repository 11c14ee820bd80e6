package dali

import (
	"context"
	"fmt"
	"path"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// dynamicRngCases are the cases of rng again: each call draws from where the operator of DALI's
// pipeline stood before that iteration.
func dynamicRngCases(set *dalivec.Set) ([]suite.Case, error) {
	files, err := filepath.Glob(set.Path("rng/*.json"))
	if err != nil {
		return nil, err
	}
	var all []suite.Case
	for _, file := range files {
		c := &rngCase{}
		if err := dalivec.ReadJSON(file, c); err != nil {
			return nil, err
		}
		name := path.Join("dynamic/rng", c.Name)
		all = append(all, suite.Case{Name: name, Family: "dynamic", Path: name,
			Run: func(ctx context.Context, r *suite.Report) {
				if !skipOperator(r, c.Params.Op) {
					settle(r, dalivec.JudgeRun(c.Error, func() error { return c.draw(ctx, set) }))
				}
			}})
	}
	return all, nil
}

// draw holds the case against calls in dynamic mode.
func (c *rngCase) draw(ctx context.Context, set *dalivec.Set) error {
	for i := range max(1, len(c.Iterations)) {
		var got [][]tensor.Tensor
		for k := range max(1, c.Params.Copies) {
			out, err := c.call(ctx, i, k)
			if err != nil {
				return err
			}
			got = append(got, out...)
		}
		if c.Error != nil {
			return nil // which the judge takes for a failure
		}
		subject := dalivec.Subject{Section: "rng", Op: c.Params.Op, Args: c.Params.Args}
		if err := compareBatch(set, got, c.Iterations[i], subject); err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
	}
	return nil
}

// call calls copy k of the operator as in an iteration.
func (c *rngCase) call(ctx context.Context, iteration, k int) ([][]tensor.Tensor, error) {
	inputs, args, err := c.operands()
	if err != nil {
		return nil, err
	}
	h := &caller{ctx: ctx, size: c.Params.BatchSize, sample: -1, at: &rng.Philox{}}
	if iteration < len(c.States) {
		states := c.States[iteration] // one where DALI made one operator of copies that have the same seed
		if len(states) == 0 {
			return nil, fmt.Errorf("no state before iteration %d", iteration)
		}
		if *h.at, err = rng.ParsePhilox(states[min(k, len(states)-1)][1]); err != nil {
			return nil, err
		}
	}
	out, err := h.operator(nil, c.Params.Op, inputs, args)
	if err != nil {
		return nil, err
	}
	return h.samples(out)
}
