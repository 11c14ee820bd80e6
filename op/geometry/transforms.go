package geometry

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/libm"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	s := registerTransform("translation", "Makes the transform that moves points.", []op.Parameter{
		{Name: "offset", Type: op.Floats, Required: true, PerSample: true, PerFrame: true,
			Doc: "The distance that points move: one number per dimension."},
	}, op.Exact, func(c *op.Config) (maker, error) { return translation{readVector(c, "offset")}, nil })
	s.Deprecated, s.Same = "use "+s.FullName(), s.FullName()
	s.Module, s.Name = nil, "transform_translation"
	s.Params, s.Spread = slices.Clone(s.Params), false
	for i := range s.Params {
		s.Params[i].PerFrame = false // the older name takes no offset for each frame, in DALI too
	}
	op.Register(s)
}

type translation struct{ offset vector }

func (m translation) constant() bool { return m.offset.constant() }

func (m translation) make(b *op.Block, s, _ int) (affine, error) {
	var offset [mostDims * mostDims]float32
	n, err := m.offset.at(b, s, &offset)
	if err == nil {
		err = dims(m.offset, n)
	}
	if err != nil {
		return affine{}, err
	}
	t := identity(n)
	copy(t.offset[:n], offset[:])
	return t, nil
}

func init() {
	registerTransform("scale", "Makes the transform that stretches the dimensions.", []op.Parameter{
		centerParam(),
		{Name: "ndim", Type: op.Int, Doc: "The number of dimensions, if one scale is given for all."},
		{Name: "scale", Type: op.Floats, Required: true, PerSample: true, PerFrame: true,
			Doc: "The scale of each dimension, or one for all."},
	}, op.Exact, func(c *op.Config) (maker, error) {
		m := scale{scale: readVector(c, "scale"), center: readVector(c, "center"), ndim: op.Get[int](c, "ndim")}
		if m.ndim > mostDims {
			return nil, dims(vector{name: "ndim"}, m.ndim)
		}
		return m, nil
	})
}

type scale struct {
	scale, center vector
	ndim          int
}

func (m scale) constant() bool { return m.scale.constant() && m.center.constant() }

func (m scale) make(b *op.Block, s, input int) (affine, error) {
	var factors [mostDims * mostDims]float32
	n, err := m.scale.at(b, s, &factors)
	if err != nil {
		return affine{}, err
	}
	if n == 1 && max(input, m.ndim) > 1 {
		if n = m.ndim; input > 0 {
			n = input
		}
		for i := range n {
			factors[i] = factors[0]
		}
	}
	if err := dims(m.scale, n); err != nil {
		return affine{}, err
	}
	t := affine{n: n}
	for i := range n {
		t.matrix[i*n+i] = factors[i]
	}
	if !m.center.given {
		return t, nil
	}
	var center [mostDims * mostDims]float32
	if err := m.center.each(b, s, n, &center); err != nil {
		return affine{}, err
	}
	for i := range n {
		t.offset[i] = center[i] * (1 - factors[i]) // in DALI's order
	}
	return t, nil
}

