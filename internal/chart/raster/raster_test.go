package raster_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/chart"
	"github.com/bivouac-ml/bivouac/internal/chart/raster"
)

// decoded draws panels and reads the PNG.
func decoded(t interface{ Fatal(...any) }, theme chart.Theme, panels ...chart.Panel) image.Image {
	b, err := raster.Draw(theme, panels)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	w, h := chart.Extent(len(panels))
	if got := img.Bounds(); got != image.Rect(0, 0, w*raster.Scale, h*raster.Scale) {
		t.Fatal("bounds", got)
	}
	return img
}

// near returns how many pixels of a box, in units of the drawing, have about a colour.
func near(img image.Image, x0, y0, x1, y1 int, want color.RGBA) (n int) {
	for y := y0 * raster.Scale; y < y1*raster.Scale; y++ {
		for x := x0 * raster.Scale; x < x1*raster.Scale; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			d := max(math.Abs(float64(r>>8)-float64(want.R)), math.Abs(float64(g>>8)-float64(want.G)),
				math.Abs(float64(b>>8)-float64(want.B)))
			if d < 8 {
				n++
			}
		}
	}
	return n
}

var (
	blue   = color.RGBA{0x00, 0x72, 0xb2, 255}
	orange = color.RGBA{0xd5, 0x5e, 0x00, 255}
	ink    = color.RGBA{0x22, 0x22, 0x22, 255}
)

// TestPictureHasWhatTheDrawingHas looks for the parts of two panels: lines where their values are,
// text in the margins, and nothing of the one panel in the other.
func TestPictureHasWhatTheDrawingHas(t *testing.T) {
	flat := func(y float64) []chart.Point { return []chart.Point{{X: 0, Y: y}, {X: 10, Y: y}, {X: 20, Y: y}} }
	img := decoded(t, chart.Auto,
		chart.Panel{Title: "loss", Lines: []chart.Line{{Name: "a", Points: flat(1)}, {Name: "b", Points: flat(0), Color: 1}}},
		chart.Panel{Title: "lr", Lines: []chart.Line{{Name: "a", Points: flat(1), Color: 1}}})
	// In the first panel a line of 1.6 units lies along the top of the axes, and one along the bottom.
	if n := near(img, 80, 54, 930, 58, blue); n < 850*raster.Scale*2 {
		t.Errorf("%d blue pixels along the top", n)
	}
	if n := near(img, 80, 350, 930, 354, orange); n < 850*raster.Scale*2 {
		t.Errorf("%d orange pixels along the bottom", n)
	}
	if n := near(img, 80, 60, 930, 348, blue); n > 0 {
		t.Errorf("%d blue pixels between the lines", n)
	}
	if n := near(img, 0, 400, 960, 800, blue); n > 0 {
		t.Errorf("%d blue pixels in the second panel", n)
	}
	for name, box := range map[string]image.Rectangle{
		"title": image.Rect(76, 8, 110, 26), "legend": image.Rect(100, 34, 112, 48),
		"numbers of values": image.Rect(40, 50, 70, 62), "numbers of steps": image.Rect(70, 356, 82, 374),
		"step": image.Rect(480, 376, 530, 396), "second title": image.Rect(76, 408, 110, 426)} {
		if n := near(img, box.Min.X, box.Min.Y, box.Max.X, box.Max.Y, ink); n < 8 {
			t.Errorf("%s: %d pixels of text", name, n)
		}
	}
}

// TestMarksAreDashed draws a resumption and a kill: dashes on the axes, and names in the legend.
func TestMarksAreDashed(t *testing.T) {
	p := chart.Panel{Lines: []chart.Line{{Points: []chart.Point{{X: 0}, {X: 2}}}}, Marks: []chart.Mark{{X: 1}}}
	img := decoded(t, chart.Light, p)
	dashes, drawn := 0, false
	middle := (76 + 960 - 24) / 2 * raster.Scale
	for y := 60 * raster.Scale; y < 190*raster.Scale; y++ {
		r, _, _, _ := img.At(middle, y).RGBA()
		if now := r>>8 < 200; now != drawn {
			drawn = now
			dashes++
		}
	}
	if dashes < 30 {
		t.Errorf("%d ends of dashes along 130 units", dashes)
	}
	none := p
	none.Marks = nil
	without := decoded(t, chart.Light, none)
	if a, b := near(img, 120, 30, 260, 50, color.RGBA{255, 255, 255, 255}),
		near(without, 120, 30, 260, 50, color.RGBA{255, 255, 255, 255}); a >= b {
		t.Error("the legend does not name the mark")
	}
}

func TestThemes(t *testing.T) {
	for theme, back := range map[chart.Theme]color.RGBA{
		chart.Auto: {255, 255, 255, 255}, chart.Light: {255, 255, 255, 255},
		chart.Dark: {0x16, 0x18, 0x1d, 255}} {
		if n := near(decoded(t, theme, chart.Panel{}), 0, 0, 10, 10, back); n != 100*raster.Scale*raster.Scale {
			t.Errorf("%s: %d pixels of the background", theme, n)
		}
	}
}

// TestAnyNumbersDraw draws any numbers and names. No panic comes.
func TestAnyNumbersDraw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := chart.Panel{Title: rapid.String().Draw(rt, "title"), Log: rapid.Bool().Draw(rt, "log"),
			Marks: []chart.Mark{{X: 1, Killed: true}, {X: math.Inf(1)}, {X: 1e18}}}
		for x := range rapid.IntRange(0, 4).Draw(rt, "points") {
			y := rapid.OneOf(rapid.Float64(), rapid.Just(math.NaN()), rapid.Just(math.Inf(1))).Draw(rt, "y")
			p.Lines = append(p.Lines, chart.Line{Name: p.Title, Faint: x == 1, Wide: x == 2, Color: -x,
				Points: []chart.Point{{X: float64(x), Y: y}, {X: float64(x), Y: y}, {X: float64(x + 1), Y: -y}}})
		}
		if _, err := raster.Paint(chart.Dark, []chart.Panel{p}); err != nil {
			rt.Fatal(err)
		}
	})
}

func TestTooManyPanels(t *testing.T) {
	if _, err := raster.Draw(chart.Auto, make([]chart.Panel, raster.MostPanels+1)); errs.KindOf(err) != errs.Exhausted {
		t.Errorf("%v, want errs.Exhausted", err)
	}
}
