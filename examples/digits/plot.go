package digits

import (
	"bytes"
	"fmt"
	"math"
)

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

// Plot extents, in user units of the drawing.
const (
	plotWidth, plotHeight = 960, 480
	plotLeft, plotRight   = 64, 24
	plotTop, plotBottom   = 56, 56
)

var curveStyles = [...]string{
	`stroke="#9ecae1" stroke-width="5" stroke-linecap="round"`,
	`stroke="#08519c" stroke-width="1.4"`,
}

// LossPlot draws losses on a logarithmic axis as an SVG document. The first
// curve is drawn wide and pale, the second thin and dark on top of it: where
// they are equal the thin line runs in the middle of the wide one.
func LossPlot(title string, uninterrupted, interrupted Curve, marks []Mark) []byte {
	curves := []Curve{uninterrupted, interrupted}
	p := newScales(curves)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<text x="%d" y="24" font-size="16">%s</text>`+"\n", plotLeft, escape(title))
	p.axes(&b)
	for i, c := range curves {
		fmt.Fprintf(&b, `<polyline fill="none" stroke-linejoin="round" %s points="`, curveStyles[i])
		for j, v := range c.Values {
			fmt.Fprintf(&b, "%.1f,%.1f ", p.x(c.First+int64(j)), p.y(v))
		}
		b.WriteString(`"/>` + "\n")
	}
	p.marks(&b, marks)
	legend(&b, curves, len(marks) > 0)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// scales maps steps and losses to the drawing.
type scales struct {
	steps    int64   // the axis runs from 0 to steps
	low, top float64 // decimal logarithms of the losses at bottom and top
}

func newScales(curves []Curve) scales {
	s := scales{steps: 1, low: math.Inf(1), top: math.Inf(-1)}
	for _, c := range curves {
		s.steps = max(s.steps, c.First+int64(len(c.Values)))
		for _, v := range c.Values {
			if l := math.Log10(float64(v)); !math.IsInf(l, 0) && !math.IsNaN(l) {
				s.low, s.top = min(s.low, l), max(s.top, l)
			}
		}
	}
	if s.low > s.top {
		s.low, s.top = -1, 0
	}
	s.low, s.top = math.Floor(s.low), math.Ceil(s.top)
	if s.low == s.top {
		s.top++
	}
	return s
}

func (s scales) x(step int64) float64 {
	return plotLeft + float64(step)/float64(s.steps)*(plotWidth-plotLeft-plotRight)
}

// y puts losses that have no logarithm on the lower edge.
func (s scales) y(loss float32) float64 {
	l := math.Log10(float64(loss))
	if math.IsNaN(l) || l < s.low {
		l = s.low
	}
	return plotHeight - plotBottom - (min(l, s.top)-s.low)/(s.top-s.low)*(plotHeight-plotTop-plotBottom)
}

func (s scales) axes(b *bytes.Buffer) {
	const bottom, right = plotHeight - plotBottom, plotWidth - plotRight
	for e := s.low; e <= s.top; e++ {
		y := s.y(float32(math.Pow(10, e)))
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n",
			plotLeft, right, y, y, plotLeft-8, y+4, math.Pow(10, e))
	}
	for tick, every := int64(0), tickEvery(s.steps); tick <= s.steps; tick += every {
		x := s.x(tick)
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#888"/><text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n",
			x, x, bottom, bottom+5, x, bottom+20, tick)
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">step</text>`+"\n", (plotLeft+right)/2, bottom+42)
	fmt.Fprintf(b, `<text x="18" y="%d" text-anchor="middle" transform="rotate(-90 18 %d)">loss</text>`+"\n", (plotTop+bottom)/2, (plotTop+bottom)/2)
}

// tickEvery returns a round distance that gives five to ten ticks.
func tickEvery(steps int64) int64 {
	every := int64(1)
	for factor := 0; steps/every > 10; factor++ {
		every *= [...]int64{2, 5, 2}[factor%3]
		if factor%3 == 1 {
			every /= 2
		}
	}
	return every
}

// marks draws kills as red lines and resumptions as green triangles below the axis.
func (s scales) marks(b *bytes.Buffer, marks []Mark) {
	const bottom = plotHeight - plotBottom
	for _, m := range marks {
		x := s.x(m.Step)
		switch m.Kind {
		case Killed:
			fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#cb181d" stroke-dasharray="4 3"/>`+"\n", x, x, plotTop, bottom)
		case Resumed:
			fmt.Fprintf(b, `<path d="M%.1f %d l-5 9 h10 z" fill="#238b45"/>`+"\n", x, bottom)
		}
	}
}

func legend(b *bytes.Buffer, curves []Curve, marked bool) {
	x := plotLeft
	for i, c := range curves {
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="42" y2="42" %s/><text x="%d" y="46">%s</text>`+"\n", x, x+28, curveStyles[i], x+36, escape(c.Name))
		x += 60 + 8*len(c.Name)
	}
	if marked {
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="36" y2="48" stroke="#cb181d" stroke-dasharray="4 3"/><text x="%d" y="46">killed</text>`+"\n", x, x, x+10)
		x += 70
		fmt.Fprintf(b, `<path d="M%d 37 l-5 9 h10 z" fill="#238b45"/><text x="%d" y="46">resumed after</text>`+"\n", x, x+12)
	}
}

// escape makes text safe inside an element.
func escape(s string) string {
	var b bytes.Buffer
	for _, r := range s {
		switch r {
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '&':
			b.WriteString("&amp;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
