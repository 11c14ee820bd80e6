package dynamic

import (
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Tensor is an array. It may not be computed yet: methods that describe it wait for the result.
// They return zero values for a failed Tensor. A Tensor is immutable and safe for concurrent use,
// except Release.
type Tensor struct {
	result
	own  [1]tensor.Tensor // memory of samples, for the output of a call
	dims [3]int           // memory of its shape
}

// Tensor waits until the array is computed and returns it. Its memory belongs to t and must not be
// written to.
func (t *Tensor) Tensor(ctx context.Context) (tensor.Tensor, error) {
	if err := t.Evaluate(ctx); err != nil {
		return tensor.Tensor{}, err
	}
	t.lend()
	return t.samples[0], nil
}

// value returns the array, or a zero array after a failure.
func (t *Tensor) value() tensor.Tensor {
	if !t.ready() {
		return tensor.Tensor{}
	}
	return t.samples[0]
}

// DType returns the dtype of the elements.
func (t *Tensor) DType() tensor.DType {
	d, _, _ := t.known()
	return d
}

// Shape returns a copy of the shape.
func (t *Tensor) Shape() tensor.Shape { return t.value().Shape.Clone() }

// NDim returns the number of axes.
func (t *Tensor) NDim() int {
	_, ndim, _ := t.known()
	return ndim
}

// Layout returns the letters of the axes, or "".
func (t *Tensor) Layout() string {
	_, _, layout := t.known()
	return layout
}

// Size returns the number of elements.
func (t *Tensor) Size() int {
	v := t.value()
	if !v.DType.Valid() {
		return 0
	}
	return v.Len()
}

// NBytes returns the number of bytes of all elements.
func (t *Tensor) NBytes() int { return len(t.value().Data) }

// Device returns where the elements are: "cpu".
func (t *Tensor) Device() string { return "cpu" }

// String describes the Tensor without waiting for it.
func (t *Tensor) String() string { return t.text("Tensor") }

// text describes a value without waiting.
func (r *result) text(kind string) string {
	switch {
	case r.released.Load():
		return kind + "(released)"
	case r.symbol != nil:
		return kind + "(of the body of a loop)"
	case r.call != nil && !r.call.finished():
		return kind + "(not computed)"
	case r.failure() != nil:
		return kind + "(" + r.failure().Error() + ")"
	case r.view != nil:
		return r.view.base.text(kind + " of ")
	case r.batch:
		d, ndim, _ := r.kind()
		return fmt.Sprintf("%s(%d of %s, %d axes)", kind, r.n, d, ndim)
	}
	return fmt.Sprintf("%s(%s)", kind, r.samples[0])
}

// Item returns the element of a Tensor with one element. It fails with errs.Invalid for other
// Tensors. T is as for [Slice].
func Item[T tensor.Element](ctx context.Context, t *Tensor) (T, error) {
	var zero T
	list, err := Slice[T](ctx, t)
	if err != nil {
		return zero, err
	}
	if len(list) != 1 {
		return zero, &errs.Error{Kind: errs.Invalid, Op: "dynamic.Item", Want: "a Tensor of one element", Got: t.String()}
	}
	return list[0], nil
}

// Slice returns the elements of a Tensor in row-major order (the last axis varies fastest). The
// slice is the Tensor's memory and must not be changed. T is the Go type of its DType, as for
// tensor.Of.
func Slice[T tensor.Element](ctx context.Context, t *Tensor) ([]T, error) {
	v, err := t.Tensor(ctx)
	if err != nil {
		return nil, err
	}
	return tensor.Of[T](v)
}
