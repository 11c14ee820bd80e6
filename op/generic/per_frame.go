package generic

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "per_frame",
		Doc:     "Marks data as sequences: the first axis becomes the axis of frames, F. The data does not change.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of any kind with at least one axis"}},
		Outputs: []op.Port{{Name: "output", Doc: "the same data, whose layout begins with F"}},
		Params: []op.Parameter{
			{Name: "replace", Type: op.Bool, Default: false, Doc: "Whether another first letter of the layout becomes F. By default it is an error."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			return op.Each(&perFrame{config: c, replace: op.Get[bool](c, "replace")}), nil
		},
	})
}

type perFrame struct {
	config  *op.Config
	replace bool
}

// stars are the letters of axes without a name.
var stars = "F" + strings.Repeat("*", 63)

// layout returns the layout of data with the given layout and number of axes.
func (k *perFrame) layout(layout string, axes int) (string, error) {
	switch {
	case axes < 1 || axes > len(stars):
		return "", &errs.Error{Kind: errs.Invalid, Want: fmt.Sprintf("1 to %d axes", len(stars)), Got: fmt.Sprint(axes)}
	case layout == "":
		return stars[:axes], nil
	case layout[0] == 'F':
		return layout, nil
	case k.replace:
		return "F" + layout[1:], nil
	}
	return "", &errs.Error{Kind: errs.Invalid, Want: "a layout that begins with F", Got: fmt.Sprintf("%q", layout),
		Remedy: "set replace, if the first axis is the axis of frames"}
}

func (k *perFrame) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := in[0]
	if out.Shape == nil && out.Layout == "" {
		return []tensor.Spec{out}, nil // the data says how many axes there are
	}
	axes := len(out.Shape)
	if out.Shape == nil {
		axes = len(out.Layout)
	}
	layout, err := k.layout(out.Layout, axes)
	if err != nil {
		return nil, k.config.InvalidInput(0, err.(*errs.Error).Want, err.(*errs.Error).Got, err.(*errs.Error).Remedy)
	}
	out.Layout, out.Shape = layout, out.Shape.Clone()
	return []tensor.Spec{out}, nil
}

func (k *perFrame) Sample(b *op.Block, s int) (err error) {
	view := b.In(0, s)
	if spec := b.Binding().Specs[0]; spec.Layout != "" && len(spec.Layout) == len(view.Shape) {
		view.Layout = spec.Layout
	} else if view.Layout, err = k.layout(view.Layout, len(view.Shape)); err != nil {
		return err
	}
	b.Alias(0, s, view)
	return nil
}
