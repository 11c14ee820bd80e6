package geometry

import (
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/libm"
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
func radians(degrees float64) float32 {
	return float32(degrees) * float32(math.Pi/180)
}

func (m rotation) make(b *op.Block, s, _ int) (affine, error) {
	degrees, err := m.angle.At(b, s)
	if err != nil {
		return affine{}, err
	}
	sin, cos := libm.Sincos(radians(degrees))
	t := affine{n: 2}
	if m.axis.given {
		if t, err = m.space(b, s, sin, cos); err != nil {
			return affine{}, err
		}
	} else {
		copy(t.matrix[:], []float32{cos, -sin, sin, cos})
	}
	return t, around(b, s, &t, m.center)
}

// space returns the rotation around the axis of a sample, computed in float32.
func (m rotation) space(b *op.Block, s int, sin, cos float32) (affine, error) {
	var axis [mostDims * mostDims]float32
	n, err := m.axis.at(b, s, &axis)
	if err != nil {
		return affine{}, err
	}
	if n != 3 {
		return affine{}, m.axis.wrong("3 values", n)
	}
	if sin == 0 && cos == 1 {
		return identity(3), nil
	}
	x, y, z := unit(axis[0], axis[1], axis[2])
	xx, yy, zz := float32(x*x), float32(y*y), float32(z*z)
	versine := 1 - cos
	xy, xz, yz := float32(float32(x*y)*versine), float32(float32(x*z)*versine), float32(float32(y*z)*versine)
	xs, ys, zs := float32(x*sin), float32(y*sin), float32(z*sin)
	t := affine{n: 3}
	copy(t.matrix[:], []float32{
		xx + float32((yy+zz)*cos), xy - zs, xz + ys,
		xy + zs, yy + float32((xx+zz)*cos), yz - xs,
		xz - ys, yz + xs, zz + float32((xx+yy)*cos),
	})
	return t, nil
}

// unit returns an axis of length 1.
func unit(x, y, z float32) (float32, float32, float32) {
	sign := func(v float32) float32 {
		switch {
		case v > 0:
			return 1
		case v < 0:
			return -1
		}
		return v
	}
	switch {
	case y == 0 && z == 0 && x != 0, x == 0 && z == 0 && y != 0, x == 0 && y == 0 && z != 0:
		return sign(x), sign(y), sign(z)
	}
	length := float32(math.Sqrt(float64(float32(float32(x*x)+float32(y*y)) + float32(z*z))))
	return x / length, y / length, z / length
}
