package generic

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "get_property",
		Doc:     "Tells what is known about samples, as text: the bytes of its characters.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of any kind"}},
		Outputs: []op.Port{{Name: "output", Doc: "the characters as uint8"}},
		Params: []op.Parameter{{Name: "key", Type: op.String, Required: true,
			Doc: `What is asked for: "source_info", the file that a sample was read from, empty where there is none, or "layout".`}},
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

func (k *getProperty) Grain() op.Grain { return op.PerSample }

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
