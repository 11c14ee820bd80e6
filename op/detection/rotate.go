package detection

import (
	"fmt"
	"math"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/libm"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/canvas"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "bbox_rotate",
		Doc: "Turns boxes like the operator rotate turns an image. A turned box is the upright box around its corners. " +
			"It is cut at the edges of the canvas, and dropped with its label if too little of it is left.",
		Inputs: []op.Port{
			boxPort("one box per row"),
			{Name: "labels", Doc: "one int32 label per box, as a list or as rows of one", DTypes: []tensor.DType{tensor.Int32}, Optional: true},
		},
		Outputs: []op.Port{
			{Name: "turned", Doc: "the boxes that remain"},
			{Name: "kept_labels", Doc: "their labels, if there are labels"},
		},
		Params: []op.Parameter{
			{Name: "angle", Type: op.Float, Required: true, PerSample: true, Doc: "The angle in degrees, counterclockwise."},
			{Name: "input_shape", Type: op.Ints, Required: true, PerSample: true, Doc: "Size of the image before the turn."},
			{Name: "shape_layout", Type: op.String, Default: "HW", Doc: "What the numbers of input_shape are, as letters with an H and a W."},
			{Name: "bbox_layout", Type: op.String, Default: "xyXY", Doc: "What the numbers of a box are: xyXY for corners, or xyWH for a corner and a size."},
			{Name: "bbox_normalized", Type: op.Bool, Default: true, Doc: "Whether coordinates are from 0 to 1. Otherwise they are in pixels."},
			{Name: "keep_size", Type: op.Bool, Default: false, Doc: "Whether the canvas is as large as the image. Not together with size."},
			{Name: "size", Type: op.Floats, PerSample: true, Doc: "Height and width of the canvas. By default the canvas holds the whole turned image."},
			{Name: "mode", Type: op.String, Default: "expand", Doc: `The size of a turned box: "expand" encloses the turned corners, "fixed" keeps the size of the box, and "halfway" is between them.`},
			{Name: "remove_threshold", Type: op.Float, Default: 0.1, Doc: "The least share of a box on the canvas, from 0 to below 1. A box with less is dropped."},
		},
		OutputCount: func(c *op.Config) (int, error) { return c.Inputs, nil },
		New:         newRotate,
	})
}

type rotate struct {
	config          *op.Config
	angle           op.Scalar[float64]
	shape           op.Vector[int]
	size            op.Vector[float64]
	sized, keep     bool
	row, column     int // of H and W in input_shape
	corners, normal bool
	shrink          float32 // share of the growth of a box that is taken back
	threshold       float32
}

func newRotate(c *op.Config) (op.Kernel, error) {
	k := &rotate{config: c, angle: op.GetScalar[float64](c, "angle"),
		shape: op.GetVector[int](c, "input_shape"), size: op.GetVector[float64](c, "size"),
		keep: op.Get[bool](c, "keep_size"), normal: op.Get[bool](c,
			"bbox_normalized"), threshold: float32(op.Get[float64](c, "remove_threshold"))}
	layout := op.Get[string](c, "shape_layout")
	k.row, k.column = strings.IndexByte(layout, 'H'), strings.IndexByte(layout, 'W')
	if k.row < 0 || k.column < 0 {
		return nil, c.Invalid("shape_layout", "letters with an H and a W", fmt.Sprintf("%q", layout), "")
	}
	switch form := op.Get[string](c, "bbox_layout"); form {
	case "xyXY":
		k.corners = true
	case "xyWH":
	default:
		return nil, c.Invalid("bbox_layout", "xyXY or xyWH", fmt.Sprintf("%q", form), "")
	}
	switch mode := op.Get[string](c, "mode"); mode {
	case "expand":
	case "fixed":
		k.shrink = 1
	case "halfway":
		k.shrink = 0.5
	default:
		return nil, c.Invalid("mode", "expand, fixed or halfway", fmt.Sprintf("%q", mode), "")
	}
	if !(k.threshold >= 0 && k.threshold < 1) {
		return nil, c.Invalid("remove_threshold", "a number from 0 to below 1", fmt.Sprint(k.threshold), "")
	}
	size, constant := k.size.Const()
	k.sized = !constant || len(size) > 0
	if k.sized && k.keep {
		return nil, c.Invalid("keep_size", "keep_size or size", "both", "leave one of them out")
	}
	if constant && k.sized && len(size) != 2 {
		return nil, c.Invalid("size", "a height and a width", fmt.Sprintf("%d numbers", len(size)), "")
	}
	if shape, constant := k.shape.Const(); constant && len(shape) <= max(k.row, k.column) {
		return nil, c.Invalid("input_shape", fmt.Sprintf("at least %d numbers, as shape_layout says",
			max(k.row, k.column)+1), fmt.Sprint(shape), "")
	}
	return k, nil
}

