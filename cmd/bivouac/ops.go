package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/pipeline"     // its operators
	_ "github.com/bivouac-ml/bivouac/reader/arrow" // readers.arrow
)

// operatorInfo is an operator as `ops --json` prints it.
type operatorInfo struct {
	Name       string         `json:"name"`
	Doc        string         `json:"doc"`
	Random     bool           `json:"random,omitempty"`
	Stateful   bool           `json:"stateful,omitempty"`
	Deprecated string         `json:"deprecated,omitempty"`
	MinInputs  int            `json:"min_inputs"`
	MaxInputs  int            `json:"max_inputs"`
	Inputs     []portInfo     `json:"inputs"`
	Outputs    []portInfo     `json:"outputs"`
	Arguments  []argumentInfo `json:"arguments"`
}

type portInfo struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`
	DTypes  []string `json:"dtypes,omitempty"`
	Layouts []string `json:"layouts,omitempty"`
}

type argumentInfo struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Default    string `json:"default,omitempty"`
	Required   bool   `json:"required,omitempty"`
	PerSample  bool   `json:"per_sample,omitempty"`
	Deprecated string `json:"deprecated,omitempty"`
	Doc        string `json:"doc"`
}

func newOpsCommand(g *global) *cobra.Command {
	return with(&cobra.Command{
		Use:   "ops [NAME]",
		Short: "List the operators of pipelines, or describe one",
		Long: `List the operators of pipelines with the first sentence about each, or describe
one: inputs, outputs, and arguments with types and defaults.

` + exitCodesHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return g.listOperators()
			}
			s, err := op.Lookup(args[0])
			if err != nil {
				return err
			}
			o := operator(s)
			return g.show(o, func() { g.describeOperator(o) })
		},
	}, g.addJSON)
}

func (g *global) listOperators() error {
	all := make([]operatorInfo, 0, len(op.Schemas()))
	width := 0
	for _, s := range op.Schemas() {
		all = append(all, operator(s))
		width = max(width, len(s.FullName()))
	}
	return g.show(all, func() {
		for _, o := range all {
			summary, _, _ := strings.Cut(o.Doc, ". ")
			g.printf("%-*s  %s\n", width, o.Name, strings.TrimSuffix(summary, "."))
		}
	})
}

func (g *global) describeOperator(o operatorInfo) {
	g.print(o.Name + "\n\n" + o.Doc + "\n")
	if o.Deprecated != "" {
		g.printf("Deprecated: %s\n", o.Deprecated)
	}
	if o.Random {
		g.printf("Draws random numbers.\n")
	}
	for i, in := range o.Inputs {
		note := ""
		switch {
		case i == len(o.Inputs)-1 && o.MaxInputs > len(o.Inputs):
			note = fmt.Sprintf(" (up to %d)", o.MaxInputs-i)
		case i >= o.MinInputs:
			note = " (may be left out)"
		}
		g.print("\ninput " + in.Name + ": " + in.Doc + note + "\n")
		if len(in.DTypes) > 0 {
			g.printf("  types: %s\n", strings.Join(in.DTypes, ", "))
		}
		if len(in.Layouts) > 0 {
			g.printf("  layouts: %s\n", strings.Join(in.Layouts, ", "))
		}
	}
	for _, out := range o.Outputs {
		g.print("\noutput " + out.Name + ": " + out.Doc + "\n")
	}
	for _, a := range o.Arguments {
		kind := a.Type
		switch {
		case a.Required:
			kind += ", required"
		case a.Default != "":
			kind += ", default " + a.Default
		}
		if a.PerSample {
			kind += ", may differ per sample"
		}
		g.print("\n" + a.Name + " (" + kind + ")\n  " + a.Doc + "\n")
		if a.Deprecated != "" {
			g.printf("  Deprecated: %s\n", a.Deprecated)
		}
	}
}

// operator returns the printed form of a schema.
func operator(s *op.Schema) operatorInfo {
	o := operatorInfo{
		Name: s.FullName(), Doc: s.Doc, Random: s.Random, Stateful: s.Stateful, Deprecated: s.Deprecated,
		MinInputs: s.MinInputs(), MaxInputs: s.MaxInputs(), Inputs: ports(s.Inputs), Outputs: ports(s.Outputs),
		Arguments: make([]argumentInfo, len(s.Params)),
	}
	for i, p := range s.Params {
		o.Arguments[i] = argumentInfo{Name: p.Name, Type: p.Type.String(), Required: p.Required,
			PerSample:  p.PerSample,
			Deprecated: p.Deprecated, Doc: p.Doc}
		if p.Default != nil {
			o.Arguments[i].Default = p.DefaultText()
		}
	}
	return o
}

func ports(list []op.Port) []portInfo {
	out := make([]portInfo, len(list))
	for i, p := range list {
		out[i] = portInfo{Name: p.Name, Doc: p.Doc, Layouts: p.Layouts}
		for _, d := range p.DTypes {
			out[i].DTypes = append(out[i].DTypes, d.String())
		}
	}
	return out
}
