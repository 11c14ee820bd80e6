package decoders

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/codec/video"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(videoSchema())
	s := videoSchema()
	s.Deprecated = "use " + s.FullName()
	s.Module = []string{"experimental", "decoders"}
	op.Register(s)
}

func videoSchema() op.Schema {
	return op.Schema{
		Name: "video", Module: []string{"decoders"},
		Doc: "Decodes frames of videos, as RGB. The program ffmpeg must be installed, except for motion JPEG, GIF and WebP. " +
			"Without frames, start_frame, end_frame, sequence_length and stride, all frames are decoded.",
		Inputs:  []op.Port{{Name: "encoded", Doc: "the bytes of a video file", DTypes: []tensor.DType{tensor.Uint8}}},
		Outputs: []op.Port{{Name: "videos", Doc: "frames, uint8 of layout FHWC"}},
		Params: []op.Parameter{
			{Name: "frames", Type: op.Ints, PerSample: true, Doc: "Numbers of the frames, in any order; a frame may be named twice."},
			{Name: "start_frame", Type: op.Int, PerSample: true, Doc: "The first frame; by default 0."},
			{Name: "end_frame", Type: op.Int, PerSample: true, Doc: "The end of the frames: one more than the last frame. Not with sequence_length."},
			{Name: "sequence_length", Type: op.Int, PerSample: true, Doc: "Number of frames. Not with end_frame."},
			{Name: "stride", Type: op.Int, PerSample: true, Doc: "Frames from one frame to the next; by default 1."},
			{Name: "pad_mode", Type: op.String, Default: "constant",
				Doc: "What stands for frames that the video does not have: none leaves them out, and is an error for frames; constant is fill_value; edge (or repeat) the nearest frame; reflect_101 (reflect) or reflect_1001 (symmetric) the video back and forth."},
			{Name: "fill_value", Type: op.Ints, Default: []int{0}, Doc: "Colour of pad_mode constant: a number from 0 to 255, or one for each channel."},
			{Name: "build_index", Type: op.Bool, Default: true, Tuning: true, Doc: "Whether key frames are looked for first; has no effect: it is always done."},
			{Name: "affine", Type: op.Bool, Default: true, Tuning: true, Doc: "Whether threads of decoders in hardware keep to a processor; has no effect."},
		},
		Precision: op.Tolerance,
		New:       newVideo,
	}
}

// videoDecoder is the kernel of decoders.video.
type videoDecoder struct {
	config *op.Config
	frames op.Vector[int]
	start  op.Scalar[int]
	end    op.Scalar[int]
	length op.Scalar[int]
	stride op.Scalar[int]
	pad    video.PadMode
	fill   [3]byte
}

func newVideo(c *op.Config) (op.Kernel, error) {
	if c.Has("frames") {
		for _, name := range []string{"start_frame", "end_frame", "sequence_length", "stride"} {
			if c.Has(name) {
				return nil, c.Invalid(name, "only frames or only "+name, "both", "")
			}
		}
	}
	if c.Has("end_frame") && c.Has("sequence_length") {
		return nil, c.Invalid("sequence_length", "only end_frame or only sequence_length", "both", "")
	}
	k := &videoDecoder{config: c, frames: op.GetVector[int](c, "frames"), start: op.GetScalar[int](c, "start_frame"),
		end: op.GetScalar[int](c, "end_frame"), length: op.GetScalar[int](c, "sequence_length"),
		stride: op.GetScalar[int](c, "stride")}
	var ok bool
	if k.pad, ok = video.ParsePadMode(op.Get[string](c, "pad_mode")); !ok {
		return nil, c.Invalid("pad_mode", video.PadModes, op.Get[string](c, "pad_mode"), "")
	}
	if k.fill, ok = video.Color(op.Get[[]int](c, "fill_value")); !ok {
		return nil, c.Invalid("fill_value", "1 or 3 numbers from 0 to 255", fmt.Sprint(op.Get[[]int](c, "fill_value")), "")
	}
	return op.Each(k), nil
}

