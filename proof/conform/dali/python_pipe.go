package dali

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// programmer is the host of programs that make pipelines: pipe, ckpt and the methods
// of a pipeline, besides what a grapher has.
type programmer struct {
	*grapher
	ctx  context.Context
	set  *dalivec.Set
	made []*program
}

// program is a pipeline of a program.
type program struct {
	def  *dali.Definition
	pipe *dali.Pipeline // nil: not built

	building *dali.Builder // of dali.Pipeline(), until it is built
}

func (h *programmer) close() {
	for _, p := range h.made {
		if p.pipe != nil {
			p.pipe.Close() //nolint:errcheck // there is nothing to lose
		}
	}
}

func (h *programmer) call(m *machine, name string, args []any, kw map[string]any) (any, error) {
	switch {
	case name == "pipe" && len(args) == 1:
		return h.pipe(m, args[0], kw)
	case name == "ckpt" && len(args) >= 2:
		return h.restore(m, args)
	case name == "dali.Pipeline":
		return h.begin(kw)
	case name == "dali.Pipeline.deserialize":
		return h.deserialize(args)
	case h.b == nil && strings.HasPrefix(name, "fn."):
		return h.detached(func() (any, error) { return h.grapher.call(m, name, args, kw) })
	}
	return h.grapher.call(m, name, args, kw)
}

// detached appends an operator to a graph of its own, as DALI does outside of pipelines.
func (h *programmer) detached(appendTo func() (any, error)) (v any, err error) {
	_, failed := dali.Define(daliOptions(2, nil), func(b *pipeline.Builder) []pipeline.Node {
		h.b = b
		defer func() { h.b = nil }()
		v, err = appendTo()
		return nodesOf(v)
	})
	return v, errors.Join(err, failed)
}

