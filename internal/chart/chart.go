// Package chart draws series of numbers over steps as an SVG document: one panel a scalar, one line
// a run. A document needs no script and no font of its own, and follows the light or dark scheme of
// the page that shows it.
package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Theme chooses the colours.
type Theme string

// The themes. Auto is light, or dark where the viewer asks for it.
const (
	Auto  Theme = "auto"
	Light Theme = "light"
	Dark  Theme = "dark"
)

// Point is a value of a line. A Y that is not finite is a gap.
type Point struct{ X, Y float64 }

// Line is a series of one run, ascending by X.
type Line struct {
	Name   string
	Points []Point
	Faint  bool // drawn pale and thin, without an entry in the legend
	Wide   bool // drawn pale and broad below other lines, so that an equal line on top hides nothing
	Color  int  // lines of one run have the same
}

// Mark is a place on the axis of steps where an attempt began, or was killed.
type Mark struct {
	X      float64
	Killed bool
	Color  int
}

// Panel is a drawing with its own axes.
type Panel struct {
	Title string
	Log   bool // the axis of values is logarithmic; values that are not positive are gaps
	Lines []Line
	Marks []Mark
}

// Extents in user units of the drawing.
const (
	width, height = 960, 400 // of a panel
	left, right   = 76, 24
	top, bottom   = 56, 48
)

// palette has colours that people with weak colour vision can tell apart (Okabe and Ito).
var palette = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#666666"}

// Draw returns the panels below each other.
func Draw(theme Theme, panels []Panel) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="12">`+"\n", width, height*max(1, len(panels)))
	b.WriteString(style(theme))
	fmt.Fprintf(&b, `<rect class="back" width="%d" height="%d"/>`+"\n", width, height*max(1, len(panels)))
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(0 %d)">`+"\n", i*height)
		p.draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// style returns the colours of a theme.
func style(theme Theme) string {
	const light = ".back{fill:#fff}text{fill:#222}.grid{stroke:#ddd}"
	const dark = ".back{fill:#16181d}text{fill:#ddd}.grid{stroke:#383c45}"
	text := light
	switch theme {
	case Dark:
		text = dark
	case Auto:
		text += "@media(prefers-color-scheme:dark){" + dark + "}"
	}
	return "<style>" + text + "</style>\n"
}

// draw draws a panel at the origin.
func (p *Panel) draw(b *bytes.Buffer) {
	s := p.scale()
	fmt.Fprintf(b, `<text x="%d" y="22" font-size="15">%s</text>`+"\n", left, escape(p.Title))
	s.axes(b)
	for _, m := range p.Marks {
		if m.X >= s.x0 && m.X <= s.x1 {
			fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="%s" `+
				`stroke-dasharray="%s" opacity="0.6"/>`+"\n",
				s.x(m.X), s.x(m.X), top, height-bottom, color(m.Color), m.dashes())
		}
	}
	for layer := range 3 {
		for _, l := range p.Lines {
			if l.layer() == layer {
				s.line(b, l)
			}
		}
	}
	p.legend(b)
}

// layer returns when a line is drawn: lines of higher layers lie on top.
func (l *Line) layer() int {
	switch {
	case l.Wide:
		return 0
	case l.Faint:
		return 1
	}
	return 2
}

// look returns the attributes of a line.
func (l *Line) look() string {
	switch {
	case l.Wide:
		return `stroke-width="5" opacity="0.35"`
	case l.Faint:
		return `stroke-width="1" opacity="0.3"`
	}
	return `stroke-width="1.6"`
}

func (m *Mark) dashes() string {
	if m.Killed {
		return "1 3"
	}
	return "4 3"
}

// legend names the lines and the marks.
func (p *Panel) legend(b *bytes.Buffer) {
	at := left
	for _, l := range p.Lines {
		if l.Faint {
			continue
		}
		look := `stroke-width="2"`
		if l.Wide {
			look = l.look()
		}
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="40" y2="40" stroke="%s" %s/>`+
			`<text x="%d" y="44">%s</text>`+"\n",
			at, at+20, color(l.Color), look, at+26, escape(l.Name))
		at += 50 + 7*len([]rune(l.Name))
	}
	for _, killed := range []bool{false, true} {
		if !slices.ContainsFunc(p.Marks, func(m Mark) bool { return m.Killed == killed }) {
			continue
		}
		text := "┆ resumed"
		if killed {
			text = "⁞ killed"
		}
		fmt.Fprintf(b, `<text x="%d" y="44" opacity="0.7">%s</text>`+"\n", at, text)
		at += 80
	}
}

