package image

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "gaussian_blur",
		Doc: "Blurs with a Gaussian window along all axes except frames and channels, which are the first or the last. " +
			"At its edges the image is mirrored; the edge itself is not repeated.",
		Inputs:  []op.Port{{Name: "images", Doc: "arrays of one to three axes besides frames and channels; without a layout no axis is a frame or channel axis"}},
		Outputs: []op.Port{{Name: "blurred", Doc: "arrays of the same shape"}},
		Params: []op.Parameter{
			{Name: "dtype", Type: op.DType, Doc: "Output type: the input's type, which is the default, or float32."},
			{Name: "sigma", Type: op.Floats, Default: []float64{0}, PerSample: true, PerFrame: true,
				Doc: "Standard deviation in pixels, one for all axes or one for each. 0 means (radius - 1) * 0.3 + 0.8."},
			{Name: "window_size", Type: op.Ints, Default: []int{0}, PerSample: true, PerFrame: true,
				Doc: "Width of the window in pixels, one for all axes or one for each. It is odd; 0 means 2 * ceil(3 * sigma) + 1."},
		},
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			return op.Each(&gaussianBlur{config: c, sigma: op.GetVector[float64](c, "sigma"), window: op.GetVector[int](c, "window_size"), dtype: op.Get[tensor.DType](c, "dtype")}), nil
		},
	})
}

type gaussianBlur struct {
	config *op.Config
	sigma  op.Vector[float64]
	window op.Vector[int]
	dtype  tensor.DType
}

func (k *gaussianBlur) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := in[0]
	if k.dtype != tensor.Invalid {
		if out.DType = k.dtype; k.dtype != in[0].DType && k.dtype != tensor.Float32 {
			return nil, k.config.Unsupported("dtype", "the type of the input ("+in[0].DType.String()+") or float32", k.dtype.String())
		}
	}
	if d := in[0].DType; d == tensor.Bool || !element.Known(d) {
		return nil, inputDType(k.config, in[0], slices.DeleteFunc(element.Types(), func(d tensor.DType) bool { return d == tensor.Bool })...)
	}
	if in[0].Shape != nil {
		if _, _, err := blurAxes(in[0].Layout, len(in[0].Shape)); err != nil {
			return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
		}
	}
	return []tensor.Spec{out}, nil
}

// blurAxes returns the range of axes that are blurred.
func blurAxes(layout string, rank int) (first, n int, err error) {
	last := rank
	if layout != "" {
		for first < len(layout) && (layout[first] == 'F' || layout[first] == 'C') {
			first++
		}
		if last = len(layout); last > first && layout[last-1] == 'C' {
			last--
		}
		if last > first && strings.ContainsAny(layout[first:last], "FC") {
			return 0, 0, &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: "frames first, and channels first or last", Got: "layout " + layout}
		}
	}
	if n = last - first; n < 1 || n > maxSpatial {
		return 0, 0, &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: "one to three axes to blur", Got: fmt.Sprintf("%d axes, layout %q", rank, layout)}
	}
	return first, n, nil
}

// volumes splits an array into frames, whose n axes from first on are an image or a volume, and the
// axes after them are channels.
func volumes(shape tensor.Shape, first, n int) (frames int, size [maxSpatial]int, channels int) {
	frames, size, channels = 1, [maxSpatial]int{1, 1, 1}, 1
	for i, extent := range shape {
		switch {
		case i < first:
			frames *= extent
		case i >= first+n:
			channels *= extent
		default:
			size[maxSpatial-n+i-first] = extent
		}
	}
	return frames, size, channels
}

// blurState is a worker's state.
type blurState struct {
	blur   blurrer
	sigma  []float64
	window []int
}

func (k *gaussianBlur) Sample(b *op.Block, s int) error {
	in, st := b.In(0, s), op.PerWorker[blurState](b)
	first, n, err := blurAxes(in.Layout, len(in.Shape))
	if err != nil {
		return err
	}
	if err := k.windows(b, s, st, n); err != nil {
		return err
	}
	out := b.Out(0, s, in.Shape...)
	frames, size, channels := volumes(in.Shape, first, n)
	if in.Shape.Len() == 0 {
		return nil
	}
	step := size[0] * size[1] * size[2] * channels
	for f := range frames {
		if err := st.blur.run(blurJob{src: in, dst: out, at: f * step, size: size, channels: channels}); err != nil {
			return err
		}
	}
	return nil
}

// largestWindow bounds the cost of a window.
const largestWindow = 1<<16 - 1

// windows prepares the windows of sample s for n axes.
func (k *gaussianBlur) windows(b *op.Block, s int, st *blurState, n int) error {
	sigmas, err := k.sigma.At(b, s, st.sigma)
	if err != nil {
		return err
	}
	if _, constant := k.sigma.Const(); !constant {
		st.sigma = sigmas
	}
	sizes, err := k.window.At(b, s, st.window)
	if err != nil {
		return err
	}
	if _, constant := k.window.Const(); !constant {
		st.window = sizes
	}
	if len(sigmas) != 1 && len(sigmas) != n || len(sizes) != 1 && len(sizes) != n {
		return &errs.Error{Kind: errs.Invalid, Subject: "arguments sigma and window_size", Want: fmt.Sprintf("1 or %d values", n), Got: fmt.Sprint(sigmas, " and ", sizes)}
	}
	for i := range maxSpatial - n {
		st.blur.windows[i].plan(1, 1)
	}
	for i := range n {
		sigma, size := sigmas[i%len(sigmas)], sizes[i%len(sizes)]
		if !(sigma >= 0 && sigma < largestWindow/6) || size < 0 || size > largestWindow || size == 0 && sigma == 0 || size != 0 && size%2 == 0 {
			return &errs.Error{Kind: errs.Invalid, Subject: "arguments sigma and window_size", Want: "a positive sigma or an odd window size", Got: fmt.Sprintf("%g and %d", sigma, size)}
		}
		if size == 0 {
			size = 2*int(math.Ceil(float64(float32(sigma)*3))) + 1
		}
		st.blur.windows[maxSpatial-n+i].plan(float32(sigma), size)
	}
	return nil
}
