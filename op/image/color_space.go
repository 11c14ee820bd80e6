package image

import (
	"fmt"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "color_space_conversion",
		Doc: "Converts images from one colour space to another: RGB, BGR, GRAY or YCbCr. Y of YCbCr lies in 16 to 235, and " +
			"Cb and Cr in 16 to 240 (ITU-R BT.601).",
		Inputs:  []op.Port{{Name: "images", Doc: "images, sequences or volumes: uint8", Layouts: []string{"FDHWC", "FHWC", "DHWC", "HWC"}}},
		Outputs: []op.Port{{Name: "converted", Doc: "images in the other colour space"}},
		Params: []op.Parameter{
			{Name: "image_type", Type: op.Image, Required: true, Doc: "Colour space of the input."},
			{Name: "output_type", Type: op.Image, Required: true, Doc: "Colour space of the output, another one than the input's."},
		},
		Precision: op.Exact,
		New:       newColorSpace,
	})
}

// colorSpace converts from one colour space to another. Each conversion is a function on pixels.
type colorSpace struct {
	config   *op.Config
	from, to int // channels
	convert  func(dst, src []byte)
}

func newColorSpace(c *op.Config) (op.Kernel, error) {
	from, to := op.Get[op.ImageType](c, "image_type"), op.Get[op.ImageType](c, "output_type")
	k := &colorSpace{config: c, from: 3, to: 3}
	for name, t := range map[string]op.ImageType{"image_type": from, "output_type": to} {
		if t > op.YCbCr {
			return nil, c.Invalid(name, "RGB, BGR, GRAY or YCbCr", t.String(), "")
		}
	}
	if from == to {
		return nil, c.Invalid("output_type", "another colour space than "+from.String(), to.String(),
			"leave the operator out")
	}
	if from == op.Gray {
		k.from = 1
	}
	if to == op.Gray {
		k.to = 1
	}
	// red is the place of red in RGB or BGR.
	red := 0
	if from == op.BGR || to == op.BGR {
		red = 2
	}
	switch {
	case from == op.Gray && to == op.YCbCr:
		k.convert = grayToYCbCr
	case from == op.Gray:
		k.convert = repeatGray
	case from == op.YCbCr && to == op.Gray:
		k.convert = lumaToGray
	case from == op.YCbCr:
		k.convert = func(dst, src []byte) { fromYCbCr(dst, src, red) }
	case to == op.YCbCr:
		k.convert = func(dst, src []byte) { toYCbCr(dst, src, red) }
	case to == op.Gray:
		k.convert = func(dst, src []byte) { toGray(dst, src, red) }
	default:
		k.convert = swapRedAndBlue
	}
	return op.Each(k), nil
}

func (k *colorSpace) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].DType != tensor.Uint8 {
		return nil, k.config.InvalidInput(0, "uint8", in[0].DType.String(), "cast it")
	}
	layout, err := layoutOf(k.config, in[0])
	if err != nil && (in[0].Shape != nil || in[0].Layout != "") {
		return nil, err
	}
	out := tensor.Spec{DType: tensor.Uint8, Shape: in[0].Shape.Clone(), Layout: layout}
	if n := len(out.Shape); n > 0 {
		if c := out.Shape[n-1]; c >= 0 && c != k.from {
			return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, k.channels(in[0].Shape))
		}
		out.Shape[n-1] = k.to
	}
	return []tensor.Spec{out}, nil
}

func (k *colorSpace) channels(shape tensor.Shape) error {
	return &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: fmt.Sprintf("%d channels", k.from),
		Got: shape.String()}
}

func (k *colorSpace) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if err := checkRank(in, b.Binding().Specs[0].Layout); err != nil {
		return err
	}
	var buf [5]int
	shape := append(buf[:0], in.Shape...)
	if shape[len(shape)-1] != k.from {
		return k.channels(in.Shape)
	}
	shape[len(shape)-1] = k.to
	k.convert(b.Out(0, s, shape...).Data, in.Data)
	return nil
}

