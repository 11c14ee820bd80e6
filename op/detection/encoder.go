package detection

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "box_encoder",
		Doc: "Matches boxes with the default boxes (anchors) of a detector such as SSD. Each anchor takes the box that overlaps it most, if the overlap is above criteria. " +
			"Each box is also taken by the anchor that overlaps it most.",
		Inputs: []op.Port{
			boxPort("one box per row: left, top, right, bottom"),
			{Name: "labels", Doc: "one int32 label per box", DTypes: []tensor.DType{tensor.Int32}},
		},
		Outputs: []op.Port{
			{Name: "encoded", Doc: "for each anchor centre and size of its box, or of the anchor if it has none; with offset how they differ from the anchor, or zeros"},
			{Name: "encoded_labels", Doc: "for each anchor the label of its box, or 0"},
		},
		Params: []op.Parameter{
			{Name: "anchors", Type: op.Floats, Required: true, Doc: "Left, top, right and bottom of each anchor."},
			{Name: "criteria", Type: op.Float, Default: 0.5, Doc: "The overlap (intersection over union) above which a box belongs to an anchor, from 0 to 1."},
			{Name: "offset", Type: op.Bool, Default: false, Doc: "Whether to return how the boxes differ from their anchors."},
			{Name: "scale", Type: op.Float, Default: 1.0, Doc: "Factor for boxes and anchors before they are compared."},
			{Name: "means", Type: op.Floats, Default: []float64{0, 0, 0, 0}, Doc: "Four numbers that are subtracted from the differences."},
			{Name: "stds", Type: op.Floats, Default: []float64{1, 1, 1, 1}, Doc: "Four numbers by which the differences are divided after that."},
		},
		New: newEncoder,
	})
}

// encoder keeps anchors by coordinate: their edges, and their areas.
type encoder struct {
	config                         *op.Config
	left, top, right, bottom, area []float32
	criteria, scale                float32
	offset                         bool
	means, stds                    [4]float32
}

func newEncoder(c *op.Config) (op.Kernel, error) {
	k := &encoder{config: c, criteria: float32(op.Get[float64](c, "criteria")),
		scale: float32(op.Get[float64](c, "scale")), offset: op.Get[bool](c, "offset")}
	anchors := op.Get[[]float64](c, "anchors")
	if len(anchors) == 0 || len(anchors)%4 != 0 {
		return nil, c.Invalid("anchors", "4 numbers for each anchor", fmt.Sprintf("%d numbers", len(anchors)), "")
	}
	for i := 0; i < len(anchors); i += 4 {
		l, t, r, b := float32(anchors[i]), float32(anchors[i+1]), float32(anchors[i+2]), float32(anchors[i+3])
		k.left, k.top, k.right, k.bottom = append(k.left, l), append(k.top, t), append(k.right, r), append(k.bottom, b)
		k.area = append(k.area, (r-l)*(b-t))
	}
	if !(k.criteria >= 0 && k.criteria <= 1) {
		return nil, c.Invalid("criteria", "a number from 0 to 1", fmt.Sprint(k.criteria), "")
	}
	for name, dst := range map[string]*[4]float32{"means": &k.means, "stds": &k.stds} {
		v := op.Get[[]float64](c, name)
		if len(v) != 4 {
			return nil, c.Invalid(name, "4 numbers", fmt.Sprintf("%d numbers", len(v)), "")
		}
		for i := range v {
			dst[i] = float32(v[i])
		}
	}
	if slices.Contains(k.stds[:], 0) {
		return nil, c.Invalid("stds", "numbers other than 0", fmt.Sprint(k.stds), "")
	}
	return k, nil
}

func (k *encoder) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if s := in[0].Shape; in[0].DType != tensor.Float32 || s != nil && (len(s) != 2 || s[1] != 4 && s[1] >= 0) {
		return nil, k.config.InvalidInput(0, "a row of 4 float32 numbers for each box",
			in[0].DType.String()+in[0].Shape.String(), "")
	}
	if in[1].DType != tensor.Int32 {
		return nil, k.config.InvalidInput(1, "int32 labels", in[1].DType.String(), "cast them")
	}
	return []tensor.Spec{{DType: tensor.Float32, Shape: tensor.Shape{len(k.left), 4}},
		{DType: tensor.Int32, Shape: tensor.Shape{len(k.left)}}}, nil
}

