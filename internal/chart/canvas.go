package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
)

// Canvas is what a panel is drawn on. The unit of coordinates is about a pixel of a screen.
type Canvas interface {
	// Line draws a straight line.
	Line(from, to Point, s Stroke)
	// Polyline draws straight lines from point to point, of which there are at least 2. The Canvas
	// does not keep them.
	Polyline(points []Point, s Stroke)
	// Dot draws a round dot with the width of the stroke.
	Dot(at Point, s Stroke)
	// Text writes one line of text, with its baseline at y.
	Text(x, y float64, t Text, text string)
}

// Stroke is how a line looks.
type Stroke struct {
	Color   string // #rrggbb; "" is the color of the grid
	Width   float64
	Opacity float64   // 0 is 1
	Dashes  []float64 // lengths of a dash and of a gap; nil for none
}

// Text is how text looks.
type Text struct {
	Size    float64 // 0 is 12
	Anchor  Anchor
	Opacity float64 // 0 is 1
}

// Anchor says where in the text its x is.
type Anchor string

// The anchors.
const (
	Start  Anchor = ""
	Middle Anchor = "middle"
	End    Anchor = "end"
)

// svg is a Canvas that writes elements.
type svg struct{ b *bytes.Buffer }

// coordinate writes a number with one digit behind the point, unless it is whole.
func coordinate(v float64) string {
	b := strconv.AppendFloat(nil, v, 'f', 1, 64)
	return string(bytes.TrimSuffix(b, []byte(".0")))
}

// attributes returns the attributes of a stroke.
func (s *Stroke) attributes() string {
	look := ` class="grid"`
	if s.Color != "" {
		look = ` stroke="` + s.Color + `" stroke-width="` + coordinate(s.Width) + `"`
	}
	if len(s.Dashes) == 2 {
		look += ` stroke-dasharray="` + coordinate(s.Dashes[0]) + " " + coordinate(s.Dashes[1]) + `"`
	}
	return look + opacity(s.Opacity)
}

func opacity(v float64) string {
	if v == 0 {
		return ""
	}
	return ` opacity="` + strconv.FormatFloat(v, 'g', -1, 64) + `"`
}

// Line implements Canvas.
func (c *svg) Line(from, to Point, s Stroke) {
	fmt.Fprintf(c.b, `<line x1="%s" x2="%s" y1="%s" y2="%s"%s/>`+"\n", coordinate(from.X), coordinate(to.X),
		coordinate(from.Y), coordinate(to.Y), s.attributes())
}

// Polyline implements Canvas.
func (c *svg) Polyline(points []Point, s Stroke) {
	fmt.Fprintf(c.b, `<polyline fill="none" stroke-linejoin="round"%s points="`, s.attributes())
	var room [32]byte
	for i, p := range points {
		if i > 0 {
			c.b.WriteByte(' ')
		}
		b := strconv.AppendFloat(room[:0], p.X, 'f', 1, 64)
		b = append(b, ',')
		c.b.Write(strconv.AppendFloat(b, p.Y, 'f', 1, 64))
	}
	c.b.WriteString(`"/>` + "\n")
}

// Dot implements Canvas.
func (c *svg) Dot(at Point, s Stroke) {
	fmt.Fprintf(c.b, `<path d="M%.1f,%.1fh0.01"%s stroke-linecap="round"/>`+"\n", at.X, at.Y, s.attributes())
}

// Text implements Canvas.
func (c *svg) Text(x, y float64, t Text, text string) {
	look := opacity(t.Opacity)
	if t.Size != 0 {
		look += ` font-size="` + coordinate(t.Size) + `"`
	}
	if t.Anchor != Start {
		look += ` text-anchor="` + string(t.Anchor) + `"`
	}
	fmt.Fprintf(c.b, `<text x="%s" y="%s"%s>%s</text>`+"\n", coordinate(x), coordinate(y), look, escape(text))
}

// escape makes text safe inside an element. Package html would link its table of entities, which
// has no room in the command of the wheel.
func escape(text string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(text)) //nolint:errcheck // a buffer takes everything
	return b.String()
}
