package decoders

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/codec"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(peekSchema())
}

func peekSchema() op.Schema {
	return op.Schema{
		Name:    "peek_image_shape",
		Doc:     "Returns the shape of images (height, width, channels) without decoding them.",
		Inputs:  []op.Port{encoded()},
		Outputs: []op.Port{{Name: "shapes", Doc: "three numbers"}},
		Params: []op.Parameter{
			{Name: "dtype", Type: op.DType, Default: tensor.Int64, Doc: "Type of the numbers: int32, uint32, int64, uint64, float32 or float64."},
			{Name: "image_type", Type: op.Image, Default: op.RGB, Doc: "Colour space of the output; ANY_DATA: as in the file."},
			{Name: "adjust_orientation", Type: op.Bool, Default: true, Doc: "Whether to return the shape after the rotation that the EXIF orientation says."},
		},
		New: newPeek,
	}
}

// peek is the kernel of peek_image_shape.
type peek struct {
	config *op.Config
	dtype  tensor.DType
	output codec.Output
}

func newPeek(c *op.Config) (op.Kernel, error) {
	k := &peek{config: c, dtype: op.Get[tensor.DType](c, "dtype"), output: codec.Output{
		Color: raster.Color(op.Get[op.ImageType](c, "image_type")), Orient: op.Get[bool](c, "adjust_orientation"),
	}}
	known := []tensor.DType{tensor.Int32, tensor.Uint32, tensor.Int64, tensor.Uint64, tensor.Float32, tensor.Float64}
	if !slices.Contains(known, k.dtype) {
		return nil, c.Invalid("dtype", "int32, uint32, int64, uint64, float32 or float64", k.dtype.String(), "")
	}
	return op.Each(k), nil
}

// Infer implements op.Kernel.
func (k *peek) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: k.dtype, Shape: tensor.Shape{3}}}, checkEncoded(k.config, in[0])
}

// Sample implements op.SampleKernel.
func (k *peek) Sample(b *op.Block, s int) error {
	h, err := codec.ReadHeader(b.In(0, s).Data)
	if err != nil {
		return err
	}
	width, height, channels := k.output.Size(h)
	out := b.Out(0, s, 3)
	for i, v := range [3]int{height, width, channels} {
		store(out, i, v)
	}
	return nil
}

// store sets element i of a tensor to v. The dtype is one of peek_image_shape.
func store(t tensor.Tensor, i, v int) {
	le := binary.LittleEndian
	switch t.DType {
	case tensor.Int32, tensor.Uint32:
		le.PutUint32(t.Data[4*i:], uint32(v))
	case tensor.Float32:
		le.PutUint32(t.Data[4*i:], math.Float32bits(float32(v)))
	case tensor.Float64:
		le.PutUint64(t.Data[8*i:], math.Float64bits(float64(v)))
	default:
		le.PutUint64(t.Data[8*i:], uint64(v))
	}
}
