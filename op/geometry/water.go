package geometry

import (
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/libm"
)

func init() {
	const pi64 = math.Pi / 64 // what DALI computes with; its documentation prints 0.049087 of it
	param := func(name string, value float64, doc string) op.Parameter {
		return op.Parameter{Name: name, Type: op.Float, Default: value, Doc: doc}
	}
	registerDisplacement("water", "Makes pictures look as if seen through moving water: pixels are moved sideways by a sine of their row, up and down by a cosine of their column.",
		[]op.Parameter{
			param("ampl_x", 10, "How far pixels are moved sideways."),
			param("ampl_y", 10, "How far pixels are moved up and down."),
			param("freq_x", pi64, "How many radians of the sine a row is."),
			param("freq_y", pi64, "How many radians of the cosine a column is."),
			param("phase_x", 0, "Where the sine begins, in radians."),
			param("phase_y", 0, "Where the cosine begins, in radians."),
		}, func(c *op.Config) mover {
			get := func(name string) float32 { return float32(op.Get[float64](c, name)) }
			w := waves{x: wave{get("ampl_x"), get("freq_x"), get("phase_x")}, y: wave{get("ampl_y"), get("freq_y"), get("phase_y")}}
			return func(b *op.Block, size volume) mapping {
				down := op.Scratch[float32](b, size.w)
				for x := range down {
					down[x] = w.y.at(x, libm.Cos)
				}
				kept := op.PerWorker[waterMap](b)
				*kept = waterMap{w.x, down}
				return kept
			}
		})
}

// waves are the arguments of water.
type waves struct{ x, y wave }

type wave struct{ amplitude, frequency, phase float32 }

// at returns how far pixel i is moved, in float32 as DALI.
func (w *wave) at(i int, sine func(float32) float32) float32 {
	return float32(w.amplitude * sine(float32(w.frequency*float32(i))+w.phase))
}

// waterMap is the map of water.
type waterMap struct {
	x    wave
	down []float32 // how far the pixels of a column are moved down
}

func (m *waterMap) row(_, y int, xs, ys, _ []float32) {
	right, top := m.x.at(y, libm.Sin), float32(y)
	for x := range xs {
		xs[x] = float32(x) + right
		ys[x] = top + m.down[x]
	}
}
