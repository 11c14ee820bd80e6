package geometry

import (
	"math"

	"github.com/bivouac-ml/bivouac/op"
)

func init() {
	registerTransform("rotation", "Makes the transform that turns the plane, or space around an axis.", []op.Parameter{
		{Name: "angle", Type: op.Float, Required: true, PerSample: true,
			Doc: "The angle in degrees: counterclockwise where the vertical axis points up and, in space, for who sees the axis come towards him."},
		{Name: "axis", Type: op.Floats, PerSample: true, Doc: "The axis to turn around, of any length; with it the transform has 3 dimensions, not 2."},
		centerParam(),
	}, op.Tolerance, func(c *op.Config) (maker, error) {
		return rotation{angle: op.GetScalar[float64](c, "angle"), axis: readVector(c, "axis"), center: readVector(c, "center")}, nil
	})
}

type rotation struct {
	angle        op.Scalar[float64]
	axis, center vector
}

func (m rotation) constant() bool {
	_, ok := m.angle.Const()
	return ok && m.axis.constant() && m.center.constant()
}

// radians converts degrees in float32, as DALI does.
func radians(degrees float64) float64 {
	return float64(float32(degrees) * float32(math.Pi/180))
}

func (m rotation) make(b *op.Block, s, _ int) (affine, error) {
	degrees, err := m.angle.At(b, s)
	if err != nil {
		return affine{}, err
	}
	sin, cos := math.Sincos(radians(degrees))
	t := affine{n: 2}
	if m.axis.given {
		if t, err = m.space(b, s, sin, cos); err != nil {
			return affine{}, err
		}
	} else {
		copy(t.matrix[:], []float32{float32(cos), float32(-sin), float32(sin), float32(cos)})
	}
	return t, around(b, s, &t, m.center)
}

// space returns the rotation around the axis of a sample.
func (m rotation) space(b *op.Block, s int, sin, cos float64) (affine, error) {
	var axis [mostDims * mostDims]float32
	n, err := m.axis.at(b, s, &axis)
	if err != nil {
		return affine{}, err
	}
	if n != 3 {
		return affine{}, m.axis.wrong("3 values", n)
	}
	x, y, z := float64(axis[0]), float64(axis[1]), float64(axis[2])
	length := math.Sqrt(x*x + y*y + z*z)
	x, y, z = x/length, y/length, z/length
	versine := 1 - cos
	t := affine{n: 3}
	for i, v := range [9]float64{
		cos + x*x*versine, x*y*versine - z*sin, x*z*versine + y*sin,
		y*x*versine + z*sin, cos + y*y*versine, y*z*versine - x*sin,
		z*x*versine - y*sin, z*y*versine + x*sin, cos + z*z*versine,
	} {
		t.matrix[i] = float32(v)
	}
	return t, nil
}
