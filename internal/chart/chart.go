// Package chart draws series of numbers over steps as an SVG document: one panel a scalar, one line
// a run. A document needs no script and no font of its own, and follows the light or dark scheme of
// the page that shows it. Package raster draws the same as pixels.
package chart

import (
	"bytes"
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

// Extent returns the size of the drawing of n panels, in user units.
func Extent(n int) (w, h int) { return width, height * max(1, n) }

// Draw returns the panels below each other.
func Draw(theme Theme, panels []Panel) []byte {
	w, h := Extent(len(panels))
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="12">`+"\n", w, h)
	b.WriteString(style(theme))
	fmt.Fprintf(&b, `<rect class="back" width="%d" height="%d"/>`+"\n", w, h)
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(0 %d)">`+"\n", i*height)
		p.draw(&svg{&b})
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// Paint draws the panels on canvases: on(i) returns the canvas of panel i, whose origin is its
// upper left corner.
func Paint(panels []Panel, on func(i int) Canvas) {
	for i, p := range panels {
		p.draw(on(i))
	}
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
func (p *Panel) draw(c Canvas) {
	s := p.scale()
	c.Text(left, 22, Text{Size: 15}, p.Title)
	s.axes(c)
	for _, m := range p.Marks {
		if m.X >= s.x0 && m.X <= s.x1 {
			x := s.x(m.X)
			c.Line(Point{x, top}, Point{x, height - bottom}, Stroke{Color: color(m.Color), Width: 1, Opacity: 0.6,
				Dashes: m.dashes()})
		}
	}
	for layer := range 3 {
		for _, l := range p.Lines {
			if l.layer() == layer {
				s.line(c, l)
			}
		}
	}
	p.legend(c)
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

// stroke returns how a line is drawn.
func (l *Line) stroke() Stroke {
	s := Stroke{Color: color(l.Color), Width: 1.6}
	switch {
	case l.Wide:
		s.Width, s.Opacity = 5, 0.35
	case l.Faint:
		s.Width, s.Opacity = 1, 0.3
	}
	return s
}

func (m *Mark) dashes() []float64 {
	if m.Killed {
		return []float64{1, 3}
	}
	return []float64{4, 3}
}

// legend names the lines and the marks.
func (p *Panel) legend(c Canvas) {
	at := float64(left)
	for _, l := range p.Lines {
		if l.Faint {
			continue
		}
		look := Stroke{Color: color(l.Color), Width: 2}
		if l.Wide {
			look = l.stroke()
		}
		c.Line(Point{at, 40}, Point{at + 20, 40}, look)
		c.Text(at+26, 44, Text{}, l.Name)
		at += 50 + 7*float64(len([]rune(l.Name)))
	}
	for _, killed := range []bool{false, true} {
		if !slices.ContainsFunc(p.Marks, func(m Mark) bool { return m.Killed == killed }) {
			continue
		}
		text := "┆ resumed"
		if killed {
			text = "⁞ killed"
		}
		c.Text(at, 44, Text{Opacity: 0.7}, text)
		at += 80
	}
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
func (s scale) line(c Canvas, l Line) {
	var piece []Point
	end := func() {
		switch len(piece) {
		case 0:
		case 1:
			c.Dot(piece[0], Stroke{Color: color(l.Color), Width: 3})
		default:
			c.Polyline(piece, l.stroke())
		}
		piece = piece[:0]
	}
	for _, q := range l.Points {
		y, ok := s.value(q.Y)
		if !ok {
			end()
			continue
		}
		piece = append(piece, Point{s.x(q.X), s.y(y)})
	}
	end()
}

// axes draws the grid with its numbers.
func (s scale) axes(c Canvas) {
	for _, y := range ticks(s.y0, s.y1) {
		at, label := s.y(y), number(y)
		if s.log {
			label = power(y)
		}
		c.Line(Point{left, at}, Point{width - right, at}, Stroke{Width: 1})
		c.Text(left-8, at+4, Text{Anchor: End}, label)
	}
	for _, x := range ticks(s.x0, s.x1) {
		c.Text(s.x(x), height-bottom+18, Text{Anchor: Middle}, number(x))
	}
	c.Text((left+width-right)/2, height-bottom+36, Text{Anchor: Middle}, "step")
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