func (k *rotate) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if s := in[0].Shape; s != nil && (len(s) != 2 || s[1] != 4 && s[1] >= 0) || in[0].DType != tensor.Float32 {
		return nil, k.config.InvalidInput(0, "a row of 4 float32 numbers for each box",
			in[0].DType.String()+in[0].Shape.String(), "")
	}
	out := []tensor.Spec{{DType: tensor.Float32, Shape: tensor.Shape{-1, 4}}}
	if len(in) > 1 {
		labels := tensor.Spec{DType: tensor.Int32, Shape: in[1].Shape.Clone()}
		if in[1].DType != tensor.Int32 {
			return nil, k.config.InvalidInput(1, "int32 labels", in[1].DType.String(), "cast them")
		}
		if len(labels.Shape) > 0 {
			labels.Shape[0] = -1
		}
		out = append(out, labels)
	}
	return out, nil
}

// turner is a worker's state.
type turner struct {
	shape    []int
	size     []float64
	boxes    []float32
	kept     []int
	sin, cos float32
	in, out  [2]float32 // width and height
}

func (k *rotate) Run(b *op.Block) error {
	t := op.PerWorker[turner](b)
	return b.Each(func(s int) error { return k.sample(b, s, t) })
}

func (k *rotate) sample(b *op.Block, s int, t *turner) error {
	in, err := rows(b.In(0, s))
	if err != nil {
		return err
	}
	n := len(in) / 4
	var labels []int32
	if b.Inputs() > 1 {
		if labels, err = integers(b.In(1, s), n); err != nil {
			return err
		}
	}
	if err := k.frame(b, s, t); err != nil {
		return err
	}
	t.boxes, t.kept = t.boxes[:0], t.kept[:0]
	for i := range n {
		if box, ok := k.turn(t, in[4*i:4*i+4]); ok {
			t.boxes, t.kept = append(t.boxes, box[:]...), append(t.kept, i)
		}
	}
	out, err := tensor.Of[float32](b.Out(0, s, len(t.kept), 4))
	if err != nil {
		return err
	}
	copy(out, t.boxes)
	if labels == nil {
		return nil
	}
	var kept tensor.Tensor
	if len(b.In(1, s).Shape) == 2 {
		kept = b.Out(1, s, len(t.kept), 1)
	} else {
		kept = b.Out(1, s, len(t.kept))
	}
	chosen, err := tensor.Of[int32](kept)
	for i, from := range t.kept {
		chosen[i] = labels[from]
	}
	return err
}