// Infer implements op.Kernel.
func (k *videoDecoder) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1, -1, -1, 3}, Layout: "FHWC"}},
		checkEncoded(k.config, in[0])
}

// Sample implements op.SampleKernel.
func (k *videoDecoder) Sample(b *op.Block, s int) error {
	ctx, cancel := context.Background(), func() {}
	if d := b.Binding().Deadline; !d.IsZero() {
		ctx, cancel = context.WithDeadline(ctx, d)
	}
	defer cancel()
	limits := b.Limits()
	v, err := video.OpenBytes(ctx, b.In(0, s).Data, video.Options{
		Limits: raster.Limits{Pixels: limits.MaxPixels, Bytes: limits.MaxBytes, Check: b.Overdue}, Keep: 1})
	if err != nil {
		return overdue(b, err)
	}
	defer v.Close() //nolint:errcheck // nothing was written
	numbers, err := k.numbers(b, s, v.Frames())
	if err != nil {
		return err
	}
	out := b.Out(0, s, len(numbers), v.Height, v.Width, 3).Data
	d := v.NewDecoder()
	defer d.Close() //nolint:errcheck // nothing was written
	return overdue(b, d.Clip(ctx, numbers, k.fill, out))
}

// overdue returns the error of the limit of time in place of the error of a context.
func overdue(b *op.Block, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		if late := b.Overdue(); late != nil {
			return late
		}
	}
	return err
}

// numbers returns the numbers of the frames of sample s, in a video of n frames.
func (k *videoDecoder) numbers(b *op.Block, s, n int) ([]int, error) {
	if k.config.Has("frames") {
		list, err := k.frames.At(b, s, nil)
		if err != nil {
			return nil, err
		}
		list = slices.Clone(list)
		for i, frame := range list {
			list[i] = k.pad.Frame(frame, n)
			if list[i] < 0 && k.pad == video.PadNone {
				return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument frames",
					Want: fmt.Sprintf("frames from 0 to %d", n-1),
					Got:  fmt.Sprint(frame), Remedy: "with another pad_mode than none, frames outside the video are padded"}
			}
		}
		return list, nil
	}
	value := func(p op.Scalar[int], name string, otherwise int, err *error) int {
		if *err != nil || !k.config.Has(name) {
			return otherwise
		}
		var v int
		v, *err = p.At(b, s)
		return v
	}
	var err error
	start := value(k.start, "start_frame", 0, &err)
	stride := value(k.stride, "stride", 1, &err)
	end := value(k.end, "end_frame", n, &err)
	bad := func(name, want string, got int) error {
		return &errs.Error{Kind: errs.Invalid, Subject: "argument " + name, Want: want, Got: fmt.Sprint(got)}
	}
	length := 0
	switch {
	case err != nil:
		return nil, err
	case stride < 1:
		return nil, bad("stride", "at least 1", stride)
	case start >= n:
		return nil, bad("start_frame", fmt.Sprintf("at most %d, the last frame", n-1), start)
	case k.config.Has("sequence_length"):
		if length = value(k.length, "sequence_length", 0, &err); err == nil && length < 0 {
			err = bad("sequence_length", "at least 0", length)
		}
	case end <= start:
		err = bad("end_frame", fmt.Sprintf("more than start_frame, %d", start), end)
	default:
		length = (end-start-1)/stride + 1
	}
	if err == nil {
		const perFrame = 3 // a frame has at least one pixel
		err = b.Limits().CheckBytes("the frames", int64(length)*perFrame)
	}
	if err != nil {
		return nil, err
	}
	list := make([]int, 0, length)
	for i := range length {
		frame := start + i*stride
		if k.pad == video.PadNone {
			if frame < 0 {
				return nil, bad("start_frame", "at least 0, with pad_mode none", start)
			}
			if frame >= n {
				break
			}
		}
		list = append(list, k.pad.Frame(frame, n))
	}
	return list, nil
}
