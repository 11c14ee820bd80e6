package geometry

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// displacement is the kernel of water and sphere, which move pixels about.
type displacement struct {
	warping
	mask  op.Scalar[int]
	moves mover
}

// mover returns where the pixels of a picture of that size come from.
type mover func(b *op.Block, size volume) mapping

// registerDisplacement registers an operator whose map newMoves makes from its arguments.
func registerDisplacement(name, doc string, params []op.Parameter, newMoves func(*op.Config) mover) {
	op.Register(op.Schema{
		Name:    name,
		Doc:     doc,
		Inputs:  []op.Port{{Name: "images", Doc: "pictures of uint8 or float32", Layouts: []string{"HWC"}}},
		Outputs: []op.Port{{Name: "output", Doc: "the pictures with their pixels moved"}},
		Params: append(params,
			op.Parameter{Name: "fill_value", Type: op.Float, Default: 0.0, Doc: "What lies outside the input."},
			op.Parameter{Name: "interp_type", Type: op.Interp, Default: op.InterpNN, Doc: "INTERP_NN or INTERP_LINEAR."},
			op.Parameter{Name: "mask", Type: op.Int, Default: 1, PerSample: true, Doc: "Whether pixels are moved: not 0."},
		),
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			w, err := newWarping(c)
			w.clamp, w.cut = false, true
			return &displacement{warping: w, mask: op.GetScalar[int](c, "mask"), moves: newMoves(c)}, err
		},
	})
}

func (k *displacement) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].DType != tensor.Uint8 && in[0].DType != tensor.Float32 {
		return nil, k.config.InvalidInput(0, "uint8 or float32", in[0].DType.String(), "cast it")
	}
	if in[0].Shape != nil && len(in[0].Shape) != 3 || in[0].Layout != "" && in[0].Layout != "HWC" {
		return nil, k.config.InvalidInput(0, "pictures of layout HWC", fmt.Sprintf("%s, layout %q", in[0].Shape, in[0].Layout), "")
	}
	return k.infer(in[0], true)
}

func (k *displacement) Run(b *op.Block) error {
	return b.Each(func(s int) error {
		in := b.In(0, s)
		f, err := framesOf(in)
		if err != nil {
			return err
		}
		mask, err := k.mask.At(b, s)
		if err != nil {
			return err
		}
		if mask == 0 {
			in.Layout = "HWC"
			b.Alias(0, s, in)
			return nil
		}
		return k.warp(b, s, f, f.volume, k.moves(b, f.volume))
	})
}