// frame reads angle and sizes of a sample.
func (k *rotate) frame(b *op.Block, s int, t *turner) error {
	degrees, err := k.angle.At(b, s)
	if err != nil {
		return err
	}
	radians := float32(degrees) * float32(math.Pi/180)
	if radians-radians != 0 {
		return &errs.Error{Kind: errs.Invalid, Subject: "argument angle", Want: "a finite number", Got: fmt.Sprint(degrees)}
	}
	t.sin, t.cos = libm.Sincos(radians)
	shape, err := k.shape.At(b, s, t.shape)
	if err != nil {
		return err
	}
	if _, constant := k.shape.Const(); !constant {
		t.shape = shape
	}
	if len(shape) <= max(k.row, k.column) {
		return &errs.Error{Kind: errs.Invalid, Subject: "argument input_shape",
			Want: fmt.Sprintf("at least %d numbers, as shape_layout says", max(k.row, k.column)+1), Got: fmt.Sprint(shape)}
	}
	h, w := shape[k.row], shape[k.column]
	const limit = 1 << 30
	if h < 0 || w < 0 || h > limit || w > limit {
		return &errs.Error{Kind: errs.Invalid, Subject: "argument input_shape",
			Want: fmt.Sprintf("extents from 0 to %d", limit), Got: fmt.Sprint(shape)}
	}
	t.in = [2]float32{float32(w), float32(h)}
	switch {
	case k.keep:
		t.out = t.in
	case k.sized:
		size, err := k.size.At(b, s, t.size)
		if err != nil {
			return err
		}
		if _, constant := k.size.Const(); !constant {
			t.size = size
		}
		if len(size) != 2 || !(size[0] >= 0 && size[1] >= 0) {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument size", Want: "a height and a width", Got: fmt.Sprint(size)}
		}
		t.out = [2]float32{float32(math.Floor(size[1])), float32(math.Floor(size[0]))}
	default:
		sin, cos := math.Sincos(float64(radians))
		h, w := canvas.Rotated(h, w, sin, cos)
		t.out = [2]float32{float32(w), float32(h)}
	}
	return nil
}

// turn returns a box after the turn. ok is false if too little of it is on the canvas.
func (k *rotate) turn(t *turner, row []float32) (box [4]float32, ok bool) {
	var lo, hi [2]float32
	for d := range 2 {
		if lo[d], hi[d] = row[d], row[2+d]; !k.corners {
			hi[d] += lo[d]
		}
		if k.normal {
			lo[d], hi[d] = float32((lo[d]-0.5)*t.in[d]), float32((hi[d]-0.5)*t.in[d])
		} else {
			lo[d], hi[d] = lo[d]-t.in[d]/2, hi[d]-t.in[d]/2
		}
	}
	// The corners go from left to right and from top to bottom.
	var x, y [4]float32
	for i := range 4 {
		px, py := lo[0], lo[1]
		if i%2 == 1 {
			px = hi[0]
		}
		if i >= 2 {
			py = hi[1]
		}
		x[i] = float32(px*t.cos) + float32(py*t.sin) + t.out[0]/2
		y[i] = float32(-px*t.sin) + float32(py*t.cos) + t.out[1]/2
	}
	box[0], box[2] = extremes(&x)
	box[1], box[3] = extremes(&y)
	if k.shrink > 0 {
		k.resize(&box, hi[0]-lo[0], hi[1]-lo[1])
	}
	whole := (box[2] - box[0]) * (box[3] - box[1])
	for i := range box {
		if box[i] < 0 {
			box[i] = 0
		} else if most := t.out[i%2]; box[i] > most {
			box[i] = most
		}
	}
	if left := (box[2] - box[0]) * (box[3] - box[1]) / whole; !(left >= k.threshold) {
		return box, false
	}
	for d := range 2 {
		if !k.corners {
			box[2+d] -= box[d]
		}
		if k.normal {
			scale := 1 / t.out[d]
			box[d], box[2+d] = box[d]*scale, box[2+d]*scale
		}
	}
	return box, true
}

// resize takes back what the turn added to the size of a box. Width and height change places if the
// turned box is high and the box is wide, or the other way round.
func (k *rotate) resize(box *[4]float32, width, height float32) {
	w, h := box[2]-box[0], box[3]-box[1]
	if (width < height) != (w < h) {
		width, height = height, width
	}
	dw, dh := float32((w-width)*0.5*k.shrink), float32((h-height)*0.5*k.shrink)
	box[0], box[1], box[2], box[3] = box[0]+dw, box[1]+dh, box[2]-dw, box[3]-dh
}

// extremes returns the smallest and the largest of four numbers. A NaN counts as neither smaller
// nor larger: it wins only if it is in the first pair, in the order in which std::minmax_element
// compares.
func extremes(v *[4]float32) (least, most float32) {
	if least, most = v[0], v[1]; v[1] < v[0] {
		least, most = v[1], v[0]
	}
	a, b := v[2], v[3]
	if b < a {
		a, b = b, a
	}
	if a < least {
		least = a
	}
	if !(b < most) {
		most = b
	}
	return least, most
}
