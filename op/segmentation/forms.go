package segmentation

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	size := op.Parameter{Name: "size", Type: op.Ints, Required: true, PerSample: true,
		Doc: "Height and width of the mask."}
	op.Register(op.Schema{
		Name: "fill_polygons", Module: module,
		Doc: "Draws polygons as a mask. A pixel belongs to a polygon if its centre is inside, by the even-odd rule. Polygons of one mask are united, and later masks cover earlier ones.",
		Inputs: []op.Port{
			{Name: "polygons", Doc: "for each polygon the number of its mask, its first vertex, and the vertex after its last", DTypes: []tensor.DType{tensor.Int32}},
			{Name: "vertices", Doc: "x and y of each vertex, in pixels from the corner of the image", DTypes: []tensor.DType{tensor.Float32}},
		},
		Outputs: []op.Port{{Name: "mask", Doc: "for each pixel the number of its mask, int32"}},
		Params: []op.Parameter{
			size,
			{Name: "background", Type: op.Int, Default: -1, Doc: "The number of pixels without a polygon."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			background := op.Get[int](c, "background")
			if int(int32(background)) != background {
				return nil, c.Invalid("background", "a number of 32 bits", fmt.Sprint(background), "")
			}
			return &fill{config: c, size: op.GetVector[int](c, "size"), background: int32(background)}, nil
		},
	})
	op.Register(op.Schema{
		Name: "encode_runs", Module: module,
		Doc:     "Returns the runs of a mask, column by column as in COCO: how many pixels are background, then how many are foreground, and so on.",
		Inputs:  []op.Port{{Name: "mask", Doc: "a mask of two axes; pixels other than 0 are foreground", DTypes: []tensor.DType{tensor.Uint8, tensor.Bool}}},
		Outputs: []op.Port{{Name: "runs", Doc: "the lengths of the runs, uint32"}},
		New:     func(c *op.Config) (op.Kernel, error) { return &encodeRuns{c}, nil },
	})
	op.Register(op.Schema{
		Name: "decode_runs", Module: module,
		Doc:     "Returns the mask with the given runs, column by column as in COCO.",
		Inputs:  []op.Port{{Name: "runs", Doc: "the lengths of the runs, the first of the background", DTypes: []tensor.DType{tensor.Uint32, tensor.Int32}}},
		Outputs: []op.Port{{Name: "mask", Doc: "0 for the background and 1 for the foreground, uint8"}},
		Params:  []op.Parameter{size},
		New: func(c *op.Config) (op.Kernel, error) {
			return &decodeRuns{config: c, size: op.GetVector[int](c, "size")}, nil
		},
	})
}

// extents reads the size of a mask.
func extents(v *op.Vector[int], b *op.Block, s int, buf *[]int) (h, w int, err error) {
	size, err := v.At(b, s, *buf)
	if err != nil {
		return 0, 0, err
	}
	if _, constant := v.Const(); !constant {
		*buf = size
	}
	if len(size) < 2 || size[0] < 0 || size[1] < 0 || size[0] > math.MaxInt32 || size[1] > math.MaxInt32 {
		return 0, 0, &errs.Error{Kind: errs.Invalid, Subject: "argument size", Want: "a height and a width",
			Got: fmt.Sprint(size)}
	}
	return size[0], size[1], nil
}

func sized(v op.Vector[int], d tensor.DType) []tensor.Spec {
	spec := tensor.Spec{DType: d, Shape: tensor.Shape{-1, -1}, Layout: "HW"}
	if size, constant := v.Const(); constant && len(size) >= 2 {
		spec.Shape = tensor.Shape{size[0], size[1]}
	}
	return []tensor.Spec{spec}
}

type encodeRuns struct{ config *op.Config }

func (k *encodeRuns) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].DType != tensor.Uint8 && in[0].DType != tensor.Bool || rank(in[0]) >= 0 && rank(in[0]) != 2 {
		return nil, k.config.InvalidInput(0, "a mask of uint8 or bools and two axes",
			in[0].DType.String()+in[0].Shape.String(), "cast it")
	}
	return []tensor.Spec{{DType: tensor.Uint32, Shape: tensor.Shape{-1}}}, nil
}

func (k *encodeRuns) Run(b *op.Block) error {
	runs := op.PerWorker[[]uint32](b)
	return b.Each(func(s int) error {
		mask := b.In(0, s)
		if len(mask.Shape) != 2 {
			return &errs.Error{Kind: errs.Mismatch, Subject: "input mask", Want: "two axes", Got: mask.String()}
		}
		*runs = appendRuns((*runs)[:0], mask.Data, mask.Shape[0], mask.Shape[1])
		out, err := tensor.Of[uint32](b.Out(0, s, len(*runs)))
		copy(out, *runs)
		return err
	})
}

// appendRuns appends the runs of a mask.
func appendRuns(runs []uint32, mask []byte, h, w int) []uint32 {
	inside, n := false, uint32(0)
	for x := range w {
		for y := range h {
			if (mask[y*w+x] != 0) != inside {
				runs = append(runs, n)
				inside, n = !inside, 0
			}
			n++
		}
	}
	return append(runs, n)
}

type decodeRuns struct {
	config *op.Config
	size   op.Vector[int]
}

