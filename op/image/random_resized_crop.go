package image

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/cropgen"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "random_resized_crop",
		Doc: "Cuts a window of random area, aspect ratio and place out of an image and resizes it to a fixed size. " +
			"The filter also uses pixels just outside the window.",
		Inputs:  []op.Port{{Name: "images", Doc: "images: uint8, int16, uint16 or float32", Layouts: []string{"HWC", "CHW", "FHWC", "FCHW", "CFHW"}}},
		Outputs: []op.Port{{Name: "resized", Doc: "images of the given size, with the layout of the input"}},
		Params: append(slices.Concat(cropgen.Params(), filterParams()),
			op.Parameter{Name: "size", Type: op.Ints, Required: true, Doc: "Height and width of the result; one number is both."},
			op.Parameter{Name: "seed", Type: op.Int, Default: -1, Doc: "Seed of this operator; -1: the pipeline's seed."}),
		Random:    true,
		Precision: op.Tolerance,
		New:       newRandomResizedCrop,
	})
}

type randomResizedCrop struct {
	resizer
	height, width int
	windows       *cropgen.Generator
}

func newRandomResizedCrop(c *op.Config) (op.Kernel, error) {
	size := op.Get[[]int](c, "size")
	if len(size) == 1 {
		size = []int{size[0], size[0]}
	}
	const largest = 1 << 16
	if len(size) != 2 || min(size[0], size[1]) < 1 || max(size[0], size[1]) > largest {
		return nil, c.Invalid("size", fmt.Sprintf("height and width from 1 to %d", largest), fmt.Sprint(size), "")
	}
	windows, err := cropgen.New(c)
	return &randomResizedCrop{resizer: newResizer(c), height: size[0], width: size[1], windows: windows}, err
}

func (k *randomResizedCrop) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out, err := k.infer(in[0])
	if err != nil {
		return nil, err
	}
	first, _ := spatial(out.Layout)
	out.Shape[first], out.Shape[first+1] = k.height, k.width
	return []tensor.Spec{out}, nil
}

func (k *randomResizedCrop) Run(b *op.Block) error {
	return b.Each(func(s int) error { return k.sample(b, s) })
}

func (k *randomResizedCrop) sample(b *op.Block, s int) error {
	in, layout := b.In(0, s), b.Binding().Specs[0].Layout
	if err := checkRank(in, layout); err != nil {
		return err
	}
	if in.Shape.Len() == 0 {
		return &errs.Error{Kind: errs.Invalid, Want: "an image with pixels", Got: in.String()}
	}
	first, n := spatial(layout)
	w := k.windows.Draw(b.RNG(s), in.Shape[first], in.Shape[first+1])
	st := op.PerWorker[resizeState](b)
	st.targets = append(st.targets[:0],
		target{size: k.height, lo: float64(w.Y), hi: float64(w.Y + w.H)},
		target{size: k.width, lo: float64(w.X), hi: float64(w.X + w.W)})
	return k.run(b, s, st, first, n)
}
