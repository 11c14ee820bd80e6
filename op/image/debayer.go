package image

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	schema := op.Schema{
		Name: "debayer",
		Doc:  "Makes RGB images of the raw images of sensors, whose pixels have one colour each (demosaicing). Height and width must be even.",
		Inputs: []op.Port{{Name: "images", Doc: "raw images or sequences of them, without channels or with one: uint8 or uint16",
			Layouts: []string{"HW", "HWC", "FHW", "FHWC"}}},
		Outputs: []op.Port{{Name: "colour", Doc: "images of the channels red, green and blue"}},
		Params: []op.Parameter{
			{Name: "algorithm", Type: op.String,
				Doc: `How missing colours are made: "bilinear_ocv", which is the default, takes the mean of neighbours, "edgeaware_ocv" takes them along edges, "vng_ocv" takes those ` +
					`in the directions of small gradients (uint8 only), and "gray_ocv" makes gray images of one channel.`},
			{Name: "blue_position", Type: op.Ints, Required: true, PerSample: true, PerFrame: true, OneFrame: true,
				Doc: "Row and column of blue, 0 or 1 each, in the tile of 2x2 pixels that begins at the second row and column; one number stands for both."},
		},
		Precision: op.Exact,
		New:       newDebayer,
	}
	op.Register(schema)
	schema.Module, schema.Deprecated = []string{"experimental"}, "use debayer"
	op.Register(schema)
}

type debayer struct {
	config *op.Config
	blue   op.Vector[int]
	vng    bool
	edges  bool
	gray   bool
}

func newDebayer(c *op.Config) (op.Kernel, error) {
	k := &debayer{config: c, blue: op.GetVector[int](c, "blue_position")}
	switch name := op.Get[string](c, "algorithm"); name {
	case "bilinear_ocv", "":
	case "edgeaware_ocv":
		k.edges = true
	case "vng_ocv":
		k.vng = true
	case "gray_ocv":
		k.gray = true
	default:
		return nil, c.Invalid("algorithm", `"bilinear_ocv", "edgeaware_ocv", "vng_ocv" or "gray_ocv"`,
			fmt.Sprintf("%q", name), "")
	}
	if blue, ok := k.blue.Const(); ok {
		if err := checkBlue(blue); err != nil {
			return nil, errs.Wrap(c.Schema.FullName(), "node "+c.Node, err)
		}
	}
	return op.Each(k), nil
}

func checkBlue(blue []int) error {
	if n := len(blue); (n == 1 || n == 2) && blue[0]&^1 == 0 && blue[n-1]&^1 == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Subject: "argument blue_position",
		Want: "two numbers, 0 or 1 each, or one for both", Got: fmt.Sprint(blue)}
}

func (k *debayer) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if d := in[0].DType; d != tensor.Uint8 && (d != tensor.Uint16 || k.vng) {
		return nil, k.config.InvalidInput(0, "uint8, or uint16 unless the algorithm is vng_ocv", d.String(), "cast it")
	}
	out := tensor.Spec{DType: in[0].DType}
	if in[0].Shape == nil && in[0].Layout == "" {
		return []tensor.Spec{out}, nil
	}
	layout, err := layoutOf(k.config, in[0])
	if err != nil {
		return nil, err
	}
	sequence := layout[0] == 'F'
	if out.Layout = layoutHWC; sequence {
		out.Layout = "FHWC"
	}
	if shape := in[0].Shape; shape != nil {
		if err := rawShape(shape, layout, 1); err != nil {
			return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
		}
		out.Shape = shape.Clone()
		if layout[len(layout)-1] != 'C' {
			out.Shape = append(out.Shape, 0)
		}
		out.Shape[len(out.Shape)-1] = k.channels()
	}
	return []tensor.Spec{out}, nil
}

// channels returns the number of channels of the output.
func (k *debayer) channels() int {
	if k.gray {
		return 1
	}
	return 3
}

// rawShape checks the shape of a raw image, of which unknown extents are -1.
func rawShape(shape tensor.Shape, layout string, least int) error {
	if layout[len(layout)-1] == 'C' {
		if c := shape[len(shape)-1]; c >= 0 && c != 1 {
			return &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: "one channel", Got: shape.String(),
				Remedy: "give sequences the layout FHW"}
		}
		shape = shape[:len(shape)-1]
	}
	for _, d := range shape[len(shape)-2:] {
		if d >= 0 && (d%2 != 0 || d < least) {
			return &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: "an even height and width",
				Got: shape.String()}
		}
	}
	return nil
}

