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
	if counts["polyline"] != 2 || counts["path"] != 2 { // a resumption, and its legend
		t.Errorf("elements: %v", counts)
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("a coordinate is not a number")
	}
	if empty := LossPlot("", Curve{}, Curve{}, nil); !strings.HasSuffix(string(empty), "</svg>\n") {
		t.Errorf("empty plot: %s", empty)
	}
}

func TestTickEvery(t *testing.T) {
	for _, tt := range []struct{ steps, want int64 }{{1, 1}, {10, 1}, {11, 2}, {22, 5}, {55, 10}, {700, 100}, {1000, 100}, {12345, 2000}} {
		if got := tickEvery(tt.steps); got != tt.want {
			t.Errorf("%d steps: a tick every %d, want %d", tt.steps, got, tt.want)
		}
	}
}