func (k *decodeRuns) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].DType != tensor.Uint32 && in[0].DType != tensor.Int32 || rank(in[0]) >= 0 && rank(in[0]) != 1 {
		return nil, k.config.InvalidInput(0, "a list of uint32 or int32",
			in[0].DType.String()+in[0].Shape.String(), "cast it")
	}
	return sized(k.size, tensor.Uint8), nil
}

func (k *decodeRuns) Run(b *op.Block) error {
	buf := op.PerWorker[[]int](b)
	return b.Each(func(s int) error {
		h, w, err := extents(&k.size, b, s, buf)
		if err != nil {
			return err
		}
		in := b.In(0, s)
		total := int64(0)
		for i := range in.Len() {
			v, _ := op.Number(in, i)
			if total += int64(v); v < 0 || total > int64(h)*int64(w) {
				break
			}
		}
		if total != int64(h)*int64(w) {
			return &errs.Error{Kind: errs.Invalid, Subject: "input runs",
				Want: fmt.Sprintf("runs of %d x %d pixels", h, w), Got: fmt.Sprint(total)}
		}
		out := b.Out(0, s, h, w)
		x, y := 0, 0
		for i := range in.Len() {
			v, _ := op.Number(in, i)
			for range int(v) {
				out.Data[y*w+x] = byte(i & 1)
				if y++; y == h {
					x, y = x+1, 0
				}
			}
		}
		return nil
	})
}

type fill struct {
	config     *op.Config
	size       op.Vector[int]
	background int32
}

func (k *fill) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	for i, d := range []tensor.DType{tensor.Int32, tensor.Float32} {
		if in[i].DType != d || rank(in[i]) >= 0 && rank(in[i]) != 2 {
			return nil, k.config.InvalidInput(i, d.String()+" of two axes", in[i].DType.String()+in[i].Shape.String(), "cast it")
		}
	}
	return sized(k.size, tensor.Int32), nil
}

// painter is a worker's state.
type painter struct {
	size    []int
	crosses []float32 // where a row of pixels meets the edges of a polygon
}

func (k *fill) Run(b *op.Block) error {
	p := op.PerWorker[painter](b)
	return b.Each(func(s int) error { return k.sample(b, s, p) })
}

func (k *fill) sample(b *op.Block, s int, p *painter) error {
	h, w, err := extents(&k.size, b, s, &p.size)
	if err != nil {
		return err
	}
	polygons, vertices := b.In(0, s), b.In(1, s)
	if len(polygons.Shape) != 2 || polygons.Shape[1] != 3 || len(vertices.Shape) != 2 || vertices.Shape[1] != 2 {
		return &errs.Error{Kind: errs.Mismatch, Subject: "inputs", Want: "rows of 3 numbers, and rows of x and y",
			Got: polygons.String() + ", " + vertices.String()}
	}
	table, err := tensor.Of[int32](polygons)
	if err != nil {
		return err
	}
	points, err := tensor.Of[float32](vertices)
	if err != nil {
		return err
	}
	for i, v := range points {
		if v-v != 0 {
			return &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("input vertices, row %d", i/2),
				Want: "finite numbers", Got: fmt.Sprint(v)}
		}
	}
	mask, err := tensor.Of[int32](b.Out(0, s, h, w))
	if err != nil {
		return err
	}
	for i := range mask {
		mask[i] = k.background
	}
	for i := 0; i < len(table); i += 3 {
		from, to := int(table[i+1]), int(table[i+2])
		if from < 0 || to < from || to > vertices.Shape[0] {
			return &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("input polygons, row %d", i/3),
				Want: fmt.Sprintf("vertices within the %d that there are",
					vertices.Shape[0]), Got: fmt.Sprintf("%d to %d", from, to)}
		}
		p.paint(mask, h, w, points[2*from:2*to], table[i])
	}
	return nil
}

// paint sets the pixels whose centres are in a polygon.
func (p *painter) paint(mask []int32, h, w int, points []float32, label int32) {
	if len(points) < 6 {
		return
	}
	least, most := points[1], points[1]
	for i := 1; i < len(points); i += 2 {
		least, most = min(least, points[i]), max(most, points[i])
	}
	for y := int(min(max(least-1, 0), float32(h))); y < h && float32(y) <= most; y++ {
		p.crosses = p.crosses[:0]
		centre := float32(y) + 0.5
		x0, y0 := points[len(points)-2], points[len(points)-1]
		for i := 0; i < len(points); i += 2 {
			x1, y1 := points[i], points[i+1]
			if (y0 <= centre) != (y1 <= centre) {
				p.crosses = append(p.crosses, x0+float32((centre-y0)/(y1-y0)*(x1-x0)))
			}
			x0, y0 = x1, y1
		}
		slices.Sort(p.crosses)
		for i := 0; i+1 < len(p.crosses); i += 2 {
			from, to := column(p.crosses[i], w), column(p.crosses[i+1], w)
			for x := from; x < to; x++ {
				mask[y*w+x] = label
			}
		}
	}
}

// column returns the first column whose centre is at x or to the right of it.
func column(x float32, w int) int {
	return int(min(max(math.Ceil(float64(x)-0.5), 0), float64(w)))
}
