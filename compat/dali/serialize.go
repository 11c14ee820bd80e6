package dali

import (
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

const serializing = "dali.Serialize"

// Serialize writes a pipeline as DALI's Pipeline.serialize does, so that DALI can deserialize and
// run it. It writes no source positions. Parts that DALI does not have are an error of kind
// errs.Unsupported that names the node: operators that are not registered, such as Go functions,
// and values that float32 cannot hold. Callbacks of external sources are left out, as in DALI. A
// source with several outputs becomes one source for each output.
//
// A definition in [Mode] gets DALI's numbers. Names of Bivouac's own mode, such as "resize#2", are
// kept.
func Serialize(d *Definition) ([]byte, error) {
	p, err := Proto(d)
	if err != nil {
		return nil, err
	}
	return pipeproto.Append(nil, p), nil
}

// Proto returns the message that Serialize writes.
func Proto(d *Definition) (*pipeproto.Pipeline, error) {
	g, o := d.Graph(), d.Options()
	p := &pipeproto.Pipeline{}
	describe(p, o)
	ids := map[string]int32{} // ids of nodes whose random numbers other nodes share
	nodes, _ := g.DepthFirst()
	for _, n := range nodes {
		ops, err := operators(d, n)
		if err != nil {
			return nil, errs.Wrap(serializing, "node "+n.Name, err)
		}
		for i := range ops {
			id := int32(len(p.Ops))
			if first, ok := ids[n.Drawer()]; ok && n.Draws != "" {
				id = first
			} else {
				ids[n.Name] = id
			}
			ops[i].LogicalID = &id
			p.Ops = append(p.Ops, ops[i])
		}
	}
	for i, e := range g.Outputs {
		edge := pipeproto.Edge{Name: edgeName(e), Device: "cpu", Layout: declared(o.OutputLayout, i, "")}
		dtype, ndim := int32(numberOf(declared(o.OutputDType, i, tensor.Invalid))), int32(declared(o.OutputNDim, i,
			pipeline.AnyNDim))
		edge.DType, edge.NDim = &dtype, &ndim
		p.Outputs = append(p.Outputs, edge)
	}
	return p, nil
}

// declared returns the value that the options declare for output i, or none.
func declared[T any](list []T, i int, none T) T {
	switch {
	case len(list) == 1:
		return list[0]
	case i < len(list):
		return list[i]
	}
	return none
}

// edgeName returns "name", or "name[1]" if the node has several outputs.
func edgeName(e graph.Edge) string {
	if e.Node.Fed && len(e.Node.Specs) > 1 {
		return sourceName(e)
	}
	if len(e.Node.Specs) == 1 {
		return e.Node.Name
	}
	return e.Node.Name + "[" + strconv.Itoa(e.Output) + "]"
}

// sourceName returns the name of the external source for one of several outputs.
func sourceName(e graph.Edge) string { return e.Node.Name + "_" + strconv.Itoa(e.Output) }

// operators returns the serialized form of a node. A source with several outputs has several
// operators.
func operators(d *Definition, n *graph.Node) ([]pipeproto.Op, error) {
	if n.Fed {
		return sources(d, n)
	}
	if s, err := op.Lookup(n.Schema.FullName()); err != nil || s != n.Schema {
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: n.Schema.FullName(), Want: "an operator that DALI has",
			Got: "one of this program"}
	}
	o := pipeproto.Op{Name: SchemaName(n.Schema.FullName()), Instance: n.Name}
	for _, e := range n.Inputs {
		o.Inputs = append(o.Inputs, pipeproto.Edge{Name: edgeName(e), Device: "cpu"})
	}
	for i, e := range n.Args {
		o.Inputs = append(o.Inputs, pipeproto.Edge{Name: edgeName(e), Device: "cpu", IsArgument: true,
			Argument: n.Params()[i]})
	}
	for i := range n.Specs {
		o.Outputs = append(o.Outputs, pipeproto.Edge{Name: edgeName(graph.Edge{Node: n, Output: i}), Device: "cpu"})
	}
	var err error
	o.Args, err = constants(n)
	return []pipeproto.Op{o}, err
}

// constants returns the arguments of an operator. Arguments that DALI gives every operator are
// around its own.
func constants(n *graph.Node) ([]pipeproto.Argument, error) {
	module := strings.Join(append([]string{"nvidia.dali.fn"}, n.Schema.Module...), ".")
	list := []pipeproto.Argument{text("device", "cpu"), text("_display_name", n.Schema.Name), text("_module", module)}
	for _, p := range n.Schema.Params {
		v, ok := n.Config.Constant(p.Name)
		if !ok || !n.Config.Given(p.Name) {
			continue
		}
		if features, isFeatures := v.([]op.Feature); isFeatures {
			more, err := featureArguments(p.Name, features)
			if err != nil {
				return nil, n.Config.Unsupported(p.Name, "features that DALI can write", err.Error())
			}
			list = append(list, more...)
			continue
		}
		a, ok := argument(p.Name, v)
		if !ok {
			return nil, n.Config.Unsupported(p.Name, "a value that DALI can hold", "another")
		}
		list = append(list, a)
	}
	if n.Schema.Branch == op.Splits {
		list = append(list, flag("_if_stmt", true)) // so that DALI takes conditions of any type, as here
	}
	if preserved, _ := n.Config.Constant("preserve"); preserved == true {
		list = append(list, flag("preserve", true))
	}
	return append(list, flag("preserve_name", n.Named() && !strings.HasPrefix(n.Name, "__"))), nil
}

// sources returns an external source for each output of an input of the graph.
func sources(d *Definition, n *graph.Node) ([]pipeproto.Op, error) {
	if video := d.videos[n.Name]; video != nil {
		return []pipeproto.Op{*video}, nil
	}
	o := d.SourceOptions(n.Name)
	var ops []pipeproto.Op
	for i, spec := range n.Declared() {
		name := edgeName(graph.Edge{Node: n, Output: i})
		e := pipeproto.Op{Name: "ExternalSource", Instance: name, Outputs: []pipeproto.Edge{{Name: name, Device: "cpu"}}}
		e.Args = []pipeproto.Argument{text("device", "cpu"), flag("repeat_last", o.RepeatLast),
			text("_module", "nvidia.dali.fn"), text("_display_name", externalSource)}
		e.Args = append(e.Args, flag("preserve_name", true))
		if spec.DType.Valid() {
			a, ok := argument("dtype", spec.DType)
			if !ok {
				return nil, &errs.Error{Kind: errs.Unsupported, Subject: "dtype", Want: "one that DALI has",
					Got: spec.DType.String()}
			}
			e.Args = append(e.Args, a)
		}
		if spec.Shape != nil {
			a, _ := argument("ndim", len(spec.Shape))
			e.Args = append(e.Args, a)
		}
		if spec.Layout != "" {
			e.Args = append(e.Args, text("layout", spec.Layout))
		}
		ops = append(ops, e)
	}
	return ops, nil
}

func text(name, value string) pipeproto.Argument {
	return pipeproto.Argument{Name: name, Type: pipeproto.TypeString, Strings: []string{value}}
}

func flag(name string, value bool) pipeproto.Argument {
	return pipeproto.Argument{Name: name, Type: pipeproto.TypeBool, Bools: []bool{value}}
}
