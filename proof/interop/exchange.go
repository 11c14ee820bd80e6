package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// request is what tools/interop/turns.py asks of Bivouac in a run, or for a
// checkpoint, that both sides write to in turn.
type request struct {
	Do   string `json:"do"` // the name of a member of exchanges
	Path string `json:"path"`

	// Of runs.
	Preserve training.PolicySpec `json:"preserve"`
	Names    struct {
		Prefix *string `json:"step_prefix"`
		Length int     `json:"step_format_fixed_length"`
	} `json:"names"`
	Custom json.RawMessage `json:"custom"`
	Saves  []stepSave      `json:"saves"`

	Leaves []leaf `json:"leaves"` // of a part, or an addition
}

// stepSave is one save of a run.
type stepSave struct {
	Step    int64              `json:"step"`
	Leaves  []leaf             `json:"leaves"`
	Data    json.RawMessage    `json:"data"`
	Proto   *string            `json:"proto"` // in text format
	Metrics map[string]float64 `json:"metrics"`
	Custom  json.RawMessage    `json:"custom"`
}

// runView is what is seen of a run; every side must see the same.
type runView struct {
	Steps  []stepView      `json:"steps"`
	Latest *int64          `json:"latest"`
	Best   *int64          `json:"best"`
	Custom json.RawMessage `json:"custom"`
}

type stepView struct {
	Step    int64              `json:"step"`
	Metrics map[string]float64 `json:"metrics"`
	Custom  json.RawMessage    `json:"custom"`
	Leaves  []leaf             `json:"leaves"`
	Data    json.RawMessage    `json:"data"`
	Proto   *string            `json:"proto"`
}

var exchanges = map[string]func(context.Context, request) (any, error){
	"save": saveSteps, "view": viewRun, "part": savePart, "finalize": finalizeParts, "update": updateTree, "load": loadTree,
}

// exchange answers a request: {"result": …} or {"error": kind, "text": …}.
func exchange(ctx context.Context, body []byte, out io.Writer) error {
	var q request
	if err := json.Unmarshal(body, &q); err != nil {
		return err
	}
	do, ok := exchanges[q.Do]
	if !ok {
		return fmt.Errorf("nothing named %q can be asked for", q.Do)
	}
	answer := map[string]any{}
	if result, err := do(ctx, q); err != nil {
		answer["error"], answer["text"] = errs.KindOf(err).String(), err.Error()
	} else {
		answer["result"] = result
	}
	return json.NewEncoder(out).Encode(answer)
}

func (q request) open(ctx context.Context) (*training.Checkpointer, error) {
	keep, err := q.Preserve.Preservation()
	if err != nil {
		return nil, err
	}
	o := &training.Options{Save: training.FixedInterval{Steps: 1}, Preserve: keep,
		Names: training.StandardNames{Prefix: q.Names.Prefix, FixedLength: q.Names.Length}}
	if len(q.Custom) > 0 {
		o.Custom = q.Custom
	}
	return training.Open(ctx, q.Path, o)
}

func saveSteps(ctx context.Context, q request) (result any, err error) {
	run, err := q.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := run.Close(); err == nil {
			err = cerr
		}
	}()
	var saved []bool
	for _, s := range q.Saves {
		state, err := treeOf(s.Leaves)
		if err != nil {
			return nil, err
		}
		o := &training.SaveOptions{Metrics: s.Metrics}
		if len(s.Custom) > 0 {
			o.Custom = s.Custom
		}
		items := map[string]any{"state": state, "data": s.Data}
		if s.Proto != nil {
			items["proto"] = checkpoint.ProtoText(*s.Proto)
		}
		did, err := run.SaveCheckpointables(ctx, s.Step, items, o)
		if err != nil {
			return nil, err
		}
		saved = append(saved, did)
	}
	return saved, nil
}

