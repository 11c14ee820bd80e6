package random

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "random_bbox_crop",
		Doc: "Draws a window of an image that overlaps its boxes by at least a threshold, which is drawn from thresholds. " +
			"Boxes outside the window are dropped; the other boxes are returned in the window's coordinates. A search that finds no window is an error; DALI searches forever.",
		Inputs: []op.Port{
			{Name: "boxes", Doc: "one box per row, in coordinates from 0 to 1", DTypes: []tensor.DType{tensor.Float32}},
			{Name: "labels", Doc: "one label, or one row of labels, per box", Optional: true},
		},
		Outputs: []op.Port{
			{Name: "anchor", Doc: "corner of the window, x first; in pixels with crop_shape, else from 0 to 1"},
			{Name: "extent", Doc: "size of the window, in the units of anchor"},
			{Name: "kept", Doc: "the remaining boxes, in coordinates of the window"},
			{Name: "kept_labels", Doc: "their labels, or their indices if there are no labels"},
			{Name: "indices", Doc: "with output_bbox_indices: the indices of the remaining boxes"},
		},
		Params: []op.Parameter{
			{Name: "thresholds", Type: op.Floats, Default: []float64{0}, Doc: "Overlaps. One of them is drawn, and window and boxes must reach it."},
			{Name: "threshold_type", Type: op.String, Default: "iou", Doc: `What the overlap is divided by: the union of window and box ("iou"), or the box ("overlap").`},
			{Name: "all_boxes_above_threshold", Type: op.Bool, Default: true, Doc: "Whether all boxes must reach the overlap, not just one."},
			{Name: "allow_no_crop", Type: op.Bool, Default: true, Doc: "Whether the whole image is a possible outcome too; not with crop_shape."},
			{Name: "num_attempts", Type: op.Int, Default: 1, Doc: "Number of windows that are drawn for one threshold."},
			{Name: "total_num_attempts", Type: op.Int, Default: -1, Doc: "Number of windows that are drawn before the best of them is taken. By default a window that agrees must be found."},
			{Name: "scaling", Type: op.Floats, Default: []float64{1, 1}, Doc: "Range of the window's sides as a fraction of the image's."},
			{Name: "aspect_ratio", Type: op.Floats, Default: []float64{1, 1}, Doc: "Range of x/y, or ranges of x/y, x/z and y/z; in pixels with input_shape."},
			{Name: "crop_shape", Type: op.Ints, PerSample: true, Doc: "Size of the window in pixels, in place of scaling and aspect_ratio; requires input_shape."},
			{Name: "input_shape", Type: op.Ints, PerSample: true, Doc: "Size of the image in pixels."},
			{Name: "shape_layout", Type: op.String, Doc: "Order of crop_shape and input_shape, such as HW; by default WH or WHD."},
			{Name: "bbox_layout", Type: op.String, Doc: "Order of coordinates: x, y, z beginnings, X, Y, Z ends, W, H, D lengths; by default xyXY or xyzXYZ."},
			{Name: "ltrb", Type: op.Bool, Default: true, Deprecated: "bbox_layout", Doc: "Whether boxes have ends instead of lengths."},
			{Name: "bbox_prune_threshold", Type: op.Float, Doc: "Share of a box that must be in the window for it to stay; by default its centre must."},
			{Name: "output_bbox_indices", Type: op.Bool, Default: false, Doc: "Whether the indices of the remaining boxes are an additional output."},
			{Name: "quiet", Type: op.Bool, Default: false, Tuning: true, Doc: "Whether to omit the message when the best window that was drawn is taken."},
			seedParam,
		},
		Random: true,
		OutputCount: func(c *op.Config) (int, error) {
			n := 2 + c.Inputs
			if op.Get[bool](c, "output_bbox_indices") {
				n++
			}
			return n, nil
		},
		New: newBoxCrop,
	})
}

type boxCrop struct {
	config      *op.Config
	search      boxSearch
	crop, image op.Vector[int]
	indices     bool
}

func newBoxCrop(c *op.Config) (op.Kernel, error) {
	k := &boxCrop{config: c, crop: op.GetVector[int](c, "crop_shape"), image: op.GetVector[int](c, "input_shape"), indices: op.Get[bool](c, "output_bbox_indices")}
	q := &k.search
	q.noCrop, q.allBoxes = op.Get[bool](c, "allow_no_crop"), op.Get[bool](c, "all_boxes_above_threshold")
	q.attempts, q.total = op.Get[int](c, "num_attempts"), op.Get[int](c, "total_num_attempts")
	if q.attempts < 1 {
		return nil, c.Invalid("num_attempts", "1 or more", fmt.Sprint(q.attempts), "")
	}
	if c.Given("total_num_attempts") && q.total < 1 {
		return nil, c.Invalid("total_num_attempts", "1 or more", fmt.Sprint(q.total), "")
	}
	for _, v := range op.Get[[]float64](c, "thresholds") {
		if !(v >= 0 && v <= 1) {
			return nil, c.Invalid("thresholds", "numbers from 0 to 1", fmt.Sprint(v), "")
		}
		q.thresholds = append(q.thresholds, float32(v))
	}
	if len(q.thresholds) == 0 {
		return nil, c.Invalid("thresholds", "at least one number", "no number", "")
	}
	switch t := op.Get[string](c, "threshold_type"); t {
	case "iou":
	case "overlap":
		q.byArea = true
	default:
		return nil, c.Invalid("threshold_type", `"iou" or "overlap"`, t, "")
	}
	if q.prune = -1; c.Has("bbox_prune_threshold") {
		if q.prune = float32(op.Get[float64](c, "bbox_prune_threshold")); !(q.prune >= 0 && q.prune <= 1) {
			return nil, c.Invalid("bbox_prune_threshold", "a number from 0 to 1", fmt.Sprint(q.prune), "")
		}
	}
	if c.Given("ltrb") && c.Given("bbox_layout") {
		return nil, c.Invalid("ltrb", "ltrb or bbox_layout", "both", "leave it out")
	}
	if err := k.ranges(); err != nil {
		return nil, err
	}
	return k, k.sizes()
}

