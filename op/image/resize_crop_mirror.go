package image

import (
	"slices"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	schema := op.Schema{
		Name: "resize_crop_mirror",
		Doc: "Resizes an image, cuts a window out of the result and can mirror it, in one step: only the window is computed. " +
			"The window may extend beyond the resized image; the edge of the image is repeated there.",
		Inputs:  []op.Port{{Name: "images", Doc: "images: uint8, int16, uint16 or float32", Layouts: resizeLayouts()}},
		Outputs: []op.Port{{Name: "windows", Doc: "the windows, with the layout of the input"}},
		Params: append(slices.Concat(resizeSizeParams(), filterParams(), window.CropParams()),
			op.Parameter{Name: "mirror", Type: op.Int, Default: 0, PerSample: true, Doc: "Axes to reverse: 1 for the width, 2 for the height, 4 for the depth, or a sum of these numbers."}),
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			size, err := newResizeSize(c)
			if err != nil {
				return nil, err
			}
			w, err := window.NewCrop(c, window.Pad)
			if err != nil {
				return nil, err
			}
			return &resizeCropMirror{resizer: newResizer(c), size: size, window: w, mirror: op.GetScalar[int](c, "mirror")}, nil
		},
	}
	op.Register(schema)
	schema.Name, schema.Deprecated = "fast_resize_crop_mirror", "use resize_crop_mirror"
	schema.Params = slices.Clone(schema.Params)
	for i := range schema.Params {
		if schema.Params[i].Name == "antialias" {
			schema.Params[i].Default = false
		}
	}
	op.Register(schema)
}

type resizeCropMirror struct {
	resizer
	size   *resizeSize
	window *window.Crop
	mirror op.Scalar[int]
}

func (k *resizeCropMirror) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out, err := k.infer(in[0])
	if err != nil {
		return nil, err
	}
	out.Shape = cropShape(k.window, out.Shape, out.Layout)
	return []tensor.Spec{out}, nil
}

func (k *resizeCropMirror) Run(b *op.Block) error {
	return b.Each(func(s int) error { return k.sample(b, s) })
}

func (k *resizeCropMirror) sample(b *op.Block, s int) (err error) {
	in, layout := b.In(0, s), b.Binding().Specs[0].Layout
	if err := checkRank(in, layout); err != nil {
		return err
	}
	st := op.PerWorker[resizeState](b)
	first, n := spatial(layout)
	if st.targets, err = k.size.at(b, s, in.Shape[first:first+n], st.targets[:0]); err != nil {
		return err
	}
	size := [maxSpatial]int{1, 1, 1}
	for i, t := range st.targets {
		size[maxSpatial-n+i] = t.size
	}
	box, err := k.window.At(b, s, size[0], size[1], size[2])
	if err != nil {
		return err
	}
	mirror, err := k.mirror.At(b, s)
	if err != nil {
		return err
	}
	spans := [maxSpatial]window.Span{{Start: box.Z, Size: box.D}, {Start: box.Y, Size: box.H}, {Start: box.X, Size: box.W}}
	for i := range st.targets {
		axis := maxSpatial - n + i
		st.targets[i].cut(spans[axis], mirror>>(maxSpatial-1-axis)&1 != 0)
	}
	return k.run(b, s, st, first, n)
}

// cut reduces t to the part that span names, and reverses it if mirrored is set.
func (t *target) cut(span window.Span, mirrored bool) {
	if span.Size != t.size || span.Start != 0 {
		step := t.scale()
		lo := t.lo + float64(span.Start)*step
		t.lo, t.hi, t.size = float64(float32(lo)), float64(float32(lo+float64(span.Size)*step)), span.Size
	}
	if mirrored {
		t.lo, t.hi = t.hi, t.lo
	}
}
