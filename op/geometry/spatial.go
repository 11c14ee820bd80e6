package geometry

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/libm"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/cropgen"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The targets of spatial.
const (
	targetImage     = "image"
	targetMask      = "mask"
	targetBoxes     = "bboxes"
	targetKeypoints = "keypoints"
)

// mostTargets is the most inputs of spatial.
const mostTargets = 16

func init() {
	op.Register(op.Schema{
		Name: "spatial",
		Doc: "Applies one transform to an image and to its masks, boxes and keypoints. The steps are, in this order: " +
			"crop, flip, affine transform around the centre, perspective, resize. A step without arguments does nothing.",
		Inputs: []op.Port{{Name: "data", Doc: "the image, and what belongs to it, in the order of targets"}},
		Repeat: mostTargets,
		Outputs: []op.Port{
			{Name: "transformed", Doc: "the data after the transform, in the order of the inputs"},
		},
		Params:      spatialParams(),
		Random:      true,
		Precision:   op.Tolerance,
		OutputCount: func(c *op.Config) (int, error) { return c.Inputs, nil },
		New:         newSpatial,
	})
}

func spatialParams() []op.Parameter {
	list := []op.Parameter{
		{Name: "targets", Type: op.Strings, Required: true,
			Doc: "What each input is: image (the first), mask, bboxes or keypoints."},
		{Name: "angle", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Angle in degrees, counterclockwise."},
		{Name: "antialias", Type: op.Bool, Default: true,
			Doc: "Whether a pixel of the result is the mean of the pixels of the image that it covers, where the image shrinks. " +
				"Masks and INTERP_NN take one pixel."},
		{Name: "bbox_layout", Type: op.String, Default: "xyXY",
			Doc: "What the numbers of a box are: xyXY for corners, or xyWH for a corner and a size."},
		{Name: "corners", Type: op.Floats, PerSample: true,
			Doc: "Perspective: x and y by which each corner moves, as fractions of width and height. " +
				"The corners are top left, top right, bottom right and bottom left."},
		{Name: "crop_anchor", Type: op.Floats, PerSample: true,
			Doc: "x and y of the window to cut out, from 0 to 1, as random_bbox_crop delivers it."},
		{Name: "crop_shape", Type: op.Floats, PerSample: true, Doc: "Width and height of the window, from 0 to 1."},
		{Name: "fill_value", Type: op.Float, Default: 0.0, Doc: "Value of pixels outside the image."},
		{Name: "horizontal", Type: op.Int, Default: 0, PerSample: true, Doc: "Whether left and right are swapped."},
		{Name: "interp_type", Type: op.Interp, Default: op.InterpLinear,
			Doc: "INTERP_LINEAR or INTERP_NN, for images. Masks always have INTERP_NN."},
		{Name: "mask_fill_value", Type: op.Int, Default: 0, Doc: "Value of masks outside the image, from 0 to 255."},
		{Name: "normalized", Type: op.Bool, Default: true,
			Doc: "Whether boxes and keypoints are from 0 to 1; otherwise they are in pixels."},
		{Name: "random_crop", Type: op.Bool, Default: false,
			Doc: "Whether to draw the window, as random_resized_crop does."},
		{Name: "scale", Type: op.Floats, Default: []float64{1}, PerSample: true,
			Doc: "Factor of both axes, or of x and of y."},
		{Name: "shear", Type: op.Floats, Default: []float64{0}, PerSample: true,
			Doc: "Angle in degrees by which x is sheared along y, or the angles of x and of y."},
		{Name: "size", Type: op.Ints, PerSample: true,
			Doc: "Height and width of the result; by default the size of the window."},
		{Name: "translate", Type: op.Floats, Default: []float64{0, 0}, PerSample: true,
			Doc: "x and y by which the image moves, as fractions of width and height."},
		{Name: "vertical", Type: op.Int, Default: 0, PerSample: true, Doc: "Whether top and bottom are swapped."},
	}
	return append(list, cropgen.Params()...)
}

type spatial struct {
	warping
	targets              []string
	antialias            bool
	corners, normalized  bool // of boxes
	maskFill             byte
	angle                op.Scalar[float64]
	horizontal, vertical op.Scalar[int]
	scale, shear, move   op.Vector[float64]
	quad, anchor, window op.Vector[float64]
	extent               op.Vector[int]
	windows              *cropgen.Generator // nil: no window is drawn
}

func newSpatial(c *op.Config) (op.Kernel, error) {
	w, err := newWarping(c)
	if err != nil {
		return nil, err
	}
	w.clamp = false
	k := &spatial{warping: w, targets: op.Get[[]string](c, "targets"),
		antialias: op.Get[bool](c, "antialias"), normalized: op.Get[bool](c, "normalized"),
		angle: op.GetScalar[float64](c, "angle"), horizontal: op.GetScalar[int](c, "horizontal"),
		vertical: op.GetScalar[int](c, "vertical"), scale: op.GetVector[float64](c, "scale"),
		shear: op.GetVector[float64](c, "shear"), move: op.GetVector[float64](c, "translate"),
		quad: op.GetVector[float64](c, "corners"), anchor: op.GetVector[float64](c, "crop_anchor"),
		window: op.GetVector[float64](c, "crop_shape"), extent: op.GetVector[int](c, "size")}
	if len(k.targets) != c.Inputs {
		return nil, c.Invalid("targets", fmt.Sprintf("%d names, one for each input", c.Inputs), fmt.Sprint(k.targets), "")
	}
	for i, t := range k.targets {
		known := []string{targetImage, targetMask, targetBoxes, targetKeypoints}
		if !slices.Contains(known, t) || i == 0 && t != targetImage {
			return nil, c.Invalid("targets", "image first, then image, mask, bboxes or keypoints", fmt.Sprint(k.targets),
				op.Nearest(t, known))
		}
	}
	form := op.Get[string](c, "bbox_layout")
	if k.corners = form == "xyXY"; !k.corners && form != "xyWH" {
		return nil, c.Invalid("bbox_layout", "xyXY or xyWH", fmt.Sprintf("%q", form), "")
	}
	fill := op.Get[int](c, "mask_fill_value")
	if k.maskFill = byte(fill); fill < 0 || fill > 255 {
		return nil, c.Invalid("mask_fill_value", "0 to 255", fmt.Sprint(fill), "")
	}
	if c.Given("crop_anchor") != c.Given("crop_shape") {
		return nil, c.Invalid("crop_anchor", "crop_anchor and crop_shape", "one of them", "give both")
	}
	if op.Get[bool](c, "random_crop") {
		if c.Given("crop_anchor") {
			return nil, c.Invalid("random_crop", "random_crop, or crop_anchor and crop_shape", "both", "leave one out")
		}
		k.windows, err = cropgen.New(c)
	}
	return op.Each(k), err
}

// heightAxis returns the axis of H of an image or mask. The axis of W follows it.
func heightAxis(target, layout string, rank int) (int, bool) {
	if layout == "" {
		layout = map[int]string{2: "HW", 3: "HWC", 4: "FHWC"}[rank]
	}
	known := []string{"HWC", "FHWC"}
	if target == targetMask {
		known = []string{"HW", "HWC", "FHW", "FHWC"}
	}
	return strings.IndexByte(layout, 'H'), slices.Contains(known, layout) && len(layout) == rank
}

func (k *spatial) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := slices.Clone(in)
	for i, spec := range in {
		var err error
		switch target := k.targets[i]; target {
		case targetImage, targetMask:
			out[i], err = k.inferPixels(i, spec)
		default:
			last := []int{4}
			if target == targetKeypoints {
				last = []int{2, 3}
			}
			s := spec.Shape
			if spec.DType != tensor.Float32 || s != nil && (len(s) != 2 || s[1] >= 0 && !slices.Contains(last, s[1])) {
				err = k.config.InvalidInput(i, fmt.Sprintf("%s: a row of %v float32 numbers each", target, last),
					spec.DType.String()+s.String(), "cast or reshape it")
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (k *spatial) inferPixels(i int, in tensor.Spec) (tensor.Spec, error) {
	out, target := in, k.targets[i]
	if target == targetImage && !slices.Contains(warpTypes(), in.DType) {
		return out, k.config.InvalidInput(i, fmt.Sprint(warpTypes()), in.DType.String(), "cast it")
	}
	if in.DType.Bits() < 8 {
		return out, k.config.InvalidInput(i, "elements of whole bytes", in.DType.String(), "cast it")
	}
	if in.Shape == nil {
		return out, nil
	}
	axis, ok := heightAxis(target, in.Layout, len(in.Shape))
	if !ok {
		return out, k.config.InvalidInput(i, target+" of layout HWC or FHWC, and masks also of HW or FHW",
			fmt.Sprintf("%s, layout %q", in.Shape, in.Layout), "")
	}
	if out.Shape = in.Shape.Clone(); !k.config.Given("size") && !k.config.Given("crop_anchor") && k.windows == nil {
		return out, nil
	}
	out.Shape[axis], out.Shape[axis+1] = -1, -1
	if size, ok := k.extent.Const(); ok && len(size) == 2 {
		copy(out.Shape[axis:], size)
	}
	return out, nil
}

func (k *spatial) Sample(b *op.Block, s int) error {
	image := b.In(0, s)
	axis, ok := heightAxis(targetImage, image.Layout, len(image.Shape))
	if !ok || image.Shape[axis] == 0 || image.Shape[axis+1] == 0 {
		return &errs.Error{Kind: errs.Mismatch, Subject: "input 0 (image)", Want: "an image of layout HWC with pixels",
			Got: image.String()}
	}
	p := plan{height: image.Shape[axis], width: image.Shape[axis+1]}
	if err := k.plan(b, s, &p); err != nil {
		return err
	}
	for i, target := range k.targets {
		var err error
		switch target {
		case targetImage, targetMask:
			err = k.pixels(b, s, i, &p)
		case targetBoxes:
			err = k.boxes(b, s, i, &p)
		default:
			err = k.keypoints(b, s, i, &p)
		}
		if err != nil {
			return errs.Wrap("", fmt.Sprintf("input %d (%s)", i, target), err)
		}
	}
	return nil
}

// plan is the transform of a sample.
type plan struct {
	height, width       int // of the input
	outHeight, outWidth int
	forward, back       homography // of points in pixels, counted from the corner
}

// plan makes the transform of a sample from its arguments.
func (k *spatial) plan(b *op.Block, s int, p *plan) error {
	y, x, h, w, err := k.crop(b, s, p)
	if err != nil {
		return err
	}
	p.forward = shifted(-float64(x), -float64(y))
	fw, fh := float64(w), float64(h)
	for i, arg := range []op.Scalar[int]{k.horizontal, k.vertical} {
		on, err := arg.At(b, s)
		if err != nil {
			return err
		}
		if on != 0 && i == 0 {
			p.forward = p.forward.then(homography{{-1, 0, fw}, {0, 1, 0}, {0, 0, 1}})
		} else if on != 0 {
			p.forward = p.forward.then(homography{{1, 0, 0}, {0, -1, fh}, {0, 0, 1}})
		}
	}
	turn, err := k.affine(b, s, fw, fh)
	if err != nil {
		return err
	}
	p.forward = p.forward.then(turn)
	if k.config.Given("corners") {
		var buf [8]float64
		d, err := k.quad.At(b, s, buf[:0])
		if err != nil {
			return err
		}
		bend, ok := perspectiveOf(d, fw, fh)
		if !ok {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument corners", Want: "8 numbers that make a convex shape",
				Got: fmt.Sprint(d), Remedy: "move corners by less than half of the image"}
		}
		p.forward = p.forward.then(bend)
	}
	p.outHeight, p.outWidth = h, w
	if k.config.Given("size") {
		var buf [2]int
		size, err := k.extent.At(b, s, buf[:0])
		if err != nil {
			return err
		}
		if len(size) != 2 || size[0] < 1 || size[1] < 1 || size[0] > math.MaxInt32 || size[1] > math.MaxInt32 {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument size",
				Want: "a height and a width above 0", Got: fmt.Sprint(size)}
		}
		p.outHeight, p.outWidth = size[0], size[1]
		x, y := float64(p.outWidth)/fw, float64(p.outHeight)/fh
		p.forward = p.forward.then(homography{{x, 0, 0}, {0, y, 0}, {0, 0, 1}})
	}
	var ok bool
	if p.back, ok = p.forward.inverse(); !ok {
		return &errs.Error{Kind: errs.Invalid, Want: "a transform that has an inverse", Got: fmt.Sprint(p.forward),
			Remedy: "give finite numbers, and scales above 0"}
	}
	return nil
}

// crop returns the window of a sample in pixels.
func (k *spatial) crop(b *op.Block, s int, p *plan) (y, x, h, w int, err error) {
	if k.windows != nil {
		d := k.windows.Draw(b.RNG(s), p.height, p.width)
		return d.Y, d.X, d.H, d.W, nil
	}
	if !k.config.Given("crop_anchor") {
		return 0, 0, p.height, p.width, nil
	}
	var first, second [2]float64
	anchor, err := k.anchor.At(b, s, first[:0])
	if err != nil {
		return
	}
	shape, err := k.window.At(b, s, second[:0])
	if err != nil {
		return
	}
	var from, to [2]int
	for i, n := range [2]int{p.width, p.height} {
		if len(anchor) != 2 || len(shape) != 2 || !(anchor[i] >= 0 && shape[i] > 0 && anchor[i]+shape[i] <= 1+1e-6) {
			return 0, 0, 0, 0, &errs.Error{Kind: errs.Invalid, Subject: "arguments crop_anchor and crop_shape",
				Want: "x and y each, and a window inside the image, from 0 to 1", Got: fmt.Sprint(anchor, " and ", shape)}
		}
		from[i] = min(int(math.Round(anchor[i]*float64(n))), n-1)
		to[i] = max(min(int(math.Round((anchor[i]+shape[i])*float64(n))), n), from[i]+1)
	}
	return from[1], from[0], to[1] - from[1], to[0] - from[0], nil
}

// affine returns the affine transform of a sample around the centre.
func (k *spatial) affine(b *op.Block, s int, w, h float64) (m homography, err error) {
	angle, err := k.angle.At(b, s)
	if err != nil {
		return m, err
	}
	var pairs [3][2]float64
	for i, arg := range []struct {
		name string
		v    op.Vector[float64]
		one  bool // one number is for both axes
	}{{"scale", k.scale, true}, {"shear", k.shear, false}, {"translate", k.move, false}} {
		var buf [2]float64
		v, err := arg.v.At(b, s, buf[:0])
		if err != nil {
			return m, err
		}
		if len(v) != 2 && (len(v) != 1 || arg.name == "translate") {
			return m, &errs.Error{Kind: errs.Invalid, Subject: "argument " + arg.name, Want: "x and y", Got: fmt.Sprint(v)}
		}
		if pairs[i] = [2]float64{v[0]}; len(v) == 2 {
			pairs[i][1] = v[1]
		} else if arg.one {
			pairs[i][1] = v[0]
		}
	}
	scale, shear, move := pairs[0], pairs[1], pairs[2]
	if angle == 0 && scale == [2]float64{1, 1} && shear == [2]float64{} && move == [2]float64{} {
		return shifted(0, 0), nil
	}
	if !(scale[0] > 0 && scale[1] > 0) {
		return m, &errs.Error{Kind: errs.Invalid, Subject: "argument scale", Want: "factors above 0",
			Got: fmt.Sprint(scale)}
	}
	s32, c32 := libm.Sincos(radians(angle))
	sin, cos := float64(s32), float64(c32)
	if math.Mod(angle, 90) == 0 { // exact, so that pixels stay pixels
		sin, cos = math.Round(sin), math.Round(cos)
	}
	tangent := func(degrees float64) float64 { return float64(float32(math.Tan(degrees * math.Pi / 180))) }
	tx, ty := tangent(shear[0]), tangent(shear[1])
	m = shifted(-w/2, -h/2)
	m = m.then(homography{{scale[0], 0, 0}, {0, scale[1], 0}, {0, 0, 1}})
	m = m.then(homography{{1, tx, 0}, {ty, 1, 0}, {0, 0, 1}})
	m = m.then(homography{{cos, sin, 0}, {-sin, cos, 0}, {0, 0, 1}})
	return m.then(shifted(w/2+float64(move[0]*w), h/2+float64(move[1]*h))), nil
}
