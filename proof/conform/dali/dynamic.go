package dali

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// generatorCase is a file rng_*.json of ckpt/dynamic: what is done with a generator of dynamic
// mode, and where it stands then.
type generatorCase struct {
	Params struct {
		Name string
		Seed json.Number // of 64 bits, with a sign or without one
	}
	Initial string
	Steps   []generatorStep
}

type generatorStep struct {
	Op          string
	Args, Value json.RawMessage
	StateAfter  string `json:"state_after"`
}

func generatorCases(set *dalivec.Set) ([]suite.Case, error) {
	files, err := filepath.Glob(set.Path("ckpt/dynamic/rng_*.json"))
	if err != nil {
		return nil, err
	}
	var all []suite.Case
	for _, file := range files {
		c := &generatorCase{}
		if err := dalivec.ReadJSON(file, c); err != nil {
			return nil, err
		}
		name := path.Join("ckpt/dynamic", c.Params.Name)
		all = append(all, suite.Case{Name: name, Family: "ckpt", Path: name, Run: func(ctx context.Context, r *suite.Report) {
			settle(r, dalivec.JudgeRun(nil, func() error { return c.run(ctx, set) }))
		}})
	}
	return all, nil
}

func (c *generatorCase) run(ctx context.Context, set *dalivec.Set) error {
	seed, err := strconv.ParseUint(string(c.Params.Seed), 10, 64)
	if err != nil {
		signed, err := strconv.ParseInt(string(c.Params.Seed), 10, 64)
		if err != nil {
			return err
		}
		seed = uint64(signed)
	}
	g := random.New(seed)
	if s := g.State().String(); s != c.Initial {
		return fmt.Errorf("at first %s, want %s", s, c.Initial)
	}
	for i := range c.Steps {
		step := &c.Steps[i]
		if err := step.run(ctx, set, g); err != nil {
			return fmt.Errorf("step %d, %s: %w", i, step.Op, err)
		}
		if s := g.State().String(); s != step.StateAfter {
			return fmt.Errorf("after step %d, %s: %s, want %s", i, step.Op, s, step.StateAfter)
		}
	}
	return nil
}

func (s *generatorStep) run(ctx context.Context, set *dalivec.Set, g *random.RNG) error {
	if s.Op != "call" && s.Op != "advance" && s.Op != "clone" {
		return s.draw(ctx, set, g)
	}
	var n uint64
	if err := json.Unmarshal(s.Args, &n); err != nil {
		return err
	}
	if s.Op == "advance" {
		g.Advance(n)
		return nil
	}
	if s.Op == "clone" {
		g = g.Clone()
	}
	var want, got []uint32
	if err := json.Unmarshal(s.Value, &want); err != nil {
		return err
	}
	for range n {
		got = append(got, g.Uint32())
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%v, want %v", got, want)
	}
	return nil
}

// draw holds what an operator draws against the record: a sample, or a list of them.
func (s *generatorStep) draw(ctx context.Context, set *dalivec.Set, g *random.RNG) error {
	parsed, err := suite.ParseJSON(s.Args)
	if err != nil {
		return err
	}
	given, _ := parsed.(map[string]any)
	size, batched := 0, given["batch_size"] != nil
	if batched {
		if size, err = strconv.Atoi(fmt.Sprint(given["batch_size"])); err != nil {
			return err
		}
		delete(given, "batch_size")
	}
	args := op.Args{}
	for name, v := range given {
		if args[name], err = dalivec.Constant(v); err != nil {
			return err
		}
	}
	dec := json.NewDecoder(bytes.NewReader(s.Value))
	dec.UseNumber()
	want := make([]dalivec.Value, 1)
	if batched {
		err = dec.Decode(&want)
	} else {
		err = dec.Decode(&want[0])
	}
	if err != nil {
		return err
	}
	out := dynamic.Invoke(ctx, dynamic.Call{Op: "random." + s.Op, Args: args, Draw: g, Batch: size})
	got, err := samplesOfValue(ctx, out[0])
	if err != nil {
		return err
	}
	return compareBatch(set, [][]tensor.Tensor{got}, [][]dalivec.Value{want},
		dalivec.Subject{Section: "ckpt", Op: "random." + s.Op})
}

// samplesOfValue waits for the samples of a value of dynamic mode: of a Tensor there is one.
func samplesOfValue(ctx context.Context, v dynamic.Value) ([]tensor.Tensor, error) {
	switch v := v.(type) {
	case *dynamic.Tensor:
		t, err := v.Tensor(ctx)
		return []tensor.Tensor{t}, err
	case *dynamic.Batch:
		return v.Samples(ctx)
	}
	return nil, fmt.Errorf("a value of type %T", v)
}

// evalMode is an entry of dynamic_eval_modes: a * 2 + 1 of an array, and where the error of a
// slice out of bounds shows.
type evalMode struct {
	OK    bool
	Value struct {
		Value []int32
		DType string
		Error []*string // what the call raised or "no error at call", kind of the exception, text
	}
}

func (c *evalMode) run(ctx context.Context, mode string) error {
	m, err := dynamic.ParseMode(mode)
	if err != nil {
		return err
	}
	ctx = dynamic.WithMode(ctx, m)
	sum := fn.Add(ctx, fn.Mul(ctx, dynamic.TensorOf([]int32{1, 2, 3}), 2), 1)
	got, err := dynamic.Slice[int32](ctx, sum)
	if err != nil {
		return err
	}
	if !slices.Equal(got, c.Value.Value) || c.Value.DType != "i32" {
		return fmt.Errorf("%v, want %v of %s", got, c.Value.Value, c.Value.DType)
	}
	window := dynamic.Invoke(ctx, dynamic.Call{
		Op: "slice", Args: op.Args{"start": []int{5, 5}, "shape": []int{9, 9}, "axes": []int{0, 1}},
		Inputs: []dynamic.Value{dynamic.TensorOf(tensor.New(tensor.Uint8, 3, 3))},
	})[0]
	if later := c.Value.Error[0] != nil; later == (window.Err() != nil) {
		return fmt.Errorf("error at the call: %v; later: %t", window.Err(), later)
	}
	err = window.Evaluate(ctx)
	return dalivec.SameKind(&dalivec.Raised{Type: *c.Value.Error[1], Message: *c.Value.Error[2]}, err)
}
