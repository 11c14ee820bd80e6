package geometry

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/libm"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/canvas"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "rotate",
		Doc: "Turns images around their centre. The output is as large as the turned image. Its extents are even or odd like the extents of the input, " +
			"so that the centre stays in the middle or at the corner of a pixel.",
		Inputs:  []op.Port{{Name: "data", Doc: "pictures, volumes or sequences of them", Layouts: []string{"HWC", "FHWC", "DHWC", "FDHWC"}}},
		Outputs: []op.Port{{Name: "output", Doc: "the turned images"}},
		Params: append(warpParams(),
			op.Parameter{Name: "angle", Type: op.Float, Required: true, PerSample: true, PerFrame: true,
				Doc: "The angle in degrees, counterclockwise."},
			op.Parameter{Name: "axis", Type: op.Floats, PerSample: true, PerFrame: true,
				Doc: "The axis around which volumes are turned: x, y and z, of any length."},
			op.Parameter{Name: "keep_size", Type: op.Bool, Default: false, Doc: "Whether the output is as large as the input. It has no effect if a size is given."},
		),
		Precision: op.Tolerance,
		New:       newRotate,
	})
}

type rotate struct {
	warping
	angle op.Scalar[float64]
	axis  vector
	keep  bool
}

func newRotate(c *op.Config) (op.Kernel, error) {
	w, err := newWarping(c)
	return &rotate{warping: w, angle: op.GetScalar[float64](c, "angle"), axis: readVector(c, "axis"),
		keep: op.Get[bool](c, "keep_size")}, err
}

func (k *rotate) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return k.infer(in[0], k.keep) }

func (k *rotate) Run(b *op.Block) error {
	return b.Each(func(s int) error {
		var canvas [3]canvas.Extent
		if err := k.measure(b, s, &canvas); err != nil {
			return err
		}
		return k.sample(b, s, &canvas)
	})
}

// Frames implements op.Framed: all frames have the size of the largest.
func (k *rotate) Frames(b *op.Block) error {
	var canvas [3]canvas.Extent
	for s := range b.Len() {
		if err := k.measure(b, s, &canvas); err != nil {
			b.Fail(s, err)
			return nil
		}
	}
	return b.Each(func(s int) error { return k.sample(b, s, &canvas) })
}

// measure adds sample s to its canvas of depth, height and width.
func (k *rotate) measure(b *op.Block, s int, canvas *[3]canvas.Extent) error {
	f, err := framesOf(b.In(0, s))
	if err != nil || k.keep {
		return err
	}
	var m affineMap
	sin, cos, err := k.turn(b, s, f.spatial, &m)
	if err == nil {
		m.measure(f.volume, sin, cos, canvas)
	}
	return err
}

func (k *rotate) sample(b *op.Block, s int, canvas *[3]canvas.Extent) error {
	f, err := framesOf(b.In(0, s))
	if err != nil {
		return err
	}
	kept := op.PerWorker[affineMap](b)
	if _, _, err = k.turn(b, s, f.spatial, kept); err != nil {
		return err
	}
	natural := f.volume
	if !k.keep {
		natural = volume{1, canvas[1].Size(), canvas[2].Size()}
		if f.spatial {
			natural.d = canvas[0].Size()
		}
	}
	size, err := k.outputSize(b, s, f, natural)
	if err != nil {
		return err
	}
	kept.centre(f.volume, size)
	return k.warp(b, s, f, size, kept)
}

// turn sets m to the rotation from the output to the input, without an offset, and returns sine
// and cosine of the angle.
func (k *rotate) turn(b *op.Block, s int, spatial bool, m *affineMap) (sin, cos float64, err error) {
	degrees, err := k.angle.At(b, s)
	if err != nil {
		return 0, 0, err
	}
	sin, cos = math.Sincos(float64(radians(degrees))) // for the canvas, which DALI computes in float64
	if sin != sin {
		return 0, 0, &errs.Error{Kind: errs.Invalid, Subject: "angle", Want: "a finite number", Got: fmt.Sprint(degrees)}
	}
	s32, c32 := libm.Sincos(radians(degrees))
	if !spatial {
		*m = affineMap{n: 2, matrix: [3][3]float32{{c32, -s32}, {s32, c32}}}
		return sin, cos, nil
	}
	if !k.axis.given {
		return 0, 0, k.axis.wrong("3 values, for volumes", 0)
	}
	t, err := rotation{axis: k.axis}.space(b, s, s32, c32)
	if err == nil && t.matrix[0] != t.matrix[0] {
		err = &errs.Error{Kind: errs.Invalid, Subject: "axis", Want: "a length above 0", Got: "a length of 0"}
	}
	*m = affineMap{n: 3}
	for i := range 3 {
		for j := range 3 {
			m.matrix[j][i] = t.matrix[i*3+j] // transposed
		}
	}
	return sin, cos, err
}

// extents returns the extents of a volume in x, y, z.
func (v volume) extents() [3]int { return [3]int{v.w, v.h, v.d} }

// measure adds the rotated image to its canvas. Each extent is even or odd like the input extent
// that contributes most to it.
func (m *affineMap) measure(in volume, sin, cos float64, out *[3]canvas.Extent) {
	if m.n == 2 {
		canvas.Turn((*[2]canvas.Extent)(out[1:]), in.h, in.w, sin, cos)
		return
	}
	from := in.extents()
	for i := range m.n {
		var sum float32
		dominant := i
		for j := range m.n {
			sum += float32(abs(m.matrix[j][i]) * float32(from[j]))
			if abs(m.matrix[j][i]) > abs(m.matrix[dominant][i]) {
				dominant = j
			}
		}
		out[2-i].Add(int(math.Ceil(float64(sum-0.01))), from[dominant])
	}
}

// centre sets the offset that maps the centre of the output to the centre of the input.
func (m *affineMap) centre(in, out volume) {
	from, to := in.extents(), out.extents()
	for i := range m.n {
		var sum float32
		for j := range m.n {
			sum += float32(m.matrix[i][j] * (-float32(to[j]) / 2))
		}
		m.offset[i] = sum + float32(from[i])/2
	}
}
