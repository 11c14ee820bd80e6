package main

import (
	"context"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Random programs with conditionals: branches in branches, random operators that see only
// the samples of a branch, expressions that are written twice, what was made outside
// and is used on both sides, and outputs that are delivered twice.

// branchy returns what a random program of conditionals gives: float32 of the shape [4 6], or
// images of the layout HWC.
func (m *daliMaker) branchy() pipeline.Node {
	if m.flip() {
		n := m.op("random.uniform", op.Args{"range": []float64{-4, float64(m.r.IntN(100))}, "shape": []int{4, 6}})
		for range 1 + m.r.IntN(2) {
			n = m.fork(n, 2, m.branchNumbers)
		}
		return n
	}
	n := m.image()
	for range 1 + m.r.IntN(2) {
		n = m.fork(n, 2, m.branchImage)
	}
	return n
}

// twins returns nodes of which some are written the same, at different depths and places: DALI
// makes one of such, and its checkpoints tell which.
func (m *daliMaker) twins() []pipeline.Node {
	m.used = append(m.used, "conditions")
	n := m.op("random.uniform", op.Args{"range": []float64{-4, 4}, "shape": []int{4, 6}})
	conditions := []pipeline.Node{m.condition(1), m.condition(0)}
	var build func(x pipeline.Node, depth int) pipeline.Node
	build = func(x pipeline.Node, depth int) pipeline.Node {
		switch kind := m.r.IntN(8); {
		case depth == 0 || kind == 0:
			return x
		case kind == 1:
			return m.op("copy", nil, build(x, depth-1))
		case kind == 2:
			return build(x, depth-1).Mul(2)
		case kind == 3:
			return build(x, depth-1).Add(build(x, depth-1))
		case kind == 4:
			return m.op("cast", op.Args{"dtype": tensor.Float32}, build(x, depth-1))
		default:
			two := m.flip()
			side := func() []pipeline.Node {
				if two {
					return []pipeline.Node{build(x, depth-1), build(x, depth-1)}
				}
				return []pipeline.Node{build(x, depth-1)}
			}
			out := m.p.If(conditions[m.r.IntN(2)], side, side)
			return out[m.r.IntN(len(out))]
		}
	}
	var outputs []pipeline.Node
	for range 1 + m.r.IntN(3) {
		outputs = append(outputs, build(n, 4))
	}
	return outputs
}

// source returns what becomes of an external source, which often has two outputs.
func (m *daliMaker) source(batch int) []pipeline.Node {
	m.fed = 1 + m.r.IntN(2)
	numbers := func(_ context.Context, info pipeline.BatchInfo) ([]pipeline.Data, error) {
		ints, floats := make([]tensor.Tensor, batch), make([]tensor.Tensor, batch)
		for s := range batch {
			ints[s] = tensor.FromSlice([]int32{int32(info.Iteration*100) + int32(s)})
			floats[s] = tensor.FromSlice([]float32{float32(info.Iteration), float32(s) / 4})
		}
		return []pipeline.Data{ints, floats}[:m.fed], nil
	}
	specs := []tensor.Spec{{DType: tensor.Int32, Shape: tensor.Shape{-1}},
		{DType: tensor.Float32, Shape: tensor.Shape{-1}}}[:m.fed]
	out := pipeline.ExternalSource(m.p, pipeline.BatchFunc(numbers),
		pipeline.SourceOptions{Name: []string{"", "fed"}[m.r.IntN(2)], Outputs: m.fed, Specs: specs})
	switch {
	case m.flip():
		out = append(out, out[0].Mul(2))
	case m.fed == 2 && m.flip():
		out = out[1:]
	case m.fed == 2:
		out = []pipeline.Node{out[1].Add(out[0]), out[1], out[0]}
	}
	return out
}

// condition returns a scalar of dtype bool or int32.
func (m *daliMaker) condition(depth int) pipeline.Node {
	coin := func() pipeline.Node {
		return m.op("random.coin_flip", op.Args{"probability": float64(m.r.IntN(5)) / 4})
	}
	holds := func() pipeline.Node {
		return m.op("random.uniform", op.Args{"range": []float64{0, 1}}).Less([]float64{0.25, 0.5, 0.75}[m.r.IntN(3)])
	}
	if depth > 0 {
		switch m.r.IntN(6) {
		case 0:
			return m.p.AndThen(holds(), holds)
		case 1:
			return m.p.OrElse(holds(), holds)
		case 2:
			return m.p.Not(holds())
		case 3:
			return holds()
		}
	}
	return coin()
}

// fork puts n through a conditional; within changes it in a branch.
func (m *daliMaker) fork(n pipeline.Node, depth int, within func(n pipeline.Node, depth int) pipeline.Node) pipeline.Node {
	m.used = append(m.used, "conditions")
	side := func() []pipeline.Node {
		x := n
		for range m.r.IntN(4) {
			x = within(x, depth-1)
		}
		return []pipeline.Node{x}
	}
	return m.p.If(m.condition(depth), side, side)[0]
}

// branchNumbers changes float32 of the shape [4 6] and leaves dtype and shape.
func (m *daliMaker) branchNumbers(n pipeline.Node, depth int) pipeline.Node {
	float := func(n pipeline.Node) pipeline.Node { return m.op("cast", op.Args{"dtype": tensor.Float32}, n) }
	switch m.r.IntN(9) {
	case 0:
		return n.Mul(2).Add(3)
	case 1:
		return n.Mul(2).Add(n.Mul(2)) // written twice
	case 2:
		return float(m.op("noise.salt_and_pepper", op.Args{"prob": 0.25}, n))
	case 3:
		return m.op("random.uniform", op.Args{"range": []float64{-1, 1}}, n).Add(n)
	case 4:
		return float(m.op("random.coin_flip", op.Args{"probability": 0.5}, n)).Mul(n)
	case 5:
		return n.Add(m.op("random.uniform", op.Args{"range": []float64{0, 1}})) // for all samples
	case 6:
		one := m.op("copy", nil, n)
		return m.op("copy", nil, n).Add(one) // the same operator twice
	case 7:
		if depth > 0 {
			return m.fork(n, depth, m.branchNumbers)
		}
	}
	return m.op("pad", op.Args{"fill_value": 2.5, "align": 4, "axes": 0}, n)
}

// branchImage changes an image of the layout HWC.
func (m *daliMaker) branchImage(n pipeline.Node, depth int) pipeline.Node {
	switch m.r.IntN(7) {
	case 0:
		return m.op("noise.salt_and_pepper", op.Args{"prob": 0.25}, n)
	case 1:
		return m.op("random_resized_crop", op.Args{"size": []int{5, 7}, "interp_type": op.InterpNN, "antialias": false}, n)
	case 2:
		return m.op("flip", op.Args{"horizontal": m.op("random.coin_flip", nil)}, n)
	case 3:
		return m.op("brightness_contrast", op.Args{"brightness": m.op("random.uniform",
			op.Args{"range": []float64{0.5, 1.5}})}, n)
	case 4:
		m.op("flip", nil, n) // nothing uses it
		return m.op("flip", nil, m.op("flip", nil, n))
	case 5:
		if depth > 0 {
			return m.fork(n, depth, m.branchImage)
		}
	}
	return m.op("crop", op.Args{"crop": []int{2, 3}, "crop_pos_x": m.op("random.uniform",
		op.Args{"range": []float64{0, 1}})}, n)
}
