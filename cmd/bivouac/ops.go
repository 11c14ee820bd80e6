package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
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
	Missing    string         `json:"missing,omitempty"` // why there is no such operator, and what to use
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

The list also has the operators of DALI on CPUs that are not operators here, with
the word "missing", the reason, and what to use instead.

` + exitCodesHelp,
		Example: `  bivouac ops
  bivouac ops resize`,
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
	var all []operatorInfo
	for _, s := range op.Schemas() {
		all = append(all, operator(s))
	}
	for _, name := range op.Elsewhere() {
		all = append(all, missing(name))
	}
	slices.SortFunc(all, func(a, b operatorInfo) int { return cmp.Compare(a.Name, b.Name) })
	width := 0
	for _, o := range all {
		width = max(width, len(o.Name))
	}
	return g.show(all, func() {
		for _, o := range all {
			g.printf("%-*s  %s\n", width, o.Name, o.summary())
		}
	})
}

// summary is the line about an operator in the list.
func (o operatorInfo) summary() string {
	if o.Missing != "" {
		return "missing: " + o.Missing
	}
	first, _, _ := strings.Cut(o.Doc, ". ")
	first = strings.TrimSuffix(first, ".")
	if o.Deprecated != "" {
		first += " (deprecated: " + o.Deprecated + ")"
	}
	return first
}

// missing returns the entry of an operator of DALI that is not an operator here.
func missing(name string) operatorInfo {
	o := operatorInfo{Name: name, Inputs: []portInfo{}, Outputs: []portInfo{}, Arguments: []argumentInfo{}}
	_, err := op.Lookup(name)
	if e, ok := errors.AsType[*errs.Error](err); ok {
		o.Missing = e.Got + "; " + e.Remedy
	}
	return o
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
