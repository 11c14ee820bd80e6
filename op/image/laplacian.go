package image

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "laplacian",
		Doc: "Adds up the second derivatives along all axes except frames and channels, which are the first or the last. " +
			"Each derivative is smoothed along the other axes. At its edges the image is mirrored; the edge itself is not repeated.",
		Inputs:  []op.Port{{Name: "images", Doc: "arrays of one to three axes besides frames and channels; without a layout no axis is a frame or channel axis"}},
		Outputs: []op.Port{{Name: "derived", Doc: "arrays of the same shape"}},
		Params: []op.Parameter{
			{Name: "dtype", Type: op.DType, Doc: "Output type: the input's type, which is the default, or float32."},
			{Name: "normalized_kernel", Type: op.Bool, Default: false, Doc: "Whether each derivative is divided by the sum of its weights' magnitudes; not together with scale."},
			{Name: "scale", Type: op.Floats, Default: []float64{1}, PerSample: true, PerFrame: true,
				Doc: "Factor of the derivatives, one for all or one for each."},
			{Name: "smoothing_size", Type: op.Ints, PerSample: true, PerFrame: true,
				Doc: "Width of the windows that smooth, one for all axes or one for each. It is odd, from 1 to 31; by default it is the width of the derivative's window."},
			{Name: "window_size", Type: op.Ints, Default: []int{3}, PerSample: true, PerFrame: true,
				Doc: "Width of the derivatives' windows, one for all axes or one for each. It is odd, from 3 to 31."},
		},
		Precision: op.Exact,
		New:       newLaplacian,
	})
}

type laplacian struct {
	config            *op.Config
	scale             op.Vector[float64]
	smoothing, window op.Vector[int]
	smoothed          bool // smoothing_size is given
	normalized        bool
	dtype             tensor.DType
}

// widest is the largest window of a Laplacian.
const widest = 31

func newLaplacian(c *op.Config) (op.Kernel, error) {
	k := &laplacian{config: c, scale: op.GetVector[float64](c, "scale"), smoothing: op.GetVector[int](c,
		"smoothing_size"),
		window: op.GetVector[int](c, "window_size"), smoothed: c.Given("smoothing_size"),
		normalized: op.Get[bool](c, "normalized_kernel"), dtype: op.Get[tensor.DType](c, "dtype")}
	if k.normalized && c.Given("scale") {
		return nil, c.Invalid("scale", "no scale together with normalized_kernel", "both", "leave one of them out")
	}
	return op.Each(k), nil
}

func (k *laplacian) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := in[0]
	if k.dtype != tensor.Invalid {
		if out.DType = k.dtype; k.dtype != in[0].DType && k.dtype != tensor.Float32 {
			return nil, k.config.Invalid("dtype", "the type of the input ("+in[0].DType.String()+") or float32",
				k.dtype.String(), "")
		}
	}
	known := slices.DeleteFunc(element.Types(), func(d tensor.DType) bool {
		return d == tensor.Bool ||
			d == tensor.Float64
	})
	if err := inputDType(k.config, in[0], known...); err != nil {
		return nil, err
	}
	if in[0].Shape != nil {
		if _, _, err := blurAxes(in[0].Layout, len(in[0].Shape)); err != nil {
			return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
		}
	}
	return []tensor.Spec{out}, nil
}

// laplacianState is a worker's state.
type laplacianState struct {
	blur              blurrer
	scale             []float64
	smoothing, window []int
	weights           [2][widest + 1][]float32 // of windows that smooth and of derivatives, by width
	scales            [maxSpatial]float32
	widths            [maxSpatial][maxSpatial]int // of the windows, by derivative and axis
	total             []float32
	sum               summand
}

func (k *laplacian) Sample(b *op.Block, s int) error {
	in, st := b.In(0, s), op.PerWorker[laplacianState](b)
	first, n, err := blurAxes(in.Layout, len(in.Shape))
	if err != nil {
		return err
	}
	if err := k.plan(b, s, st, n); err != nil {
		return err
	}
	out := b.Out(0, s, in.Shape...)
	if in.Shape.Len() == 0 {
		return nil
	}
	frames, size, channels := volumes(in.Shape, first, n)
	step := size[0] * size[1] * size[2] * channels
	st.total = grow(st.total, step)
	for f := range frames {
		for d := range n {
			for axis := range maxSpatial {
				st.blur.windows[axis].weights = st.of(0, 1)
				if at := axis - (maxSpatial - n); at >= 0 {
					kind := 0
					if at == d {
						kind = 1
					}
					st.blur.windows[axis].weights = st.of(kind, st.widths[d][at])
				}
			}
			st.sum = summand{total: st.total, scale: st.scales[d], first: d == 0, last: d == n-1}
			if err := st.blur.run(blurJob{src: in, dst: out, at: f * step, size: size, channels: channels,
				sum: &st.sum}); err != nil {
				return err
			}
		}
	}
	return nil
}

// plan reads the arguments of sample s for n axes.
func (k *laplacian) plan(b *op.Block, s int, st *laplacianState, n int) error {
	sizes, err := k.window.At(b, s, st.window)
	if err != nil {
		return err
	}
	if _, constant := k.window.Const(); !constant {
		st.window = sizes
	}
	if err := oddWidths("window_size", sizes, n, 3); err != nil {
		return err
	}
	var smooth []int
	if k.smoothed {
		if smooth, err = k.smoothing.At(b, s, st.smoothing); err != nil {
			return err
		}
		if _, constant := k.smoothing.Const(); !constant {
			st.smoothing = smooth
		}
		if err := oddWidths("smoothing_size", smooth, n, 1); err != nil {
			return err
		}
	}
	scales, err := k.scale.At(b, s, st.scale)
	if err != nil {
		return err
	}
	if _, constant := k.scale.Const(); !constant {
		st.scale = scales
	}
	if len(scales) != 1 && len(scales) != n {
		return &errs.Error{Kind: errs.Invalid, Subject: "argument scale", Want: fmt.Sprintf("1 or %d values", n),
			Got: fmt.Sprint(len(scales))}
	}
	for d := range n {
		width, sum := sizes[d%len(sizes)], 0
		for axis := range n {
			w := width
			if axis != d && k.smoothed {
				w = smooth[axis%len(smooth)]
			}
			st.widths[d][axis] = w
			sum += w
		}
		st.scales[d] = float32(scales[d%len(scales)])
		if k.normalized {
			st.scales[d] = 1
			for range sum - n - 2 {
				st.scales[d] /= 2
			}
		}
	}
	return nil
}

// oddWidths checks the widths of windows for n axes.
func oddWidths(name string, widths []int, n, least int) error {
	bad := len(widths) != 1 && len(widths) != n
	for _, w := range widths {
		bad = bad || w < least || w > widest || w%2 == 0
	}
	if !bad {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Subject: "argument " + name,
		Want: fmt.Sprintf("1 or %d odd widths from %d to %d", n, least, widest), Got: fmt.Sprint(widths)}
}

// of returns the weights of a window of width w: binomial coefficients, or for a derivative
// (derivative = 1) their second differences.
func (st *laplacianState) of(derivative, w int) []float32 {
	if st.weights[derivative][w] == nil {
		list := make([]float32, w)
		list[0] = 1
		for n := 1; n < w-2*derivative; n++ {
			for i := n; i > 0; i-- {
				list[i] += list[i-1]
			}
		}
		for n := w - 2*derivative; n < w; n++ {
			for i := n; i > 0; i-- {
				list[i] -= list[i-1]
			}
		}
		st.weights[derivative][w] = list
	}
	return st.weights[derivative][w]
}
