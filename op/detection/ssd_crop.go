package detection

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "ssd_random_crop",
		Doc: "Cuts a random window out of an image. All boxes overlap the window by at least a threshold, which is drawn too; sometimes the image stays whole. " +
			"Boxes whose centre is outside the window are dropped with their labels.",
		Inputs: []op.Port{
			{Name: "images", Doc: "pictures of uint8", DTypes: []tensor.DType{tensor.Uint8}},
			boxPort("one box per row: left, top, right, bottom, from 0 to 1"),
			{Name: "labels", Doc: "one int32 label per box", DTypes: []tensor.DType{tensor.Int32}},
		},
		Outputs: []op.Port{
			{Name: "window", Doc: "the windows"},
			{Name: "kept", Doc: "the remaining boxes, in coordinates of the window"},
			{Name: "kept_labels", Doc: "their labels"},
		},
		Params: []op.Parameter{
			{Name: "num_attempts", Type: op.Int, Default: 1, Doc: "Number of windows that are drawn for one threshold."},
			{Name: "seed", Type: op.Int, Default: -1, Doc: "Seed of this operator; -1: the pipeline's seed."},
		},
		Random:     true,
		Deprecated: "use random_bbox_crop",
		New: func(c *op.Config) (op.Kernel, error) {
			k := &ssdCrop{config: c, attempts: op.Get[int](c, "num_attempts")}
			if k.attempts < 1 {
				return nil, c.Invalid("num_attempts", "1 or more", fmt.Sprint(k.attempts), "")
			}
			return k, nil
		},
	})
}

type ssdCrop struct {
	config   *op.Config
	attempts int
}

func (k *ssdCrop) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	for i, want := range []tensor.DType{tensor.Uint8, tensor.Float32, tensor.Int32} {
		if in[i].DType != want {
			return nil, k.config.InvalidInput(i, want.String(), in[i].DType.String(), "cast it")
		}
	}
	image := tensor.Shape{-1, -1, -1}
	if s := in[0].Shape; len(s) == 3 {
		image[2] = s[2]
	}
	labels := tensor.Spec{DType: tensor.Int32}
	if len(in[2].Shape) == 1 {
		labels.Shape = tensor.Shape{-1}
	}
	return []tensor.Spec{
		{DType: tensor.Uint8, Shape: image, Layout: in[0].Layout},
		{DType: tensor.Float32, Shape: tensor.Shape{-1, 4}},
		labels,
	}, nil
}

// ssdWindow is a worker's state: a window from 0 to 1, and the boxes with their centre in it.
type ssdWindow struct {
	philox        rng.Philox
	left, top     float64
	right, bottom float64
	width, height float64
	whole         bool
	kept          []int
}

func (k *ssdCrop) Run(b *op.Block) error {
	w := op.PerWorker[ssdWindow](b)
	return b.Each(func(s int) error { return k.sample(b, s, w) })
}

func (k *ssdCrop) sample(b *op.Block, s int, w *ssdWindow) error {
	image, boxes := b.In(0, s), b.In(1, s)
	if len(image.Shape) != 3 {
		return &errs.Error{Kind: errs.Mismatch, Subject: "input images", Want: "pictures of 3 axes", Got: image.String()}
	}
	in, err := rows(boxes)
	if err != nil {
		return err
	}
	labels, err := tensor.Of[int32](b.In(2, s))
	if err != nil {
		return err
	}
	if n := len(in) / 4; len(labels) != n {
		return &errs.Error{Kind: errs.Mismatch, Subject: "input labels",
			Want: fmt.Sprintf("one label for each of %d boxes", n), Got: b.In(2, s).String()}
	}
	w.philox = b.RNG(s)
	if k.search(w, in); w.whole {
		for i := range 3 {
			b.Alias(i, s, b.In(i, s))
		}
		return nil
	}
	cut(b, s, image, w)
	out, err := tensor.Of[float32](b.Out(1, s, len(w.kept), 4))
	if err != nil {
		return err
	}
	chosen, err := tensor.Of[int32](b.Out(2, s, len(w.kept)))
	if err != nil {
		return err
	}
	for i, from := range w.kept {
		chosen[i] = labels[from]
		for d := range 4 {
			lo, length := w.left, w.width
			if d%2 == 1 {
				lo, length = w.top, w.height
			}
			out[4*i+d] = float32(clamp((float64(in[4*from+d]) - lo) / length))
		}
	}
	return nil
}

