package geometry

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/strided"
	"github.com/bivouac-ml/bivouac/tensor"
)

// mostPasted is the most inputs of multi_paste.
const mostPasted = 64

func init() {
	regions := func(name, what string) []op.Parameter {
		return []op.Parameter{
			{Name: name, Type: op.Int, PerSample: true, AnyShape: true, Doc: what + ", in pixels: one row of y and x per region."},
			{Name: name + "_rel", Type: op.Float, PerSample: true, AnyShape: true, Doc: what + ", as fractions of the extents: one row of y and x per region."},
		}
	}
	op.Register(op.Schema{
		Name: "multi_paste",
		Doc: "Puts regions of images on a black canvas, later regions over earlier regions. The images are the samples of the batch " +
			"that in_ids names, or by default the sample of each input.",
		Inputs:  []op.Port{{Name: "images", Doc: "pictures", Layouts: []string{"HWC"}}},
		Repeat:  mostPasted,
		Outputs: []op.Port{{Name: "output", Doc: "the canvases"}},
		Params: slices.Concat([]op.Parameter{
			{Name: "dtype", Type: op.DType, Doc: "Type of the output: uint8, int16, int32 or float32; by default the input's type."},
			{Name: "in_ids", Type: op.Ints, PerSample: true, Doc: "Places in the batch of the images whose regions are put on the canvas."},
			{Name: "output_size", Type: op.Ints, PerSample: true, Doc: "Height and width of the canvas; by default the size of the images, which must then have the same size."},
		}, regions("in_anchors", "Start of the regions in their images, by default the top left corner"),
			regions("out_anchors", "Place of the regions on the canvas, by default the top left corner"),
			regions("shapes", "Extents of the regions, by default the rest of the images")),
		New: newMultiPaste,
	})
}

type multiPaste struct {
	config          *op.Config
	dtype           tensor.DType
	ids, size       op.Vector[int]
	from, to, shape pairs
	byID            bool
}

func newMultiPaste(c *op.Config) (op.Kernel, error) {
	k := &multiPaste{config: c, dtype: op.Get[tensor.DType](c, "dtype"), ids: op.GetVector[int](c, "in_ids"), size: op.GetVector[int](c, "output_size"), byID: c.Given("in_ids")}
	var err error
	for name, p := range map[string]*pairs{"in_anchors": &k.from, "out_anchors": &k.to, "shapes": &k.shape} {
		if *p, err = readPairs(c, name); err != nil {
			return nil, err
		}
	}
	size, constant := k.size.Const()
	switch {
	case k.byID && c.Inputs > 1:
		return nil, c.Invalid("in_ids", "one input", fmt.Sprint(c.Inputs), "leave in_ids out")
	case c.Given("dtype") && !slices.Contains(warpTypes(), k.dtype):
		return nil, c.Unsupported("dtype", fmt.Sprint(warpTypes()), k.dtype.String())
	case c.Given("output_size") && constant && (len(size) != 2 || slices.Min(size) < 0):
		return nil, c.Invalid("output_size", "height and width", fmt.Sprint(size), "")
	}
	return k, nil
}

func (k *multiPaste) Batched() bool { return k.byID }

func (k *multiPaste) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := tensor.Spec{DType: in[0].DType, Shape: tensor.Shape{-1, -1, -1}, Layout: "HWC"}
	for i, s := range in {
		if s.DType != in[0].DType || !slices.Contains(warpTypes(), s.DType) {
			return nil, k.config.InvalidInput(i, "one type of "+fmt.Sprint(warpTypes()), s.DType.String(), "cast it")
		}
		if s.Shape != nil && len(s.Shape) != 3 || s.Layout != "" && s.Layout != "HWC" {
			return nil, k.config.InvalidInput(i, "pictures of layout HWC", fmt.Sprintf("%s, layout %q", s.Shape, s.Layout), "")
		}
		if s.Shape != nil {
			out.Shape[2] = s.Shape[2]
		}
	}
	if k.dtype != tensor.Invalid {
		out.DType = k.dtype
	}
	if size, ok := k.size.Const(); ok && len(size) == 2 {
		copy(out.Shape, size)
	}
	return []tensor.Spec{out}, nil
}

// pairs holds y and x for each region of a sample, in pixels or as fractions.
type pairs struct {
	name     string
	input    int // argument input, or -1
	relative bool
}

func readPairs(c *op.Config, name string) (pairs, error) {
	p := pairs{name: name, input: -1}
	i, pixels := c.ArgumentInput(name)
	j, parts := c.ArgumentInput(name + "_rel")
	given := c.Given(name) || c.Given(name+"_rel")
	switch {
	case c.Given(name) && c.Given(name+"_rel"):
		return p, c.Invalid(name, name+" or "+name+"_rel", "both", "leave one of them out")
	case given && !pixels && !parts:
		return p, c.Invalid(name, "a matrix for each sample", "a number", "")
	case pixels:
		p.input = i
	case parts:
		p.input, p.relative = j, true
	}
	return p, nil
}

// at returns the pair of region r of n. ok is false if no pairs were given. Fractions are
// multiplied by the extents, and round converts them to pixels.
func (p pairs) at(b *op.Block, s, r, n int, extents [2]int, round func(float64) float64) (v [2]int, ok bool, err error) {
	if p.input < 0 {
		return v, false, nil
	}
	t := b.Arg(p.input, s)
	if len(t.Shape) != 2 || t.Shape[0] != n || t.Shape[1] != 2 {
		return v, true, &errs.Error{Kind: errs.Mismatch, Subject: "argument " + p.name, Want: fmt.Sprintf("the shape [%d,2]", n), Got: t.Shape.String()}
	}
	for i := range v {
		x, _ := t.Float64(2*r + i)
		if p.relative {
			x = round(float64(float32(x) * float32(extents[i])))
		}
		if !(math.Abs(x) < math.MaxInt32) {
			return v, true, &errs.Error{Kind: errs.Invalid, Subject: "argument " + p.name, Want: "pixels", Got: fmt.Sprint(x)}
		}
		v[i] = int(x)
	}
	return v, true, nil
}

