package detection

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The operators that mix samples take the partner of a sample as an input. So a result depends on
// the two samples and on nothing else: not on the batch, the rank or the worker.
// docs/guide/detection.md says where partners come from.

func mixInputs() []op.Port {
	return []op.Port{
		{Name: "images", Doc: "images or other data", DTypes: []tensor.DType{tensor.Uint8, tensor.Float32}},
		{Name: "partners", Doc: "the data to mix with, of the same type and shape", DTypes: []tensor.DType{tensor.Uint8, tensor.Float32}},
		{Name: "labels", Doc: "a number for each class, float32", DTypes: []tensor.DType{tensor.Float32}, Optional: true},
		{Name: "partner_labels", Doc: "the numbers of the partners", DTypes: []tensor.DType{tensor.Float32}, Optional: true},
	}
}

func mixOutputs(doc string) []op.Port {
	return []op.Port{{Name: "mixed", Doc: doc}, {Name: "mixed_labels", Doc: "the mean of the labels, if there are labels"}}
}

func mixCount(c *op.Config) (int, error) {
	if c.Inputs == 3 {
		return 0, c.Invalid("partner_labels", "labels of both, or none", "labels of the images alone", "")
	}
	return c.Inputs / 2, nil
}

func init() {
	op.Register(op.Schema{
		Name: "mixup",
		Doc: "Mixes two samples: ratio * image + (1 - ratio) * partner. Labels are mixed in the same way. " +
			"Draw the ratio with random.beta.",
		Inputs: mixInputs(), Outputs: mixOutputs("the means"),
		Params: []op.Parameter{
			{Name: "ratio", Type: op.Float, Required: true, PerSample: true, Doc: "The share of the image, from 0 to 1."},
		},
		OutputCount: mixCount,
		New: func(c *op.Config) (op.Kernel, error) {
			return op.Each(&mixup{config: c, ratio: op.GetScalar[float64](c, "ratio")}), nil
		},
	})
	op.Register(op.Schema{
		Name: "cutmix",
		Doc: "Puts a window of a partner into an image, at the same place. The window has the share 1 - ratio of the area, before it is cut at the edges. " +
			"Labels are mixed by the areas. Draw the ratio with random.beta.",
		Inputs: mixInputs(), Outputs: mixOutputs("the images with their windows"),
		Params: []op.Parameter{
			{Name: "ratio", Type: op.Float, Required: true, PerSample: true, Doc: "The share of the image, from 0 to 1."},
			{Name: "centre_x", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Horizontal centre of the window, from 0 to 1."},
			{Name: "centre_y", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Vertical centre of the window, from 0 to 1."},
			{Name: "even", Type: op.Bool, Default: false,
				Doc: "Whether the window reaches equally far to both sides of the pixel at its centre. " +
					"Extents then are truncated to even numbers; otherwise they are rounded."},
		},
		OutputCount: mixCount,
		New: func(c *op.Config) (op.Kernel, error) {
			return op.Each(&cutmix{config: c, even: op.Get[bool](c, "even"), ratio: op.GetScalar[float64](c, "ratio"),
				x: op.GetScalar[float64](c, "centre_x"), y: op.GetScalar[float64](c, "centre_y")}), nil
		},
	})
}

// mixSpecs checks the inputs and returns the outputs.
func mixSpecs(c *op.Config, in []tensor.Spec) ([]tensor.Spec, error) {
	out := []tensor.Spec{in[0]}
	if in[1].DType != in[0].DType {
		return nil, c.InvalidInput(1, in[0].DType.String()+", as the images", in[1].DType.String(), "cast it")
	}
	if len(in) > 2 {
		out = append(out, in[2])
	}
	return out, nil
}

// share returns an argument from 0 to 1.
func share(p op.Scalar[float64], name string, b *op.Block, s int) (float32, error) {
	v, err := p.At(b, s)
	if err == nil && !(v >= 0 && v <= 1) {
		err = &errs.Error{Kind: errs.Invalid, Subject: "argument " + name, Want: "a number from 0 to 1", Got: fmt.Sprint(v)}
	}
	return float32(v), err
}

// alike returns an error unless a sample and its partner have the same shape.
func alike(b *op.Block, s, input int) error {
	if x, y := b.In(input, s), b.In(input+1, s); !x.Shape.Equal(y.Shape) {
		return &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("input %d", input+1), Want: x.String(), Got: y.String(),
			Remedy: "resize both to one size"}
	}
	return nil
}

// blend writes ratio * a + (1 - ratio) * b of one input and its partner.
func blend(b *op.Block, s, input, output int, ratio float32) error {
	return blendShares(b, s, input, output, ratio, 1-ratio)
}

// blendShares writes ratio * a + rest * b of one input and its partner.
func blendShares(b *op.Block, s, input, output int, ratio, rest float32) error {
	if err := alike(b, s, input); err != nil {
		return err
	}
	x, y := b.In(input, s), b.In(input+1, s)
	out := b.Out(output, s, x.Shape...)
	if x.DType == tensor.Uint8 {
		for i, v := range x.Data {
			out.Data[i] = uint8(float32(float32(v)*ratio) + float32(float32(y.Data[i])*rest) + 0.5)
		}
		return nil
	}
	p, err := tensor.Of[float32](x)
	if err != nil {
		return err
	}
	q, err := tensor.Of[float32](y)
	if err != nil {
		return err
	}
	r, err := tensor.Of[float32](out)
	for i := range r {
		r[i] = float32(p[i]*ratio) + float32(q[i]*rest)
	}
	return err
}

type mixup struct {
	config *op.Config
	ratio  op.Scalar[float64]
}

func (k *mixup) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return mixSpecs(k.config, in) }