// clamp bounds v by 0 and 1; NaN stays.
func clamp(v float64) float64 {
	if v < 0 {
		return 0
	}
	if v > 1 {
		return 1
	}
	return v
}

// thresholds are the overlaps that are drawn. One more draw leaves the image whole.
var thresholds = [...]float32{-1, 0.1, 0.3, 0.5, 0.7, 0.9}

// search draws windows until all boxes reach the overlap with one and a box is in it.
func (k *ssdCrop) search(w *ssdWindow, boxes []float32) {
	words := libstdcxx.Words{Philox: &w.philox}
	for {
		i := int(words.UniformInt(0, int32(len(thresholds))))
		if w.whole = i == len(thresholds); w.whole {
			return
		}
		for range k.attempts {
			if w.draw(words) && w.fits(boxes, thresholds[i]) {
				return
			}
		}
	}
}

// draw draws a window. ok is false if it is too wide or too high.
func (w *ssdWindow) draw(words libstdcxx.Words) (ok bool) {
	width := words.UniformReal(0.3, 1)
	height := words.UniformReal(0.3, 1)
	if ratio := width / height; ratio < 0.5 || ratio > 2 {
		return false
	}
	w.left = float64(words.UniformReal(0, float32(1-float64(width))))
	w.top = float64(words.UniformReal(0, float32(1-float64(height))))
	w.width, w.height = float64(width), float64(height)
	w.right, w.bottom = w.left+w.width, w.top+w.height
	return true
}

// fits reports whether all boxes overlap the window by at least a threshold and one has its centre
// in it. It sets the boxes that do.
func (w *ssdWindow) fits(boxes []float32, threshold float32) bool {
	l, t, r, b := float32(w.left), float32(w.top), float32(w.right), float32(w.bottom)
	area := (b - t) * (r - l)
	w.kept = w.kept[:0]
	for i := 0; i < len(boxes); i += 4 {
		x := boxes[i : i+4]
		width, height := lesser(x[2], r)-greater(x[0], l), lesser(x[3], b)-greater(x[1], t)
		if width < 0 {
			width = 0
		}
		if height < 0 {
			height = 0
		}
		common := float32(width * height)
		if common/(float32((x[3]-x[1])*(x[2]-x[0]))+area-common) < threshold {
			return false
		}
		cx, cy := 0.5*float64(x[0]+x[2]), 0.5*float64(x[1]+x[3])
		if cx >= w.left && cx <= w.right && cy >= w.top && cy <= w.bottom {
			w.kept = append(w.kept, i/4)
		}
	}
	return len(w.kept) > 0
}

// lesser and greater return their first argument if a comparison with NaN decides, as std::min and
// std::max do.
func lesser(a, b float32) float32 {
	if b < a {
		return b
	}
	return a
}

func greater(a, b float32) float32 {
	if a < b {
		return b
	}
	return a
}

// cut writes the window of an image.
func cut(b *op.Block, s int, image tensor.Tensor, w *ssdWindow) {
	edge := func(at float64, extent int) int { return int(math.Round(at * float64(extent))) }
	h, wide, c := image.Shape[0], image.Shape[1], image.Shape[2]
	left, right, top, bottom := edge(w.left, wide), edge(w.right, wide), edge(w.top, h), edge(w.bottom, h)
	left, right, top, bottom = min(left, wide), min(right, wide), min(top, h), min(bottom, h)
	out := b.Out(0, s, bottom-top, right-left, c)
	row := (right - left) * c
	for y := top; y < bottom; y++ {
		copy(out.Data[(y-top)*row:(y-top+1)*row], image.Data[(y*wide+left)*c:])
	}
}
