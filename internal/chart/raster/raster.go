// Package raster draws the panels of package chart as a PNG. Text is in the Go fonts, which have
// the letters of Latin, Greek and Cyrillic; other letters are boxes.
package raster

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"strconv"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/chart"
)

// Scale is how many pixels a unit of the drawing has, so that small text is sharp.
const Scale = 2

// MostPanels is how many panels a picture has at most: 200 MB while it is drawn.
const MostPanels = 32

// theme has the colours of a raster.
type theme struct{ back, text, grid color.RGBA }

// Draw returns the panels below each other as a PNG. A picture cannot ask its viewer for a theme,
// so chart.Auto is light.
func Draw(t chart.Theme, panels []chart.Panel) ([]byte, error) {
	if len(panels) > MostPanels {
		return nil, &errs.Error{Kind: errs.Exhausted, Op: "plot", Subject: "a picture",
			Want: "at most " + strconv.Itoa(MostPanels) + " panels", Got: strconv.Itoa(len(panels)),
			Remedy: "choose fewer scalars, or write SVG"}
	}
	img, err := paint(t, panels)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = png.Encode(&b, img)
	return b.Bytes(), err
}

// paint draws the panels below each other.
func paint(t chart.Theme, panels []chart.Panel) (*image.RGBA, error) {
	look := theme{back: rgb("#ffffff"), text: rgb("#222222"), grid: rgb("#dddddd")}
	if t == chart.Dark {
		look = theme{back: rgb("#16181d"), text: rgb("#dddddd"), grid: rgb("#383c45")}
	}
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return nil, err
	}
	w, h := chart.Extent(len(panels))
	img := image.NewRGBA(image.Rect(0, 0, w*Scale, h*Scale))
	draw.Draw(img, img.Bounds(), image.NewUniform(look.back), image.Point{}, draw.Src)
	high := h * Scale / max(1, len(panels))
	chart.Paint(panels, func(i int) chart.Canvas {
		part := image.Rect(0, i*high, w*Scale, (i+1)*high)
		return &canvas{look, img.SubImage(part).(*image.RGBA), parsed, map[float64]font.Face{}}
	})
	return img, nil
}

// rgb reads a colour such as #0072b2.
func rgb(text string) color.RGBA {
	v, err := strconv.ParseUint(text[1:], 16, 32)
	if err != nil {
		return color.RGBA{A: 255}
	}
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

// canvas implements chart.Canvas on the part of a picture that a panel has.
type canvas struct {
	theme
	img   *image.RGBA
	font  *sfnt.Font
	faces map[float64]font.Face // by size
}

// fill paints what shape adds to the mask.
func (c *canvas) fill(paint color.RGBA, opacity float64, shape func(m *mask)) {
	var m mask
	shape(&m)
	if opacity != 0 {
		a := color.NRGBA{paint.R, paint.G, paint.B, uint8(math.Round(255 * opacity))}
		paint = color.RGBAModel.Convert(a).(color.RGBA)
	}
	origin, size := c.img.Bounds().Min, c.img.Bounds().Size()
	box := m.bounds().Intersect(image.Rectangle{Max: size})
	if box.Empty() {
		return
	}
	m.paint(c.img, box, origin, image.NewUniform(paint))
}

// stroke paints what shape adds to the mask with the colour of a stroke.
func (c *canvas) stroke(s chart.Stroke, shape func(m *mask)) {
	paint := c.grid
	if s.Color != "" {
		paint = rgb(s.Color)
	}
	c.fill(paint, s.Opacity, shape)
}

// mask collects polygons, in pixels. All of them turn in the same direction, so that overlaps do
// not cancel out.
type mask struct{ polygons [][]corner }

type corner struct{ x, y float32 }

// add adds a polygon.
func (m *mask) add(corners ...chart.Point) {
	p := make([]corner, len(corners))
	for i, q := range corners {
		p[i] = corner{float32(q.X * Scale), float32(q.Y * Scale)}
	}
	m.polygons = append(m.polygons, p)
}

// bounds returns the box of all polygons.
func (m *mask) bounds() (box image.Rectangle) {
	for _, p := range m.polygons {
		for _, c := range p {
			x, y := int(math.Floor(float64(c.x))), int(math.Floor(float64(c.y)))
			box = box.Union(image.Rect(x, y, x+2, y+2))
		}
	}
	return box
}

// paint paints the polygons within a box of a part of a raster. origin is where the part begins.
func (m *mask) paint(img draw.Image, box image.Rectangle, origin image.Point, paint image.Image) {
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	x, y := float32(box.Min.X), float32(box.Min.Y)
	for _, p := range m.polygons {
		for i, c := range p {
			if i == 0 {
				r.MoveTo(c.x-x, c.y-y)
			} else {
				r.LineTo(c.x-x, c.y-y)
			}
		}
		r.ClosePath()
	}
	r.Draw(img, box.Add(origin), paint, image.Point{})
}

// segment adds a straight line.
func (m *mask) segment(a, b chart.Point, width float64) {
	dx, dy := b.X-a.X, b.Y-a.Y
	length := math.Hypot(dx, dy)
	if length == 0 {
		return
	}
	dx, dy = dx/length*width/2, dy/length*width/2
	m.add(chart.Point{X: a.X + dy, Y: a.Y - dx}, chart.Point{X: b.X + dy, Y: b.Y - dx},
		chart.Point{X: b.X - dy, Y: b.Y + dx}, chart.Point{X: a.X - dy, Y: a.Y + dx})
}

// disc adds a disc, as a polygon.
func (m *mask) disc(at chart.Point, radius float64) {
	var corners [16]chart.Point
	for i := range corners {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(len(corners)))
		corners[i] = chart.Point{X: at.X + radius*cos, Y: at.Y + radius*sin}
	}
	m.add(corners[:]...)
}

