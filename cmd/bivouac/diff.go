package main

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/diff"
	"github.com/bivouac-ml/bivouac/errs"
)

// DiffOptions are the flags of `bivouac diff`.
type DiffOptions struct {
	trust
	All bool
}

// AddFlags declares the flags.
func (o *DiffOptions) AddFlags(cmd *cobra.Command) {
	o.addFlag(cmd)
	cmd.Flags().BoolVar(&o.All, "all", false, "also list leaves that are the same")
}

// difference is what `diff --json` prints of one leaf.
type difference struct {
	Item     string   `json:"item"`
	Path     string   `json:"path,omitempty"`
	Status   string   `json:"status"`
	Was      string   `json:"was,omitempty"`
	Is       string   `json:"is,omitempty"`
	Elements int      `json:"elements,omitempty"`
	MaxAbs   *float64 `json:"max_abs,omitempty"` // absent if the difference is not a number
}

func newDiffCommand(g *global) *cobra.Command {
	var o DiffOptions
	return with(&cobra.Command{
		Use:   "diff PATH PATH",
		Short: "Compare two checkpoints leaf by leaf",
		Long: `Compare two checkpoints of any layout leaf by leaf, bit for bit: what changed and
by how much at most, what is missing, what was added. A run directory stands
for its newest step.

` + exitCodesHelp + `
Checkpoints that differ are exit status 4.`,
		Example: `  bivouac diff runs/a/100 runs/b/100
  bivouac diff runs/a weights.safetensors --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return runDiff(cmd.Context(), args[0], args[1], o, g) },
	}, o.AddFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

func runDiff(ctx context.Context, a, b string, o DiffOptions, g *global) error {
	var paths [2]string
	var d diff.Options
	for i, p := range []string{a, b} {
		var load checkpoint.LoadOptions
		var err error
		if paths[i], load, err = o.find(ctx, p, anyStep, g); err != nil {
			return err
		}
		d.Keys[i], d.Labels[i] = load.Verification, load.Label
	}
	list, leaves, differ := []difference{}, 0, 0
	for l, err := range diff.Leaves(ctx, paths[0], paths[1], &d) {
		if err != nil {
			return err
		}
		leaves++
		if l.Status != diff.Same {
			differ++
		} else if !o.All {
			continue
		}
		list = append(list, newDifference(l))
	}
	err := g.show(list, func() {
		printDifferences(g, list)
		g.printf("%d of %d leaves differ\n", differ, leaves)
	})
	if err == nil && differ > 0 {
		return &errs.Error{Kind: errs.Mismatch, Op: "diff", Subject: paths[0] + " and " + paths[1], Got: fmt.Sprintf("%d of %d leaves differ", differ, leaves)}
	}
	return err
}

func newDifference(l diff.Leaf) difference {
	d := difference{Item: l.Item, Status: l.Status.String(), Was: l.Was, Is: l.Is, Elements: l.Elements}
	if len(l.Path) > 0 {
		d.Path = l.Path.String()
	}
	if l.Elements > 0 && !math.IsNaN(l.MaxAbs) && !math.IsInf(l.MaxAbs, 0) {
		d.MaxAbs = &l.MaxAbs
	}
	return d
}

func printDifferences(g *global, list []difference) {
	for _, d := range list {
		name := d.Item
		if d.Path != "" {
			name += "  " + d.Path
		}
		switch d.Status {
		case "missing":
			g.printf("-  %s  %s\n", name, d.Was)
		case "added":
			g.printf("+  %s  %s\n", name, d.Is)
		case "same":
			g.printf("=  %s  %s\n", name, d.Was)
		default:
			g.printf("~  %s  %s", name, d.Was)
			if d.Is != d.Was {
				g.printf(" -> %s", d.Is)
			}
			if d.Elements > 0 {
				g.printf("  %d elements differ", d.Elements)
				if d.MaxAbs != nil {
					g.printf(", by at most %g", *d.MaxAbs)
				}
			}
			g.printf("\n")
		}
	}
}
