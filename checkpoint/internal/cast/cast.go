// Package cast converts elements of arrays to another dtype on their way to and from checkpoints,
// and notices what the conversion loses.
package cast

import (
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// block is how many elements are cast before they are compared, so that they stay in the cache.
const block = 4096

// Into casts the elements of in, of type src, to out, of type dst, as tensor.CastInto does. The two
// do not overlap. A value that dst cannot hold is errs.Mismatch, unless lossy is set: see
// tensor.Loss.
func Into(dst tensor.DType, out []byte, src tensor.DType, in []byte, lossy bool) error {
	for len(in) > 0 {
		n := min(block, len(in)/src.Size())
		o, i := out[:n*dst.Size()], in[:n*src.Size()]
		out, in = out[len(o):], in[len(i):]
		if err := tensor.CastInto(dst, o, src, i); err != nil {
			return err
		}
		if lossy {
			continue
		}
		if at := tensor.Loss(dst, o, src, i); at >= 0 {
			lost := tensor.Tensor{DType: src, Shape: tensor.Shape{1}, Data: i[at*src.Size() : (at+1)*src.Size()]}
			return &errs.Error{Kind: errs.Mismatch, Want: "values that " + dst.String() + " can hold",
				Got: lost.Element(0) + " of " + src.String()}
		}
	}
	return nil
}