// escape makes text safe inside an element. Package html would link its table of entities, which
// has no room in the command of the wheel.
func escape(text string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(text)) //nolint:errcheck // a buffer takes everything
	return b.String()
}

func color(i int) string { return palette[((i%len(palette))+len(palette))%len(palette)] }

// scale maps steps and values to the drawing.
type scale struct {
	x0, x1, y0, y1 float64 // y in logarithms if log is set
	log            bool
}

func (p *Panel) scale() scale {
	s := scale{x0: math.Inf(1), x1: math.Inf(-1), y0: math.Inf(1), y1: math.Inf(-1), log: p.Log}
	for _, l := range p.Lines {
		for _, q := range l.Points {
			if y, ok := s.value(q.Y); ok {
				s.x0, s.x1 = min(s.x0, q.X), max(s.x1, q.X)
				s.y0, s.y1 = min(s.y0, y), max(s.y1, y)
			}
		}
	}
	if s.x0 > s.x1 {
		s.x0, s.x1, s.y0, s.y1 = 0, 1, 0, 1
	}
	if s.x0 == s.x1 {
		s.x1++
	}
	if s.y0 == s.y1 {
		pad := max(math.Abs(s.y0)*0.1, 1e-9)
		s.y0, s.y1 = s.y0-pad, s.y1+pad
	}
	return s
}

// value returns the place of a value on its axis. ok is false for a gap. Huge values are cut, so
// that differences stay finite.
func (s scale) value(v float64) (y float64, ok bool) {
	if s.log {
		v = math.Log10(v)
	}
	const most = 1e300
	return max(-most, min(v, most)), !math.IsNaN(v) && !math.IsInf(v, 0)
}

func (s scale) x(x float64) float64 { return left + (x-s.x0)/(s.x1-s.x0)*(width-left-right) }

func (s scale) y(y float64) float64 {
	return height - bottom - (y-s.y0)/(s.y1-s.y0)*(height-top-bottom)
}

// line draws the pieces of a line between its gaps. A piece of one point is a dot.
func (s scale) line(b *bytes.Buffer, l Line) {
	var piece []byte
	n := 0
	end := func() {
		switch {
		case n == 1:
			fmt.Fprintf(b, `<path d="M%sh0.01" stroke="%s" stroke-width="3" stroke-linecap="round"/>`+"\n",
				bytes.TrimSpace(piece), color(l.Color))
		case n > 1:
			fmt.Fprintf(b, `<polyline fill="none" stroke-linejoin="round" stroke="%s" %s points="%s"/>`+"\n",
				color(l.Color), l.look(), bytes.TrimSpace(piece))
		}
		piece, n = piece[:0], 0
	}
	for _, q := range l.Points {
		y, ok := s.value(q.Y)
		if !ok {
			end()
			continue
		}
		piece = strconv.AppendFloat(piece, s.x(q.X), 'f', 1, 64)
		piece = append(piece, ',')
		piece = strconv.AppendFloat(piece, s.y(y), 'f', 1, 64)
		piece = append(piece, ' ')
		n++
	}
	end()
}

// axes draws the grid with its numbers.
func (s scale) axes(b *bytes.Buffer) {
	for _, y := range ticks(s.y0, s.y1) {
		at, label := s.y(y), number(y)
		if s.log {
			label = power(y)
		}
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`+
			`<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, width-right, at, at, left-8, at+4, label)
	}
	for _, x := range ticks(s.x0, s.x1) {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", s.x(x), height-bottom+18, number(x))
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">step</text>`+"\n", (left+width-right)/2, height-bottom+36)
}

// number writes a number of an axis.
func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// power writes ten to the power of y, which may lie beyond what a float64 holds.
func power(y float64) string {
	whole := math.Floor(y)
	if math.Abs(y) < 300 {
		return number(math.Pow(10, y))
	}
	return number(math.Pow(10, y-whole)) + "e" + number(whole)
}

// ticks returns up to eight round numbers from low to high.
func ticks(low, high float64) (out []float64) {
	const most = 8
	rough := (high - low) / most
	if !(rough > 0) || math.IsInf(rough, 0) {
		return nil
	}
	unit := math.Pow(10, math.Floor(math.Log10(rough)))
	step := unit * 10
	for _, f := range []float64{1, 2, 5} {
		if unit*f >= rough {
			step = unit * f
			break
		}
	}
	if !(step > 0) || math.IsInf(step, 0) {
		return nil
	}
	for i := math.Ceil(low / step); i*step <= high && len(out) <= most; i++ {
		out = append(out, i*step)
	}
	return out
}
