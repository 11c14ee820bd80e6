package digits

import "github.com/bivouac-ml/bivouac/internal/chart"

// Curve is a line of a plot: Values[i] is the loss of step First+i.
type Curve struct {
	Name   string
	First  int64
	Values []float32
}

// Mark is a point of interest on the axis of steps.
type Mark struct {
	Step int64
	Kind MarkKind
}

// MarkKind says what happened at a Mark.
type MarkKind uint8

// The kinds of marks.
const (
	Killed  MarkKind = iota // the process died here
	Resumed                 // a process carried on after this step
)

// Colours of the plot, as numbers of package chart.
const (
	calmColor, killedColor = 5, 0
	killColor              = 1
	resumeColor            = 2
)

// LossPlot draws losses on a logarithmic axis as an SVG document. The first
// curve is drawn wide and pale, the second thin and dark on top of it: where
// they are equal the thin line runs in the middle of the wide one.
func LossPlot(title string, uninterrupted, interrupted Curve, marks []Mark) []byte {
	p := chart.Panel{Title: title + ": loss", Log: true, Lines: []chart.Line{
		{Name: uninterrupted.Name, Points: uninterrupted.points(), Wide: true, Color: calmColor},
		{Name: interrupted.Name, Points: interrupted.points(), Color: killedColor},
	}}
	for _, m := range marks {
		mark := chart.Mark{X: float64(m.Step), Color: resumeColor}
		if m.Kind == Killed {
			mark.Killed, mark.Color = true, killColor
		}
		p.Marks = append(p.Marks, mark)
	}
	return chart.Draw(chart.Auto, []chart.Panel{p})
}

func (c *Curve) points() []chart.Point {
	points := make([]chart.Point, len(c.Values))
	for i, v := range c.Values {
		points[i] = chart.Point{X: float64(c.First + int64(i)), Y: float64(v)}
	}
	return points
}
