package random

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/cropgen"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "random_crop_generator",
		Doc:  "Draws windows of random area, aspect ratio and place for images of given shapes, to cut them with slice or while they are decoded.",
		Inputs: []op.Port{{Name: "shapes", Doc: "height, width and maybe channels of images, as integers",
			DTypes: []tensor.DType{tensor.Uint8, tensor.Int8, tensor.Uint16, tensor.Int16, tensor.Uint32, tensor.Int32, tensor.Int64}}},
		Outputs: []op.Port{{Name: "anchor", Doc: "row and column of the corner, int32"}, {Name: "extent", Doc: "height and width, int32"}},
		Params:  append(cropgen.Params(), seedParam),
		Random:  true,
		New: func(c *op.Config) (op.Kernel, error) {
			g, err := cropgen.New(c)
			return op.Each(&cropGenerator{config: c, windows: g}), err
		},
	})
}

type cropGenerator struct {
	config  *op.Config
	windows *cropgen.Generator
}

func (k *cropGenerator) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if !isIndex(in[0].DType) || in[0].DType == tensor.Uint64 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: k.config.Schema.FullName(), Subject: "node " + k.config.Node + ", input shapes",
			Want: "integers of 8 to 64 bits", Got: in[0].DType.String()}
	}
	if s := in[0].Shape; s != nil && (len(s) != 1 || s[0] >= 0 && s[0] != 2 && s[0] != 3) {
		return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, shapeError(s.String()))
	}
	pair := tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{2}}
	return []tensor.Spec{pair, pair}, nil
}

func shapeError(got string) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: "input shapes", Want: "2 or 3 numbers", Got: got}
}

func (k *cropGenerator) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if len(in.Shape) != 1 || in.Shape[0] != 2 && in.Shape[0] != 3 {
		return shapeError(in.String())
	}
	h, w := integer(in, 0), integer(in, 1)
	const longest = 1 << 30
	if max(h, w) > longest {
		return &errs.Error{Kind: errs.Invalid, Subject: "input shapes", Want: fmt.Sprintf("at most %d rows and columns", longest), Got: fmt.Sprint(h, " ", w)}
	}
	window := k.windows.Draw(b.RNG(s), h, w)
	for i, v := range [2][2]int{{window.Y, window.X}, {window.H, window.W}} {
		out, err := tensor.Of[int32](b.Out(i, s, 2))
		if err != nil {
			return err
		}
		out[0], out[1] = int32(v[0]), int32(v[1])
	}
	return nil
}

// integer returns an element of a tensor of integers.
func integer(t tensor.Tensor, i int) int {
	size := t.DType.Size()
	v := uint64(0)
	for k, b := range t.Data[i*size : (i+1)*size] {
		v |= uint64(b) << (8 * k)
	}
	if shift := 64 - 8*size; t.DType.IsSigned() {
		return int(int64(v<<shift) >> shift)
	}
	return int(v)
}
