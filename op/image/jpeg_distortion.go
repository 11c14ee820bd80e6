package image

import (
	"github.com/bivouac-ml/bivouac/codec/jpeg/distort"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "jpeg_compression_distortion",
		Doc:     "Distorts RGB images as JPEG does: they become what they are after encoding and decoding, with half the colour resolution.",
		Inputs:  []op.Port{{Name: "images", Doc: "RGB images or sequences of them: uint8", Layouts: []string{"HWC", "FHWC"}}},
		Outputs: []op.Port{{Name: "distorted", Doc: "images of the same shape"}},
		Params: []op.Parameter{
			{Name: "quality", Type: op.Int, Default: 50, PerSample: true, Doc: "Quality from 1, the worst, to 100; other numbers are limited to this range."},
		},
		Precision: op.Exact,
		New: func(c *op.Config) (op.Kernel, error) {
			return op.Each(&jpegDistortion{config: c, quality: op.GetScalar[int](c, "quality")}), nil
		},
	})
}

type jpegDistortion struct {
	config  *op.Config
	quality op.Scalar[int]
}

func (k *jpegDistortion) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].DType != tensor.Uint8 {
		return nil, k.config.InvalidInput(0, "uint8", in[0].DType.String(), "cast it")
	}
	out, err := inferColor(k.config, in[0], tensor.Invalid, tensor.Uint8)
	if n := len(in[0].Shape); err == nil && n > 0 {
		if c := in[0].Shape[n-1]; c >= 0 && c != 3 {
			return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, notRGB(in[0].Shape))
		}
	}
	return out, err
}

func (k *jpegDistortion) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if err := checkRank(in, b.Binding().Specs[0].Layout); err != nil {
		return err
	}
	n := len(in.Shape)
	h, w := in.Shape[n-3], in.Shape[n-2]
	if in.Shape[n-1] != 3 {
		return notRGB(in.Shape)
	}
	quality, err := k.quality.At(b, s)
	if err != nil {
		return err
	}
	out, d := b.Out(0, s, in.Shape...), op.PerWorker[distort.Distorter](b)
	for at := 0; at < len(in.Data); at += 3 * h * w {
		d.Distort(out.Data[at:at+3*h*w], in.Data[at:at+3*h*w], w, h, quality)
	}
	return nil
}