func (k *multiPaste) Run(b *op.Block) error {
	return b.Each(func(s int) error { return k.sample(b, s) })
}

// pictures appends to buf the images whose regions sample s shows.
func (k *multiPaste) pictures(b *op.Block, s int, buf []tensor.Tensor) ([]tensor.Tensor, error) {
	if !k.byID {
		for i := range b.Inputs() {
			buf = append(buf, b.In(i, s))
		}
		return buf, nil
	}
	ids, err := k.ids.At(b, s, nil)
	for _, id := range ids {
		if id < 0 || id >= b.Len() {
			return nil, &errs.Error{Kind: errs.Invalid, Subject: "argument in_ids", Want: fmt.Sprintf("places below %d, the size of the batch", b.Len()), Got: fmt.Sprint(id)}
		}
		buf = append(buf, b.In(0, id))
	}
	return buf, err
}

func (k *multiPaste) sample(b *op.Block, s int) error {
	var buf [8]tensor.Tensor
	list, err := k.pictures(b, s, buf[:0])
	if err != nil {
		return err
	}
	first := b.In(0, s)
	if len(list) > 0 {
		first = list[0]
	}
	channels := 1
	if len(first.Shape) == 3 {
		channels = first.Shape[2]
	}
	for _, p := range list {
		if len(p.Shape) != 3 || p.Shape[2] != channels {
			return &errs.Error{Kind: errs.Mismatch, Want: fmt.Sprintf("pictures of %d channels", channels), Got: p.String()}
		}
	}
	size, err := k.canvas(b, s, list)
	if err != nil {
		return err
	}
	shape := tensor.Shape{size[0], size[1], channels}
	if _, err := shape.Bytes(tensor.Float64); err != nil {
		return err
	}
	out := b.Out(0, s, shape...)
	clear(out.Data)
	for r, p := range list {
		if err := k.paste(b, s, r, len(list), out, p); err != nil {
			return err
		}
	}
	return nil
}

// canvas returns height and width of the output.
func (k *multiPaste) canvas(b *op.Block, s int, list []tensor.Tensor) (out [2]int, err error) {
	if k.config.Given("output_size") {
		var buf [2]int
		size, err := k.size.At(b, s, buf[:0])
		if err == nil && (len(size) != 2 || size[0] < 0 || size[1] < 0) {
			err = &errs.Error{Kind: errs.Invalid, Subject: "argument output_size", Want: "height and width", Got: tensor.Shape(size).String()}
		}
		if err != nil {
			return out, err
		}
		return [2]int{size[0], size[1]}, nil
	}
	for i, p := range list {
		if i > 0 && (p.Shape[0] != out[0] || p.Shape[1] != out[1]) {
			return out, &errs.Error{Kind: errs.Mismatch, Want: fmt.Sprintf("pictures of %d x %d, or an output_size", out[0], out[1]), Got: p.String()}
		}
		out = [2]int{p.Shape[0], p.Shape[1]}
	}
	return out, nil
}

// paste puts region r of n on the canvas.
func (k *multiPaste) paste(b *op.Block, s, r, n int, out, in tensor.Tensor) error {
	inside, canvas := [2]int{in.Shape[0], in.Shape[1]}, [2]int{out.Shape[0], out.Shape[1]}
	from, _, err := k.from.at(b, s, r, n, inside, math.Floor)
	if err != nil {
		return err
	}
	to, _, err := k.to.at(b, s, r, n, canvas, math.Floor)
	if err != nil {
		return err
	}
	shape, given, err := k.shape.at(b, s, r, n, inside, math.Ceil)
	if err != nil {
		return err
	}
	for i := range shape {
		if !given {
			shape[i] = inside[i] - from[i]
		}
		if from[i] < 0 || shape[i] < 0 || from[i]+shape[i] > inside[i] || to[i] < 0 || to[i]+shape[i] > canvas[i] {
			return &errs.Error{Kind: errs.Invalid, Want: fmt.Sprintf("a region inside the image %v and the canvas %v", inside, canvas), Got: fmt.Sprintf("%v at %v put at %v", shape, from, to)}
		}
	}
	region := tensor.Shape{shape[0], shape[1], in.Shape[2]}
	if region.Len() == 0 {
		return nil
	}
	var inner, outer [3]int
	elements := in
	start := (from[0]*in.Shape[1] + from[1]) * in.Shape[2]
	steps := strided.Contiguous(inner[:0], in.Shape)
	if in.DType != out.DType { // convert the region, and take it from there
		elements = tensor.Tensor{DType: out.DType, Shape: region, Data: op.Scratch[uint8](b, region.Len()*out.DType.Size())}
		piece := tensor.Tensor{DType: in.DType, Shape: region, Data: op.Scratch[uint8](b, region.Len()*in.DType.Size())}
		strided.Copy(piece.Data, strided.Contiguous(outer[:0], region), in.Data[start*in.DType.Size():], steps, region, in.DType.Size())
		if err := element.Convert(elements, piece); err != nil {
			return err
		}
		start, steps = 0, strided.Contiguous(inner[:0], region)
	}
	at, n2 := (to[0]*out.Shape[1]+to[1])*out.Shape[2], out.DType.Size()
	strided.Copy(out.Data[at*n2:], strided.Contiguous(outer[:0], out.Shape), elements.Data[start*n2:], steps, region, n2)
	return nil
}