// ranges reads scaling and aspect_ratio.
func (k *boxCrop) ranges() error {
	read := func(name string, lengths string, ok func(n int) bool) ([]span, error) {
		v := op.Get[[]float64](k.config, name)
		var spans []span
		for i := 0; ok(len(v)) && i < len(v); i += 2 {
			if s := (span{float32(v[i]), float32(v[i+1])}); s.lo >= 0 && s.lo <= s.hi {
				spans = append(spans, s)
			}
		}
		if len(spans) == 0 || 2*len(spans) != len(v) {
			return nil, k.config.Invalid(name, lengths+" of at least 0 in ascending order", fmt.Sprint(v), "")
		}
		return spans, nil
	}
	scale, err := read("scaling", "2 numbers", func(n int) bool { return n == 2 })
	if err != nil {
		return err
	}
	k.search.scale = scale[0]
	k.search.ratios, err = read("aspect_ratio", "2 or 6 numbers, each pair", func(n int) bool { return n == 2 || n == 6 })
	return err
}

// sizes checks the arguments that depend on the size of the window.
func (k *boxCrop) sizes() error {
	c := k.config
	if !c.Has("crop_shape") {
		return nil
	}
	if !c.Has("input_shape") {
		return c.Invalid("crop_shape", "input_shape together with crop_shape", "only crop_shape", "")
	}
	for _, name := range []string{"scaling", "aspect_ratio"} {
		if c.Given(name) {
			return c.Invalid(name, name+" or crop_shape", "both", "")
		}
	}
	if c.Given("allow_no_crop") && k.search.noCrop {
		return c.Invalid("allow_no_crop", "allow_no_crop or crop_shape", "both", "")
	}
	k.search.noCrop = false
	return nil
}

func (k *boxCrop) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	axes, width := -1, -1
	if s := in[0].Shape; s != nil && (len(s) != 2 || s[1] >= 0) {
		var err error
		if axes, err = axesOf(s); err != nil {
			return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
		}
		width = 2 * axes
	}
	if in[0].DType != tensor.Float32 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: k.config.Schema.FullName(), Subject: "node " + k.config.Node + ", input boxes",
			Want: "float32", Got: in[0].DType.String(), Remedy: "cast it"}
	}
	out := []tensor.Spec{
		{DType: tensor.Float32, Shape: tensor.Shape{axes}},
		{DType: tensor.Float32, Shape: tensor.Shape{axes}},
		{DType: tensor.Float32, Shape: tensor.Shape{-1, width}},
	}
	if len(in) > 1 {
		labels := tensor.Spec{DType: in[1].DType, Shape: in[1].Shape.Clone()}
		if len(labels.Shape) > 0 {
			labels.Shape[0] = -1
		}
		out = append(out, labels)
	}
	if k.indices {
		out = append(out, tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{-1}})
	}
	return out, nil
}

// axesOf returns the number of axes of boxes, given the shape of the input.
func axesOf(s tensor.Shape) (int, error) {
	if len(s) == 2 && (s[1] == 4 || s[1] == 6) {
		return s[1] / 2, nil
	}
	return 0, &errs.Error{Kind: errs.Mismatch, Subject: "input boxes", Want: "rows of 4 or 6 coordinates", Got: s.String()}
}

// boxWorker is a worker's state.
type boxWorker struct {
	boxes  []box
	found  window
	lists  [2][]int
	labels []int
}

func (k *boxCrop) Run(b *op.Block) error {
	w := op.PerWorker[boxWorker](b)
	return b.Each(func(s int) error { return k.sample(b, s, w) })
}

func (k *boxCrop) sample(b *op.Block, s int, w *boxWorker) error {
	in := b.In(0, s)
	axes, err := axesOf(in.Shape)
	if err != nil {
		return err
	}
	form, err := k.form(axes)
	if err != nil {
		return err
	}
	if err := w.read(in, &form, axes); err != nil {
		return err
	}
	f, err := k.frame(b, s, axes, w)
	if err != nil {
		return err
	}
	philox := b.RNG(s)
	if err := k.search.find(libstdcxx.Words{Philox: &philox}, w.boxes, axes, &f, &w.found); err != nil {
		return err
	}
	return k.write(b, s, &form, axes, w)
}