func viewRun(ctx context.Context, q request) (any, error) {
	run, err := q.open(ctx)
	if err != nil {
		return nil, err
	}
	defer run.Close() //nolint:errcheck // nothing was saved
	v := runView{Steps: []stepView{}}
	if v.Custom, err = run.RootMetadata(ctx); err != nil {
		return nil, err
	}
	for _, in := range run.Checkpoints() {
		s, err := viewStep(ctx, filepath.Join(q.Path, in.Directory), in)
		if err != nil {
			return nil, err
		}
		v.Steps = append(v.Steps, s)
	}
	if in, ok := run.Latest(); ok {
		v.Latest = &in.Step
	}
	if in, ok := run.Best(); ok {
		v.Best = &in.Step
	}
	return v, nil
}

func viewStep(ctx context.Context, path string, in training.Info) (stepView, error) {
	s := stepView{Step: in.Step, Metrics: in.Metrics, Custom: in.Custom}
	items, err := checkpoint.LoadCheckpointables(ctx, path, nil)
	if err != nil {
		return s, err
	}
	if state, ok := items["state"].(*tree.Node); ok {
		s.Leaves = describe(state)
	}
	s.Data, _ = items["data"].(json.RawMessage)
	if text, ok := items["proto"].(checkpoint.ProtoText); ok {
		t := string(text)
		s.Proto = &t
	}
	r, err := integrity.Verify(ctx, path, nil)
	if err == nil && !r.OK() {
		err = r.Problems[0]
	}
	return s, err
}

func savePart(ctx context.Context, q request) (any, error) {
	part, err := treeOf(q.Leaves)
	if err != nil {
		return nil, err
	}
	return true, partial.Save(ctx, q.Path, part, nil)
}

func finalizeParts(ctx context.Context, q request) (any, error) {
	return true, partial.Finalize(ctx, q.Path, nil)
}

func updateTree(ctx context.Context, q request) (any, error) {
	part, err := treeOf(q.Leaves)
	if err != nil {
		return nil, err
	}
	return true, checkpoint.Save(ctx, q.Path, part, &checkpoint.SaveOptions{PartialUpdate: true})
}

func loadTree(ctx context.Context, q request) (any, error) {
	n, err := checkpoint.Load(ctx, q.Path, nil)
	if err != nil {
		return nil, err
	}
	return describe(n), nil
}

// treeOf is the inverse of describe.
func treeOf(leaves []leaf) (*tree.Node, error) {
	var entries []tree.Entry
	for _, l := range leaves {
		var at tree.Path
		for i, k := range l.Keys {
			kind := tree.KeyDict
			if l.Kinds[i] == "index" {
				kind = tree.KeyIndex
			}
			at = append(at, tree.Key{Name: k, Kind: kind})
		}
		n, err := l.node()
		if err != nil {
			return nil, err
		}
		entries = append(entries, tree.Entry{Path: at, Node: n})
	}
	return tree.Unflatten(entries)
}

func (l leaf) node() (*tree.Node, error) {
	switch l.Kind {
	case "none":
		return tree.NewLeaf(nil), nil
	case "string":
		return tree.NewLeaf(l.text()), nil
	case "empty_dict":
		return tree.NewDict(), nil
	case "empty_list":
		return tree.NewList(), nil
	case "empty_tuple":
		return &tree.Node{Kind: tree.Tuple}, nil
	case "array", "scalar":
		d, err := tensor.ParseDType(l.DType)
		if err != nil {
			return nil, err
		}
		t := tensor.New(d, l.Shape...)
		if copy(t.Data, l.Data) != len(l.Data) || len(t.Data) != len(l.Data) {
			return nil, fmt.Errorf("%q: %d bytes for %s%v", l.Keys, len(l.Data), l.DType, l.Shape)
		}
		if l.Kind == "scalar" {
			return tree.NewLeaf(tree.Scalar(t)), nil
		}
		return tree.NewLeaf(t), nil
	}
	return nil, fmt.Errorf("%q: a leaf of kind %q", l.Keys, l.Kind)
}