func (k *mixup) Sample(b *op.Block, s int) error {
	ratio, err := share(k.ratio, "ratio", b, s)
	if err != nil {
		return err
	}
	for i := 0; i < b.Inputs(); i += 2 {
		if err := blend(b, s, i, i/2, ratio); err != nil {
			return err
		}
	}
	return nil
}

type cutmix struct {
	config      *op.Config
	even        bool
	ratio, x, y op.Scalar[float64]
}

func (k *cutmix) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if s := in[0]; s.Shape != nil && len(s.Shape) != 3 || s.Layout != "" && s.Layout != "HWC" {
		return nil, k.config.InvalidInput(0, "pictures of layout HWC", s.DType.String()+s.Shape.String()+" "+s.Layout, "")
	}
	return mixSpecs(k.config, in)
}

func (k *cutmix) Sample(b *op.Block, s int) error {
	ratio, err := share(k.ratio, "ratio", b, s)
	if err != nil {
		return err
	}
	x, err := share(k.x, "centre_x", b, s)
	if err != nil {
		return err
	}
	y, err := share(k.y, "centre_y", b, s)
	if err != nil {
		return err
	}
	if err := alike(b, s, 0); err != nil {
		return err
	}
	image, partner := b.In(0, s), b.In(1, s)
	if len(image.Shape) != 3 {
		return &errs.Error{Kind: errs.Mismatch, Subject: "input images", Want: "pictures of 3 axes", Got: image.String()}
	}
	h, w := image.Shape[0], image.Shape[1]
	side := math.Sqrt(float64(1 - ratio))
	window := part
	if k.even {
		window = evenPart
	}
	left, right := window(float64(x), side, w)
	top, bottom := window(float64(y), side, h)
	out := b.Out(0, s, image.Shape...)
	copy(out.Data, image.Data)
	pixel := image.Shape[2] * image.DType.Size()
	for row := top; row < bottom; row++ {
		at := row * w * pixel
		copy(out.Data[at+left*pixel:at+right*pixel], partner.Data[at+left*pixel:])
	}
	if b.Inputs() < 4 {
		return nil
	}
	if h*w > 0 {
		left := 1 - float64((bottom-top)*(right-left))/float64(h*w)
		return blendShares(b, s, 2, 1, float32(left), float32(1-left))
	}
	return blend(b, s, 2, 1, ratio)
}

// part returns the pixels of a window whose centre and length are shares of an extent.
func part(centre, length float64, extent int) (from, to int) {
	n := int(math.Round(length * float64(extent)))
	from = int(math.Round(centre*float64(extent))) - n/2
	return min(max(from, 0), extent), min(max(from+n, 0), extent)
}

// evenPart returns the pixels of a window that reaches equally far to both sides of the pixel that
// contains the centre.
func evenPart(centre, length float64, extent int) (from, to int) {
	half := int(0.5 * length * float64(extent))
	at := min(int(centre*float64(extent)), max(extent-1, 0))
	return max(at-half, 0), min(at+half, extent)
}
