package digits

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestLossPlot(t *testing.T) {
	values := []float32{2.3, 1.5, 0, float32(math.NaN()), float32(math.Inf(1)), 0.02}
	svg := string(LossPlot("a < b & c",
		Curve{Name: "uninterrupted", First: 1, Values: values},
		Curve{Name: "interrupted", First: 1, Values: values},
		[]Mark{{Step: 4, Kind: Killed}, {Step: 2, Kind: Resumed}}))
	counts := map[string]int{}
	for dec := xml.NewDecoder(strings.NewReader(svg)); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not XML: %v\n%s", err, svg)
		}
		if e, ok := tok.(xml.StartElement); ok {
			counts[e.Name.Local]++
		}
	}
	if counts["polyline"] != 2 || counts["path"] != 2 { // the values before the gaps, and the last one
		t.Errorf("elements: %v", counts)
	}
	for _, text := range []string{"a &lt; b &amp; c: loss", "resumed", "killed", `stroke-dasharray="1 3"`,
		`stroke-dasharray="4 3"`, `stroke-width="5"`} {
		if !strings.Contains(svg, text) {
			t.Errorf("%s is missing", text)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("a coordinate is not a number")
	}
	if empty := LossPlot("", Curve{}, Curve{}, nil); !strings.HasSuffix(string(empty), "</svg>\n") {
		t.Errorf("empty plot: %s", empty)
	}
}
