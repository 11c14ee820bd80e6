package encoders

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/codec/wav"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "wav", Module: module,
		Doc: "Writes sound as WAV files: integers as PCM, floats as floats.",
		Inputs: []op.Port{{Name: "sound", Doc: "of shape [frames] or [frames, channels], with 1 to 65,535 channels: int16, int32 or float32",
			DTypes: []tensor.DType{tensor.Int16, tensor.Int32, tensor.Float32}}},
		Outputs: []op.Port{{Name: "encoded", Doc: "the bytes of a file"}},
		Params: []op.Parameter{
			{Name: "sample_rate", Type: op.Float, Required: true, PerSample: true, Doc: "Frames per second, rounded to a whole number."},
		},
		Precision: op.Exact,
		New: func(c *op.Config) (op.Kernel, error) {
			return op.Each(&wavWriter{c, op.GetScalar[float64](c, "sample_rate")}), nil
		},
	})
}

type wavWriter struct {
	config *op.Config
	rate   op.Scalar[float64]
}

func (k *wavWriter) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if shape := in[0].Shape; shape != nil && len(shape) != 1 && len(shape) != 2 {
		return nil, k.config.InvalidInput(0, "a shape of [frames] or [frames, channels]", shape.String(), "")
	}
	return []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}}, nil
}

func (k *wavWriter) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	rate, err := k.rate.At(b, s)
	if err != nil {
		return err
	}
	if rate = math.Round(rate); !(rate >= 1 && rate <= math.MaxUint32) {
		return &errs.Error{Kind: errs.Invalid, Subject: "argument sample_rate", Want: "a number from 1 to 2^32-1",
			Got: fmt.Sprint(rate)}
	}
	channels := 1
	if len(in.Shape) == 2 {
		channels = in.Shape[1]
	}
	f := wav.Format{Rate: uint32(rate), Channels: channels, Bits: 8 * in.DType.Size(), Floats: in.DType == tensor.Float32}
	out := b.Out(0, s, wav.HeaderSize+len(in.Data)).Data
	if _, err := f.AppendHeader(out[:0], int64(len(in.Data))); err != nil {
		return err
	}
	copy(out[wav.HeaderSize:], in.Data)
	return nil
}
