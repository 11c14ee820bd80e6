package generic

import (
	"github.com/bivouac-ml/bivouac/op/internal/strided"
	"github.com/bivouac-ml/bivouac/tensor"
)

// broadcasts returns an error unless data of shape in can be repeated to shape out.
func broadcasts(in, out tensor.Shape) error {
	for i := range in {
		d := 1
		if j := len(out) - len(in) + i; j >= 0 {
			d = out[j]
		}
		if in[i] != d && in[i] != 1 {
			return mismatch("data that repeat to the shape "+out.String(), in.String())
		}
	}
	return nil
}

// broadcast repeats in to out, whose shapes fit.
func broadcast(out, in tensor.Tensor) {
	if in.Len() == 1 {
		repeat(out.Data, in.Data)
		return
	}
	var buf [3][8]int
	inner, steps := strided.Contiguous(buf[0][:0], in.Shape), buf[1][:0]
	for i := range out.Shape {
		step := 0
		if j := i - len(out.Shape) + len(in.Shape); j >= 0 && in.Shape[j] > 1 {
			step = inner[j]
		}
		steps = append(steps, step)
	}
	strided.Copy(out.Data, strided.Contiguous(buf[2][:0], out.Shape), in.Data, steps, out.Shape, in.DType.Size())
}
