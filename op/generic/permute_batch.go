package generic

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "permute_batch",
		Doc:     "Gives samples of the batch in another order; samples may be left out or come again.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of any kind"}},
		Outputs: []op.Port{{Name: "output", Doc: "the samples in the new order"}},
		Params: []op.Parameter{{Name: "indices", Type: op.Ints, Required: true, PerSample: true,
			Doc: "For each sample of the output, its place in the batch of the input: as many as the batch has samples, or one number a sample."}},
		New: func(c *op.Config) (op.Kernel, error) {
			return &permuteBatch{config: c, indices: op.GetVector[int](c, "indices")}, nil
		},
	})
}

type permuteBatch struct {
	config  *op.Config
	indices op.Vector[int]
}

func (k *permuteBatch) Grain() op.Grain { return op.PerBatch }

func (k *permuteBatch) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := in[0]
	if out.Shape != nil {
		out.Shape = out.Shape.Clone()
	}
	return []tensor.Spec{out}, nil
}

func (k *permuteBatch) Run(b *op.Block) error {
	constant, ok := k.indices.Const()
	if ok && len(constant) != b.Len() {
		return k.config.Invalid("indices", fmt.Sprintf("%d indices, as many as the batch has samples", b.Len()), fmt.Sprint(len(constant)), "")
	}
	return b.Each(func(s int) error {
		var buf [1]int
		index, err := k.indices.At(b, s, buf[:0])
		switch {
		case err != nil:
			return err
		case ok:
			index = index[s : s+1]
		case len(index) != 1:
			return mismatch("one index a sample", tensor.Shape(index).String())
		}
		from := index[0]
		if from < 0 || from >= b.Len() {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument indices", Want: fmt.Sprintf("an index below %d, the size of the batch", b.Len()), Got: fmt.Sprint(from)}
		}
		in := b.In(0, from)
		copy(b.Out(0, s, in.Shape...).Data, in.Data)
		return nil
	})
}