// debayerState is a worker's state.
type debayerState struct {
	blue    []int
	gradual kernel.Gradual
}

func (k *debayer) Sample(b *op.Block, s int) error {
	in, st := b.In(0, s), op.PerWorker[debayerState](b)
	layout, err := layoutOf(k.config, tensor.Spec{DType: in.DType, Layout: in.Layout, Shape: in.Shape})
	if err != nil {
		return err
	}
	if err := rawShape(in.Shape, layout, 2); err != nil {
		return err
	}
	blue, err := k.blue.At(b, s, st.blue)
	if err != nil {
		return err
	}
	if _, constant := k.blue.Const(); !constant {
		st.blue = blue
		if err := checkBlue(blue); err != nil {
			return err
		}
	}
	var buf [4]int
	shape := append(buf[:0], in.Shape...)
	if layout[len(layout)-1] == 'C' {
		shape = shape[:len(shape)-1]
	}
	h, w := shape[len(shape)-2], shape[len(shape)-1]
	n := k.channels()
	out := b.Out(0, s, append(shape, n)...)
	for at := 0; at < in.Len(); at += h * w {
		if in.DType == tensor.Uint8 {
			p := raw[uint8]{src: in.Data[at : at+h*w], dst: out.Data[n*at : n*(at+h*w)], h: h, w: w,
				blueY: blue[0], blueX: blue[len(blue)-1]}
			if k.vng && h >= 8 && w >= 8 {
				st.gradual.RGB(p.dst, p.src, h, w, p.blueY, p.blueX)
				continue
			}
			debayered(k, &p)
			continue
		}
		debayered(k, &raw[uint16]{src: element.View[uint16](in.Data)[at : at+h*w],
			dst: element.View[uint16](out.Data)[n*at : n*(at+h*w)],
			h:   h, w: w, blueY: blue[0], blueX: blue[len(blue)-1]})
	}
	return nil
}

// raw is a raw image and the RGB image that is made of it. Blue has the pixels whose row and column
// less 1 are blueY and blueX, modulo 2.
type raw[T uint8 | uint16] struct {
	src, dst     []T
	h, w         int
	blueY, blueX int
}

// kind returns what a pixel is: whether it is green, and otherwise whether it is blue. For a green
// pixel, first is whether its row has blue.
func (p *raw[T]) kind(y, x int) (green, blue bool) {
	row, column := (y-1)&1 == p.blueY, (x-1)&1 == p.blueX
	return row != column, row
}

func debayered[T uint8 | uint16](k *debayer, p *raw[T]) {
	if p.h <= 2 || p.w <= 2 {
		clear(p.dst)
		return
	}
	for y := 1; y < p.h-1; y++ {
		p.colours(y, k)
		p.sides(y)
	}
	row := len(p.dst) / p.h
	copy(p.dst[:row], p.dst[row:2*row])
	copy(p.dst[(p.h-1)*row:], p.dst[(p.h-2)*row:(p.h-1)*row])
}

// colours makes the pixels of row y but the first and the last.
func (p *raw[T]) colours(y int, k *debayer) {
	green, blue := p.kind(y, 1)
	m := kernel.Bayer{Coloured: !green, Blue: blue, Edges: k.edges}
	above, row, below := p.src[(y-1)*p.w:y*p.w], p.src[y*p.w:(y+1)*p.w], p.src[(y+1)*p.w:(y+2)*p.w]
	n := k.channels() * p.w
	switch dst := any(p.dst[n*y : n*(y+1)]).(type) {
	case []uint8:
		run := m.Row
		if k.gray {
			run = m.Gray
		}
		run(dst, any(above).([]uint8), any(row).([]uint8), any(below).([]uint8))
	case []uint16:
		run := m.Words
		if k.gray {
			run = m.GrayWords
		}
		run(dst, any(above).([]uint16), any(row).([]uint16), any(below).([]uint16))
	}
}

// sides repeats the second and the last but one pixel of a row at its ends.
func (p *raw[T]) sides(y int) {
	n := len(p.dst) / (p.h * p.w)
	row := p.dst[n*y*p.w : n*(y+1)*p.w]
	last := row[len(row)-2*n:]
	for i := range n {
		row[i], last[n+i] = row[n+i], last[i]
	}
}