// Line implements chart.Canvas.
func (c *canvas) Line(from, to chart.Point, s chart.Stroke) {
	c.stroke(s, func(m *mask) { m.dashed(from, to, s) })
}

// dashed adds a line with its dashes.
func (m *mask) dashed(from, to chart.Point, s chart.Stroke) {
	if len(s.Dashes) != 2 {
		m.segment(from, to, s.Width)
		return
	}
	length := math.Hypot(to.X-from.X, to.Y-from.Y)
	at := func(d float64) chart.Point {
		d = min(d, length) / length
		return chart.Point{X: from.X + d*(to.X-from.X), Y: from.Y + d*(to.Y-from.Y)}
	}
	for d := 0.0; d < length; d += s.Dashes[0] + s.Dashes[1] {
		m.segment(at(d), at(d+s.Dashes[0]), s.Width)
	}
}

// Polyline implements chart.Canvas.
func (c *canvas) Polyline(points []chart.Point, s chart.Stroke) {
	c.stroke(s, func(m *mask) {
		for i, p := range points[1:] {
			m.segment(points[i], p, s.Width)
			if i+2 < len(points) {
				m.disc(p, s.Width/2) // the join with the next one
			}
		}
	})
}

// Dot implements chart.Canvas.
func (c *canvas) Dot(at chart.Point, s chart.Stroke) {
	c.stroke(s, func(m *mask) { m.disc(at, s.Width/2) })
}

// Text implements chart.Canvas. The font has no dashed lines, so these are drawn.
func (c *canvas) Text(x, y float64, t chart.Text, text string) {
	if t.Size == 0 {
		t.Size = 12
	}
	dashes := map[rune][]float64{'┆': {4, 3}, '⁞': {1, 3}}
	if rest := []rune(text); len(rest) > 0 && dashes[rest[0]] != nil {
		s := chart.Stroke{Width: 1, Dashes: dashes[rest[0]]}
		c.fill(c.text, t.Opacity, func(m *mask) {
			m.dashed(chart.Point{X: x + 4, Y: y - t.Size + 1}, chart.Point{X: x + 4, Y: y + 2}, s)
		})
		x, text = x+8, string(rest[1:])
	}
	face := c.faces[t.Size]
	if face == nil {
		var err error
		face, err = opentype.NewFace(c.font, &opentype.FaceOptions{Size: t.Size * Scale, DPI: 72})
		if err != nil {
			return // a size that is not positive
		}
		c.faces[t.Size] = face
	}
	switch wide := float64(font.MeasureString(face, text)) / 64 / Scale; t.Anchor {
	case chart.Middle:
		x -= wide / 2
	case chart.End:
		x -= wide
	}
	paint := color.NRGBA{c.text.R, c.text.G, c.text.B, 255}
	if t.Opacity != 0 {
		paint.A = uint8(math.Round(255 * t.Opacity))
	}
	from := c.img.Bounds().Min
	d := font.Drawer{Dst: c.img, Src: image.NewUniform(paint), Face: face,
		Dot: fixed.Point26_6{X: fixed.Int26_6(math.Round((float64(from.X) + x*Scale) * 64)),
			Y: fixed.Int26_6(math.Round((float64(from.Y) + y*Scale) * 64))}}
	d.DrawString(text)
}
