package geometry

import (
	"math"

	"github.com/bivouac-ml/bivouac/op"
)

func init() {
	registerTransform("shear", "Makes the transform that shears the plane or space.", []op.Parameter{
		{Name: "angles", Type: op.Floats, PerSample: true, Doc: "Angles in degrees, whose tangents are taken in place of shear."},
		centerParam(),
		{Name: "shear", Type: op.Floats, PerSample: true,
			Doc: "What stands beside the diagonal of the matrix, row by row: 2 values in the plane, 6 in space."},
	}, op.Tolerance, func(c *op.Config) (maker, error) {
		if c.Given("shear") == c.Given("angles") {
			return nil, c.Invalid("shear", "one of shear and angles", "both or none", "")
		}
		m := shear{values: readVector(c, "shear"), center: readVector(c, "center")}
		if c.Given("angles") {
			m.values, m.angles = readVector(c, "angles"), true
		}
		return m, nil
	})
}

type shear struct {
	values, center vector
	angles         bool
}

func (m shear) constant() bool { return m.values.constant() && m.center.constant() }

func (m shear) make(b *op.Block, s, _ int) (affine, error) {
	var values [mostDims * mostDims]float32
	count, err := m.values.at(b, s, &values)
	if err != nil {
		return affine{}, err
	}
	n := 2
	switch count {
	case 2:
	case 6:
		n = 3
	default:
		return affine{}, m.values.wrong("2 or 6 values", count)
	}
	t := identity(n)
	next := 0
	for i := range n * n {
		if i%(n+1) == 0 {
			continue
		}
		t.matrix[i] = values[next]
		if m.angles {
			t.matrix[i] = float32(math.Tan(float64(radians(float64(values[next])))))
		}
		next++
	}
	return t, around(b, s, &t, m.center)
}
