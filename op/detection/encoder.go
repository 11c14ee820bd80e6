package detection

import (
	"fmt"
	"github.com/bivouac-ml/bivouac/internal/libm"
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

// encoder keeps anchors by coordinate: their edges, and their areas. blocks are the boxes around
// blockSize anchors each. Default boxes lie row by row, so that most blocks are small.
type encoder struct {
	config                         *op.Config
	left, top, right, bottom, area []float32
	criteria, scale                float32
	offset                         bool
	means, stds                    [4]float32
	blocks                         [][4]float32
	unmatched                      []float32 // what is returned for anchors without a box
}

const blockSize = 8

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
	k.prepare()
	return k, nil
}

// prepare sets blocks and unmatched.
func (k *encoder) prepare() {
	k.unmatched = make([]float32, 4*len(k.left))
	for a, l := range k.left {
		t, r, b := k.top[a], k.right[a], k.bottom[a]
		if a%blockSize == 0 {
			inf := float32(math.Inf(1))
			k.blocks = append(k.blocks, [4]float32{inf, inf, -inf, -inf})
		}
		if x := &k.blocks[len(k.blocks)-1]; l == l && t == t && r == r && b == b {
			*x = [4]float32{min(x[0], l), min(x[1], t), max(x[2], r), max(x[3], b)}
		}
		if !k.offset {
			centre(k.unmatched[4*a:], l, t, r, b)
		}
	}
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
// with any box, and this box. touched are the blocks that the present box overlaps.
type match struct {
	overlap, best []float32
	box           []int32
	touched       []int
}

func (k *encoder) Run(b *op.Block) error {
	m := op.PerWorker[match](b)
	if n := len(k.left); len(m.box) != n {
		*m = match{overlap: make([]float32, n), best: make([]float32, n), box: make([]int32, n)}
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
	clear(m.best)
	for i := 0; i < len(boxes); i += 4 {
		k.match(boxes[i:i+4], int32(i/4), m)
	}
	copy(encoded, k.unmatched)
	clear(classes)
	for a, best := range m.best {
		if best > k.criteria {
			i, row := 4*int(m.box[a]), encoded[4*a:4*a+4]
			classes[a] = labels[m.box[a]]
			if centre(row, boxes[i], boxes[i+1], boxes[i+2], boxes[i+3]); k.offset {
				k.difference(row, a)
			}
		}
	}
	return nil
}

// match finds the anchors of a box. The anchor that overlaps it most takes it in any case: its
// overlap counts as 2. Among equals the last one wins, both of anchors and of boxes. An overlap of
// 0 is never above criteria, so anchors without overlap need no look.
func (k *encoder) match(box []float32, number int32, m *match) {
	m.touched = m.touched[:0]
	top, most := -1, float32(0)
	l, t, r, b := box[0], box[1], box[2], box[3]
	for i := range k.blocks {
		if x := &k.blocks[i]; !(x[0] < r && l < x[2] && x[1] < b && t < x[3]) {
			continue
		}
		m.touched = append(m.touched, i)
		first := i * blockSize
		last := min(first+blockSize, len(k.left))
		k.overlaps(box, first, m.overlap[first:last])
		for a, v := range m.overlap[first:last] {
			if v >= most {
				top, most = first+a, v
			}
		}
	}
	if !(most > 0) || len(m.touched) > 0 && m.touched[0] == 0 && m.overlap[0] != m.overlap[0] {
		top = k.search(box, m)
	}
	m.overlap[top] = 2
	if block := top / blockSize; !slices.Contains(m.touched, block) {
		m.touched = append(m.touched, block)
		for a := block * blockSize; a < min((block+1)*blockSize, len(k.left)); a++ {
			if a != top {
				m.overlap[a] = 0
			}
		}
	}
	for _, i := range m.touched {
		for a := i * blockSize; a < min((i+1)*blockSize, len(k.left)); a++ {
			if v := m.overlap[a]; v >= m.best[a] || number == 0 {
				m.best[a], m.box[a] = v, number
			}
		}
	}
}

// search returns the anchor with the largest overlap, for a box whose overlaps are not above 0.
func (k *encoder) search(box []float32, m *match) int {
	k.overlaps(box, 0, m.overlap)
	top, most := 0, m.overlap[0]
	for a, v := range m.overlap {
		if v >= most {
			top, most = a, v
		}
	}
	return top
}

// overlaps sets dst to the intersection over union of a box with the anchors from first on.
func (k *encoder) overlaps(box []float32, first int, dst []float32) {
	l, t, r, b := box[0], box[1], box[2], box[3]
	area := (r - l) * (b - t)
	left, top, right := k.left[first:][:len(dst)], k.top[first:][:len(dst)], k.right[first:][:len(dst)]
	bottom, anchor := k.bottom[first:][:len(dst)], k.area[first:][:len(dst)]
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
		row[2+d] = (libm.Log(row[2+d]/anchor[2+d]) - k.means[2+d]) / k.stds[2+d]
	}
}