// pipe is pipe(outs, run=1, bs=2, **options). Options with values that Go's types do not
// let in, or that mean the default there, go into the serialized form in YAML.
func (h *programmer) pipe(m *machine, outs any, kw map[string]any) (any, error) {
	o := daliOptions(2, nil)
	run, runs := any(1), true
	var yaml []string
	for name, v := range kw {
		switch {
		case name == "run":
			if run = v; v == nil {
				runs = false
			}
			continue
		case name == "bs":
			name = "batch_size"
		}
		if line, ok := onlyInYAML(name, v); ok {
			yaml = append(yaml, line...)
			continue
		}
		if err := setOption(&o, name, v); err != nil {
			return nil, err
		}
	}
	def, err := dali.Define(o, func(b *pipeline.Builder) []pipeline.Node {
		h.b = b
		defer func() { h.b = nil }()
		v, err := m.apply(outs)
		if err != nil {
			h.failed = err
			return nil
		}
		nodes, err := h.outputs(v)
		h.failed = err
		return nodes
	})
	if failed := h.failed; failed != nil {
		h.failed = nil
		return nil, failed
	}
	if err == nil && yaml != nil {
		def, err = throughYAML(def, yaml)
	}
	if err != nil {
		return nil, err
	}
	p := &program{def: def}
	h.made = append(h.made, p)
	if !runs {
		return p, nil
	}
	if p.pipe, err = def.New(h.ctx, nil); err != nil {
		return nil, err
	}
	for range run.(int) {
		if _, err := p.pipe.Run(h.ctx, nil); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return p, nil
}

// begin is dali.Pipeline(**options): what follows is appended to its graph until it is built.
func (h *programmer) begin(kw map[string]any) (any, error) {
	o := daliOptions(2, nil)
	for name, v := range kw {
		if err := setOption(&o, name, v); err != nil {
			return nil, err
		}
	}
	b, err := dali.NewBuilder(o)
	if err != nil {
		return nil, err
	}
	h.b = b.Builder
	p := &program{building: b}
	h.made = append(h.made, p)
	return p, nil
}

// build is build() of a pipeline that a program has put together.
func (h *programmer) build(p *program) (err error) {
	if p.building != nil {
		b := p.building
		if p.building = nil; h.b == b.Builder {
			h.b = nil
		}
		if p.def, err = b.Definition(); err != nil {
			return err
		}
	}
	if p.pipe == nil {
		p.pipe, err = p.def.New(h.ctx, nil)
	}
	return err
}

// setOutputs is set_outputs(*nodes).
func (h *programmer) setOutputs(p *program, args []any) error {
	if p.building == nil {
		return raise("RuntimeError", "set_outputs: the pipeline is built")
	}
	nodes, err := h.outputs(tuple(args))
	if err != nil {
		return err
	}
	p.building.SetOutputs(nodes...)
	return p.building.Err()
}

// onlyInYAML returns the lines of the serialized form for an option of a value that
// dali.PipelineOptions cannot have: 0 where it means the default, None, or a text.
func onlyInYAML(name string, v any) ([]string, bool) {
	fields, ok := map[string][]string{
		"batch_size": {"batch_size"}, "num_threads": {"num_threads"}, "prefetch_queue_depth": {"prefetch_queue_depth_cpu", "prefetch_queue_depth_gpu"},
	}[name]
	if n, isInt := v.(int); !ok || isInt && n != 0 {
		return nil, false
	}
	var value string
	switch v := v.(type) {
	case nil:
		value = "null"
	case int:
		value = strconv.Itoa(v)
	case string:
		value = strconv.Quote(v)
	default:
		return nil, false
	}
	var lines []string
	for _, f := range fields {
		lines = append(lines, f+": "+value)
	}
	return lines, true
}

// throughYAML writes a definition as YAML, replaces lines of it and reads it again.
func throughYAML(def *dali.Definition, lines []string) (*dali.Definition, error) {
	p, err := dali.Proto(def)
	if err != nil {
		return nil, err
	}
	b, err := pipeproto.MarshalYAML(p)
	if err != nil {
		return nil, err
	}
	text := strings.Split(string(b), "\n")
	for _, line := range lines {
		field, _, _ := strings.Cut(line, ":")
		found := false
		for i := range text {
			if strings.HasPrefix(text[i], field+":") {
				text[i], found = line, true
			}
		}
		if !found {
			text = append([]string{line}, text...)
		}
	}
	if p, err = pipeproto.UnmarshalYAML([]byte(strings.Join(text, "\n"))); err != nil {
		return nil, err
	}
	return dali.FromProto(p, nil)
}

// restore is ckpt(outs1, outs2, it=1): a checkpoint of one pipeline after it runs, restored into
// another.
func (h *programmer) restore(m *machine, args []any) (any, error) {
	runs := 1
	if len(args) > 2 {
		runs = args[2].(int)
	}
	first, err := h.pipe(m, args[0], map[string]any{"run": runs, "enable_checkpointing": true})
	if err != nil {
		return nil, err
	}
	checkpoint, err := h.method(m, first, "checkpoint", nil, nil)
	if err != nil {
		return nil, err
	}
	return h.pipe(m, args[1], map[string]any{"enable_checkpointing": true, "checkpoint": checkpoint})
}

// deserialize is Pipeline.deserialize(bytes). Go has no call without the bytes: it is one with
// none.
func (h *programmer) deserialize(args []any) (any, error) {
	var b []byte
	if len(args) > 0 {
		b, _ = args[0].([]byte)
	}
	def, err := dali.Deserialize(b, nil)
	if err != nil {
		return nil, err
	}
	return &program{def: def}, nil
}

func (h *programmer) method(m *machine, receiver any, name string, args []any, kw map[string]any) (any, error) {
	p, ok := receiver.(*program)
	if !ok {
		return h.grapher.method(m, receiver, name, args, kw)
	}
	switch name {
	case "set_outputs":
		return nil, h.setOutputs(p, args)
	case "build", "run", "checkpoint", "epoch_size", "reader_meta", "serialize":
		if err := h.build(p); err != nil {
			return nil, err
		}
	default:
		if p.pipe == nil {
			return nil, raise("RuntimeError", "%s: the pipeline is not built", name)
		}
	}
	switch {
	case name == "build":
		return nil, nil
	case name == "checkpoint":
		return p.pipe.Checkpoint()
	case name == "serialize":
		return dali.Serialize(p.def)
	case name == "epoch_size":
		return p.pipe.EpochSizes(), nil
	case name == "reader_meta" && len(args) == 1:
		return p.pipe.ReaderMeta(fmt.Sprint(args[0]))
	case name == "feed_input" && len(args) == 2:
		samples, err := arrays(args[1])
		if err != nil {
			return nil, err
		}
		return nil, p.pipe.FeedInput(fmt.Sprint(args[0]), samples, nil)
	case name == "run":
		inputs := map[string]pipeline.Data{}
		for k, v := range kw {
			samples, err := arrays(v)
			if err != nil {
				return nil, err
			}
			inputs[k] = samples
		}
		_, err := p.pipe.Run(h.ctx, inputs)
		return nil, err
	}
	return nil, fmt.Errorf("unknown method %s of a pipeline", name)
}

// identityFunction is python_function(x, function=lambda x: x).
func (g *grapher) identityFunction(inputs []pipeline.Node) (any, error) {
	nodes := g.b.Call(pipeline.Function{
		Sample:        func(in []tensor.Tensor) ([]tensor.Tensor, error) { return in, nil },
		Outputs:       []tensor.Spec{inputs[0].Spec()},
		Deterministic: true,
	}, inputs...)
	return g.made(nodes[0])
}

// nodeIsNoBool holds that a node can be no condition of Go's if: nothing is run, the
// compiler refuses it.
func nodeIsNoBool(err error) error {
	var e *errs.Error
	if kind := reflect.TypeFor[pipeline.Node]().Kind(); kind == reflect.Bool || errors.As(err, &e) {
		return fmt.Errorf("a node is a %v, and %v", kind, err)
	}
	return nil
}
