package geometry

import "github.com/bivouac-ml/bivouac/op"

func init() {
	doc := func(what string) string {
		return what + " for each dimension, or one value for all."
	}
	registerTransform("crop", "Makes the transform that maps one box to another.", []op.Parameter{
		{Name: "absolute", Type: op.Bool, Default: false, Doc: "Whether start and end of a box are swapped where the end is the smaller one; else that mirrors."},
		{Name: "from_end", Type: op.Floats, Default: []float64{1}, PerSample: true, Doc: doc("End of the box that is mapped,")},
		{Name: "from_start", Type: op.Floats, Default: []float64{0}, PerSample: true, Doc: doc("Start of the box that is mapped,")},
		{Name: "to_end", Type: op.Floats, Default: []float64{1}, PerSample: true, Doc: doc("End of the box that it is mapped to,")},
		{Name: "to_start", Type: op.Floats, Default: []float64{0}, PerSample: true, Doc: doc("Start of the box that it is mapped to,")},
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
