package detection

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "bbox_prune",
		Doc: "Cuts boxes at the edges of the image and drops boxes of which too little is left, with their labels. " +
			"A box without area, an inverted box and a box with NaN are always dropped.",
		Inputs: []op.Port{
			boxPort("one box per row"),
			{Name: "labels", Doc: "one label, or one row of labels, per box", Optional: true},
		},
		Outputs: []op.Port{
			{Name: "kept", Doc: "the remaining boxes"},
			{Name: "kept_labels", Doc: "their labels, or their indices if there are no labels"},
			{Name: "indices", Doc: "with output_bbox_indices: the indices of the remaining boxes, int32"},
		},
		Params: []op.Parameter{
			{Name: "bbox_layout", Type: op.String, Default: "xyXY", Doc: "What the numbers of a box are: xyXY for corners, or xyWH for a corner and a size."},
			{Name: "clip", Type: op.Bool, Default: true, Doc: "Whether boxes are cut at the edges of the image. Otherwise they stay as they are."},
			{Name: "input_shape", Type: op.Ints, PerSample: true, Doc: "Height and width of the image, if coordinates are in pixels. By default they are from 0 to 1."},
			{Name: "min_area", Type: op.Float, Default: 0.0, PerSample: true, Doc: "The least area of the part in the image, in the units of the coordinates."},
			{Name: "min_size", Type: op.Float, Default: 0.0, PerSample: true, Doc: "The least width and the least height of the part in the image."},
			{Name: "min_visibility", Type: op.Float, Default: 0.0, PerSample: true, Doc: "The least share of a box that is in the image, from 0 to 1."},
			{Name: "output_bbox_indices", Type: op.Bool, Default: false, Doc: "Whether the indices of the remaining boxes are an additional output."},
		},
		OutputCount: func(c *op.Config) (int, error) {
			n := c.Inputs
			if op.Get[bool](c, "output_bbox_indices") {
				n++
			}
			return n, nil
		},
		New: newPrune,
	})
}

type prune struct {
	config              *op.Config
	corners, clip       bool
	indices             bool
	shape               op.Vector[int]
	area, side, visible op.Scalar[float64]
}

func newPrune(c *op.Config) (op.Kernel, error) {
	k := &prune{config: c, clip: op.Get[bool](c, "clip"), indices: op.Get[bool](c, "output_bbox_indices"),
		shape: op.GetVector[int](c, "input_shape"), area: op.GetScalar[float64](c, "min_area"),
		side: op.GetScalar[float64](c, "min_size"), visible: op.GetScalar[float64](c, "min_visibility")}
	form := op.Get[string](c, "bbox_layout")
	if k.corners = form == "xyXY"; !k.corners && form != "xyWH" {
		return nil, c.Invalid("bbox_layout", "xyXY or xyWH", fmt.Sprintf("%q", form), "")
	}
	return k, nil
}

