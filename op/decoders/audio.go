package decoders

import (
	"fmt"
	"math"

	_ "github.com/bivouac-ml/bivouac/codec/aiff" // formats that the operator decodes
	"github.com/bivouac-ml/bivouac/codec/audio"
	_ "github.com/bivouac-ml/bivouac/codec/flac"
	_ "github.com/bivouac-ml/bivouac/codec/mp3"
	_ "github.com/bivouac-ml/bivouac/codec/opus"
	_ "github.com/bivouac-ml/bivouac/codec/vorbis"
	_ "github.com/bivouac-ml/bivouac/codec/wav"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(audioSchema())
	s := audioSchema()
	s.Deprecated = "use " + s.FullName()
	s.Module, s.Name = nil, "audio_decoder"
	op.Register(s)
}

func audioSchema() op.Schema {
	return op.Schema{
		Name: "audio", Module: []string{"decoders"},
		Doc: "Decodes sound: WAV, RF64, AIFF, FLAC, Ogg Vorbis, Ogg Opus, and MP3 if the program ffmpeg is there. The mean of the channels can be taken, and the sound can be resampled. " +
			"A file that is cut or damaged is an error.",
		Inputs: []op.Port{{Name: "encoded", Doc: "the bytes of a file of sound", DTypes: []tensor.DType{tensor.Uint8}}},
		Outputs: []op.Port{
			{Name: "sound", Doc: "of shape [frames, channels], or with downmix [frames]"},
			{Name: "rate", Doc: "frames per second of the output, float32"},
		},
		Params: []op.Parameter{
			{Name: "downmix", Type: op.Bool, Default: false, Doc: "Whether the mean of the channels is taken."},
			{Name: "dtype", Type: op.DType, Default: tensor.Float32,
				Doc: "Type of the sound: float32 from -1 to 1, or int16 or int32 that fill the type. Floats of a file become integers as they are, unless the sound is resampled or mixed."},
			{Name: "quality", Type: op.Float, Default: 50.0, Doc: "Quality of resampling, 0 to 100; see audio_resample."},
			{Name: "sample_rate", Type: op.Float, Default: 0.0, PerSample: true,
				Doc: "Frames per second of the output; 0 is the rate of the file."},
		},
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &audioDecoder{config: c, downmix: op.Get[bool](c, "downmix"), dtype: op.Get[tensor.DType](c, "dtype"),
				rate: op.GetScalar[float64](c, "sample_rate")}
			if k.dtype != tensor.Float32 && k.dtype != tensor.Int16 && k.dtype != tensor.Int32 {
				return nil, c.Unsupported("dtype", "float32, int16 or int32", k.dtype.String())
			}
			quality := op.Get[float64](c, "quality")
			var err error
			if k.converter, err = audio.NewConverter(k.downmix, quality); err != nil {
				return nil, c.Invalid("quality", "a number from 0 to 100", fmt.Sprint(quality), "")
			}
			return op.Each(k), nil
		},
	}
}

type audioDecoder struct {
	config  *op.Config
	downmix bool
	dtype   tensor.DType
	rate    op.Scalar[float64]

	converter *audio.Converter
}

func (k *audioDecoder) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].DType != tensor.Uint8 {
		return nil, k.config.InvalidInput(0, "the bytes of a file, uint8", in[0].DType.String(), "")
	}
	out := tensor.Spec{DType: k.dtype, Shape: tensor.Shape{-1, -1}}
	if k.downmix {
		out.Shape = out.Shape[:1]
	}
	return []tensor.Spec{out, {DType: tensor.Float32, Shape: tensor.Shape{}}}, nil
}

func (k *audioDecoder) Sample(b *op.Block, s int) error {
	rate, err := k.rate.At(b, s)
	if err != nil {
		return err
	}
	rate = float64(float32(rate))
	if !(rate >= 0) || math.IsInf(rate, 0) {
		return k.config.Invalid("sample_rate", "a number of at least 0", fmt.Sprint(rate), "")
	}
	file, err := op.PerWorker[audio.Decoder](b).Open(b.In(0, s).Data, b.Limits().MaxBytes)
	if err != nil {
		return err
	}
	shape, err := k.converter.Shape(file, rate)
	if err != nil {
		return err
	}
	scratch := func(n int) []float32 { return op.Scratch[float32](b, n) }
	if err := k.converter.Convert(b.Out(0, s, shape...), file, rate, scratch); err != nil {
		return err
	}
	if rate == 0 {
		rate = float64(file.Rate())
	}
	to, err := tensor.Of[float32](b.Out(1, s))
	if err == nil {
		to[0] = float32(rate)
	}
	return err
}
