// Package recipe reads steps of pipelines from YAML. A recipe is a list of operators with their
// arguments, which a program appends to the graph of a pipeline:
//
//	about: Random crops, mirrored half of the time.
//	settings: {size: 224}
//	inputs: [files]
//	steps:
//	  - {name: images, op: decoders.image, of: files}
//	  - {name: images, op: random_resized_crop, of: images, args: {size: $size}}
//	  - {name: flip, op: random.coin_flip}
//	  - {name: images, op: flip, of: images, args: {horizontal: $flip}}
//	outputs: [images]
//
// A step has the name of its output, or a list of names, and an operator:
//
//   - op is the full name of the operator, of has the names of its inputs, args has its arguments.
//     An argument "$x" is the output called x of an earlier step, one value per sample, or the
//     setting called x.
//   - apply is a function of arithmetic, as of [pipeline.Apply], and of has its operands: names and
//     numbers.
//   - draws names an earlier step whose random numbers the operator draws, too.
//
// A name that occurs again means the later output from there on. A program can change settings.
// recipes/ has the recipes of well-known libraries.
package recipe

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// Recipe is a list of steps. It is immutable.
type Recipe struct {
	about    string
	settings map[string]any
	inputs   []string
	steps    []step
	outputs  []string
}

// step is one operator.
type step struct {
	names   []string
	op      string // or
	apply   string
	of      []any // names, and numbers of apply
	args    map[string]any
	draws   string
	subject string // its place in the document, for messages
}

// reference is an argument that names an output or a setting.
type reference string

// About returns what the recipe says about itself.
func (r *Recipe) About() string { return r.about }

// Inputs returns the names of the inputs.
func (r *Recipe) Inputs() []string { return slices.Clone(r.inputs) }

// Outputs returns the names of the outputs.
func (r *Recipe) Outputs() []string { return slices.Clone(r.outputs) }

// Settings returns the names and values of the settings.
func (r *Recipe) Settings() map[string]any { return maps.Clone(r.settings) }

// Decodes reports whether the recipe decodes an input: it takes the bytes of a file then.
func (r *Recipe) Decodes(input string) bool {
	for i := range r.steps {
		s := &r.steps[i]
		if slices.Contains(s.of, any(input)) {
			return strings.HasPrefix(s.op, "decoders.")
		}
	}
	return false
}

// Normalization returns the mean and the standard deviation by which the recipe normalizes the
// images of an output, for each channel or for all. ok is false if it does not normalize them, or
// if the numbers differ per sample. set replaces settings; it may be nil.
func (r *Recipe) Normalization(output string, set map[string]any) (mean, std []float64, ok bool) {
	for i := range r.steps {
		s := &r.steps[i]
		if s.op != "crop_mirror_normalize" || !slices.Contains(s.names, output) {
			continue
		}
		schema, err := op.Lookup(s.op)
		if err != nil {
			return nil, nil, false
		}
		found := [2][]float64{{0}, {1}}
		for k, name := range []string{"mean", "std"} {
			v, given := s.args[name]
			if ref, is := v.(reference); is {
				p, _ := schema.Param(name)
				value, changed := set[string(ref)]
				if !changed {
					value = r.settings[string(ref)]
				}
				if v, err = convert(p, value); err != nil {
					return nil, nil, false
				}
			}
			if list, is := v.([]float64); is && len(list) > 0 {
				found[k] = list
			} else if given {
				return nil, nil, false
			}
		}
		mean, std, ok = found[0], found[1], true
	}
	return mean, std, ok
}

// Read reads a recipe from a file; see [Parse].
func Read(path string) (*Recipe, error) {
	const what = "recipe.Read"
	if err := errs.CheckPath(path); err != nil {
		return nil, errs.Wrap(what, "", err)
	}
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxBytes {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: what, Subject: path, Want: fmt.Sprintf("at most %d bytes",
			maxBytes),
			Got: fmt.Sprint(info.Size())}
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		kind := errs.IO
		if os.IsNotExist(err) {
			kind = errs.NotFound
		}
		return nil, &errs.Error{Kind: kind, Op: what, Subject: path, Err: err}
	}
	r, err := Parse(b)
	return r, errs.Wrap(what, path, err)
}

