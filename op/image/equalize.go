package image

import (
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
	for c := range channels {
		var counts [4][256]int32 // four, so that equal neighbours do not wait for each other
		at := c
		for ; at+3*channels < len(src); at += 4 * channels {
			counts[0][src[at]]++
			counts[1][src[at+channels]]++
			counts[2][src[at+2*channels]]++
			counts[3][src[at+3*channels]]++
		}
		for ; at < len(src); at += channels {
			counts[0][src[at]]++
		}
		for i := range 256 {
			counts[0][i] += counts[1][i] + counts[2][i] + counts[3][i]
		}
		table := tone.Equalize(&counts[0], len(src)/channels)
		if channels == 1 {
			look(dst, src, &table)
			continue
		}
		for i := c; i < len(src); i += channels {
			dst[i] = table[src[i]]
		}
	}
}
