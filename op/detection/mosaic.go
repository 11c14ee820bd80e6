package detection

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// pieces is the number of images of a mosaic.
const pieces = 4

func init() {
	s := op.Schema{
		Name: "mosaic",
		Doc: "Puts four images around a point of a canvas: above left, above right, below left and below right. Each image touches the point with its corner and is cut at the edges. " +
			"Boxes and labels follow. Draw the point with random.uniform.",
		Outputs: []op.Port{
			{Name: "canvas", Doc: "the canvases"},
			{Name: "all_boxes", Doc: "the boxes of all images, from 0 to 1 on the canvas"},
			{Name: "all_labels", Doc: "their labels"},
		},
		Params: []op.Parameter{
			{Name: "centre_x", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Horizontal place of the point, from 0 to 1."},
			{Name: "centre_y", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Vertical place of the point, from 0 to 1."},
			{Name: "fill_value", Type: op.Int, Default: 114, Doc: "The value of each channel where no image is."},
			{Name: "min_visibility", Type: op.Float, Default: 0.0, PerSample: true, Doc: "The least share of a box that is on the canvas. A box with less is dropped, and so is a box without area."},
			{Name: "size", Type: op.Ints, Required: true, Doc: "Height and width of the canvas."},
		},
		New: newMosaic,
	}
	for _, port := range []op.Port{
		{Name: "image", Doc: "a picture of uint8, HWC", DTypes: []tensor.DType{tensor.Uint8}, Layouts: []string{"HWC"}},
		{Name: "boxes", Doc: "its boxes, one per row: left, top, right, bottom, from 0 to 1", DTypes: []tensor.DType{tensor.Float32}},
		{Name: "labels", Doc: "its labels, one or one row per box"},
	} {
		for i := range pieces {
			one := port
			one.Name += string(rune('0' + i))
			s.Inputs = append(s.Inputs, one)
		}
	}
	op.Register(s)
}

type mosaic struct {
	config        *op.Config
	x, y, visible op.Scalar[float64]
	fill          byte
	size          [2]int
}

func newMosaic(c *op.Config) (op.Kernel, error) {
	k := &mosaic{config: c, x: op.GetScalar[float64](c, "centre_x"), y: op.GetScalar[float64](c, "centre_y"),
		visible: op.GetScalar[float64](c, "min_visibility"), fill: byte(op.Get[int](c, "fill_value"))}
	size := op.Get[[]int](c, "size")
	if len(size) != 2 || size[0] < 1 || size[1] < 1 {
		return nil, c.Invalid("size", "a height and a width of 1 or more", fmt.Sprint(size), "")
	}
	if v := op.Get[int](c, "fill_value"); v != int(k.fill) {
		return nil, c.Invalid("fill_value", "a number from 0 to 255", fmt.Sprint(v), "")
	}
	k.size = [2]int(size)
	return k, nil
}

func (k *mosaic) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	labels := tensor.Spec{DType: in[2*pieces].DType, Shape: in[2*pieces].Shape.Clone()}
	if len(labels.Shape) > 0 {
		labels.Shape[0] = -1
	}
	for i := range pieces {
		if in[i].DType != tensor.Uint8 || in[i].Shape != nil && len(in[i].Shape) != 3 {
			return nil, k.config.InvalidInput(i, "a picture of uint8 and layout HWC",
				in[i].DType.String()+in[i].Shape.String(), "")
		}
		if in[pieces+i].DType != tensor.Float32 {
			return nil, k.config.InvalidInput(pieces+i, "float32 boxes", in[pieces+i].DType.String(), "cast them")
		}
		if d := in[2*pieces+i].DType; d != labels.DType {
			return nil, k.config.InvalidInput(2*pieces+i,
				labels.DType.String()+", as the labels of the first image", d.String(), "cast them")
		}
	}
	channels := -1
	if in[0].Shape != nil {
		channels = in[0].Shape[2]
	}
	return []tensor.Spec{
		{DType: tensor.Uint8, Shape: tensor.Shape{k.size[0], k.size[1], channels}, Layout: "HWC"},
		{DType: tensor.Float32, Shape: tensor.Shape{-1, 4}},
		labels,
	}, nil
}

// canvasBoxes is a worker's state: the boxes of a canvas, where they come from, and their shape.
type canvasBoxes struct {
	limits
	piece []int
}

func (k *mosaic) Run(b *op.Block) error {
	c := op.PerWorker[canvasBoxes](b)
	return b.Each(func(s int) error { return k.sample(b, s, c) })
}

func (k *mosaic) sample(b *op.Block, s int, c *canvasBoxes) error {
	x, err := share(k.x, "centre_x", b, s)
	if err != nil {
		return err
	}
	y, err := share(k.y, "centre_y", b, s)
	if err != nil {
		return err
	}
	if c.visible, err = share(k.visible, "min_visibility", b, s); err != nil {
		return err
	}
	first := b.In(0, s)
	for i := range pieces {
		if t := b.In(i, s); len(t.Shape) != 3 || t.Shape[2] != first.Shape[2] {
			return &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("input image%d", i),
				Want: "a picture with the channels of the first", Got: t.String()}
		}
	}
	h, w, channels := k.size[0], k.size[1], first.Shape[2]
	out := b.Out(0, s, h, w, channels)
	for i := range out.Data {
		out.Data[i] = k.fill
	}
	c.width, c.height, c.area, c.side = 1, 1, 0, 0
	c.boxes, c.kept, c.piece = c.boxes[:0], c.kept[:0], c.piece[:0]
	left, top := int(float32(x*float32(w))), int(float32(y*float32(h)))
	for i := range pieces {
		image := b.In(i, s)
		at := [2]int{top, left} // the image's first pixel on the canvas
		if i < 2 {
			at[0] -= image.Shape[0]
		}
		if i%2 == 0 {
			at[1] -= image.Shape[1]
		}
		k.place(out, image, at)
		if err := k.boxes(b, s, i, at, c); err != nil {
			return err
		}
	}
	all, err := tensor.Of[float32](b.Out(1, s, len(c.kept), 4))
	if err != nil {
		return err
	}
	copy(all, c.boxes)
	return k.labelled(b, s, c)
}

