package geometry

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/internal/libm"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// displacement is the kernel of water and sphere, which move pixels.
type displacement struct {
	warping
	mask  op.Scalar[int]
	moves mover
}

// mover returns the mapping for an image of the given size.
type mover func(b *op.Block, size volume) mapping

// registerDisplacement registers an operator. newMoves makes its mapping from its arguments.
func registerDisplacement(name, doc string, params []op.Parameter, newMoves func(*op.Config) mover) {
	op.Register(op.Schema{
		Name:    name,
		Doc:     doc,
		Inputs:  []op.Port{{Name: "images", Doc: "pictures of uint8 or float32", Layouts: []string{"HWC"}}},
		Outputs: []op.Port{{Name: "output", Doc: "the pictures with their pixels moved"}},
		Params: append(params,
			op.Parameter{Name: "fill_value", Type: op.Float, Default: 0.0, Doc: "Value outside the input."},
			op.Parameter{Name: "interp_type", Type: op.Interp, Default: op.InterpNN, Doc: "INTERP_NN or INTERP_LINEAR."},
			op.Parameter{Name: "mask", Type: op.Int, Default: 1, PerSample: true, Doc: "Whether pixels are moved: 0 means no."},
		),
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			w, err := newWarping(c)
			w.clamp, w.cut = false, true
			return op.Each(&displacement{warping: w, mask: op.GetScalar[int](c, "mask"), moves: newMoves(c)}), err
		},
	})
}

func (k *displacement) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].DType != tensor.Uint8 && in[0].DType != tensor.Float32 {
		return nil, k.config.InvalidInput(0, "uint8 or float32", in[0].DType.String(), "cast it")
	}
	if in[0].Shape != nil && len(in[0].Shape) != 3 || in[0].Layout != "" && in[0].Layout != "HWC" {
		return nil, k.config.InvalidInput(0, "pictures of layout HWC", fmt.Sprintf("%s, layout %q", in[0].Shape, in[0].Layout), "")
	}
	return k.infer(in[0], true)
}

func (k *displacement) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	f, err := framesOf(in)
	if err != nil {
		return err
	}
	mask, err := k.mask.At(b, s)
	if err != nil {
		return err
	}
	if mask == 0 {
		in.Layout = "HWC"
		b.Alias(0, s, in)
		return nil
	}
	return k.warp(b, s, f, f.volume, k.moves(b, f.volume))
}

func init() {
	const pi64 = math.Pi / 64 // DALI's constant; its documentation prints 0.049087
	param := func(name string, value float64, doc string) op.Parameter {
		return op.Parameter{Name: name, Type: op.Float, Default: value, Doc: doc}
	}
	registerDisplacement("water", "Makes images look as if seen through moving water. Pixels move sideways by a sine of their row, and up and down by a cosine of their column.",
		[]op.Parameter{
			param("ampl_x", 10, "Largest distance in pixels that a pixel moves sideways."),
			param("ampl_y", 10, "Largest distance in pixels that a pixel moves up or down."),
			param("freq_x", pi64, "Radians of the sine per row."),
			param("freq_y", pi64, "Radians of the cosine per column."),
			param("phase_x", 0, "Start of the sine in radians."),
			param("phase_y", 0, "Start of the cosine in radians."),
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

// at returns the distance that pixel i moves. Like DALI, it computes in float32.
func (w *wave) at(i int, sine func(float32) float32) float32 {
	return float32(w.amplitude * sine(float32(w.frequency*float32(i))+w.phase))
}

// waterMap is the map of water.
type waterMap struct {
	x    wave
	down []float32 // the distance that the pixels of a column move down
}

func (m *waterMap) row(_, y int, xs, ys, _ []float32) {
	right, top := m.x.at(y, libm.Sin), float32(y)
	for x := range xs {
		xs[x] = float32(x) + right
		ys[x] = top + m.down[x]
	}
}

func init() {
	registerDisplacement("sphere", "Makes images look as if on a ball. Pixels move towards the middle; pixels near the middle move most.", nil,
		func(*op.Config) mover {
			return func(b *op.Block, size volume) mapping {
				kept := op.PerWorker[ball](b)
				*kept = ball{size}
				return kept
			}
		})
}

// ball is the map of sphere.
type ball struct{ size volume }

func (m *ball) row(_, y int, xs, ys, _ []float32) {
	middleX, middleY := float32(m.size.w)/2, float32(m.size.h)/2
	longest := float32(max(m.size.w/2, m.size.h/2)) // rounded down, as in DALI
	dy := float32(y) + 0.5 - middleY
	for x := range xs {
		dx := float32(x) + 0.5 - middleX
		radius := float32(math.Sqrt(float64(float32(dx*dx)+float32(dy*dy)))) / longest
		xs[x], ys[x] = middleX+float32(radius*dx), middleY+float32(radius*dy)
	}
}
