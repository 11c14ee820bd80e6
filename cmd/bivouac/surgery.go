package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// SurgeryOptions are the flags of `bivouac surgery`.
type SurgeryOptions struct {
	ConvertOptions
	DryRun bool
}

// AddFlags declares the flags.
func (o *SurgeryOptions) AddFlags(cmd *cobra.Command) {
	o.ConvertOptions.AddFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.DryRun, "dry-run", false, "print what each rule would do, and write nothing")
	f.Lookup("item").Usage = "change this tree of the sources, and write no other item; " +
		"by default change state, and write all items of the first source"
	f.Lookup("step").Usage = "step of each source that is a run; by default the newest"
	f.Lookup("to").Usage = "layout: ocdbt-zarr3 (the default), ocdbt-zarr2, zarr3, zarr2 or safetensors"
}

func newSurgeryCommand(g *global) *cobra.Command {
	var o SurgeryOptions
	return with(&cobra.Command{
		Use:   "surgery RULES.yaml SRC... DST",
		Short: "Change the tree of a checkpoint by rules: rename, stack, split, cast and so on",
		Long: `Change the tree of a checkpoint, or join the trees of several, by rules, and write
the result in any layout, piece by piece within a memory budget. Arrays that the
rules drop are not read.

	sources: [base, adapter]     # names of several sources; leaves begin with them
	rules:                       # one after the other; patterns match whole names
	- rename:    {pattern: 'base\.(.*)', to: 'model.$1'}
	- copy:      {pattern: 'model\.embed', to: model.head}
	- drop:      {pattern: 'adapter\..*', optional: true}
	- cast:      {pattern: '.*\.w', dtype: bfloat16}
	- transpose: {pattern: '.*\.kernel', axes: [1, 0]}
	- repeat:    {pattern: '.*\.kv', axis: 0, times: 4}
	- stack:     {pattern: 'layers\.(\d+)\.(.*)', to: 'layers.$2', count: 12}
	- unstack:   {pattern: 'experts\.(.*)', to: 'experts.${index}.$1'}
	- fuse:      {pattern: '(.*)\.(?P<part>q|k|v)', parts: [q, k, v], to: '$1.qkv'}
	- split:     {pattern: '(.*)\.gate_up', to: ['$1.gate', '$1.up'], axis: 1}

With --dry-run DST is not needed.

` + exitCodesHelp,
		Example: `  bivouac surgery rules.yaml runs/digits/1000 smaller`,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := localOnly(args[0], "RULES is a file of"); err != nil {
				return err
			}
			return runSurgery(cmd.Context(), args[0], args[1:], o, g)
		},
	}, o.AddFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

func runSurgery(ctx context.Context, rules string, paths []string, o SurgeryOptions, g *global) error {
	b, err := readText(rules, "surgery")
	if err != nil {
		return err
	}
	script, err := surgery.Parse(b)
	if err != nil {
		return errs.Wrap("", rules, err)
	}
	if o.DryRun {
		if n := len(paths); n > 1 && n == len(script.Sources)+1 || n == 2 && len(script.Sources) == 0 {
			paths = paths[:n-1]
		}
		return drySurgery(ctx, script, paths, o, g)
	}
	if len(paths) < 2 {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "surgery", Want: "RULES.yaml SRC... DST", Got: "no DST", Remedy: "or give --dry-run"}}
	}
	return writeSurgery(ctx, script, paths[:len(paths)-1], paths[len(paths)-1], o, g)
}

// sources finds the checkpoints that paths mean, and how to load all of them. With a key, all
// sources must have been signed as the same step.
func (o SurgeryOptions) sources(ctx context.Context, paths []string, g *global) (_ context.Context, found []string, load checkpoint.LoadOptions, err error) {
	scope := ctx
	for i, path := range paths {
		var one located
		if scope, one, err = o.locate(ctx, path, g); err != nil {
			return ctx, nil, load, err
		}
		if i > 0 && one.load.Label != load.Label {
			return ctx, nil, load, usageError{&errs.Error{Kind: errs.Invalid, Op: "surgery", Subject: path,
				Want: "sources that were signed as the same step", Got: "sources of different steps",
				Remedy: "name the directories of the steps"}}
		}
		found, load = append(found, one.path), one.load
	}
	return scope, found, load, nil
}

