package dali

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

// DeserializeOptions change the settings of a serialized pipeline.
type DeserializeOptions struct {
	// PipelineOptions that are set replace the options of the pipeline. With Device = RunOnCPU
	// operators of a GPU run on the CPU; otherwise they are an error.
	PipelineOptions
	// Sources are the sources that external sources call, by name. An external source without one must
	// be fed, as in DALI.
	Sources map[string]pipeline.Source
	// Function returns the function that an operator of DALI's Python functions calls. It gets the
	// name of the operator and its argument function_id. Without Function these operators are an
	// error, as DALI does not serialize them.
	Function func(name string, id int64) func(n int, in [][]tensor.Tensor) ([][]tensor.Tensor, error)
	// MemoryLimit bounds the bytes of all batches in progress whose sizes the graph tells.
	// If more is needed, the error is of kind errs.Exhausted, before any memory is allocated. 0 means
	// 16 GiB.
	MemoryLimit int64
}

// Deserialize makes a pipeline that DALI, or [Serialize], wrote. It works in [Mode], unless the
// options say otherwise. Unknown operators and arguments, edges that lead nowhere and operators of
// a GPU are errors that name them. Bytes that are not a pipeline are an error of kind errs.Corrupt.
// nil options change nothing.
func Deserialize(b []byte, o *DeserializeOptions) (*Definition, error) {
	p, err := pipeproto.Parse(b)
	if err != nil {
		return nil, errs.Wrap(deserializing, "", err)
	}
	return FromProto(p, o)
}

// DeserializeFile makes the pipeline of a file. The file has the bytes of DALI, or YAML if the name
// ends in .yaml or .yml.
func DeserializeFile(path string, o *DeserializeOptions) (*Definition, error) {
	p, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	return FromProto(p, o)
}

// maxFile is more than any form of a pipeline takes.
const maxFile = 64 << 20

// ReadFile reads the file of a serialized pipeline like DeserializeFile, and returns the message.
func ReadFile(path string) (*pipeproto.Pipeline, error) {
	if err := errs.CheckPath(path); err != nil {
		return nil, errs.Wrap(deserializing, "", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, &errs.Error{Kind: errs.NotFound, Op: deserializing, Subject: path, Err: err}
	}
	if info.Size() > maxFile {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: deserializing, Subject: path,
			Want: fmt.Sprintf("at most %d bytes", maxFile), Got: fmt.Sprint(info.Size())}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, &errs.Error{Kind: errs.IO, Op: deserializing, Subject: path, Err: err}
	}
	parse := pipeproto.Parse
	if IsYAML(path) {
		parse = pipeproto.UnmarshalYAML
	}
	p, err := parse(b)
	return p, errs.Wrap(deserializing, path, err)
}

// IsYAML reports whether path names a pipeline in YAML.
func IsYAML(path string) bool {
	return strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".yml")
}

const deserializing = "dali.Deserialize"

// maxInFlight bounds the samples that a pipeline from outside makes at a time, because each sample
// takes memory before there is any data.
const maxInFlight = 1 << 22

// FromProto makes a pipeline from its serialized form; see [Deserialize].
func FromProto(p *pipeproto.Pipeline, o *DeserializeOptions) (*Definition, error) {
	if o == nil {
		o = &DeserializeOptions{}
	}
	options, err := optionsOf(p)
	if err != nil {
		return nil, errs.Wrap(deserializing, "", err)
	}
	options = options.Override(&o.PipelineOptions)
	inFlight := int64(options.BatchSize) * int64(1+max(options.Prefetch, options.CPUQueueSize))
	if inFlight > maxInFlight {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: deserializing, Subject: "batch_size and prefetch_queue_depth_cpu",
			Want: fmt.Sprintf("at most %d samples at a time", maxInFlight), Got: fmt.Sprint(inFlight)}
	}
	r := &rebuilder{proto: p, sources: o.Sources, function: o.Function, onCPU: options.Device == pipeline.RunOnCPU,
		options: &options, nodes: map[string]pipeline.Node{}, groups: map[int32]pipeline.Node{}}
	d, err := Define(options, r.build)
	if r.err != nil {
		err = r.err
	}
	if err == nil {
		d.videos = r.videos
		err = checkMemory(d.Graph(), inFlight, o.MemoryLimit)
	}
	if err != nil {
		return nil, errs.Wrap(deserializing, "", err)
	}
	return d, nil
}

