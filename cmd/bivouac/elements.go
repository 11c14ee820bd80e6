package main

import (
	"context"
	"io"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint"
)

// pieceBytes is how much of an array is read at a time.
const pieceBytes = 8 << 20

// copyElements writes all elements of an array in C order.
func copyElements(ctx context.Context, w io.Writer, r *checkpoint.Reader, l checkpoint.LeafInfo) error {
	return copyBox(ctx, w, r, l, make([]int, len(l.Shape)), slices.Clone(l.Shape))
}

// copyBox writes the elements of a part of an array in C order, piece by piece:
// it is cut along its first axes until the pieces are small.
func copyBox(ctx context.Context, w io.Writer, r *checkpoint.Reader, l checkpoint.LeafInfo, origin, shape []int) error {
	bytes := l.DType.Size()
	for _, n := range shape {
		bytes *= n
	}
	axis := slices.IndexFunc(shape, func(n int) bool { return n > 1 })
	if bytes <= pieceBytes || axis < 0 {
		buf := make([]byte, bytes)
		if err := r.ReadBox(ctx, l, origin, shape, buf); err != nil {
			return err
		}
		_, err := w.Write(buf)
		return err
	}
	step := max(1, int(int64(pieceBytes)/(int64(bytes)/int64(shape[axis]))))
	for at := 0; at < shape[axis]; at += step {
		o, s := slices.Clone(origin), slices.Clone(shape)
		o[axis], s[axis] = origin[axis]+at, min(step, shape[axis]-at)
		if err := copyBox(ctx, w, r, l, o, s); err != nil {
			return err
		}
	}
	return nil
}
