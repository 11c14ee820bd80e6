package main

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/diff"
	"github.com/bivouac-ml/bivouac/errs"
)

// DiffOptions are the flags of `bivouac diff`.
type DiffOptions struct {
	trust
	All       bool
	Histogram bool
}

// AddFlags declares the flags.
func (o *DiffOptions) AddFlags(cmd *cobra.Command) {
	o.addFlag(cmd)
	cmd.Flags().BoolVar(&o.All, "all", false, "also list leaves that are the same")
	cmd.Flags().BoolVar(&o.Histogram, "histogram", false, "count the differences of each array by their powers of ten")
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
	// RMS is the root mean square of the differences over all elements. WasRMS and IsRMS are the root
	// mean squares of the elements, and Relative is RMS in relation to WasRMS. Without a finite value
	// they are absent.
	RMS       *float64       `json:"rms,omitempty"`
	WasRMS    *float64       `json:"was_rms,omitempty"`
	IsRMS     *float64       `json:"is_rms,omitempty"`
	Relative  *float64       `json:"relative,omitempty"`
	Histogram *diffHistogram `json:"histogram,omitempty"`
	Members   []diffMember   `json:"members,omitempty"` // that differ in an item of JSON
	More      int            `json:"more_members,omitempty"`
}

type diffHistogram struct {
	Same      int64        `json:"same"`
	NotFinite int64        `json:"not_finite"`
	Decades   []diffDecade `json:"decades"`
}

// diffDecade counts differences of at least From and below To; 0 and 0 are equal values with other
// bits. To is absent if there is no bound.
type diffDecade struct {
	From  float64  `json:"from"`
	To    *float64 `json:"to,omitempty"`
	Count int64    `json:"count"`
}

type diffMember struct {
	Path string `json:"path"`
	Was  string `json:"was,omitempty"` // in JSON
	Is   string `json:"is,omitempty"`
}

func newDiffCommand(g *global) *cobra.Command {
	var o DiffOptions
	return with(&cobra.Command{
		Use:   "diff PATH PATH",
		Short: "Compare two checkpoints leaf by leaf",
		Long: `Compare two checkpoints of any layout leaf by leaf, bit for bit: what is missing, what
was added, and what changed: dtype, shape, values. Of arrays of one shape it prints how
many elements differ, by how much at most, and the root mean square (rms) of the change,
also in relation to the rms of the first array. --histogram counts the differences by
their powers of ten. Of items of JSON it prints the members that differ. A run directory
stands for its newest step.

` + exitCodesHelp + `
Checkpoints that differ are exit status 4.`,
		Example: `  bivouac diff runs/a/1200 runs/a/1300
  bivouac diff runs/a runs/b --histogram
  bivouac diff runs/a weights.safetensors --json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return runDiff(cmd.Context(), args[0], args[1], o, g) },
	}, o.AddFlags, g.addStepPrefix, g.addJSON, g.addURLs)
}

func runDiff(ctx context.Context, a, b string, o DiffOptions, g *global) error {
	var paths [2]string
	d := diff.Options{Histogram: o.Histogram}
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
	if l.Elements > 0 {
		d.MaxAbs = asNumber(l.MaxAbs)
	}
	if z := l.Size; z.Elements > 0 {
		d.RMS, d.WasRMS, d.IsRMS, d.Relative = asNumber(z.RMS), asNumber(z.Was), asNumber(z.Is), asNumber(z.Relative)
	}
	if h := l.Histogram; h != nil {
		d.Histogram = &diffHistogram{Same: h.Same, NotFinite: h.NotFinite, Decades: []diffDecade{}}
		for _, x := range h.Decades {
			d.Histogram.Decades = append(d.Histogram.Decades, diffDecade{x.From, asNumber(x.To), x.Count})
		}
	}
	for _, m := range l.Members {
		d.Members = append(d.Members, diffMember(m))
	}
	d.More = l.More
	return d
}

// asNumber returns a number as JSON can hold it, or nil.
func asNumber(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
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
			d.printSize(g)
			g.printf("\n")
			d.printMore(g)
		}
	}
}

// printSize prints how large the change of an array of several elements is.
func (d *difference) printSize(g *global) {
	if d.RMS == nil || strings.HasPrefix(d.Was, "scalar ") {
		return
	}
	g.printf(", rms %.4g", *d.RMS)
	switch {
	case d.Relative != nil:
		g.printf(" (%.3g %% of the rms before)", 100**d.Relative)
	case d.WasRMS != nil && *d.WasRMS == 0:
		g.printf(" (all elements were 0)")
	}
}

// printMore prints the histogram of an array, and the members of an item of JSON.
func (d *difference) printMore(g *global) {
	for _, m := range d.Members {
		switch {
		case m.Was == "":
			g.printf("     +  %s  %s\n", m.Path, m.Is)
		case m.Is == "":
			g.printf("     -  %s  %s\n", m.Path, m.Was)
		default:
			g.printf("     ~  %s  %s -> %s\n", m.Path, m.Was, m.Is)
		}
	}
	if d.More > 0 {
		g.printf("     %d more members differ\n", d.More)
	}
	h := d.Histogram
	if h == nil {
		return
	}
	type bin struct {
		name  string
		count int64
	}
	bins := []bin{{"the same", h.Same}}
	for _, x := range h.Decades {
		switch {
		case x.To == nil:
			bins = append(bins, bin{fmt.Sprintf("%g and more", x.From), x.Count})
		case *x.To == 0:
			bins = append(bins, bin{"0, other bits", x.Count})
		default:
			bins = append(bins, bin{fmt.Sprintf("%g to %g", x.From, *x.To), x.Count})
		}
	}
	if h.NotFinite > 0 {
		bins = append(bins, bin{"not finite", h.NotFinite})
	}
	most := int64(1)
	for _, b := range bins {
		most = max(most, b.count)
	}
	for _, b := range bins {
		const width = 40
		bar := int(math.Ceil(width * float64(b.count) / float64(most)))
		g.printf("     %-16s %10d  %s\n", b.name, b.count, strings.Repeat("#", bar))
	}
}
