package image

import (
	"encoding/binary"
	"slices"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "resize",
		Doc: "Changes the size of images, sequences of images and volumes, or of a part of each. " +
			"Give the size as one of size, resize_shorter and resize_longer, or as some of resize_x, resize_y and resize_z.",
		Inputs: []op.Port{{Name: "images", Doc: "images: uint8, int16, uint16 or float32", Layouts: resizeLayouts()}},
		Outputs: []op.Port{
			{Name: "resized", Doc: "images of the new size, with the layout of the input"},
			{Name: "size", Doc: "with save_attrs: the extents of the input's spatial axes, int32"},
		},
		Params: append(slices.Concat(resizeSizeParams(), filterParams()),
			op.Parameter{Name: "image_type", Type: op.Image, Tuning: true, Deprecated: "it has no effect", Doc: "Ignored."},
			op.Parameter{Name: "save_attrs", Type: op.Bool, Default: false, Doc: "Adds the size of the input as a second output."}),
		OutputCount: func(c *op.Config) (int, error) {
			if op.Get[bool](c, "save_attrs") {
				return 2, nil
			}
			return 1, nil
		},
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			size, err := newResizeSize(c)
			if err != nil {
				return nil, err
			}
			return &resize{resizer: newResizer(c), size: size, save: op.Get[bool](c, "save_attrs")}, nil
		},
	})
}

type resize struct {
	resizer
	size *resizeSize
	save bool
}

func (k *resize) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	resized, err := k.infer(in[0])
	if err != nil {
		return nil, err
	}
	out := []tensor.Spec{resized}
	if _, n := spatial(resized.Layout); k.save {
		out = append(out, tensor.Spec{DType: tensor.Int32, Shape: tensor.Shape{n}})
	}
	return out, nil
}

func (k *resize) Run(b *op.Block) error { return b.Each(func(s int) error { return k.sample(b, s) }) }

func (k *resize) sample(b *op.Block, s int) (err error) {
	in, layout := b.In(0, s), b.Binding().Specs[0].Layout
	if err := checkRank(in, layout); err != nil {
		return err
	}
	st := op.PerWorker[resizeState](b)
	first, n := spatial(layout)
	if st.targets, err = k.size.at(b, s, in.Shape[first:first+n], st.targets[:0]); err != nil {
		return err
	}
	if k.save {
		saved := b.Out(1, s, n)
		for i, extent := range in.Shape[first : first+n] {
			binary.LittleEndian.PutUint32(saved.Data[4*i:], uint32(extent))
		}
	}
	return k.run(b, s, st, first, n)
}
