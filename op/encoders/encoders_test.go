package encoders_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/codec/jpeg/encode"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/op/decoders"
	_ "github.com/bivouac-ml/bivouac/op/encoders"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func run(t interface {
	Helper()
	Fatal(...any)
}, name string, args op.Args, in tensor.Tensor) []tensor.Tensor {
	t.Helper()
	r, err := optest.Run(optest.Case{Op: name, Args: args, Inputs: optest.Inputs(in)})
	if err == nil {
		err = r.Errors[0]
	}
	if err != nil {
		t.Fatal(name, args, err)
	}
	var out []tensor.Tensor
	for _, o := range r.Outputs {
		out = append(out, o[0])
	}
	return out
}

// What is written without loss is read again as it was.
func TestImagesWithoutLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, w := rapid.IntRange(1, 20).Draw(t, "h"), rapid.IntRange(1, 20).Draw(t, "w")
		channels := rapid.SampledFrom([]int{1, 3, 4}).Draw(t, "channels")
		wide := rapid.Bool().Draw(t, "wide")
		format := "png"
		if !wide && rapid.Bool().Draw(t, "webp") {
			format = "webp"
		}
		d := tensor.Uint8
		if wide {
			d = tensor.Uint16
		}
		in := tensor.New(d, h, w, channels)
		in.Layout = "HWC"
		copy(in.Data, rapid.SliceOfN(rapid.Byte(), len(in.Data), len(in.Data)).Draw(t, "pixels"))
		if channels == 4 && rapid.Bool().Draw(t, "opaque") {
			for i := range h * w {
				for k := range d.Size() {
					in.Data[(4*i+3)*d.Size()+k] = 255
				}
			}
		}
		args := op.Args{}
		if format == "png" {
			args["compression"] = rapid.SampledFrom([]string{"none", "fast", "default", "best"}).Draw(t, "compression")
		}
		file := run(t, "encoders."+format, args, in)[0]
		got := run(t, "decoders.image", op.Args{"output_type": op.AnyData, "dtype": d}, file)[0]
		want := in
		switch {
		case format == "webp" && channels == 1: // which becomes RGB
			want = tensor.New(d, h, w, 3)
			for i, v := range in.Data {
				copy(want.Data[3*i:], []byte{v, v, v})
			}
		case got.Shape[2] == 3 && channels == 4: // an alpha that is full is not written
			want = tensor.New(d, h, w, 3)
			for i := range h * w {
				copy(want.Data[3*i*d.Size():3*(i+1)*d.Size()], in.Data[4*i*d.Size():])
				if alpha := in.Data[(4*i+3)*d.Size() : (4*i+4)*d.Size()]; !bytes.Equal(alpha, bytes.Repeat([]byte{255}, d.Size())) {
					t.Fatalf("pixel %d lost its alpha %v", i, alpha)
				}
			}
		}
		if !got.Shape.Equal(want.Shape) || !bytes.Equal(got.Data, want.Data) {
			t.Fatalf("%s of %v: got %v %v, want %v", format, in.Shape, got.Shape, got.Data, want.Data)
		}
	})
}

// JPEG files are what package encode writes, and keep their quality per sample.
func TestJPEG(t *testing.T) {
	in := tensor.New(tensor.Uint8, 9, 17, 3)
	for i := range in.Data {
		in.Data[i] = byte(i * i)
	}
	in.Layout = "HWC"
	var e encode.Encoder
	for _, c := range []struct {
		args op.Args
		o    encode.Options
	}{
		{nil, encode.Options{Quality: 75}},
		{op.Args{"quality": 20, "subsampling": "4:4:4"}, encode.Options{Quality: 20, FullColour: true}},
	} {
		want, err := e.Append(nil, in.Data, 17, 9, 3, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, "encoders.jpeg", c.args, in)[0].Data; !bytes.Equal(got, want) {
			t.Errorf("%v: another file", c.args)
		}
	}
	flat := tensor.New(tensor.Uint8, 4, 5)
	file := run(t, "encoders.jpeg", nil, flat)[0]
	got := run(t, "decoders.image", op.Args{"output_type": op.Gray}, file)[0]
	if !got.Shape.Equal(tensor.Shape{4, 5, 1}) {
		t.Errorf("a gray image without an axis of channels: %v", got.Shape)
	}
}

func TestSoundIsReadAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom([]tensor.DType{tensor.Int16, tensor.Int32, tensor.Float32}).Draw(t, "dtype")
		frames, channels := rapid.IntRange(1, 50).Draw(t, "frames"), rapid.IntRange(1, 5).Draw(t, "channels")
		in := tensor.New(d, frames, channels)
		if d == tensor.Float32 {
			list, _ := tensor.Of[float32](in)
			for i := range list {
				list[i] = rapid.Float32Range(-2, 2).Draw(t, "v")
			}
		} else {
			copy(in.Data, rapid.SliceOfN(rapid.Byte(), len(in.Data), len(in.Data)).Draw(t, "samples"))
		}
		rate := rapid.IntRange(1, 192000).Draw(t, "rate")
		file := run(t, "encoders.wav", op.Args{"sample_rate": float64(rate)}, in)[0]
		out := run(t, "decoders.audio", op.Args{"dtype": d}, file)
		if !out[0].Shape.Equal(in.Shape) || !bytes.Equal(out[0].Data, in.Data) {
			t.Fatalf("%v: got %v, want %v", d, out[0], in)
		}
		if got, _ := tensor.Of[float32](out[1]); got[0] != float32(rate) {
			t.Fatalf("a rate of %v, want %d", got[0], rate)
		}
	})
}

func TestRefused(t *testing.T) {
	image := func(shape ...int) tensor.Tensor {
		in := tensor.New(tensor.Uint8, shape...)
		if len(shape) == 3 {
			in.Layout = "HWC"
		}
		return in
	}
	for name, c := range map[string]struct {
		op   string
		args op.Args
		in   tensor.Tensor
		says string
	}{
		"two channels":      {"png", nil, image(2, 2, 2), "channels"},
		"alpha in JPEG":     {"jpeg", nil, image(2, 2, 4), "channels"},
		"no pixels":         {"png", nil, image(0, 2, 3), "pixels"},
		"a sequence":        {"jpeg", nil, image(2, 2, 2, 3), "HWC"},
		"a subsampling":     {"jpeg", op.Args{"subsampling": "4:1:1"}, image(2, 2, 3), "4:4:4"},
		"a compression":     {"png", op.Args{"compression": "much"}, image(2, 2, 3), "best"},
		"a wide WebP":       {"webp", nil, image(1, 1<<14+1, 1), "16384"},
		"no rate":           {"wav", op.Args{"sample_rate": 0.2}, tensor.New(tensor.Int16, 5), "sample_rate"},
		"a rate of no size": {"wav", op.Args{"sample_rate": 1e300}, tensor.New(tensor.Int16, 5), "sample_rate"},
		"no channels":       {"wav", op.Args{"sample_rate": 8000.0}, tensor.New(tensor.Int16, 5, 0), "channels"},
		"a picture":         {"wav", op.Args{"sample_rate": 8000.0}, tensor.New(tensor.Int16, 5, 1, 1), "frames"},
	} {
		r, err := optest.Run(optest.Case{Op: "encoders." + c.op, Args: c.args, Inputs: optest.Inputs(c.in)})
		if err == nil {
			err = r.Errors[0]
		}
		if !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want one that says %q", name, err, c.says)
		}
	}
}

// Once its memory is there, an operator allocates nothing. WebP does: its library takes memory for
// each image.
func TestEncodersAllocateNothing(t *testing.T) {
	var cases []optest.Case
	add := func(name string, in tensor.Tensor, args op.Args) {
		for i := range in.Data {
			in.Data[i] = byte(i * i >> 5)
		}
		in.Layout = [...]string{2: "", 3: "HWC"}[len(in.Shape)]
		cases = append(cases, optest.Case{Op: "encoders." + name, Args: args, Inputs: optest.Inputs(in, in)})
	}
	for _, channels := range []int{1, 3, 4} {
		for _, d := range []tensor.DType{tensor.Uint8, tensor.Uint16} {
			add("png", tensor.New(d, 30, 40, channels), nil)
		}
		if channels < 4 {
			add("jpeg", tensor.New(tensor.Uint8, 30, 40, channels), nil)
		}
	}
	for _, d := range []tensor.DType{tensor.Int16, tensor.Int32, tensor.Float32} {
		add("wav", tensor.New(d, 500, 2), op.Args{"sample_rate": 8000.0})
	}
	optest.CheckAllocations(t, cases)
}