func (k *prune) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if s := in[0].Shape; in[0].DType != tensor.Float32 || s != nil && (len(s) != 2 || s[1] != 4 && s[1] >= 0) {
		return nil, k.config.InvalidInput(0, "a row of 4 float32 numbers for each box",
			in[0].DType.String()+in[0].Shape.String(), "")
	}
	out := []tensor.Spec{{DType: tensor.Float32, Shape: tensor.Shape{-1, 4}}}
	if len(in) > 1 {
		labels := tensor.Spec{DType: in[1].DType, Shape: in[1].Shape.Clone(), Layout: in[1].Layout}
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

// limits are the arguments of a sample, and a worker's memory.
type limits struct {
	shape               []int
	width, height       float32
	area, side, visible float32
	boxes               []float32
	kept                []int
	labels              []int
}

func (k *prune) Run(b *op.Block) error {
	l := op.PerWorker[limits](b)
	return b.Each(func(s int) error { return k.sample(b, s, l) })
}

func (k *prune) read(b *op.Block, s int, l *limits) error {
	for _, p := range []struct {
		from *op.Scalar[float64]
		to   *float32
	}{{&k.area, &l.area}, {&k.side, &l.side}, {&k.visible, &l.visible}} {
		v, err := p.from.At(b, s)
		if err != nil {
			return err
		}
		if v != v {
			return &errs.Error{Kind: errs.Invalid, Subject: "arguments", Want: "limits that are numbers", Got: "NaN"}
		}
		*p.to = float32(v)
	}
	l.width, l.height = 1, 1
	if !k.config.Has("input_shape") {
		return nil
	}
	shape, err := k.shape.At(b, s, l.shape)
	if err != nil {
		return err
	}
	if _, constant := k.shape.Const(); !constant {
		l.shape = shape
	}
	if len(shape) < 2 || shape[0] < 0 || shape[1] < 0 {
		return &errs.Error{Kind: errs.Invalid, Subject: "argument input_shape", Want: "a height and a width",
			Got: fmt.Sprint(shape)}
	}
	l.height, l.width = float32(shape[0]), float32(shape[1])
	return nil
}

func (k *prune) sample(b *op.Block, s int, l *limits) error {
	in, err := rows(b.In(0, s))
	if err != nil {
		return err
	}
	if err := k.read(b, s, l); err != nil {
		return err
	}
	l.boxes, l.kept = l.boxes[:0], l.kept[:0]
	for i := 0; i < len(in); i += 4 {
		box := [4]float32(in[i : i+4])
		if !k.corners {
			box[2], box[3] = box[2]+box[0], box[3]+box[1]
		}
		if !l.keeps(&box, k.clip) {
			continue
		}
		if !k.corners {
			box[2], box[3] = box[2]-box[0], box[3]-box[1]
		}
		if l.kept = append(l.kept, i/4); !k.clip {
			box = [4]float32(in[i : i+4])
		}
		l.boxes = append(l.boxes, box[:]...)
	}
	out, err := tensor.Of[float32](b.Out(0, s, len(l.kept), 4))
	if err != nil {
		return err
	}
	copy(out, l.boxes)
	if b.Inputs() > 1 {
		if err := chosen(b, 1, s, b.In(1, s), len(in)/4, l.kept, &l.labels); err != nil {
			return err
		}
	}
	if !k.indices {
		return nil
	}
	indices, err := tensor.Of[int32](b.Out(b.Inputs(), s, len(l.kept)))
	for i, from := range l.kept {
		indices[i] = int32(from)
	}
	return err
}

// keeps reports whether enough of a box is in the image, and cuts the box if it is to be cut.
func (l *limits) keeps(box *[4]float32, clip bool) bool {
	whole := float32((box[2] - box[0]) * (box[3] - box[1]))
	part := [4]float32{max(box[0], 0), max(box[1], 0), min(box[2], l.width), min(box[3], l.height)}
	w, h := part[2]-part[0], part[3]-part[1]
	area := float32(w * h)
	if !(w > 0 && h > 0 && w >= l.side && h >= l.side && area >= l.area && area >= float32(l.visible*whole)) {
		return false
	}
	if clip {
		*box = part
	}
	return true
}

// chosen writes the rows of labels that belong to the kept ones of n boxes.
func chosen(b *op.Block, output, s int, in tensor.Tensor, n int, kept []int, shape *[]int) error {
	if len(in.Shape) == 0 || in.Shape[0] != n {
		return &errs.Error{Kind: errs.Mismatch, Subject: "input labels",
			Want: fmt.Sprintf("one label for each of %d boxes", n), Got: in.String()}
	}
	*shape = append(append((*shape)[:0], len(kept)), in.Shape[1:]...)
	out := b.Out(output, s, *shape...)
	if len(kept) == 0 {
		return nil
	}
	size := len(out.Data) / len(kept)
	for i, from := range kept {
		copy(out.Data[i*size:(i+1)*size], in.Data[from*size:])
	}
	return nil
}
