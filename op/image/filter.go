package image

import (
	"fmt"
	"math"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/tone"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	schema := op.Schema{
		Name: "filter",
		Doc: "Filters images with a matrix of weights: a pixel becomes the weighted sum of the pixels around it. The matrix is not turned " +
			"around (it is a correlation).",
		Inputs: []op.Port{
			{Name: "data", Doc: "images with or without channels, or sequences of them: uint8, int16, uint16 or float32"},
			{Name: "filter",
				Doc:      "the weights, a float32 matrix of rows and columns, or a sequence with the layout FHW of one for each frame",
				PerFrame: true},
			{Name: "fill_value",
				Doc:      "the number outside the image, of the type of the image, for the border \"constant\"; other borders ignore it",
				Optional: true, PerFrame: true},
		},
		Outputs: []op.Port{{Name: "filtered", Doc: "the sums, with the layout of the input"}},
		Params: []op.Parameter{
			{Name: "anchor", Type: op.Ints, Default: []int{-1}, PerSample: true, PerFrame: true,
				Doc: "Row and column of the weight that belongs to the pixel itself, or one number for both; -1 means the middle, rounded down."},
			{Name: "border", Type: op.String, Default: "reflect_101",
				Doc: `What lies outside the image: "reflect_101" mirrors without the edge, "reflect_1001" mirrors with the edge, "wrap", "clamp" or "constant".`},
			{Name: "dtype", Type: op.DType, Doc: "Output type: the input's type, which is the default, or float32."},
			{Name: "mode", Type: op.String, Default: "same", Doc: `"same" keeps the size, "valid" leaves out the pixels that need a border.`},
		},
		Precision: op.Exact,
		New:       newFilter,
	}
	op.Register(schema)
	schema.Module, schema.Deprecated = []string{"experimental"}, "use filter"
	op.Register(schema)
}

// filter is the kernel of filter.
type filter struct {
	config *op.Config
	anchor op.Vector[int]
	border func(i, n int) int // the pixel that stands for pixel i of n, or -1 for the fill value
	valid  bool
	dtype  tensor.DType
}

// borders returns the function for a border.
func borders(name string) (func(i, n int) int, bool) {
	switch name {
	case "reflect_101", "reflect101":
		return tone.Reflect, true
	case "reflect_1001", "reflect1001", "reflect":
		return func(i, n int) int {
			i = wrap(i, 2*n)
			return min(i, 2*n-1-i)
		}, true
	case "wrap":
		return wrap, true
	case "clamp", "edge":
		return func(i, n int) int { return min(max(i, 0), n-1) }, true
	case "constant":
		return func(i, n int) int {
			if i < 0 || i >= n {
				return -1
			}
			return i
		}, true
	}
	return nil, false
}

// wrap returns i modulo n, which is not negative.
func wrap(i, n int) int { return (i%n + n) % n }

func newFilter(c *op.Config) (op.Kernel, error) {
	k := &filter{config: c, anchor: op.GetVector[int](c, "anchor"), dtype: op.Get[tensor.DType](c, "dtype")}
	border, mode := op.Get[string](c, "border"), op.Get[string](c, "mode")
	var ok bool
	if k.border, ok = borders(border); !ok {
		return nil, c.Invalid("border", `"reflect_101", "reflect_1001", "wrap", "clamp" or "constant"`,
			fmt.Sprintf("%q", border), "")
	}
	if k.valid = mode == "valid"; !k.valid && mode != "same" {
		return nil, c.Invalid("mode", `"same" or "valid"`, fmt.Sprintf("%q", mode), "")
	}
	return op.Each(k), nil
}

func (k *filter) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	switch in[0].DType {
	case tensor.Uint8, tensor.Int16, tensor.Uint16, tensor.Float32:
	default:
		return nil, k.config.InvalidInput(0, "uint8, int16, uint16 or float32", in[0].DType.String(), "cast it")
	}
	out := in[0]
	out.Shape = out.Shape.Clone()
	if k.dtype != tensor.Invalid {
		if out.DType = k.dtype; k.dtype != in[0].DType && k.dtype != tensor.Float32 {
			return nil, k.config.Invalid("dtype", "the type of the input ("+in[0].DType.String()+") or float32",
				k.dtype.String(), "")
		}
	}
	if in[1].DType != tensor.Float32 {
		return nil, k.config.InvalidInput(1, "float32", in[1].DType.String(), "cast it")
	}
	if len(in) > 2 && in[2].DType != in[0].DType {
		return nil, k.config.InvalidInput(2, "the type of input 0, "+in[0].DType.String(), in[2].DType.String(),
			"cast it")
	}
	if in[0].Shape == nil {
		return []tensor.Spec{out}, nil
	}
	first, n, err := blurAxes(in[0].Layout, len(in[0].Shape))
	if err == nil && strings.HasPrefix(in[0].Layout, "CF") {
		err = &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: "frames before channels", Got: "layout " +
			in[0].Layout}
	}
	if err == nil && n != 2 {
		err = &errs.Error{Kind: errs.Invalid, Subject: "input 0",
			Want: "images of two axes besides frames and channels",
			Got: in[0].Shape.String() + ", layout " +
				in[0].Layout, Remedy: "give images with channels the layout HWC or CHW"}
	}
	if err != nil {
		return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
	}
	if k.valid {
		out.Shape[first], out.Shape[first+1] = -1, -1
	}
	return []tensor.Spec{out}, nil
}

