package readertest

import (
	"context"
	"errors"
	"slices"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Data is an open data set with what its samples are.
type Data struct {
	reader.Source
	Specs []tensor.Spec // of the outputs
}

// Open opens a data set with a reader, such as "readers.mds".
func Open(ctx context.Context, name string, args op.Args) (*Data, error) {
	s, err := op.Lookup(name)
	if err != nil {
		return nil, err
	}
	o, err := reader.Lookup(s)
	if err != nil {
		return nil, err
	}
	node, set, err := op.Arguments(args)
	if err != nil {
		return nil, err
	}
	c, _, err := op.Resolve(s, node, 0, set)
	if err != nil {
		return nil, err
	}
	specs, err := o.Outputs(c)
	if err != nil {
		return nil, err
	}
	source, err := o.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return &Data{Source: source, Specs: specs}, nil
}

// Values returns the outputs of some samples. It fails with the first error of a sample.
func (d *Data) Values(ctx context.Context, ids ...int64) ([][]tensor.Tensor, error) {
	var b op.Block
	var local any
	x := b.Binding()
	x.Memory, x.Local, x.Specs, x.Out = memory{}, &local, d.Specs, make([][]tensor.Tensor, len(d.Specs))
	x.Positions, x.Slots = ids, make([]int32, len(ids))
	for i := range x.Out {
		x.Out[i] = make([]tensor.Tensor, len(ids))
	}
	if err := d.Fetch(ctx, ids, &b); err != nil {
		return nil, err
	}
	list := make([][]tensor.Tensor, len(ids))
	for s := range ids {
		if err := x.Errors[s]; err != nil {
			return nil, err
		}
		for i, spec := range d.Specs {
			t := x.Out[i][s]
			if t.DType != spec.DType || spec.Shape != nil && !fits(t.Shape, spec.Shape) {
				return nil, errors.New("output " + t.String() + " is not what Outputs promised: " +
					spec.DType.String() + spec.Shape.String())
			}
			t.Shape = slices.Clone(t.Shape)
			list[s] = append(list[s], t)
		}
	}
	return list, nil
}

// fits reports whether a shape is of the form of another, in which -1 is any number.
func fits(shape, form tensor.Shape) bool {
	return len(shape) == len(form) &&
		slices.EqualFunc(shape, form, func(n, want int) bool { return want < 0 || n == want })
}

// memory is op.Memory of the garbage collector.
type memory struct{}

func (memory) Output(_, _, size int) []byte { return make([]byte, size) }
func (memory) Scratch(size int) []byte      { return make([]byte, size) }
