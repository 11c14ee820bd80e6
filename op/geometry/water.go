package geometry

import (
	"math"

	"github.com/bivouac-ml/bivouac/op"
)

func init() {
	const pi16 = 0.049087
	param := func(name string, value float64, doc string) op.Parameter {
		return op.Parameter{Name: name, Type: op.Float, Default: value, Doc: doc}
	}
	registerDisplacement("water", "Makes pictures look as if seen through moving water: pixels are moved sideways by a sine of their row, up and down by a cosine of their column.",
		[]op.Parameter{
			param("ampl_x", 10, "How far pixels are moved sideways."),
			param("ampl_y", 10, "How far pixels are moved up and down."),
			param("freq_x", pi16, "How many radians of the sine a row is."),
			param("freq_y", pi16, "How many radians of the cosine a column is."),
			param("phase_x", 0, "Where the sine begins, in radians."),
			param("phase_y", 0, "Where the cosine begins, in radians."),
		}, func(c *op.Config) func(volume) mapping {
			get := func(name string) float64 { return float64(float32(op.Get[float64](c, name))) }
			w := waves{x: wave{get("ampl_x"), get("freq_x"), get("phase_x")}, y: wave{get("ampl_y"), get("freq_y"), get("phase_y")}}
			return func(volume) mapping { return &w }
		})
}

type wave struct{ amplitude, frequency, phase float64 }

// waves is the map of water.
type waves struct{ x, y wave }

func (w *waves) row(_, y int, xs, ys, _ []float64) {
	dx := w.x.amplitude * math.Sin(w.x.frequency*float64(y)+w.x.phase)
	for x := range xs {
		dy := w.y.amplitude * math.Cos(w.y.frequency*float64(x)+w.y.phase)
		xs[x] = float64(x) + dx
		ys[x] = float64(y) + dy
	}
}
