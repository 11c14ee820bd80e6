package geometry

import "github.com/bivouac-ml/bivouac/op"

func init() {
	registerTransform("translation", "Makes the transform that moves points.", []op.Parameter{
		{Name: "offset", Type: op.Floats, Required: true, PerSample: true, Doc: "How far points are moved in each dimension; their number is that of the dimensions."},
	}, op.Exact, func(c *op.Config) (maker, error) { return translation{readVector(c, "offset")}, nil })
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
