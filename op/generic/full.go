package generic

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "full",
		Doc:     "Repeats data to a shape, as numpy broadcasts.",
		Inputs:  []op.Port{{Name: "fill_value", Doc: "what is repeated: a scalar, or data whose shape fits the end of the new shape"}},
		Outputs: []op.Port{{Name: "output", Doc: "the repeated data"}},
		Params:  []op.Parameter{layoutParam("Layout of the output."), shapeParam()},
		New: func(c *op.Config) (op.Kernel, error) {
			k := &full{config: c, shape: op.GetVector[int](c, "shape"), layout: op.Get[string](c, "layout")}
			return k, constantShape(c, k.shape, k.layout, tensor.Float64)
		},
	})
}

type full struct {
	config *op.Config
	shape  op.Vector[int]
	layout string
}

func (k *full) Grain() op.Grain { return op.PerSample }

func (k *full) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := tensor.Spec{DType: in[0].DType, Shape: inferredShape(k.shape, k.layout), Layout: k.layout}
	if op.Static(in[0]) && op.Static(out) {
		if err := broadcasts(in[0].Shape, out.Shape); err != nil {
			return nil, k.config.InvalidInput(0, "data that repeat to the shape "+out.Shape.String(), in[0].Shape.String(), "")
		}
	}
	return []tensor.Spec{out}, nil
}

func (k *full) Run(b *op.Block) error {
	return b.Each(func(s int) error {
		in := b.In(0, s)
		var buf [8]int
		shape, err := shapeAt(k.config, b, s, k.shape, k.layout, in.DType, buf[:0])
		if err == nil {
			err = broadcasts(in.Shape, shape)
		}
		if err == nil {
			broadcast(b.Out(0, s, shape...), in)
		}
		return err
	})
}
