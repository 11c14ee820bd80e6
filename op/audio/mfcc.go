package audio

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "mfcc",
		Doc:     "Computes cepstral coefficients of mel spectrograms in decibels: a discrete cosine transform along an axis, whose first numbers are kept.",
		Inputs:  floatsOnly("mels", "data of two to four axes, float32"),
		Outputs: []op.Port{{Name: "coefficients", Doc: "at most n_mfcc numbers in place of the axis"}},
		Params: []op.Parameter{
			{Name: "axis", Type: op.Int, Default: 0, Doc: "The axis."},
			{Name: "dct_type", Type: op.Int, Default: 2, Doc: "Type of the transform: 1, 2, 3 or 4."},
			{Name: "lifter", Type: op.Float, Default: 0.0, Doc: "Weight of high coefficients: coefficient i, from 0, is multiplied by 1 + lifter/2 * sin(pi * (i+1) / lifter). 0 means that they stay."},
			{Name: "n_mfcc", Type: op.Int, Default: 20, Doc: "The most coefficients that are kept."},
			{Name: "normalize", Type: op.Bool, Default: false, Doc: "Whether the transform is orthonormal. Type 1 cannot be."},
		},
		Precision: op.Tolerance,
		New:       newMFCC,
	})
}

func newMFCC(c *op.Config) (op.Kernel, error) {
	k := &mfcc{config: c, axis: op.Get[int](c, "axis"), kind: op.Get[int](c, "dct_type"), keep: op.Get[int](c, "n_mfcc"),
		lifter: float32(op.Get[float64](c, "lifter")), normalize: op.Get[bool](c, "normalize")}
	if err := positive(c, "n_mfcc"); err != nil {
		return nil, err
	}
	switch {
	case k.kind < 1 || k.kind > 4:
		return nil, c.Invalid("dct_type", "1, 2, 3 or 4", fmt.Sprint(k.kind), "")
	case k.kind == 1 && k.normalize:
		return nil, c.Invalid("normalize", "false for dct_type 1", "true", "choose another dct_type")
	case k.axis < 0:
		return nil, c.Invalid("axis", "at least 0", fmt.Sprint(k.axis), "")
	}
	return op.Each(k), nil
}

type mfcc struct {
	config           *op.Config
	axis, kind, keep int
	lifter           float32
	normalize        bool
}

// cosines is the transform of n numbers, cut to kept coefficients. Row i has the weights of
// coefficient i.
type cosines struct {
	n, kept int
	rows    []float32
	lifts   []float32
	offsets []int
	inner   int
}

// make fills t.
func (k *mfcc) make(t *cosines, n int) {
	*t = cosines{n: n, kept: min(k.keep, n), rows: t.rows[:0], lifts: t.lifts[:0], offsets: t.offsets[:0], inner: -1}
	size := float64(n)
	first, others := 1.0, 1.0
	switch {
	case k.normalize:
		first, others = 1/math.Sqrt(size), math.Sqrt(2/size)
	case k.kind == 3:
		first = 0.5
	}
	for c := range t.kept {
		for i := range n {
			v := 0.0
			x, y := float64(i), float64(c)
			switch k.kind {
			case 1:
				v = math.Cos(math.Pi / (size - 1) * x * y)
				switch {
				case i == 0:
					v = 0.5
				case i == n-1:
					v = 0.5 - float64(c%2)
				}
			case 2:
				v = math.Cos(math.Pi/size*(x+0.5)*y) * others
				if c == 0 {
					v = first
				}
			case 3:
				v = math.Cos(math.Pi/size*x*(y+0.5)) * others
				if i == 0 {
					v = first
				}
			default:
				v = math.Cos(math.Pi/size*(x+0.5)*(y+0.5)) * others
			}
			t.rows = append(t.rows, float32(v))
		}
		lift := float32(1)
		if k.lifter != 0 {
			half := k.lifter / 2
			lift = float32(1 + float64(half)*math.Sin(math.Pi/float64(k.lifter)*float64(c+1)))
		}
		t.lifts = append(t.lifts, lift)
	}
}

func (k *mfcc) check(rank int) error {
	switch {
	case rank < 2 || rank > 4:
		return k.config.InvalidInput(0, "two to four axes", fmt.Sprintf("%d axes", rank), "")
	case k.axis >= rank:
		return k.config.Invalid("axis", fmt.Sprintf("less than %d, the number of axes", rank), fmt.Sprint(k.axis), "")
	}
	return nil
}

func (k *mfcc) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if err := wantFloat(k.config, in[0]); err != nil {
		return nil, err
	}
	if in[0].Shape == nil {
		return like(in[0], 0, 0), nil
	}
	if err := k.check(len(in[0].Shape)); err != nil {
		return nil, err
	}
	n := in[0].Shape[k.axis]
	if n >= 0 {
		n = min(n, k.keep)
	}
	return like(in[0], k.axis, n), nil
}

func (k *mfcc) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	if err := k.check(len(in.Shape)); err != nil {
		return err
	}
	outer, n, inner := around(in.Shape, k.axis)
	if k.kind == 1 && n < 2 {
		return badSample("at least 2 elements on the axis for dct_type 1", in.String(), "choose another dct_type")
	}
	from, err := element.Floats(b, in)
	if err != nil {
		return err
	}
	var buf [maxRank]int
	to, err := tensor.Of[float32](b.Out(0, s, reshaped(buf[:], in.Shape, k.axis, min(n, k.keep))...))
	if err != nil || len(to) == 0 {
		return err
	}
	t := op.PerWorker[cosines](b)
	if t.rows == nil || t.n != n {
		if err := b.Limits().CheckBytes("a table of the transform", 4*int64(n)*int64(min(n, k.keep))); err != nil {
			return err
		}
		k.make(t, n)
	}
	if t.inner != inner {
		t.inner, t.offsets = inner, t.offsets[:0]
		for i := range n {
			t.offsets = append(t.offsets, i*inner)
		}
	}
	for o := range outer {
		src := from[o*n*inner : (o+1)*n*inner]
		for c := range t.kept {
			row := to[(o*t.kept+c)*inner : (o*t.kept+c+1)*inner]
			kernel.WeighFloats(row, src, t.offsets, t.rows[c*n:(c+1)*n])
			if k.lifter != 0 {
				for i, v := range row {
					row[i] = v * t.lifts[c]
				}
			}
		}
	}
	return nil
}
