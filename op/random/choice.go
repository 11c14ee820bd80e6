package random

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "choice", Module: []string{"random"},
		Doc: "Chooses among the input's elements along its first axis. If the input is a scalar n, chooses among the numbers from 0 to n-1.",
		Inputs: []op.Port{
			{Name: "a", Doc: "the number of choices (an integer), or a tensor of choices"},
			shapeLike(),
		},
		Outputs: []op.Port{{Name: "chosen", Doc: "choices"}},
		Params: distributionParams(
			op.Parameter{Name: "p", Type: op.Floats, PerSample: true, Doc: "Probability of every choice; by default all are equally likely."},
		),
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &choice{config: c, p: op.GetVector[float64](c, "p"), weighted: c.Has("p")}
			if p, constant := k.p.Const(); constant && k.weighted {
				if err := checkProbabilities(p, len(p)); err != nil {
					return nil, c.Invalid("p", wantProbabilities, fmt.Sprint(p), "")
				}
				k.discrete = discrete(p)
			}
			var err error
			k.extent, err = newExtent(c, 1)
			return k, err
		},
	})
}

const wantProbabilities = "numbers from 0 to 1, one for every choice, that sum to 1"

// checkProbabilities returns an error unless p has n probabilities that sum to 1.
func checkProbabilities(p []float64, n int) error {
	sum := 0.0
	for _, v := range p {
		if !(v >= 0 && v <= 1) {
			return invalid("p", wantProbabilities, p)
		}
		sum += float64(float32(v))
	}
	if len(p) != n || !(math.Abs(sum-1) < 1e-4) {
		return invalid("p", wantProbabilities, p)
	}
	return nil
}

type choice struct {
	config   *op.Config
	p        op.Vector[float64]
	weighted bool
	discrete libstdcxx.Discrete // of constant probabilities
	extent   extent
}

func (k *choice) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	a, out := in[0], tensor.Spec{DType: in[0].DType}
	if a.Shape == nil {
		return []tensor.Spec{out}, nil
	}
	if len(a.Shape) == 0 && !isIndex(a.DType) {
		return nil, &errs.Error{Kind: errs.Invalid, Op: k.config.Schema.FullName(), Subject: "node " + k.config.Node + ", input a",
			Want: wantIndex, Got: a.DType.String()}
	}
	if shape := k.extent.infer(in); shape != nil {
		out.Shape = shape.Clone()
		if len(a.Shape) > 1 {
			out.Shape = append(out.Shape, a.Shape[1:]...)
		}
		switch len(out.Shape) {
		case len(a.Shape):
			out.Layout = a.Layout
		case len(a.Shape) - 1:
			out.Layout = a.Layout[min(1, len(a.Layout)):]
		}
	}
	return []tensor.Spec{out}, nil
}

func (k *choice) Run(b *op.Block) error { return perSample(b, k.sample) }

func (k *choice) sample(b *op.Block, s int, w *worker) error {
	a := b.In(0, s)
	n, err := choices(a)
	if err != nil {
		return err
	}
	shape, err := k.extent.at(b, s, &w.shape)
	if err != nil {
		return err
	}
	draw, err := k.distribution(b, s, n, w)
	if err != nil {
		return err
	}
	stream := b.RNG(s)
	switch len(a.Shape) {
	case 0:
		out := b.Out(0, s, shape...)
		return eachElement(out, stream, w, func(e []byte) { putInteger(e, draw.next(w)) })
	case 1:
		out, size := b.Out(0, s, shape...), a.DType.Size()
		return eachElement(out, stream, w, func(e []byte) { copy(e, a.Data[draw.next(w)*size:]) })
	}
	w.shape = append(append(w.shape[:0], shape...), a.Shape[1:]...)
	out, size := b.Out(0, s, w.shape...), len(a.Data)/n
	w.philox = stream
	for at := 0; at < len(out.Data); at += size {
		copy(out.Data[at:at+size], a.Data[draw.next(w)*size:])
	}
	return nil
}

const wantIndex = "an integer if it is a scalar"

func isIndex(d tensor.DType) bool { return d.IsInteger() && d.Bits() >= 8 }

// choices returns the number of choices.
func choices(a tensor.Tensor) (int, error) {
	n := 0
	switch {
	case len(a.Shape) > 0:
		n = a.Shape[0]
	case !isIndex(a.DType):
		return 0, &errs.Error{Kind: errs.Invalid, Subject: "input a", Want: wantIndex, Got: a.DType.String()}
	default:
		n = integer(a, 0)
	}
	if n < 1 || n > math.MaxInt32 {
		return 0, &errs.Error{Kind: errs.Invalid, Subject: "input a", Want: "at least one choice", Got: fmt.Sprint(n)}
	}
	return n, nil
}

// indices is the distribution of a sample's indices.
type indices struct {
	count    int32 // number of equally likely choices, or 0
	weighted libstdcxx.Discrete
}

// next draws an index from w.philox.
func (d *indices) next(w *worker) int {
	if d.count > 0 {
		return int(libstdcxx.Words{Philox: &w.philox}.UniformInt(0, d.count-1))
	}
	return d.weighted.Next(w.source)
}

// distribution returns the distribution of a sample with n choices.
func (k *choice) distribution(b *op.Block, s, n int, w *worker) (indices, error) {
	if !k.weighted {
		return indices{count: int32(n)}, nil
	}
	p, err := k.p.At(b, s, w.floats)
	if err != nil {
		return indices{}, err
	}
	if err := checkProbabilities(p, n); err != nil {
		return indices{}, err
	}
	if _, constant := k.p.Const(); constant {
		return indices{weighted: k.discrete}, nil
	}
	w.floats = p
	return indices{weighted: discrete(p)}, nil
}

// discrete returns the distribution of probabilities, converted to float32 as in DALI.
func discrete(p []float64) libstdcxx.Discrete {
	weights := make([]float64, len(p))
	for i, v := range p {
		weights[i] = float64(float32(v))
	}
	return libstdcxx.NewDiscrete(weights)
}

// eachElement calls set for every element of out. Before each call it moves w.philox to the words
// of the element.
func eachElement(out tensor.Tensor, stream rng.Philox, w *worker, set func(element []byte)) error {
	size := out.DType.Size()
	for e := range out.Shape.Len() {
		w.philox = rng.Element(stream, e)
		set(out.Data[e*size : (e+1)*size])
	}
	return nil
}

// putInteger writes an integer into all bytes of dst.
func putInteger(dst []byte, v int) {
	for i := range dst {
		dst[i] = byte(v >> (8 * i))
	}
}