// checkMemory returns an error for a graph whose samples take more than limit, if their sizes are
// known before there is data.
func checkMemory(g *graph.Graph, samples, limit int64) error {
	if limit == 0 {
		limit = 16 << 30
	}
	left := limit
	for _, n := range g.Nodes {
		for i, s := range n.Specs {
			if !s.DType.Valid() || !op.Static(s) {
				continue
			}
			size := int64(max(1, s.DType.Size())) * samples
			for _, d := range s.Shape {
				if d == 0 {
					size = 0
					break
				}
				if size > limit/int64(d) {
					size = limit + 1
					break
				}
				size *= int64(d)
			}
			if left -= size; left < 0 {
				return &errs.Error{Kind: errs.Exhausted, Subject: fmt.Sprintf("node %s, output %d", n.Name, i),
					Want:   fmt.Sprintf("at most %d bytes in all batches in the making", limit),
					Got:    fmt.Sprintf("%s for each of %d samples", s.Shape, samples),
					Remedy: "make batches smaller, or raise DeserializeOptions.MemoryLimit"}
			}
		}
	}
	return nil
}

// rebuilder appends the operators of a serialized pipeline to a graph.
type rebuilder struct {
	proto   *pipeproto.Pipeline
	sources map[string]pipeline.Source
	onCPU   bool
	b       *pipeline.Builder
	nodes   map[string]pipeline.Node // by the names of edges
	groups  map[int32]pipeline.Node  // the first random operator of each logical id
	videos  map[string]*pipeproto.Op // inputs that are fed videos
	options *PipelineOptions
	err     error

	function func(name string, id int64) func(n int, in [][]tensor.Tensor) ([][]tensor.Tensor, error)
}

func (r *rebuilder) build(b *pipeline.Builder) []pipeline.Node {
	r.b = b
	for _, name := range r.proto.ExternalInputs {
		r.nodes[name] = pipeline.ExternalSource(b, r.sources[name], pipeline.SourceOptions{Name: name})[0]
	}
	unused := r.unused()
	for i := range r.proto.Ops {
		o := &r.proto.Ops[i]
		if _, known := Operator(o.Name); unused[i] && known {
			continue
		}
		if err := r.operator(o); err != nil {
			r.err = errs.Wrap("", "operator "+strconv.Quote(o.Instance), err)
			return nil
		}
		if b.Err() != nil {
			return nil
		}
	}
	var outputs []pipeline.Node
	for _, e := range r.proto.Outputs {
		n, err := r.source(e)
		if err != nil {
			r.err = errs.Wrap("", "output of the pipeline", err)
			return nil
		}
		outputs = append(outputs, n)
	}
	return outputs
}

// source returns the node whose output an edge names.
func (r *rebuilder) source(e pipeproto.Edge) (pipeline.Node, error) {
	if err := r.device(e.Device); err != nil {
		return pipeline.Node{}, err
	}
	n, ok := r.nodes[e.Name]
	if !ok {
		names := make([]string, 0, len(r.nodes))
		for name := range r.nodes {
			names = append(names, name)
		}
		return n, &errs.Error{Kind: errs.Invalid, Subject: "input " + strconv.Quote(e.Name),
			Want: "an output of an operator before it", Got: "none by that name",
			Remedy: op.Nearest(e.Name, names)}
	}
	return n, nil
}

// device returns an error for a device other than the processor, unless the options run it on the
// CPU.
func (r *rebuilder) device(name string) error {
	switch {
	case name == "cpu" || name == "", r.onCPU && (name == "gpu" || name == "mixed"):
		return nil
	case name == "gpu" || name == "mixed":
		return &errs.Error{Kind: errs.Unsupported, Subject: "device", Want: "cpu", Got: name,
			Remedy: "set Device to RunOnCPU (bivouac run --cpu) to run it on the CPU"}
	}
	return &errs.Error{Kind: errs.Invalid, Subject: "device", Want: "cpu, gpu or mixed", Got: strconv.Quote(name)}
}

func (r *rebuilder) operator(o *pipeproto.Op) error {
	if a := o.Argument("device"); a != nil && len(a.Strings) == 1 {
		if err := r.device(a.Strings[0]); err != nil {
			return err
		}
	}
	name, known := Operator(o.Name)
	switch name {
	case externalSource:
		return r.external(o)
	case videoInput:
		return r.video(o)
	}
	if o.Name == pythonFunction && r.function != nil {
		return r.call(o)
	}
	if !known {
		return unknownOperator(o.Name)
	}
	s, err := op.Lookup(name)
	if err != nil {
		return err
	}
	args, err := r.arguments(s, o)
	if err != nil {
		return err
	}
	var inputs []pipeline.Node
	for _, e := range o.Inputs {
		n, err := r.source(e)
		switch {
		case err != nil:
			return err
		case e.IsArgument:
			args[e.Argument] = n
		default:
			inputs = append(inputs, n)
		}
	}
	outputs := r.b.Op(name, args, inputs...)
	if r.b.Err() != nil {
		return nil // Define returns it
	}
	if len(outputs) != len(o.Outputs) {
		return &errs.Error{Kind: errs.Invalid, Subject: "outputs", Want: fmt.Sprint(len(outputs)),
			Got: fmt.Sprint(len(o.Outputs))}
	}
	if id := o.LogicalID; id != nil && *id >= 0 && s.Random {
		if first, ok := r.groups[*id]; !ok {
			r.groups[*id] = outputs[0]
		} else if _, seeded := args["seed"]; !seeded {
			r.b.DrawAlike(first, outputs[0])
		}
	}
	for i, n := range outputs {
		if err := r.put(o.Outputs[i], n); err != nil {
			return err
		}
	}
	return nil
}

