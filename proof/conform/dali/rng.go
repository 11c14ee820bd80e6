package dali

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// rngCase is a file of rng: what a random operator gives, and its states.
type rngCase struct {
	Name   string
	Params struct {
		Op         string
		BatchSize  int    `json:"batch_size"`
		NumThreads int    `json:"num_threads"`
		PipeSeed   *int64 `json:"pipe_seed"`
		Copies     int
		Pos        any
		Input      *struct {
			Shape    tensor.Shape
			DType    string
			Mul, Mod *int
		}
		Args map[string]any
	}
	Iterations [][][]dalivec.Value // [iteration][output][sample]
	States     [][][2]string       // before each iteration and after the last: name and state of the operators
	Error      *dalivec.Raised
}

// readRng reads all files of rng.
func readRng(set *dalivec.Set) ([]*rngCase, error) {
	files, err := filepath.Glob(set.Path("rng/*.json"))
	if err != nil {
		return nil, err
	}
	var all []*rngCase
	for _, file := range files {
		c := &rngCase{}
		if err := dalivec.ReadJSON(file, c); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func rngCases(set *dalivec.Set) ([]suite.Case, error) {
	cases, err := readRng(set)
	if err != nil {
		return nil, err
	}
	var all []suite.Case
	for _, c := range cases {
		name := path.Join("rng", c.Name)
		all = append(all, suite.Case{
			Name: name, Family: "rng", Path: name, Operators: []string{c.Params.Op},
			Run: func(ctx context.Context, r *suite.Report) {
				if !skipOperator(r, c.Params.Op) {
					settle(r, dalivec.JudgeRun(c.Error, func() error { return c.run(ctx, set) }))
				}
			},
		})
	}
	return all, nil
}

// run holds the case against a pipeline.
func (c *rngCase) run(ctx context.Context, set *dalivec.Set) error {
	o := daliOptions(c.Params.BatchSize, c.Params.PipeSeed)
	o.EnableCheckpointing, o.Workers = true, max(1, c.Params.NumThreads)
	p, err := newPipeline(ctx, o, func(b *pipeline.Builder) ([]pipeline.Node, error) { return c.define(&grapher{b: b}) })
	if err != nil {
		return err
	}
	defer p.Close()
	for i, want := range c.States {
		states, err := randomStates(p)
		if err != nil {
			return err
		}
		if !slices.Equal(states, want) {
			return fmt.Errorf("states before iteration %d: %v, want %v", i, states, want)
		}
		if i == len(c.Iterations) {
			break
		}
		got, err := takeBatches(ctx, p, 1)
		if err != nil {
			return err
		}
		subject := dalivec.Subject{Section: "rng", Op: c.Params.Op, Args: c.Params.Args}
		if err := compareBatch(set, got[0], c.Iterations[i], subject); err != nil {
			return fmt.Errorf("iteration %d: %w", i, err)
		}
	}
	return nil
}

// define appends the operator as often as the case has copies.
func (c *rngCase) define(g *grapher) ([]pipeline.Node, error) {
	var all []pipeline.Node
	for range max(1, c.Params.Copies) {
		inputs, args, err := c.operands()
		if err != nil {
			return nil, err
		}
		out, err := g.operator(nil, c.Params.Op, inputs, args)
		if err != nil {
			return nil, err
		}
		all = append(all, nodesOf(out)...)
	}
	return all, nil
}

// operands are the inputs and arguments of the operator.
func (c *rngCase) operands() (inputs []any, args map[string]any, err error) {
	args = map[string]any{}
	for name, v := range c.Params.Args {
		if name == "dtype" {
			v = map[string]any{"type": v}
		}
		if args[name], err = dalivec.Constant(v); err != nil {
			return nil, nil, err
		}
	}
	var in any
	switch {
	case c.Params.Input != nil:
		in, err = c.input()
	case c.Params.Pos != nil:
		in, err = dalivec.Constant(c.Params.Pos)
	default:
		return nil, args, nil
	}
	return []any{in}, args, err
}

// input is the constant that noise is added to: k*mul % mod for k = 0, 1, …
func (c *rngCase) input() (tensor.Tensor, error) {
	in := c.Params.Input
	mul, mod := 1, 256
	if in.Mul != nil {
		mul = *in.Mul
	}
	if in.Mod != nil {
		mod = *in.Mod
	}
	var list []any
	for k := range in.Shape.Len() {
		list = append(list, json.Number(strconv.Itoa(k*mul%mod)))
	}
	t, err := dalivec.Literal(list, in.DType)
	if err != nil {
		return t, err
	}
	return t.Reshape(in.Shape...)
}

// nodesOf lists the nodes of a value: one, or a list of them.
func nodesOf(v any) []pipeline.Node {
	switch v := v.(type) {
	case pipeline.Node:
		return []pipeline.Node{v}
	case []any:
		var all []pipeline.Node
		for _, x := range v {
			all = append(all, nodesOf(x)...)
		}
		return all
	case tuple:
		return nodesOf([]any(v))
	}
	return nil
}

// randomStates returns the states of random operators in a checkpoint of p.
func randomStates(p *dali.Pipeline) ([][2]string, error) {
	b, err := p.AppendState(nil)
	if err != nil {
		return nil, err
	}
	checkpoint, err := stateproto.Parse(b)
	if err != nil {
		return nil, err
	}
	states := [][2]string{}
	for i := range checkpoint.Ops {
		o := &checkpoint.Ops[i]
		if text := string(o.State); strings.HasPrefix(text, "Philox_") {
			states = append(states, [2]string{o.Name, text})
		}
	}
	return states, nil
}

// compareBatch holds the outputs of a batch against what is recorded of them.
func compareBatch(set *dalivec.Set, got [][]tensor.Tensor, want [][]dalivec.Value, subject dalivec.Subject) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d outputs, want %d", len(got), len(want))
	}
	for o := range want {
		if len(got[o]) != len(want[o]) {
			return fmt.Errorf("output %d: %d samples, want %d", o, len(got[o]), len(want[o]))
		}
		for s := range want[o] {
			if err := compareSample(set, got[o][s], want[o][s], subject, o); err != nil {
				return fmt.Errorf("output %d, sample %d: %w", o, s, err)
			}
		}
	}
	return nil
}

// compareSample holds a sample against a record that has numpy's names of dtypes and no layout.
func compareSample(set *dalivec.Set, got tensor.Tensor, want dalivec.Value, subject dalivec.Subject, output int) error {
	want, err := asRecorded(want)
	if err != nil {
		return err
	}
	subject.DType, subject.Output = want.DType, output
	want.Layout = got.Layout
	folder := path.Join("graph", subject.Graph)
	return set.CompareValue(got, &want, folder, set.Tolerance(subject))
}

// asRecorded gives a value that names its dtype as numpy does DALI's name.
func asRecorded(v dalivec.Value) (dalivec.Value, error) {
	if v.DType == "" {
		v.DType = "float32" // of the records that have bits alone
	}
	d, err := tensor.ParseDType(v.DType)
	if err != nil {
		return v, err
	}
	name, ok := d.DALI()
	if !ok {
		return v, fmt.Errorf("DALI has no %v", d)
	}
	v.DType = name
	return v, nil
}
