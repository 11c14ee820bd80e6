package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// GraphOptions are the flags of `bivouac graph`.
type GraphOptions struct {
	PipelineOptions
	Format  string
	Tensors bool
	Colors  bool
}

// AddFlags declares the flags.
func (o *GraphOptions) AddFlags(cmd *cobra.Command) {
	o.PipelineOptions.AddFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Format, "format", "text", "text, or dot for graphviz, as DALI draws it")
	f.BoolVar(&o.Tensors, "tensors", false, "with dot: show the tensors between operators")
	f.BoolVar(&o.Colors, "colors", false, "with dot: show devices as colours")
}

func newGraphCommand(g *global) *cobra.Command {
	var o GraphOptions
	return with(&cobra.Command{
		Use:   "graph FILE",
		Short: "Show the operators of a pipeline that DALI serialized, or of one in YAML",
		Long: `Show the operators of a pipeline from a file: bytes that DALI's
Pipeline.serialize wrote, or YAML. No data is read.

` + exitCodesHelp,
		Example: `  bivouac graph pipeline.yaml`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return showGraph(args[0], o, g) },
	}, o.AddFlags, g.addJSON)
}

func showGraph(path string, o GraphOptions, g *global) error {
	if o.Format != "text" && o.Format != "dot" {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "graph", Subject: "--format", Want: "text or dot", Got: o.Format}}
	}
	d, err := o.define(path)
	if err != nil {
		return err
	}
	if o.Format == "dot" && !g.json {
		_, err := g.stdout.Write(d.DOT(pipeline.DotOptions{Tensors: o.Tensors, Colors: o.Colors}))
		return err
	}
	nodes := []graphNode{}
	for _, n := range d.Graph().Nodes {
		nodes = append(nodes, newGraphNode(n))
	}
	return g.show(nodes, func() {
		for _, n := range nodes {
			n.print(g)
		}
		for i, e := range d.Graph().Outputs {
			g.printf("output %d  %s\n", i, e)
		}
	})
}

// graphNode is an operator as `graph --json` prints it.
type graphNode struct {
	Name      string            `json:"name"`
	Operator  string            `json:"operator"`
	Inputs    []string          `json:"inputs"`
	Arguments map[string]string `json:"arguments,omitempty"` // given arguments, or for one per sample its node
	Outputs   []string          `json:"outputs"`             // dtype and shape, if they are known
}

func newGraphNode(n *graph.Node) graphNode {
	out := graphNode{Name: n.Name, Operator: n.Schema.FullName(), Inputs: []string{}, Arguments: map[string]string{}, Outputs: []string{}}
	for _, p := range n.Schema.Params {
		if v, ok := n.Config.Constant(p.Name); ok && n.Config.Given(p.Name) {
			out.Arguments[p.Name] = fmt.Sprint(v)
		}
	}
	for _, e := range n.Inputs {
		out.Inputs = append(out.Inputs, e.String())
	}
	for i, e := range n.Args {
		out.Arguments[n.Params()[i]] = e.String()
	}
	for _, s := range n.Specs {
		text := "unknown"
		if s.DType.Valid() {
			text = s.DType.String()
		}
		if s.Shape != nil {
			text += s.Shape.String()
		}
		if s.Layout != "" {
			text += " " + s.Layout
		}
		out.Outputs = append(out.Outputs, text)
	}
	return out
}

func (n graphNode) print(g *global) {
	g.printf("%s = %s(%s", n.Name, n.Operator, strings.Join(n.Inputs, ", "))
	first := len(n.Inputs) == 0
	for _, name := range slices.Sorted(maps.Keys(n.Arguments)) {
		if !first {
			g.printf(", ")
		}
		g.printf("%s: %s", name, n.Arguments[name])
		first = false
	}
	g.printf(") -> %s\n", strings.Join(n.Outputs, ", "))
}