func init() {
	registerTransform("shear", "Makes the transform that shears the plane or space.", []op.Parameter{
		{Name: "angles", Type: op.Floats, PerSample: true, PerFrame: true,
			Doc: "Angles in degrees. Their tangents are used in place of shear."},
		centerParam(),
		{Name: "shear", Type: op.Floats, PerSample: true, PerFrame: true,
			Doc: "Elements of the matrix outside the diagonal, row by row: 2 values in the plane, 6 in space."},
	}, op.Tolerance, func(c *op.Config) (maker, error) {
		if c.Given("shear") == c.Given("angles") {
			return nil, c.Invalid("shear", "one of shear and angles", "both or neither", "")
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

func init() {
	doc := func(what string) string {
		return what + " for each dimension, or one value for all."
	}
	registerTransform("crop", "Makes the transform that maps one box to another.", []op.Parameter{
		{Name: "absolute", Type: op.Bool, Default: false, Doc: "Whether start and end of a box are swapped if the end is smaller; otherwise such a box mirrors."},
		{Name: "from_end", Type: op.Floats, Default: []float64{1}, PerSample: true, PerFrame: true,
			Doc: doc("End of the box that is mapped,")},
		{Name: "from_start", Type: op.Floats, Default: []float64{0}, PerSample: true, PerFrame: true,
			Doc: doc("Start of the box that is mapped,")},
		{Name: "to_end", Type: op.Floats, Default: []float64{1}, PerSample: true, PerFrame: true,
			Doc: doc("End of the box that it is mapped to,")},
		{Name: "to_start", Type: op.Floats, Default: []float64{0}, PerSample: true, PerFrame: true,
			Doc: doc("Start of the box that it is mapped to,")},
	}, op.Tolerance, func(c *op.Config) (maker, error) {
		return crop{absolute: op.Get[bool](c, "absolute"), corners: [4]vector{
			readVector(c, "from_start"), readVector(c, "from_end"), readVector(c, "to_start"), readVector(c, "to_end"),
		}}, nil
	})
}

type crop struct {
	corners  [4]vector
	absolute bool
}

func (m crop) constant() bool {
	for _, v := range m.corners {
		if !v.constant() {
			return false
		}
	}
	return true
}

func (m crop) make(b *op.Block, s, _ int) (affine, error) {
	var values [4][mostDims * mostDims]float32
	n := 0
	for i, v := range m.corners {
		count, err := v.at(b, s, &values[i])
		if err != nil {
			return affine{}, err
		}
		n = max(n, count)
	}
	if err := dims(m.corners[0], n); err != nil {
		return affine{}, err
	}
	for i, v := range m.corners {
		if err := v.each(b, s, n, &values[i]); err != nil {
			return affine{}, err
		}
	}
	t := affine{n: n}
	for i := range n {
		fromStart, fromEnd, toStart, toEnd := values[0][i], values[1][i], values[2][i], values[3][i]
		if m.absolute {
			fromStart, fromEnd = min(fromStart, fromEnd), max(fromStart, fromEnd)
			toStart, toEnd = min(toStart, toEnd), max(toStart, toEnd)
		}
		scale := (toEnd - toStart) / (fromEnd - fromStart)
		t.matrix[i*n+i] = scale
		t.offset[i] = toStart - float32(scale*fromStart)
	}
	return t, nil
}

func init() {
	registerTransform("rotation", "Makes the transform that turns the plane, or space around an axis.", []op.Parameter{
		{Name: "angle", Type: op.Float, Required: true, PerSample: true, PerFrame: true,
			Doc: "The angle in degrees. It is counterclockwise if the vertical axis points up, and in space if the axis points towards the viewer."},
		{Name: "axis", Type: op.Floats, PerSample: true, PerFrame: true,
			Doc: "The axis to turn around, of any length. If it is given, the transform has 3 dimensions, not 2."},
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

// mostCombined is the most transforms that can be combined.
const mostCombined = 99

func init() {
	op.Register(op.Schema{
		Name:   "combine",
		Module: []string{"transforms"},
		Doc:    "Combines several transforms into one that applies them in turn.",
		Inputs: []op.Port{
			{Name: "first",
				Doc: "the transform that is applied first", DTypes: []tensor.DType{tensor.Float32}, PerFrame: true},
			{Name: "next",
				Doc:    "the transforms that are applied to its result",
				DTypes: []tensor.DType{tensor.Float32}, PerFrame: true},
		},
		Repeat:  mostCombined - 1,
		Outputs: []op.Port{{Name: "output", Doc: "the combined transform"}},
		Params: []op.Parameter{
			{Name: "reverse_order", Type: op.Bool, Default: false, Doc: "Whether the last transform is applied first."},
		},
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			return op.Each(&combine{config: c, reverse: op.Get[bool](c, "reverse_order")}), nil
		},
	})
}

type combine struct {
	config  *op.Config
	reverse bool
}

func (k *combine) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	shape := tensor.Shape{-1, -1}
	for i, s := range in {
		if err := isTransform(s); err != nil {
			return nil, k.config.InvalidInput(i, err.(*errs.Error).Want, err.(*errs.Error).Got, "")
		}
		if s.Shape == nil || s.Shape[0] < 0 {
			continue
		}
		if n := s.Shape[0]; shape[0] < 0 {
			shape = tensor.Shape{n, n + 1}
		} else if n != shape[0] {
			return nil, k.config.InvalidInput(i, "a transform with the number of dimensions of the others, "+shape.String(), s.Shape.String(), "")
		}
	}
	return []tensor.Spec{{DType: tensor.Float32, Shape: shape, Layout: layoutMatrix}}, nil
}

func (k *combine) Sample(b *op.Block, s int) error {
	t, err := read(b.In(0, s))
	if err != nil {
		return err
	}
	for i := 1; i < b.Inputs(); i++ {
		u, err := read(b.In(i, s))
		switch {
		case err != nil:
			return err
		case u.n != t.n:
			return &errs.Error{Kind: errs.Mismatch, Want: fmt.Sprintf("transforms of %d dimensions", t.n), Got: b.In(i, s).String()}
		case k.reverse:
			t = u.then(&t)
		default:
			t = t.then(&u)
		}
	}
	return t.write(b, s)
}
