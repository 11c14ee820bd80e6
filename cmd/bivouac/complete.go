package main

import (
	"context"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/op"
)

// completeWithin bounds how long a shell waits for the words that a completion looks up.
const completeWithin = 3 * time.Second

// addCompletion makes shells complete steps, leaves and operators.
func (g *global) addCompletion(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "cat", "extract":
			cmd.ValidArgsFunction = g.completeLeaves
		case "ops":
			cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				var names []string
				for _, s := range op.Schemas() {
					names = append(names, s.Name)
				}
				slices.Sort(names)
				return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
			}
		}
		if cmd.Flags().Lookup("step") != nil {
			cmd.RegisterFlagCompletionFunc("step", g.completeSteps) //nolint:errcheck // the flag exists
		}
	}
}

// silent returns a copy of g that prints no warnings, and a context that ends soon. A completion
// that fails offers nothing.
func (g *global) silent(cmd *cobra.Command) (*global, context.Context, context.CancelFunc) {
	s := *g
	s.stderr = io.Discard
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, stop := context.WithTimeout(ctx, completeWithin)
	return &s, ctx, stop
}

// completeLeaves offers files for the first argument, and the leaves of that checkpoint afterwards.
func (g *global) completeLeaves(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	s, ctx, stop := g.silent(cmd)
	defer stop()
	step := int64(anyStep)
	if f := cmd.Flags().Lookup("step"); f != nil && f.Changed {
		if n, err := strconv.ParseInt(f.Value.String(), 10, 64); err == nil {
			step = n
		}
	}
	found, err := resolve(ctx, args[0], step, s)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	info, err := checkpoint.Metadata(ctx, found.path, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, it := range info.Items {
		if len(it.Leaves) == 0 {
			names = append(names, it.Name)
		}
		for _, l := range it.Leaves {
			if !slices.Contains(args[1:], l.Param) {
				names = append(names, printable(l.Param))
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeSteps offers the steps of the run that the last argument names, the newest first.
func (g *global) completeSteps(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, ctx, stop := g.silent(cmd)
	defer stop()
	at := args[0]
	if cmd.Name() == "tag" {
		at = args[len(args)-1]
	}
	run, err := openRun(ctx, at, s)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var steps []string
	for _, info := range slices.Backward(run.steps) {
		steps = append(steps, strconv.FormatInt(info.Step, 10))
	}
	return steps, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