// filterState is a worker's state.
type filterState struct {
	anchor  []int
	offsets []int
	weights []float32
	matrix  []float32 // with the weights that are zero
	sum     []float32
	part    []float32 // the first sums of rows
	bytes   []byte    // a plane with its border, if it has bytes
	floats  []float32 // otherwise
	row     []float32
	columns []int32 // of the border: the columns that stand for its left and right part
}

// filterPlane is an image with its matrix of weights.
type filterPlane struct {
	src, dst      tensor.Tensor
	from, to      int // the elements at which it begins
	h, w, c       int
	kh, kw        int
	top, left     int // extents of the border
	outH, outW    int
	fill          float32
	padded, pitch int  // rows and elements in a row, with the border
	small         bool // no sum of bytes reaches 2^31
}

func (k *filter) Sample(b *op.Block, s int) error {
	in, weights, st := b.In(0, s), b.In(1, s), op.PerWorker[filterState](b)
	first, n, err := blurAxes(in.Layout, len(in.Shape))
	if err != nil {
		return err
	}
	if n != 2 {
		return &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: "images of two axes", Got: in.String()}
	}
	frames, size, channels := volumes(in.Shape, first, n)
	p := filterPlane{src: in, h: size[1], w: size[2], c: channels}
	if len(weights.Shape) != 2 {
		return &errs.Error{Kind: errs.Invalid, Subject: "input 1",
			Want: "a matrix, or the layout FHW and one for each frame", Got: weights.String()}
	}
	p.kh, p.kw = weights.Shape[len(weights.Shape)-2], weights.Shape[len(weights.Shape)-1]
	if p.kh == 0 || p.kw == 0 {
		return &errs.Error{Kind: errs.Invalid, Subject: "input 1", Want: "at least one weight", Got: weights.String()}
	}
	if err := k.place(b, s, st, &p); err != nil {
		return err
	}
	width := int64(4)
	if in.DType == tensor.Uint8 {
		width = 1
	}
	if err := b.Limits().CheckBytes("the image with its border", width*int64(p.padded)*int64(p.pitch)); err != nil {
		return err
	}
	var buf [5]int
	shape := append(buf[:0], in.Shape...)
	shape[first], shape[first+1] = p.outH, p.outW
	p.dst = b.Out(0, s, shape...)
	if p.dst.Len() == 0 {
		return nil
	}
	list, err := tensor.Of[float32](weights)
	if err != nil {
		return err
	}
	for f := range frames {
		st.plan(list, &p)
		if b.Inputs() > 2 {
			fill := b.In(2, s)
			if fill.Len() != 1 {
				return &errs.Error{Kind: errs.Invalid, Subject: "input 2", Want: "one number", Got: fill.String()}
			}
			v, _ := op.Number(fill, 0)
			p.fill = float32(v)
		}
		p.from, p.to = f*p.h*p.w*p.c, f*p.outH*p.outW*p.c
		if err := k.plane(st, &p); err != nil {
			return err
		}
	}
	return nil
}

// place computes the extents of the border and of the output.
func (k *filter) place(b *op.Block, s int, st *filterState, p *filterPlane) error {
	anchor, err := k.anchor.At(b, s, st.anchor)
	if err != nil {
		return err
	}
	if _, constant := k.anchor.Const(); !constant {
		st.anchor = anchor
	}
	if len(anchor) != 1 && len(anchor) != 2 {
		return &errs.Error{Kind: errs.Invalid, Subject: "argument anchor", Want: "1 or 2 numbers",
			Got: fmt.Sprint(anchor)}
	}
	for i, extent := range [2]int{p.kh, p.kw} {
		a := anchor[i%len(anchor)]
		if a < -1 || a >= extent {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument anchor",
				Want: fmt.Sprintf("-1, or a place in a filter of shape [%d,%d]", p.kh, p.kw), Got: fmt.Sprint(anchor)}
		}
		if a == -1 {
			a = extent / 2
		}
		if i == 0 {
			p.top = a
		} else {
			p.left = a
		}
	}
	p.outH, p.outW, p.padded, p.pitch = p.h, p.w, p.h+p.kh-1, (p.w+p.kw-1)*p.c
	if k.valid {
		p.top, p.left, p.padded, p.pitch = 0, 0, p.h, p.w*p.c
		p.outH, p.outW = p.h-p.kh+1, p.w-p.kw+1
		if p.outH < 1 || p.outW < 1 {
			return &errs.Error{Kind: errs.Invalid, Subject: "input 0",
				Want: fmt.Sprintf("at least %d rows and %d columns", p.kh, p.kw),
				Got:  fmt.Sprintf("%d and %d", p.h, p.w), Remedy: `use the mode "same"`}
		}
	}
	return nil
}

