package generic

import (
	"slices"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// shapeTypes returns the dtypes of shapes.
func shapeTypes() []tensor.DType {
	return []tensor.DType{tensor.Int32, tensor.Uint32, tensor.Int64, tensor.Uint64, tensor.Float32, tensor.Float64}
}

func init() {
	dtype := op.Parameter{Name: "dtype", Type: op.DType, Default: tensor.Int64, Doc: "Type of the output: an integer type of 32 or 64 bits, float32 or float64."}
	s := op.Schema{
		Name:    "_shape",
		Doc:     "Returns the extents of samples.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of any kind"}},
		Outputs: []op.Port{{Name: "shape", Doc: "the extents, outermost first"}},
		Params:  []op.Parameter{dtype},
		New:     newShapes,
	}
	op.Register(s)
	s.Name, s.Deprecated = "shapes", "use Node.Shape"
	s.Params = []op.Parameter{dtype, {Name: "type", Type: op.DType, Deprecated: "use dtype", Doc: "The older name of dtype."}}
	op.Register(s)
}

type shapes struct{ dtype tensor.DType }

func newShapes(c *op.Config) (op.Kernel, error) {
	param := "dtype"
	if c.Given("type") {
		param = "type"
	}
	k := &shapes{dtype: op.Get[tensor.DType](c, param)}
	if !slices.Contains(shapeTypes(), k.dtype) {
		return nil, c.Unsupported(param, "an integer type of 32 or 64 bits, float32 or float64", k.dtype.String())
	}
	return op.Each(k), nil
}

func (k *shapes) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	rank := -1
	if in[0].Shape != nil {
		rank = len(in[0].Shape)
	}
	return []tensor.Spec{{DType: k.dtype, Shape: tensor.Shape{rank}}}, nil
}

func (k *shapes) Sample(b *op.Block, s int) error {
	shape := b.In(0, s).Shape
	extents := op.Scratch[int64](b, len(shape))
	for i, d := range shape {
		extents[i] = int64(d)
	}
	out := b.Out(0, s, len(shape))
	return element.Convert(out, tensor.Tensor{DType: tensor.Int64, Shape: out.Shape, Data: element.Bytes(extents)})
}

func init() {
	op.Register(op.Schema{
		Name:    "get_property",
		Doc:     "Returns a property of samples as text: the bytes of its characters.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of any kind"}},
		Outputs: []op.Port{{Name: "output", Doc: "the characters as uint8"}},
		Params: []op.Parameter{{Name: "key", Type: op.String, Required: true,
			Doc: `The property: "source_info" (the file that a sample was read from, or an empty text) or "layout".`}},
		New: func(c *op.Config) (op.Kernel, error) {
			key := op.Get[string](c, "key")
			if key != "source_info" && key != "layout" {
				return nil, c.Invalid("key", `"source_info" or "layout"`, key, op.Nearest(key, []string{"source_info", "layout"}))
			}
			return &getProperty{layout: key == "layout"}, nil
		},
	})
}

type getProperty struct{ layout bool }

func (k *getProperty) Infer([]tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}}, nil
}

func (k *getProperty) Run(b *op.Block) error {
	for s := range b.Len() {
		text := b.In(0, s).Layout
		if !k.layout {
			text = b.Source(0, s)
		}
		copy(b.Out(0, s, len(text)).Data, text)
	}
	return nil
}