// place copies the part of an image that is on the canvas.
func (k *mosaic) place(out, image tensor.Tensor, at [2]int) {
	h, w, channels := image.Shape[0], image.Shape[1], image.Shape[2]
	from, to := max(0, -at[1]), min(w, k.size[1]-at[1])
	for row := max(0, -at[0]); row < min(h, k.size[0]-at[0]) && from < to; row++ {
		dst := ((at[0]+row)*k.size[1] + at[1] + from) * channels
		copy(out.Data[dst:dst+(to-from)*channels], image.Data[(row*w+from)*channels:])
	}
}

// boxes adds the boxes of an image that are on the canvas.
func (k *mosaic) boxes(b *op.Block, s, piece int, at [2]int, c *canvasBoxes) error {
	in, err := rows(b.In(pieces+piece, s))
	if err != nil {
		return err
	}
	image := b.In(piece, s)
	for i := 0; i < len(in); i += 4 {
		var box [4]float32
		for d := range box {
			axis := 1 - d%2
			box[d] = (float32(in[i+d]*float32(image.Shape[axis])) + float32(at[axis])) / float32(k.size[axis])
		}
		if c.keeps(&box, true) {
			c.boxes, c.kept, c.piece = append(c.boxes, box[:]...), append(c.kept, i/4), append(c.piece, piece)
		}
	}
	return nil
}

// labelled writes the labels of the boxes on the canvas.
func (k *mosaic) labelled(b *op.Block, s int, c *canvasBoxes) error {
	for i := range pieces {
		t, n := b.In(2*pieces+i, s), b.In(pieces+i, s).Shape[0]
		if len(t.Shape) == 0 || t.Shape[0] != n || !t.Shape[1:].Equal(b.In(2*pieces, s).Shape[1:]) {
			return &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("input labels%d", i),
				Want: fmt.Sprintf("one label for each of %d boxes, in the form of the first image's labels", n), Got: t.String()}
		}
	}
	c.labels = append(append(c.labels[:0], len(c.kept)), b.In(2*pieces, s).Shape[1:]...)
	out := b.Out(2, s, c.labels...)
	if len(c.kept) == 0 {
		return nil
	}
	size := len(out.Data) / len(c.kept)
	for i, from := range c.kept {
		copy(out.Data[i*size:(i+1)*size], b.In(2*pieces+c.piece[i], s).Data[from*size:])
	}
	return nil
}