// form returns the order of coordinates for the given number of axes.
func (k *boxCrop) form(axes int) (boxForm, error) {
	layout := op.Get[string](k.config, "bbox_layout")
	if layout == "" {
		layout = map[int]string{2: "xyXY", 3: "xyzXYZ"}[axes]
		if !op.Get[bool](k.config, "ltrb") {
			layout = map[int]string{2: "xyWH", 3: "xyzWHD"}[axes]
		}
	}
	f, ok := parseForm(layout, axes)
	if !ok {
		return f, invalid("bbox_layout", "an order of xyXY or xyWH, of xyzXYZ or xyzWHD with three axes", layout)
	}
	return f, nil
}

// read reads the boxes of a sample. They must lie in the image.
func (w *boxWorker) read(in tensor.Tensor, form *boxForm, axes int) error {
	rows, err := tensor.Of[float32](in)
	if err != nil {
		return err
	}
	w.boxes = w.boxes[:0]
	for ; len(rows) > 0; rows = rows[2*axes:] {
		x := form.read(rows, axes)
		for d := range axes {
			if !(x.lo[d] >= 0 && x.hi[d] <= 1) {
				return &errs.Error{Kind: errs.Invalid, Subject: "input boxes", Want: "coordinates from 0 to 1", Got: fmt.Sprint(rows[:2*axes])}
			}
		}
		w.boxes = append(w.boxes, x)
	}
	return nil
}

// frame returns the sizes that are given in pixels, x first.
func (k *boxCrop) frame(b *op.Block, s, axes int, w *boxWorker) (f frame, err error) {
	order := op.Get[string](k.config, "shape_layout")
	if order == "" {
		order = "WHD"[:axes]
	}
	for i, list := range [2]struct {
		name string
		v    *op.Vector[int]
		dst  *[3]int
	}{{"crop_shape", &k.crop, &f.crop}, {"input_shape", &k.image, &f.image}} {
		if !k.config.Has(list.name) {
			continue
		}
		sizes, err := list.v.At(b, s, w.lists[i])
		if err != nil {
			return f, err
		}
		if _, constant := list.v.Const(); !constant {
			w.lists[i] = sizes
		}
		if len(sizes) != axes || len(order) != axes {
			return f, invalid(list.name, fmt.Sprintf("%d numbers", axes), sizes)
		}
		for d := range axes {
			at := strings.IndexByte(order, "WHD"[d])
			if at < 0 || sizes[at] < 1 || sizes[at] > 1<<30 {
				return f, invalid(list.name, "positive sizes in the order of shape_layout", sizes)
			}
			list.dst[d] = sizes[at]
		}
	}
	for d := range axes {
		if f.crop[d] > f.image[d] {
			return f, invalid("crop_shape", fmt.Sprintf("at most %v", f.image[:axes]), f.crop[:axes])
		}
	}
	return f, nil
}

// write writes the result of the search to the outputs.
func (k *boxCrop) write(b *op.Block, s int, form *boxForm, axes int, w *boxWorker) error {
	anchor, err := tensor.Of[float32](b.Out(0, s, axes))
	if err != nil {
		return err
	}
	extent, err := tensor.Of[float32](b.Out(1, s, axes))
	if err != nil {
		return err
	}
	for d := range axes {
		anchor[d], extent[d] = w.found.crop.lo[d], w.found.crop.hi[d]-w.found.crop.lo[d]
	}
	rows, err := tensor.Of[float32](b.Out(2, s, len(w.found.boxes), 2*axes))
	if err != nil {
		return err
	}
	for i := range w.found.boxes {
		form.write(rows[i*2*axes:], &w.found.boxes[i], axes)
	}
	next := 3
	if b.Inputs() > 1 {
		if err := w.chooseLabels(b, s); err != nil {
			return err
		}
		next++
	}
	if !k.indices {
		return nil
	}
	indices, err := tensor.Of[int32](b.Out(next, s, len(w.found.kept)))
	copy(indices, w.found.kept)
	return err
}

// chooseLabels writes the labels of the remaining boxes.
func (w *boxWorker) chooseLabels(b *op.Block, s int) error {
	in := b.In(1, s)
	if len(in.Shape) == 0 || in.Shape[0] != len(w.boxes) {
		return &errs.Error{Kind: errs.Mismatch, Subject: "input labels", Want: fmt.Sprintf("one label for each of %d boxes", len(w.boxes)), Got: in.String()}
	}
	w.labels = append(append(w.labels[:0], len(w.found.kept)), in.Shape[1:]...)
	out := b.Out(3, s, w.labels...)
	if len(w.found.kept) == 0 {
		return nil
	}
	size := len(out.Data) / len(w.found.kept)
	for i, from := range w.found.kept {
		copy(out.Data[i*size:(i+1)*size], in.Data[int(from)*size:])
	}
	return nil
}
