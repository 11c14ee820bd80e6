package random

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "batch_permutation",
		Doc:     "Draws a permutation of the samples of a batch, for permute_batch: each sample holds one number.",
		Outputs: []op.Port{{Name: "indices", Doc: "int32 scalars"}},
		Params: []op.Parameter{
			{Name: "allow_repetitions", Type: op.Bool, Default: false, Doc: "Whether every number is drawn independently, so that some numbers repeat and others are missing."},
			{Name: "no_fixed_points", Type: op.Bool, Default: false, Doc: "Whether no sample has its own index, except in batches of one."},
			seedParam,
			{Name: "_scope", Type: op.Bool, PerSample: true, Truth: true, Doc: "Any values of a branch. The samples that have one are permuted, as if the batch had no others. Its elements have no effect."},
		},
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			return &batchPermutation{repeat: op.Get[bool](c, "allow_repetitions"), derange: op.Get[bool](c, "no_fixed_points")}, nil
		},
	})
}

type batchPermutation struct{ repeat, derange bool }

func (k *batchPermutation) Batched() bool { return true }

func (k *batchPermutation) Infer([]tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: tensor.Int32, Shape: tensor.Shape{}}}, nil
}

func (k *batchPermutation) Run(b *op.Block) error {
	n := b.Len()
	if n == 0 {
		return nil
	}
	w := workerOf(b)
	w.philox = b.RNG(0)
	w.shape = w.shape[:0]
	for i := range n {
		w.shape = append(w.shape, i)
	}
	k.permute(w, w.shape)
	for i, v := range w.shape {
		out, err := tensor.Of[int32](b.Out(0, i))
		if err != nil {
			return err
		}
		out[0] = int32(v)
	}
	return nil
}

// permute draws the numbers of a batch into p, which holds 0, 1, 2 and so on.
func (k *batchPermutation) permute(w *worker, p []int) {
	words := libstdcxx.Words{Philox: &w.philox}
	n := int32(len(p))
	derange := k.derange && n > 1
	switch {
	case k.repeat && derange:
		for i := range p {
			if p[i] = int(words.UniformInt(0, n-2)); p[i] >= i {
				p[i]++
			}
		}
	case k.repeat:
		for i := range p {
			p[i] = int(words.UniformInt(0, n-1))
		}
	case derange:
		for i := range n - 1 {
			j := words.UniformInt(i+1, n-1)
			p[i], p[j] = p[j], p[i]
		}
	default:
		libstdcxx.Shuffle(w.source, p)
	}
}
