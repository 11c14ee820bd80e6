package image

import (
	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/tone"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	schema := op.Schema{
		Name: "equalize",
		Doc: "Spreads the values of each channel of an image over the whole range, so that every part of the range has about as many " +
			"pixels (histogram equalization). A channel of one value keeps it.",
		Inputs:    []op.Port{{Name: "images", Doc: "images or sequences: uint8", Layouts: []string{"HW", "HWC", "CHW", "FHW", "FHWC", "FCHW"}}},
		Outputs:   []op.Port{{Name: "equalized", Doc: "images of the same shape"}},
		Precision: op.Exact,
		New:       func(c *op.Config) (op.Kernel, error) { return op.Each(&equalize{c}), nil },
	}
	op.Register(schema)
	schema.Module, schema.Deprecated = []string{"experimental"}, "use equalize"
	op.Register(schema)
}

type equalize struct{ config *op.Config }

func (k *equalize) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := inputDType(k.config, in[0], tensor.Uint8); err != nil {
		return nil, err
	}
	layout, err := layoutOf(k.config, in[0])
	if err != nil && (in[0].Shape != nil || in[0].Layout != "") {
		return nil, err
	}
	return []tensor.Spec{{DType: tensor.Uint8, Shape: in[0].Shape, Layout: layout}}, nil
}

func (k *equalize) Sample(b *op.Block, s int) error {
	in, layout := b.In(0, s), b.Binding().Specs[0].Layout
	if err := checkRank(in, layout); err != nil {
		return err
	}
	out := b.Out(0, s, in.Shape...)
	if len(in.Data) == 0 {
		return nil
	}
	// A plane is one channel, or an image whose channels alternate.
	n := len(in.Shape)
	size, channels := in.Shape[n-2]*in.Shape[n-1], 1
	if layout[n-1] == 'C' {
		size, channels = in.Shape[n-3]*size, in.Shape[n-1]
	}
	for at := 0; at < len(in.Data); at += size {
		equalizePlane(out.Data[at:at+size], in.Data[at:at+size], channels)
	}
	return nil
}

// equalizePlane equalizes each channel of an image.
func equalizePlane(dst, src []byte, channels int) {
	var counts, tables = [3][256]int32{}, [3][256]byte{}
	switch channels {
	case 1:
		kernel.Count(&counts[0], src)
		tables[0] = tone.Equalize(&counts[0], len(src))
		kernel.Look(dst, src, &tables[0])
	case 3:
		kernel.Count3(&counts, src)
		for c := range tables {
			tables[c] = tone.Equalize(&counts[c], len(src)/3)
		}
		kernel.Look3(dst, src, &tables)
	default:
		for c := range channels {
			counts[0] = [256]int32{}
			for i := c; i < len(src); i += channels {
				counts[0][src[i]]++
			}
			tables[0] = tone.Equalize(&counts[0], len(src)/channels)
			for i := c; i < len(src); i += channels {
				dst[i] = tables[0][src[i]]
			}
		}
	}
}