func (r *rebuilder) put(e pipeproto.Edge, n pipeline.Node) error {
	if _, taken := r.nodes[e.Name]; taken {
		return &errs.Error{Kind: errs.Exists, Subject: "output " + strconv.Quote(e.Name),
			Got: "a name that another output has"}
	}
	r.nodes[e.Name] = n
	return r.device(e.Device)
}

// unknownOperator returns an error that proposes the schema with the most similar name.
func unknownOperator(schema string) error {
	name, _ := Operator(schema)
	if op.Planned(name) {
		return &errs.Error{Kind: errs.Unsupported, Subject: schema, Got: "an operator of DALI that Bivouac does not have yet",
			Remedy: "see the list of operators in docs/compat/dali.md"}
	}
	if _, err := op.Lookup(name); errors.Is(err, errs.Unsupported) {
		return err // what to use instead
	}
	var names []string
	for _, s := range op.Schemas() {
		names = append(names, SchemaName(s.FullName()))
	}
	return &errs.Error{Kind: errs.NotFound, Subject: "name", Want: "the schema of an operator", Got: strconv.Quote(schema),
		Remedy: op.Nearest(schema, names)}
}

// arguments returns the constants of an operator, and its name. It leaves out arguments that DALI
// adds itself and that the parameter list does not have.
func (r *rebuilder) arguments(s *op.Schema, o *pipeproto.Op) (op.Args, error) {
	args := op.Args{"name": o.Instance}
	if a := o.Argument("device"); a != nil && len(a.Strings) == 1 {
		args["device"] = a.Strings[0] // that the definition lists what was moved to the CPU
	}
	for i := range o.Args {
		a := &o.Args[i]
		p, ok := s.Param(a.Name)
		if ok && p.Type == op.Features {
			features, err := featuresOf(o.Argument(featureNames), a)
			if err != nil {
				return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument " + a.Name, Want: p.Type.String(), Got: err.Error()}
			}
			args[a.Name] = features
			continue
		}
		if !ok && a.Name == featureNames && o.Argument("features") != nil {
			continue // features has it
		}
		if !ok && own[a.Name] || !ok && strings.HasPrefix(a.Name, "_") {
			continue
		}
		if !ok {
			args[a.Name] = nil // an unknown argument, which the builder says
			continue
		}
		v, err := constant(p, a)
		if err != nil {
			return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument " + a.Name, Want: p.Type.String(), Got: err.Error()}
		}
		args[a.Name] = v
	}
	return args, nil
}

// own are the arguments that DALI gives all operators.
var own = map[string]bool{
	"device": true, "preserve_name": true, "max_batch_size": true, "num_threads": true, "seed": true,
	"cpu_prefetch_queue_depth": true, "gpu_prefetch_queue_depth": true, "checkpointing": true,
}

const externalSource = "external_source"

// external appends an input of the graph.
func (r *rebuilder) external(o *pipeproto.Op) error {
	if len(o.Inputs) > 0 || len(o.Outputs) != 1 {
		return &errs.Error{Kind: errs.Invalid, Want: "one output of an external source and no inputs",
			Got: fmt.Sprintf("%d and %d", len(o.Outputs), len(o.Inputs))}
	}
	so := pipeline.SourceOptions{Name: o.Instance}
	var spec tensor.Spec
	for i := range o.Args {
		a := &o.Args[i]
		var err error
		switch a.Name {
		case "dtype":
			spec.DType, err = value[tensor.DType](op.DType, a)
		case "ndim":
			var ndim int
			if ndim, err = value[int](op.Int, a); err == nil && ndim >= 0 && ndim <= maxNDim {
				spec.Shape = make(tensor.Shape, ndim)
				for d := range spec.Shape {
					spec.Shape[d] = -1
				}
			}
		case "layout":
			spec.Layout, err = value[string](op.String, a)
		case "repeat_last":
			so.RepeatLast, err = value[bool](op.Bool, a)
		}
		if err != nil {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument " + a.Name, Got: err.Error()}
		}
	}
	so.Specs = []tensor.Spec{spec}
	return r.put(o.Outputs[0], pipeline.ExternalSource(r.b, r.sources[o.Instance], so)[0])
}

// maxNDim is far above the dimensions that any operator takes.
const maxNDim = 64

// value returns the constant of an argument of that type.
func value[T any](t op.Type, a *pipeproto.Argument) (v T, err error) {
	x, err := constant(&op.Parameter{Name: a.Name, Type: t}, a)
	if err == nil {
		v, _ = x.(T)
	}
	return v, err
}
