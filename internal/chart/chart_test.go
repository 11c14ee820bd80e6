package chart_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/internal/chart"
)

// elements reads a document and counts its elements. It fails for text that is not XML.
func elements(t interface{ Fatal(...any) }, doc []byte) map[string]int {
	out := map[string]int{}
	d := xml.NewDecoder(bytes.NewReader(doc))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err, string(doc))
		}
		if s, ok := token.(xml.StartElement); ok {
			out[s.Name.Local]++
		}
	}
}

// TestAnyNumbersDraw draws any numbers. The document is XML, and no coordinate is NaN or infinite.
func TestAnyNumbersDraw(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := chart.Panel{Title: rapid.StringOf(rapid.RuneFrom([]rune("a<>&\"é"))).Draw(rt, "title"),
			Log: rapid.Bool().Draw(rt, "log")}
		var s chart.Series
		for x := range rapid.IntRange(0, 50).Draw(rt, "points") {
			s.Add(float64(x), rapid.OneOf(rapid.Float64(), rapid.Just(math.NaN()), rapid.Just(math.Inf(-1))).Draw(rt, "y"))
		}
		p.Lines = []chart.Line{{Name: p.Title, Points: s.Points()}, {Points: s.Means(), Faint: true, Color: -3}}
		p.Marks = []chart.Mark{{X: 3}, {X: 1e18}}
		doc := chart.Draw(chart.Auto, []chart.Panel{p, p})
		if n := elements(rt, doc); n["svg"] != 1 || n["g"] != 2 {
			rt.Fatalf("%v", n)
		}
		if body := string(doc); strings.Contains(body, "NaN") || strings.Contains(body, "Inf") {
			rt.Fatal(body)
		}
	})
}

// TestNoPeakIsLost draws long series. The lowest and the highest value stay, and the mean of the
// last value is the moving average of all.
func TestNoPeakIsLost(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 20_000).Draw(rt, "values")
		s := chart.Series{Smooth: rapid.SampledFrom([]float64{0, 0.5, 0.99}).Draw(rt, "smooth")}
		up, down := rapid.IntRange(0, n-1).Draw(rt, "up"), rapid.IntRange(0, n-1).Draw(rt, "down")
		mean, weight := 0.0, 0.0
		for x := range n {
			y := math.Sin(float64(x))
			switch x {
			case up:
				y = 100
			case down:
				y = -100
			}
			s.Add(float64(x), y)
			mean, weight = s.Smooth*mean+(1-s.Smooth)*y, s.Smooth*weight+1-s.Smooth
		}
		seen := map[chart.Point]bool{}
		last := -1.0
		for _, p := range s.Points() {
			seen[p] = true
			if p.X < last {
				rt.Fatalf("%v comes after %v", p.X, last)
			}
			last = p.X
		}
		if !seen[chart.Point{X: float64(up), Y: 100}] || up != down && !seen[chart.Point{X: float64(down), Y: -100}] {
			rt.Fatal("a peak is lost")
		}
		means := s.Means()
		if got := means[len(means)-1]; math.Abs(got.Y-mean/weight) > 1e-9 || got.X != float64(n-1) || len(s.Points()) > 5000 {
			rt.Fatalf("%d points, the last mean is %v, want %v", len(s.Points()), got, mean/weight)
		}
	})
}

func TestGapsBreakTheLine(t *testing.T) {
	var s chart.Series
	for x, y := range []float64{1, 2, math.NaN(), 3, 4, math.Inf(1), 5} {
		s.Add(float64(x), y)
	}
	doc := chart.Draw(chart.Light, []chart.Panel{{Lines: []chart.Line{{Points: s.Points()}}}})
	if n := elements(t, doc); n["polyline"] != 2 || n["path"] != 1 || s.Gaps != 2 {
		t.Errorf("%v, %d gaps; want two lines and a dot, 2 gaps", n, s.Gaps)
	}
}

// TestEndsOfTheRangeHaveNumbers draws one value near an end of float64 on a logarithmic axis, which
// reaches beyond that end.
func TestEndsOfTheRangeHaveNumbers(t *testing.T) {
	for y, want := range map[float64]string{1e308: ">1e320<", 5e-324: ">1e-330<"} {
		p := chart.Panel{Log: true, Lines: []chart.Line{{Points: []chart.Point{{Y: y}}}}}
		if doc := string(chart.Draw(chart.Auto, []chart.Panel{p})); !strings.Contains(doc, want) {
			t.Errorf("%g: no %s in %s", y, want, doc)
		}
	}
}

func TestThemes(t *testing.T) {
	for theme, want := range map[chart.Theme][2]bool{
		chart.Light: {true, false}, chart.Dark: {false, true}, chart.Auto: {true, true},
	} {
		doc := string(chart.Draw(theme, nil))
		light, dark := strings.Contains(doc, "#fff}"), strings.Contains(doc, "#16181d")
		if light != want[0] || dark != want[1] {
			t.Errorf("%s: light %v, dark %v", theme, light, dark)
		}
	}
}
