package geometry

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "warp_affine",
		Doc: "Warps images by an affine transform. The transform maps each pixel of the output to the point of the input that it shows. " +
			"Points are counted from the corner of an image, so that the centre of the first pixel is (0.5, 0.5).",
		Inputs: []op.Port{
			{Name: "data", Doc: "pictures, volumes or sequences of them", Layouts: []string{"HWC", "FHWC", "DHWC", "FDHWC"}},
			{Name: "mtx", Doc: "the float32 transform, in place of the argument", Optional: true, PerFrame: true},
		},
		Outputs: []op.Port{{Name: "output", Doc: "the warped images"}},
		Params: append(warpParams(),
			op.Parameter{Name: "inverse_map", Type: op.Bool, Default: true, Doc: "Whether the transform maps the output to the input; otherwise it maps the input to the output."},
			op.Parameter{Name: "matrix", Type: op.Floats, Default: []float64{}, PerSample: true, PerFrame: true,
				Doc: "The transform, row by row. A row has factors for x and y, for z in volumes, and the offset."},
		),
		Precision: op.Tolerance,
		New:       newWarpAffine,
	})
}

type warpAffine struct {
	warping
	matrix  vector
	inverse bool
}

func newWarpAffine(c *op.Config) (op.Kernel, error) {
	w, err := newWarping(c)
	if err != nil {
		return nil, err
	}
	k := &warpAffine{warping: w, matrix: readVector(c, "matrix"), inverse: op.Get[bool](c, "inverse_map")}
	if !k.matrix.given && c.Inputs < 2 {
		return nil, c.Invalid("matrix", "the argument or a second input", "neither", "")
	}
	return op.Each(k), nil
}

func (k *warpAffine) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if len(in) > 1 && in[1].DType != tensor.Float32 {
		return nil, k.config.InvalidInput(1, "float32", in[1].DType.String(), "cast it")
	}
	out, err := k.infer(in[0], true)
	if values, ok := k.matrix.values.Const(); err == nil && ok && k.matrix.given && len(values) != 6 && len(values) != 12 {
		err = k.config.Invalid("matrix", "6 values, or 12 for volumes", fmt.Sprint(len(values)), "")
	}
	return out, err
}

func (k *warpAffine) Sample(b *op.Block, s int) error {
	f, err := framesOf(b.In(0, s))
	if err != nil {
		return err
	}
	size, err := k.outputSize(b, s, f, f.volume)
	if err != nil {
		return err
	}
	m, err := k.transform(b, s, f.spatial)
	if err != nil {
		return err
	}
	kept := op.PerWorker[affineMap](b)
	*kept = m
	return k.warp(b, s, f, size, kept)
}

// transform returns the map of a sample from the output to the input.
func (k *warpAffine) transform(b *op.Block, s int, spatial bool) (affineMap, error) {
	var values [mostDims * mostDims]float32
	var n int
	var err error
	if b.Inputs() > 1 {
		var list []float32
		list, err = tensor.Of[float32](b.In(1, s))
		n = len(list)
		copy(values[:], list)
	} else {
		n, err = k.matrix.at(b, s, &values)
	}
	if err != nil {
		return affineMap{}, err
	}
	m := affineMap{n: 2}
	if spatial {
		m.n = 3
	}
	if n != m.n*(m.n+1) {
		return m, k.matrix.wrong(fmt.Sprintf("%d values", m.n*(m.n+1)), n)
	}
	for i := range m.n {
		for j := range m.n {
			m.matrix[i][j] = values[i*(m.n+1)+j]
		}
		m.offset[i] = values[i*(m.n+1)+m.n]
	}
	if !k.inverse {
		return m.inverse()
	}
	return m, nil
}

// affineMap is an affine transform of the plane or of space, in x, y, z.
type affineMap struct {
	n      int
	matrix [3][3]float32
	offset [3]float32
}

// tile is the number of pixels of a row whose points are computed by steps from the previous pixel,
// as in DALI. The point of the first pixel of a tile is computed by a step from the first pixel of
// the previous tile.
const tile = 256

func (m *affineMap) row(z, y int, xs, ys, zs []float32) {
	fy, fz := float32(y)+0.5, float32(z)+0.5
	var first, step [3]float32
	for i := range m.n {
		step[i] = m.matrix[i][0]
		first[i] = m.offset[i] + float32(step[i]*0.5)
		first[i] += float32(m.matrix[i][1] * fy)
		if m.n == 3 {
			first[i] += float32(m.matrix[i][2] * fz)
		}
	}
	for start := 0; start < len(xs); start += tile {
		at := first
		for x := start; x < min(start+tile, len(xs)); x++ {
			xs[x], ys[x] = at[0], at[1]
			if m.n == 3 {
				zs[x] = at[2]
			}
			for i := range at {
				at[i] += step[i]
			}
		}
		for i := range first {
			first[i] += tile * step[i]
		}
	}
}

// inverse returns the inverse map. It uses the determinant in the plane, and Gauss-Jordan
// elimination in space.
func (m *affineMap) inverse() (affineMap, error) {
	out := affineMap{n: m.n}
	singular := &errs.Error{Kind: errs.Invalid, Subject: "matrix", Want: "a transform that has an inverse", Got: fmt.Sprint(m.matrix)}
	if a := &m.matrix; m.n == 2 {
		det := float32(a[0][0]*a[1][1]) - float32(a[0][1]*a[1][0])
		if det == 0 || det != det {
			return out, singular
		}
		out.matrix = [3][3]float32{{a[1][1] / det, -a[0][1] / det}, {-a[1][0] / det, a[0][0] / det}}
	} else if !out.gauss(m.matrix) {
		return out, singular
	}
	for i := range m.n {
		var sum float32
		for j := range m.n {
			sum += float32(out.matrix[i][j] * m.offset[j])
		}
		out.offset[i] = -sum
	}
	return out, nil
}

// gauss sets the matrix of m to the inverse of left, and reports whether there is an inverse.
func (m *affineMap) gauss(left [3][3]float32) bool {
	for i := range m.n {
		m.matrix[i][i] = 1
	}
	for c := range m.n {
		pivot := c
		for r := c + 1; r < m.n; r++ {
			if abs(left[r][c]) > abs(left[pivot][c]) {
				pivot = r
			}
		}
		left[c], left[pivot] = left[pivot], left[c]
		m.matrix[c], m.matrix[pivot] = m.matrix[pivot], m.matrix[c]
		if left[c][c] == 0 || left[c][c] != left[c][c] {
			return false
		}
		scale := 1 / left[c][c]
		for j := range m.n {
			left[c][j] *= scale
			m.matrix[c][j] *= scale
		}
		for r := range m.n {
			if factor := -left[r][c]; r != c {
				for j := range m.n {
					left[r][j] = fma(factor, left[c][j], left[r][j])
					m.matrix[r][j] = fma(factor, m.matrix[c][j], m.matrix[r][j])
				}
			}
		}
	}
	return true
}

func abs(v float32) float32 { return float32(math.Abs(float64(v))) }

// fma returns a*b + c, rounded once to float32.
func fma(a, b, c float32) float32 {
	// The product is exact in float64. The sum is rounded twice, which matters in one of 2^29 cases.
	return float32(float64(a)*float64(b) + float64(c))
}