// match is a worker's state: of each anchor the overlap with the present box, the largest overlap
// with any box, and this box.
type match struct {
	overlap, best []float32
	box           []int32
}

func (k *encoder) Run(b *op.Block) error {
	m := op.PerWorker[match](b)
	if len(m.box) != len(k.left) {
		*m = match{make([]float32, len(k.left)), make([]float32, len(k.left)), make([]int32, len(k.left))}
	}
	return b.Each(func(s int) error { return k.sample(b, s, m) })
}

func (k *encoder) sample(b *op.Block, s int, m *match) error {
	boxes, err := rows(b.In(0, s))
	if err != nil {
		return err
	}
	labels, err := tensor.Of[int32](b.In(1, s))
	if err != nil {
		return err
	}
	if n := len(boxes) / 4; len(labels) != n {
		return &errs.Error{Kind: errs.Mismatch, Subject: "input labels",
			Want: fmt.Sprintf("one label for each of %d boxes", n), Got: b.In(1, s).String()}
	}
	encoded, err := tensor.Of[float32](b.Out(0, s, len(k.left), 4))
	if err != nil {
		return err
	}
	classes, err := tensor.Of[int32](b.Out(1, s, len(k.left)))
	if err != nil {
		return err
	}
	for i := 0; i < len(boxes); i += 4 {
		k.overlaps(boxes[i:i+4], m.overlap)
		m.add(int32(i / 4))
	}
	for a := range k.left {
		row := encoded[4*a : 4*a+4]
		if len(boxes) > 0 && m.best[a] > k.criteria {
			i := 4 * int(m.box[a])
			centre(row, boxes[i], boxes[i+1], boxes[i+2], boxes[i+3])
			classes[a] = labels[m.box[a]]
			if k.offset {
				k.difference(row, a)
			}
			continue
		}
		classes[a] = 0
		if clear(row); !k.offset {
			centre(row, k.left[a], k.top[a], k.right[a], k.bottom[a])
		}
	}
	return nil
}

// overlaps sets dst to the intersection over union of a box with each anchor.
func (k *encoder) overlaps(box []float32, dst []float32) {
	l, t, r, b := box[0], box[1], box[2], box[3]
	area := (r - l) * (b - t)
	left, top, right, bottom := k.left[:len(dst)], k.top[:len(dst)], k.right[:len(dst)], k.bottom[:len(dst)]
	anchor := k.area[:len(dst)]
	for a := range dst {
		// Written so that a comparison with NaN leaves no overlap, as in DALI.
		if !(left[a] < r && l < right[a] && top[a] < b && t < bottom[a]) {
			dst[a] = 0
			continue
		}
		w, h := min(right[a], r)-max(left[a], l), min(bottom[a], b)-max(top[a], t)
		common := float32(w * h)
		dst[a] = common / (area + anchor[a] - common)
	}
}

// add counts the overlaps of a box. The anchor that overlaps it most takes it in any case: its
// overlap counts as 2. Among equals the last one wins, both of anchors and of boxes.
func (m *match) add(box int32) {
	top, most := 0, m.overlap[0]
	for a, v := range m.overlap {
		if v >= most {
			top, most = a, v
		}
	}
	m.overlap[top] = 2
	if box == 0 {
		copy(m.best, m.overlap)
		clear(m.box)
		return
	}
	for a, v := range m.overlap {
		if v >= m.best[a] {
			m.best[a], m.box[a] = v, box
		}
	}
}

// centre writes centre and size of a box.
func centre(row []float32, l, t, r, b float32) {
	row[0], row[1], row[2], row[3] = (l+r)/2, (t+b)/2, r-l, b-t
}

// difference turns the centre and the size of a box into their difference from an anchor.
func (k *encoder) difference(row []float32, a int) {
	var anchor [4]float32
	centre(anchor[:], k.left[a], k.top[a], k.right[a], k.bottom[a])
	for d := range 4 {
		row[d], anchor[d] = float32(row[d]*k.scale), float32(anchor[d]*k.scale)
	}
	for d := range 2 {
		row[d] = ((row[d]-anchor[d])/anchor[2+d] - k.means[d]) / k.stds[d]
		row[2+d] = (float32(math.Log(float64(row[2+d]/anchor[2+d]))) - k.means[2+d]) / k.stds[2+d]
	}
}
