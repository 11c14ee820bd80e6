package tensor

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// Batch holds the samples of one output of one iteration. It has one dtype and one slab of memory,
// and for each sample an offset and dimensions.
//
// Sample i occupies Data[Offsets[i]:Offsets[i+1]] and has the shape Dims[i*NDim : (i+1)*NDim]. A
// batch is Uniform if its samples have one shape and lie back to back. A uniform batch can be
// viewed as one tensor.
//
// To fill a Batch, call Reset, and then Grow or Append for each sample. Reset keeps the memory, so
// in a steady state a Batch allocates nothing.
type Batch struct {
	DType   DType
	NDim    int
	Layout  string // the layout of a sample, without the batch axis
	Data    []byte
	Offsets []int // len = samples + 1
	Dims    []int // len = samples * NDim
}

// NewBatch allocates a uniform batch of n samples of zeros, in contiguous memory. It panics if New
// would panic.
func NewBatch(d DType, n int, sample ...int) *Batch {
	t := New(d, append([]int{n}, sample...)...)
	b := &Batch{DType: d, NDim: len(sample), Data: t.Data, Offsets: make([]int, n+1), Dims: make([]int, 0, n*len(sample))}
	size := Shape(sample).Len() * d.Size()
	for i := range n {
		b.Offsets[i+1] = (i + 1) * size
		b.Dims = append(b.Dims, sample...)
	}
	return b
}

// Reset empties the batch and gives it another description, keeping its memory.
func (b *Batch) Reset(d DType, ndim int, layout string) {
	b.DType, b.NDim, b.Layout = d, ndim, layout
	b.Data, b.Offsets, b.Dims = b.Data[:0], append(b.Offsets[:0], 0), b.Dims[:0]
}

// Grow adds a sample of the given shape and returns its memory, whose contents are undefined. The
// caller fills it. The memory may move with the next Grow or Append. The error is of kind
// errs.Invalid for a bad shape, and of kind errs.Mismatch for another rank.
func (b *Batch) Grow(shape ...int) ([]byte, error) {
	n, err := Shape(shape).Bytes(b.DType)
	if err != nil {
		return nil, err
	}
	if len(shape) != b.NDim {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: "tensor.Batch",
			Subject: "sample " + strconv.Itoa(b.NumSamples()),
			Want:    strconv.Itoa(b.NDim) + " axes", Got: Shape(shape).String()}
	}
	if len(b.Offsets) == 0 {
		b.Offsets = append(b.Offsets, 0)
	}
	start := len(b.Data)
	if need := start + n; need > cap(b.Data) {
		grown := alloc(max(need, 2*cap(b.Data)))
		copy(grown, b.Data)
		b.Data = grown[:start]
	}
	b.Data = b.Data[:start+n]
	b.Offsets = append(b.Offsets, len(b.Data))
	b.Dims = append(b.Dims, shape...)
	return b.Data[start:], nil
}

// Append adds a copy of t, which must have the dtype and rank of the batch.
func (b *Batch) Append(t Tensor) error {
	if t.DType != b.DType {
		return &errs.Error{Kind: errs.Mismatch, Op: "tensor.Batch", Subject: "sample " + strconv.Itoa(b.NumSamples()),
			Want: b.DType.String(), Got: t.String()}
	}
	if err := t.Check(); err != nil {
		return err
	}
	dst, err := b.Grow(t.Shape...)
	if err == nil {
		copy(dst, t.Data)
	}
	return err
}

// NumSamples returns the number of samples.
func (b *Batch) NumSamples() int { return max(0, len(b.Offsets)-1) }

// Shape returns the shape of sample i. The result is a view of Dims.
func (b *Batch) Shape(i int) Shape {
	return Shape(b.Dims[i*b.NDim : (i+1)*b.NDim : (i+1)*b.NDim])
}

// Sample returns a view of sample i. It panics if i is out of range.
func (b *Batch) Sample(i int) Tensor {
	return Tensor{DType: b.DType, Shape: b.Shape(i), Layout: b.Layout,
		Data: b.Data[b.Offsets[i]:b.Offsets[i+1]:b.Offsets[i+1]]}
}

// Uniform reports whether all samples have the same shape and lie back to back from the start of
// Data. A batch without samples is not uniform, because the shape of its samples is unknown.
func (b *Batch) Uniform() bool {
	n := b.NumSamples()
	if n == 0 {
		return false
	}
	first := b.Shape(0)
	size := first.Len() * b.DType.Size()
	for i := range n {
		if b.Offsets[i] != i*size || !first.Equal(b.Shape(i)) {
			return false
		}
	}
	return b.Offsets[n] == n*size
}

// Tensor returns a view of the whole batch, with the samples along a new first axis, "N" in the
// layout. If the batch is not Uniform, the error is of kind errs.Mismatch and names the first
// sample that differs.
func (b *Batch) Tensor() (Tensor, error) {
	if !b.Uniform() {
		return Tensor{}, b.notUniform()
	}
	t := Tensor{DType: b.DType, Shape: append(Shape{b.NumSamples()}, b.Shape(0)...), Data: b.Data[:b.Offsets[b.NumSamples()]]}
	if b.Layout != "" {
		t.Layout = "N" + b.Layout
	}
	return t, nil
}

func (b *Batch) notUniform() error {
	e := &errs.Error{Kind: errs.Mismatch, Op: "tensor.Batch", Want: "samples of one shape", Got: "no samples"}
	for i := range b.NumSamples() {
		if !b.Shape(i).Equal(b.Shape(0)) {
			e.Subject = "sample " + strconv.Itoa(i)
			e.Want, e.Got = b.Shape(0).String(), b.Shape(i).String()
			return e
		}
		e.Got = "gaps between them"
	}
	return e
}

// Check returns an error if the fields contradict each other. All other code may rely on a batch
// that passes Check.
func (b *Batch) Check() error {
	n := b.NumSamples()
	bad := func(want string, got any) error {
		return &errs.Error{Kind: errs.Mismatch, Op: "tensor.Batch", Want: want, Got: fmt.Sprint(got)}
	}
	if b.NDim < 0 || len(b.Dims) != n*b.NDim {
		return bad(fmt.Sprintf("%d samples of %d dims", n, b.NDim), len(b.Dims))
	}
	if !slices.IsSorted(b.Offsets) || n > 0 && (b.Offsets[0] < 0 || b.Offsets[n] > len(b.Data)) {
		return bad(fmt.Sprintf("rising offsets within %d bytes", len(b.Data)), b.Offsets)
	}
	for i := range n {
		if err := b.Sample(i).Check(); err != nil {
			return errs.Wrap("tensor.Batch", "sample "+strconv.Itoa(i), err)
		}
	}
	return nil
}

// Clone returns a batch with the same samples that shares no memory with b.
func (b *Batch) Clone() *Batch {
	c := *b
	c.Data = alloc(len(b.Data))
	copy(c.Data, b.Data)
	c.Offsets, c.Dims = slices.Clone(b.Offsets), slices.Clone(b.Dims)
	return &c
}
