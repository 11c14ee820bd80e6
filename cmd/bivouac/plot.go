//go:build !bivouac_wheel

package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/chart"
	"github.com/bivouac-ml/bivouac/internal/chart/raster"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// PlotOptions are the flags of `bivouac plot`.
type PlotOptions struct {
	Output  string
	Scalars []string
	Smooth  float64
	Log     bool
	Theme   string
}

// AddFlags declares the flags.
func (o *PlotOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.Output, "output", "o", "", "file to write, which ends with .svg or .png")
	f.StringSliceVar(&o.Scalars, "scalar", nil, "scalars to draw, each in a panel; by default loss, or the first one")
	f.Float64Var(&o.Smooth, "smooth", 0, "weight of the past in a moving average, from 0 to below 1; 0 draws the values")
	f.BoolVar(&o.Log, "log", false, "draw values on a logarithmic axis")
	f.StringVar(&o.Theme, "theme", string(chart.Auto), "light, dark, or auto: as the viewer asks for; a PNG is light then")
}

// plotted is what `plot --json` prints.
type plotted struct {
	File  string        `json:"file"`
	Lines []plottedLine `json:"lines"`
}

type plottedLine struct {
	Run       string `json:"run"`
	Scalar    string `json:"scalar"`
	Steps     int64  `json:"steps"`
	Nonfinite int64  `json:"nonfinite"` // values that are drawn as gaps
}

func newPlotCommand(g *global) *cobra.Command {
	var o PlotOptions
	return with(&cobra.Command{
		Use:   "plot RUN…",
		Short: "Draw the scalars of one or several runs",
		Long: `Draw scalars of the journals of runs as SVG or PNG: a panel for each scalar, and a line
for each run. What was superseded is not drawn. A dashed line marks each step from which an
attempt continued. With --smooth the moving average is drawn, and the values behind it.
Peaks stay visible however long the run is. NaN and infinite values are gaps.

` + exitCodesHelp,
		Example: `  bivouac plot runs/digits -o loss.svg
  bivouac plot runs/a runs/b --scalar loss,lr --smooth 0.9 -o both.png`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runPlot(cmd.Context(), args, o, g) },
	}, o.AddFlags, g.addJSON, g.addURLs)
}

// validate returns an error for flags that cannot be meant.
func (o *PlotOptions) validate() error {
	bad := func(flag, want, got, remedy string) error {
		return usageError{&errs.Error{Kind: errs.Invalid, Op: "plot", Subject: flag, Want: want, Got: got, Remedy: remedy}}
	}
	switch {
	case o.Output == "":
		return bad("--output", "a file to write", "none", "-o loss.svg")
	case !o.isPNG() && !strings.EqualFold(filepath.Ext(o.Output), ".svg"):
		return bad("--output", "a name that ends with .svg or .png", strconv.Quote(o.Output),
			"a browser or rsvg-convert makes other formats of SVG")
	case !(o.Smooth >= 0 && o.Smooth < 1):
		return bad("--smooth", "0 to below 1", strconv.FormatFloat(o.Smooth, 'g', -1, 64), "0.9 is about the last 10 steps")
	case !slices.Contains([]chart.Theme{chart.Auto, chart.Light, chart.Dark}, chart.Theme(o.Theme)):
		return bad("--theme", "auto, light or dark", strconv.Quote(o.Theme),
			errs.DidYouMean(o.Theme, []string{"auto", "light", "dark"}))
	}
	return nil
}

// isPNG reports whether the drawing is a PNG. Otherwise it is SVG.
func (o *PlotOptions) isPNG() bool { return strings.EqualFold(filepath.Ext(o.Output), ".png") }

// draw returns the file of panels.
func (o *PlotOptions) draw(panels []chart.Panel) ([]byte, error) {
	if o.isPNG() {
		return raster.Draw(chart.Theme(o.Theme), panels)
	}
	return chart.Draw(chart.Theme(o.Theme), panels), nil
}

// runLines are the scalars of a run.
type runLines struct {
	dir    string
	names  []string
	series map[string]*chart.Series
	steps  map[string]int64
	marks  []float64
}