// Append appends the operators of the recipe to b and returns its outputs. set replaces settings;
// it may be nil. A mistake is a mistake of b, which pipeline.Define returns.
func (r *Recipe) Append(b *pipeline.Builder, set map[string]any, inputs ...pipeline.Node) []pipeline.Node {
	outputs, err := r.append(b, set, inputs)
	if err != nil {
		b.Fail(errs.Wrap("recipe.Append", "", err))
		return make([]pipeline.Node, len(r.outputs))
	}
	return outputs
}

func (r *Recipe) append(b *pipeline.Builder, set map[string]any, inputs []pipeline.Node) ([]pipeline.Node, error) {
	if len(inputs) != len(r.inputs) {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: "inputs", Want: fmt.Sprintf("%d: %v", len(r.inputs), r.inputs),
			Got: fmt.Sprint(len(inputs))}
	}
	known := slices.Sorted(maps.Keys(r.settings))
	settings := maps.Clone(r.settings)
	for name, v := range set {
		if _, ok := settings[name]; !ok {
			return nil, &errs.Error{Kind: errs.Invalid, Subject: "setting " + name, Want: fmt.Sprintf("one of %v", known),
				Got: "an unknown name", Remedy: errs.DidYouMean(name, known)}
		}
		settings[name] = v
	}
	nodes := map[string]pipeline.Node{}
	for i, name := range r.inputs {
		nodes[name] = inputs[i]
	}
	for i := range r.steps {
		s := &r.steps[i]
		made, err := s.append(b, nodes, settings)
		if err == nil && b.Err() != nil {
			return nil, b.Err()
		}
		if err == nil && len(made) < len(s.names) {
			err = &errs.Error{Kind: errs.Invalid, Want: fmt.Sprintf("at most %d names", len(made)), Got: fmt.Sprint(s.names)}
		}
		if err != nil {
			return nil, errs.Wrap("", s.subject, err)
		}
		for k, name := range s.names {
			nodes[name] = made[k]
		}
	}
	outputs := make([]pipeline.Node, len(r.outputs))
	for i, name := range r.outputs {
		outputs[i] = nodes[name]
	}
	return outputs, nil
}

// append appends one operator.
func (s *step) append(b *pipeline.Builder, nodes map[string]pipeline.Node,
	settings map[string]any) ([]pipeline.Node, error) {
	if s.apply != "" {
		operands := make([]any, len(s.of))
		for i, v := range s.of {
			operands[i] = v
			if name, ok := v.(string); ok {
				if operands[i], ok = nodes[name]; !ok {
					operands[i] = settings[name]
				}
			}
		}
		return []pipeline.Node{pipeline.Apply(s.apply, operands...)}, nil
	}
	inputs := make([]pipeline.Node, len(s.of))
	for i, v := range s.of {
		inputs[i] = nodes[v.(string)]
	}
	schema, err := op.Lookup(s.op)
	if err != nil {
		return nil, err
	}
	args := op.Args{}
	for name, v := range s.args {
		args[name] = v
		ref, ok := v.(reference)
		if !ok {
			continue
		}
		if n, ok := nodes[string(ref)]; ok {
			args[name] = n
			continue
		}
		p, _ := schema.Param(name)
		if args[name], err = convert(p, settings[string(ref)]); err != nil {
			return nil, errs.Wrap("", fmt.Sprintf("argument %s, setting %s", name, ref), err)
		}
	}
	made := b.Op(s.op, args, inputs...)
	if s.draws != "" {
		b.DrawAlike(nodes[s.draws], made[0])
	}
	return made, nil
}