// colorTables holds the products of all bytes and the factors of the conversions, in float32. The
// sum of products from a table equals the sum of products.
type colorTables struct {
	y, cb, cr [3][256]float32 // of red, green and blue
	luma      [256]float32    // of Y, without 16
	red, blue [256]float32    // of Cr and of Cb
	green     [2][256]float32 // of Cb and of Cr
	grayY     [256]byte       // Y of a gray
	yGray     [256]byte       // the gray of a Y
}

// colors returns the tables.
var colors = sync.OnceValue(func() *colorTables {
	t := new(colorTables)
	for i := range 256 {
		v, centred := float32(i), float32(i)-128
		for to, factors := range map[*[3][256]float32][3]float32{
			&t.y:  {.25678823529, .50412941176, .09790588235},
			&t.cb: {-.148222897, -.290992782, .439215680},
			&t.cr: {.439215680, -.367788306, -.071427374},
		} {
			for c, f := range factors {
				to[c][i] = f * v
			}
		}
		t.luma[i] = 1.16438356 * (v - 16)
		t.red[i], t.blue[i] = 1.59602679*centred, 2.01723214*centred
		t.green[0][i], t.green[1][i] = -.39176229*centred, -.81296765*centred
		t.grayY[i] = byte(float32(.85882352941*v) + 16 + 0.5)
		t.yGray[i] = roundByte(t.luma[i])
	}
	return t
})

// roundByte rounds half away from zero and saturates.
func roundByte(v float32) byte { return byte(min(max(v+0.5, 0), 255)) }

func swapRedAndBlue(dst, src []byte) {
	for len(src) >= 3 && len(dst) >= 3 {
		dst[0], dst[1], dst[2] = src[2], src[1], src[0]
		dst, src = dst[3:], src[3:]
	}
}

func repeatGray(dst, src []byte) {
	for _, v := range src {
		d := dst[:3:3]
		d[0], d[1], d[2] = v, v, v
		dst = dst[3:]
	}
}

func grayToYCbCr(dst, src []byte) {
	t := &colors().grayY
	for _, v := range src {
		d := dst[:3:3]
		d[0], d[1], d[2] = t[v], 128, 128
		dst = dst[3:]
	}
}

func lumaToGray(dst, src []byte) {
	t := &colors().yGray
	for i := range dst {
		dst[i] = t[src[3*i]]
	}
}

// toGray weighs the channels by .299, .587 and .114 in units of 2^-15, rounded.
func toGray(dst, src []byte, red int) {
	weights := [3]uint16{9798, 19235, 3735}
	if red == 2 {
		weights[0], weights[2] = weights[2], weights[0]
	}
	kernel.Gray(dst, src, &weights)
}

func toYCbCr(dst, src []byte, red int) {
	t, blue := colors(), 2-red
	for len(src) >= 3 && len(dst) >= 3 {
		r, g, b := src[red], src[1], src[blue]
		dst[0] = byte(t.y[0][r] + t.y[1][g] + t.y[2][b] + 16 + 0.5)
		dst[1] = byte(t.cb[0][r] + t.cb[1][g] + t.cb[2][b] + 128 + 0.5)
		dst[2] = byte(t.cr[0][r] + t.cr[1][g] + t.cr[2][b] + 128 + 0.5)
		dst, src = dst[3:], src[3:]
	}
}

func fromYCbCr(dst, src []byte, red int) {
	t, blue := colors(), 2-red
	for len(src) >= 3 && len(dst) >= 3 {
		y, cb, cr := t.luma[src[0]], src[1], src[2]
		dst[red] = roundByte(y + t.red[cr])
		dst[1] = roundByte(y + t.green[0][cb] + t.green[1][cr])
		dst[blue] = roundByte(y + t.blue[cb])
		dst, src = dst[3:], src[3:]
	}
}
