package geometry

import "github.com/bivouac-ml/bivouac/op"

func init() {
	registerTransform("scale", "Makes the transform that stretches the dimensions.", []op.Parameter{
		centerParam(),
		{Name: "ndim", Type: op.Int, Doc: "The number of dimensions, where one scale is that of all."},
		{Name: "scale", Type: op.Floats, Required: true, PerSample: true, Doc: "The scale of each dimension, or one for all."},
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
	return t, around(b, s, &t, m.center)
}