// plan lists the weights that are not zero, and the distances of their elements.
func (st *filterState) plan(weights []float32, p *filterPlane) {
	st.offsets, st.weights, st.matrix = st.offsets[:0], st.weights[:0], weights
	for i, w := range weights {
		if w != 0 {
			st.offsets, st.weights = append(st.offsets, i/p.kw*p.pitch+i%p.kw*p.c), append(st.weights, w)
		}
	}
	if len(st.weights) == 0 {
		st.offsets, st.weights = append(st.offsets, 0), append(st.weights, 0)
	}
}

// plane filters one image.
func (k *filter) plane(st *filterState, p *filterPlane) error {
	st.sum = grow(st.sum, kernel.CorrelationRows*p.outW*p.c)[:p.outW*p.c]
	bytes := p.src.DType == tensor.Uint8
	if bytes {
		st.bytes = grow(st.bytes, p.padded*p.pitch)
	} else {
		st.floats, st.row = grow(st.floats, p.padded*p.pitch), grow(st.row, p.w*p.c)
	}
	st.columns = st.columns[:0]
	for x := range p.pitch / p.c {
		if x < p.left || x >= p.left+p.w {
			st.columns = append(st.columns, int32(k.border(x-p.left, p.w)))
		}
	}
	for y := range p.padded {
		from := k.border(y-p.top, p.h)
		at := p.from + from*p.w*p.c
		switch {
		case bytes && from < 0:
			pad(st.bytes[y*p.pitch:(y+1)*p.pitch], nil, byte(p.fill), st.columns, p)
		case bytes:
			pad(st.bytes[y*p.pitch:(y+1)*p.pitch], p.src.Data[at:at+p.w*p.c], byte(p.fill), st.columns, p)
		case from < 0:
			pad(st.floats[y*p.pitch:(y+1)*p.pitch], nil, p.fill, st.columns, p)
		default:
			if err := loadRow(st.row, p.src, at); err != nil {
				return err
			}
			pad(st.floats[y*p.pitch:(y+1)*p.pitch], st.row, p.fill, st.columns, p)
		}
	}
	p.small = bytes && st.small()
	if st.dense(p) {
		return st.correlate(p)
	}
	fused, rest := st.sum[:p.fused()], st.sum[p.fused():]
	for y := range p.outH {
		if at := y * p.pitch; bytes {
			kernel.FuseBytes(fused, st.bytes[at:], st.offsets, st.weights)
			kernel.WeighBytes(rest, st.bytes[at+len(fused):], st.offsets, st.weights)
		} else {
			kernel.FuseFloats(fused, st.floats[at:], st.offsets, st.weights)
			kernel.WeighFloats(rest, st.floats[at+len(fused):], st.offsets, st.weights)
		}
		if err := p.put(y, st.sum); err != nil {
			return err
		}
	}
	return nil
}

// fused returns how many elements of a row, from its start, are sums of products that are not
// rounded: those that the reference computes several at a time.
func (p *filterPlane) fused() int {
	n := p.outW * p.c
	switch {
	case p.src.DType != p.dst.DType:
		return 0
	case p.src.DType == tensor.Float32:
		return n &^ 7
	}
	return n &^ 3
}

// pad writes a row with its border. A nil row is outside the image.
func pad[T byte | float32](dst, row []T, fill T, columns []int32, p *filterPlane) {
	if row == nil {
		for i := range dst {
			dst[i] = fill
		}
		return
	}
	copy(dst[p.left*p.c:], row)
	for i, from := range columns {
		x := i
		if i >= p.left {
			x += p.w
		}
		for c := range p.c {
			if from < 0 {
				dst[x*p.c+c] = fill
			} else {
				dst[x*p.c+c] = row[int(from)*p.c+c]
			}
		}
	}
}

// put writes rows of the output, from row y on. Integers are rounded half to even and saturated;
// what has no place in 32 bits becomes the least.
func (p *filterPlane) put(y int, sum []float32) error {
	size := p.dst.DType.Size()
	at := p.to + y*p.outW*p.c
	data := p.dst.Data[at*size : (at+len(sum))*size]
	switch p.dst.DType {
	case tensor.Uint8:
		if !p.small {
			for i, v := range sum {
				if !(v < math.MaxInt32) {
					sum[i] = 0
				}
			}
		}
		kernel.RoundBytes(data, sum)
		return nil
	case tensor.Float32:
		for i := range sum {
			sum[i] += 0 // a sum begins with 0, so it is never -0
		}
	default:
		for i, v := range sum {
			if !(v < math.MaxInt32) {
				v = math.MinInt32
			}
			sum[i] = float32(math.RoundToEven(float64(v)))
		}
	}
	return element.Into(p.dst.DType, data, tensor.Float32, element.Bytes(sum))
}
