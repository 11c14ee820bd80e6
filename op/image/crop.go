package image

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "crop",
		Doc:     "Cuts a window out of an image.",
		Inputs:  []op.Port{{Name: "images", Doc: "images to crop", Layouts: []string{layoutHWC}}},
		Outputs: []op.Port{{Name: "windows", Doc: "the windows, with the type of the input"}},
		Params:  append(window.CropParams(), window.BoundsParams()...),
		New: func(c *op.Config) (op.Kernel, error) {
			bounds, err := window.ReadBounds(c)
			if err != nil {
				return nil, err
			}
			w, err := window.NewCrop(c, bounds.Policy)
			if err != nil {
				return nil, err
			}
			return &crop{config: c, window: w, bounds: bounds}, nil
		},
	})
}

type crop struct {
	config *op.Config
	window *window.Crop
	bounds window.Bounds
}

func (k *crop) Grain() op.Grain { return op.PerSample }

func (k *crop) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := inputHWC(k.config, in[0]); err != nil {
		return nil, err
	}
	if k.bounds.Policy == window.Pad {
		if err := inputDType(k.config, in[0], tensor.Uint8, tensor.Float32); err != nil {
			return nil, err
		}
	}
	h, w, channels := -1, -1, -1
	if in[0].Shape != nil {
		h, w, channels = in[0].Shape[0], in[0].Shape[1], in[0].Shape[2]
	}
	_, h, w = k.window.Infer(1, h, w)
	return []tensor.Spec{{DType: in[0].DType, Shape: tensor.Shape{h, w, channels}, Layout: layoutHWC}}, nil
}

func (k *crop) Run(b *op.Block) error {
	for s := range b.Len() {
		if err := k.sample(b, s); err != nil {
			b.Fail(s, err)
		}
	}
	return nil
}

func (k *crop) sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if err := checkImage(in); err != nil {
		return err
	}
	h, w, c := in.Shape[0], in.Shape[1], in.Shape[2]
	r, err := k.window.At(b, s, 1, h, w)
	if err != nil {
		return err
	}
	if r == (window.Box{D: 1, H: h, W: w}) {
		b.Alias(0, s, in)
		return nil
	}
	out := b.Out(0, s, r.H, r.W, c)
	inside := r.Clip(1, h, w)
	if inside != r {
		if err := k.pad(out, c); err != nil {
			return err
		}
	}
	size := c * in.DType.Size()
	for y := range inside.H {
		from := ((inside.Y+y)*w + inside.X) * size
		to := ((inside.Y-r.Y+y)*r.W + inside.X - r.X) * size
		copy(out.Data[to:to+inside.W*size], in.Data[from:])
	}
	return nil
}

// pad fills out with the fill values.
func (k *crop) pad(out tensor.Tensor, channels int) error {
	fill := func(c int) float64 { return k.bounds.Fill[min(c, len(k.bounds.Fill)-1)] }
	if out.DType == tensor.Uint8 {
		for i := range out.Data {
			out.Data[i] = op.Round[uint8](fill(i % channels))
		}
		return nil
	}
	values, err := floats(out)
	for i := range values {
		values[i] = float32(fill(i % channels))
	}
	return err
}
