package geometry

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	s := op.Schema{
		Name:    "coord_flip",
		Doc:     "Mirrors points: a flipped coordinate becomes 2 * center - x, in float32.",
		Inputs:  []op.Port{{Name: "points", Doc: "a row for each point, of 1 to 3 coordinates", DTypes: []tensor.DType{tensor.Float32}}},
		Outputs: []op.Port{{Name: "output", Doc: "the mirrored points"}},
		New:     newCoordFlip,
	}
	for i, axis := range []string{"x", "y", "z"} {
		s.Params = append(s.Params,
			op.Parameter{Name: "center_" + axis, Type: op.Float, Default: 0.5, PerSample: true, Doc: "The centre of the mirror for " + axis + "."},
			op.Parameter{Name: "flip_" + axis, Type: op.Int, Default: btoi(i == 0), PerSample: true, Doc: "Whether " + axis + " is mirrored: 0 means no."})
	}
	s.Params = append(s.Params, op.Parameter{Name: "layout", Type: op.String, Default: "",
		Doc: `The order of the coordinates, as letters x, y and z; by default "x", "xy" or "xyz".`})
	op.Register(s)
}

type coordFlip struct {
	config *op.Config
	layout string
	flip   [3]op.Scalar[int]
	center [3]op.Scalar[float64]
}

func newCoordFlip(c *op.Config) (op.Kernel, error) {
	k := &coordFlip{config: c, layout: op.Get[string](c, "layout")}
	for i, axis := range []string{"x", "y", "z"} {
		k.flip[i], k.center[i] = op.GetScalar[int](c, "flip_"+axis), op.GetScalar[float64](c, "center_"+axis)
	}
	if k.layout == "" {
		k.layout = "xyz"
	} else if !strings.Contains(k.layout, "x") {
		return nil, c.Invalid("layout", "letters with an x", fmt.Sprintf("%q", k.layout), "")
	}
	return op.Each(k), nil
}

func (k *coordFlip) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := flippable(in[0]); err != nil {
		return nil, k.config.InvalidInput(0, err.(*errs.Error).Want, err.(*errs.Error).Got, "")
	}
	return in[:1:1], nil
}

func flippable(s tensor.Spec) error {
	if s.DType == tensor.Float32 && (s.Shape == nil || len(s.Shape) == 2 && s.Shape[1] <= 3) {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Want: "float32 points: a row for each, of 1 to 3 coordinates", Got: s.DType.String() + s.Shape.String()}
}

func (k *coordFlip) Sample(b *op.Block, s int) error {
	t := b.In(0, s)
	if err := flippable(t.Spec()); err != nil {
		return err
	}
	in, err := tensor.Of[float32](t)
	if err != nil {
		return err
	}
	out, err := tensor.Of[float32](b.Out(0, s, t.Shape...))
	if err != nil {
		return err
	}
	copy(out, in)
	columns := t.Shape[1]
	for i, axis := range []byte("xyz") {
		at := strings.IndexByte(k.layout, axis)
		flip, err := k.flip[i].At(b, s)
		if err != nil {
			return err
		}
		center, err := k.center[i].At(b, s)
		if err != nil {
			return err
		}
		if at < 0 || at >= columns || flip == 0 {
			continue
		}
		twice := 2 * float32(center)
		for j := at; j < len(out); j += columns {
			out[j] = twice - in[j]
		}
	}
	return nil
}