func runPlot(ctx context.Context, dirs []string, o PlotOptions, g *global) error {
	if err := o.validate(); err != nil {
		return err
	}
	if err := o.replaceable(); err != nil {
		return err
	}
	var runs []*runLines
	for _, dir := range dirs {
		r, err := readLines(ctx, dir, o.Smooth, g)
		if err != nil {
			return errs.Wrap("plot", dir, err)
		}
		runs = append(runs, r)
	}
	names, err := chosenScalars(runs, o.Scalars)
	if err != nil {
		return err
	}
	out := plotted{File: o.Output, Lines: []plottedLine{}}
	var panels []chart.Panel
	for _, name := range names {
		p := chart.Panel{Title: name, Log: o.Log}
		for i, r := range runs {
			s := r.series[name]
			if s == nil {
				g.warn(&errs.Error{Op: "plot", Subject: r.dir, Want: "scalar " + strconv.Quote(name), Got: "none of this name"})
				continue
			}
			if line := (chart.Line{Name: r.dir, Points: s.Points(), Color: i}); o.Smooth > 0 {
				line.Faint = true
				p.Lines = append(p.Lines, line, chart.Line{Name: r.dir, Points: s.Means(), Color: i})
			} else {
				p.Lines = append(p.Lines, line)
			}
			for _, x := range r.marks {
				p.Marks = append(p.Marks, chart.Mark{X: x, Color: i})
			}
			out.Lines = append(out.Lines, plottedLine{r.dir, name, r.steps[name], s.Gaps})
		}
		panels = append(panels, p)
	}
	b, err := o.draw(panels)
	if err != nil {
		return err
	}
	if err := writePlot(ctx, o.Output, b); err != nil {
		return err
	}
	return g.show(out, func() {
		for _, l := range out.Lines {
			g.printf("%s: %s: %d steps", l.Run, l.Scalar, l.Steps)
			if l.Nonfinite > 0 {
				g.printf(", %d of them not finite", l.Nonfinite)
			}
			g.printf("\n")
		}
		g.printf("written: %s\n", out.File)
	})
}

// readLines reads the scalars of a run that count.
func readLines(ctx context.Context, dir string, smooth float64, g *global) (*runLines, error) {
	j, err := openJournal(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, p := range j.Problems() {
		g.warn(p)
	}
	r := &runLines{dir: dir, series: map[string]*chart.Series{}, steps: map[string]int64{}}
	for _, a := range j.Attempts() {
		if a.Start.From > 0 {
			r.marks = append(r.marks, float64(a.Start.From))
		}
	}
	for row, err := range j.Current(ctx) {
		if errs.KindOf(err) == errs.Corrupt && ctx.Err() == nil {
			g.warn(err)
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, s := range row.Scalars {
			series := r.series[s.Name]
			if series == nil {
				series = &chart.Series{Smooth: smooth}
				r.series[s.Name], r.names = series, append(r.names, s.Name)
			}
			series.Add(float64(row.Step), s.Value)
			r.steps[s.Name]++
		}
	}
	return r, nil
}

// chosenScalars returns the names that are drawn. Each must be in one of the runs at least.
func chosenScalars(runs []*runLines, asked []string) ([]string, error) {
	var known []string
	for _, r := range runs {
		for _, name := range r.names {
			if !slices.Contains(known, name) {
				known = append(known, name)
			}
		}
	}
	for _, name := range asked {
		if !slices.Contains(known, name) {
			return nil, &errs.Error{Kind: errs.NotFound, Op: "plot", Subject: "--scalar " + name, Want: "a scalar of the runs",
				Got: "no such scalar; there are " + some(known), Remedy: errs.DidYouMean(name, known)}
		}
	}
	switch {
	case len(asked) > 0:
		return asked, nil
	case slices.Contains(known, "loss"):
		return []string{"loss"}, nil
	}
	for _, name := range known {
		if !strings.HasPrefix(name, "job/") {
			return []string{name}, nil
		}
	}
	if len(known) > 0 {
		return known[:1], nil
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: "plot", Subject: runs[0].dir, Want: "a step with scalars",
		Got: "no step"}
}

// replaceable returns an error if the file to write is something other than such a drawing.
func (o *PlotOptions) replaceable() error {
	b, err := os.ReadFile(o.Output)
	is, want := bytes.Contains(b[:min(len(b), 4096)], []byte("<svg")), "an SVG drawing"
	if o.isPNG() {
		is, want = bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")), "a PNG"
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && (is || len(b) == 0):
		return nil
	case err != nil:
		return &errs.Error{Kind: errs.Exists, Op: "plot", Subject: o.Output, Err: err, Remedy: "choose another name"}
	}
	return &errs.Error{Kind: errs.Exists, Op: "plot", Subject: o.Output, Want: "no file, or " + want,
		Got: "another file", Remedy: "choose another name"}
}

// writePlot writes the drawing in one step: a reader sees the old one or the whole new one.
func writePlot(ctx context.Context, file string, b []byte) error {
	dir, name := filepath.Split(file)
	if _, err := os.Stat(filepath.Clean(dir + ".")); err != nil {
		return &errs.Error{Kind: errs.NotFound, Op: "plot", Subject: file, Want: "a directory that exists", Err: err}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: "plot", Subject: file, Err: err}
	}
	st, err := local.Open(abs, nil)
	if err != nil {
		return err
	}
	return errs.Wrap("plot", file, st.Put(ctx, name, b, store.PutOptions{}))
}