// drySurgery prints what the rules would do. It reads no array.
func drySurgery(ctx context.Context, script surgery.Script, paths []string, o SurgeryOptions, g *global) error {
	ctx, paths, load, err := o.sources(ctx, paths, g)
	if err != nil {
		return err
	}
	var plan *surgery.Plan
	_, err = checkpoint.LoadAndTransform(ctx, paths, nil, func(_ context.Context, in []*tree.Node) (*tree.Node, error) {
		p, err := script.Plan(in)
		plan = p
		return tree.NewDict(), err
	}, &load)
	if err != nil {
		return err
	}
	return reportSurgery(g, operated{Sources: paths, Steps: steps(plan), Leaves: len(tree.Flatten(plan.Tree))})
}

func writeSurgery(ctx context.Context, script surgery.Script, paths []string, dst string, o SurgeryOptions, g *global) error {
	ctx, paths, load, err := o.sources(ctx, paths, g)
	if err != nil {
		return err
	}
	if o.To, err = target(o.To, dst); err != nil {
		return err
	}
	if o.To == npzLayout {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "surgery", Subject: "--to", Want: "a layout of checkpoints", Got: npzLayout, Remedy: "convert what surgery wrote"}}
	}
	c, layout, err := o.library(ctx, load)
	if err != nil {
		return err
	}
	var plan *surgery.Plan
	operate := func(_ context.Context, in []*tree.Node) (*tree.Node, error) {
		p, err := script.Plan(in)
		if err != nil {
			return nil, err
		}
		plan = p
		return p.Tree, nil
	}
	if err := converting(g, dst, &c, func() error { return checkpoint.ConvertAndTransform(ctx, paths, dst, operate, &c) }); err != nil {
		return err
	}
	return reportSurgery(g, operated{Sources: paths, Destination: dst, Layout: layout, Steps: steps(plan), Leaves: len(tree.Flatten(plan.Tree))})
}

// operated is what `surgery --json` prints.
type operated struct {
	Sources     []string       `json:"sources"`
	Destination string         `json:"destination,omitempty"` // empty for a dry run
	Layout      string         `json:"layout,omitempty"`
	Leaves      int            `json:"leaves"` // of the result, including empty containers
	Steps       []operatedStep `json:"steps"`
}

// operatedStep is the result of one rule.
type operatedStep struct {
	Rule    string           `json:"rule"`
	Changes []operatedLeaves `json:"changes"`
}

// operatedLeaves maps leaves to their replacements.
type operatedLeaves struct {
	From []string `json:"from"`
	To   []string `json:"to"`
	Is   []string `json:"is"` // the type and shape of each of To
}

func steps(p *surgery.Plan) []operatedStep {
	out := make([]operatedStep, len(p.Steps))
	for i, s := range p.Steps {
		out[i] = operatedStep{Rule: s.Rule.String(), Changes: make([]operatedLeaves, len(s.Changes))}
		for k, c := range s.Changes {
			out[i].Changes[k] = operatedLeaves{c.From, append([]string{}, c.To...), append([]string{}, c.Is...)}
		}
	}
	return out
}

// reportSurgery prints the result: each leaf for a dry run, else each rule.
func reportSurgery(g *global, o operated) error {
	return g.show(o, func() { o.print(g) })
}

// print prints what surgery did, or would do.
func (o operated) print(g *global) {
	for _, s := range o.Steps {
		g.printf("%s\n", s.Rule)
		if o.Destination != "" {
			g.printf("    %s\n", strconv.Itoa(len(s.Changes))+" changed")
			continue
		}
		for _, c := range s.Changes {
			g.printf("    %s -> %s\n", listed(c.From), became(c))
		}
		if len(s.Changes) == 0 {
			g.printf("    nothing\n")
		}
	}
	if o.Destination == "" {
		g.printf("leaves: %d; nothing was written\n", o.Leaves)
		return
	}
	g.printf("%s: %s, %d leaves, compared with what the rules make of %s\n", o.Destination, o.Layout, o.Leaves, strings.Join(o.Sources, ", "))
}

// became describes the new leaves.
func became(c operatedLeaves) string {
	if len(c.To) == 0 {
		return "dropped"
	}
	return listed(c.To) + "  " + c.Is[len(c.Is)-1]
}

// listed shortens a list of names.
func listed(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return names[0] + ", " + names[1] + ", …, " + names[len(names)-1]
}
