package dynamic

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// background is the context of waits that always end.
var background = context.Background()

// BatchOf returns a Batch of Go data. data is one of:
//
//   - a slice with one sample per element, each as for TensorOf ([][]byte, []string, [][]float32,
//     []tensor.Tensor, []image.Image, []*Tensor …); an empty slice needs Form.DType
//   - a *tensor.Batch
//   - a tensor.Tensor with the samples along its first axis
//   - a *Batch, which is returned as it is
//
// All samples have the same dtype, number of axes and layout. Their shapes may differ.
//
// For other data the Batch has an error of kind errs.Invalid or errs.Mismatch.
func BatchOf(data any, form ...Form) *Batch {
	f := formOf(form)
	if b, ok := data.(*Batch); ok && b != nil && f.DType == tensor.Invalid && f.Layout == "" {
		return b
	}
	samples, err := f.list(data)
	for i := 0; i < len(samples) && err == nil; i++ {
		if samples[i], err = f.apply(samples[i]); err == nil {
			err = like(samples, i)
		}
	}
	b := &Batch{result{batch: true, n: len(samples)}}
	switch {
	case err != nil:
	case len(samples) > 0:
		b.samples = samples
	case f.DType == tensor.Invalid:
		err = &errs.Error{Kind: errs.Invalid, Want: "at least one sample, or Form.DType", Got: "neither"}
	default:
		b.spec = &tensor.Spec{DType: f.DType, Shape: make(tensor.Shape, max(1, len(f.Layout))), Layout: f.Layout}
	}
	if err != nil {
		b.err = errs.Wrap("dynamic.BatchOf", "", err)
		b.seen.Store(true)
	}
	return b
}

// like returns an error unless sample i has the dtype, number of axes and layout of the first
// sample.
func like(samples []tensor.Tensor, i int) error {
	first, t := samples[0], samples[i]
	if t.DType != first.DType || len(t.Shape) != len(first.Shape) || t.Layout != first.Layout {
		return &errs.Error{Kind: errs.Mismatch, Subject: "sample " + strconv.Itoa(i),
			Want: fmt.Sprintf("dtype, number of axes and layout of the first sample, %v %q", first, first.Layout),
			Got:  fmt.Sprintf("%v %q", t, t.Layout)}
	}
	return nil
}

// list returns the samples of data.
func (f *Form) list(data any) ([]tensor.Tensor, error) {
	switch d := data.(type) {
	case *Batch:
		if d == nil {
			break
		}
		samples, err := heldSamples(background, d)
		return slices.Clone(samples), err
	case *tensor.Batch:
		if d == nil {
			break
		}
		if err := d.Check(); err != nil {
			return nil, err
		}
		if !f.NoCopy {
			d = d.Clone()
		}
		samples := make([]tensor.Tensor, d.NumSamples())
		for i := range samples {
			samples[i] = d.Sample(i)
		}
		return samples, nil
	case tensor.Tensor:
		if err := d.Check(); err != nil {
			return nil, err
		}
		if len(d.Shape) == 0 {
			return nil, &errs.Error{Kind: errs.Invalid, Want: "an array with the samples along its first axis", Got: d.String()}
		}
		if !f.NoCopy {
			d = d.Clone()
		}
		samples := make([]tensor.Tensor, d.Shape[0])
		for i := range samples {
			samples[i] = d.Index(i)
		}
		return samples, nil
	}
	v := reflect.ValueOf(data)
	if !v.IsValid() || v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return nil, &errs.Error{Kind: errs.Invalid, Want: "a slice of samples, a *tensor.Batch or a tensor.Tensor",
			Got: fmt.Sprintf("%T", data)}
	}
	samples := make([]tensor.Tensor, v.Len())
	for i := range samples {
		var err error
		if samples[i], err = f.sample(v.Index(i).Interface()); err != nil {
			return nil, errs.Wrap("", "sample "+strconv.Itoa(i), err)
		}
	}
	return samples, nil
}

// sample returns an element of a list as an array.
func (f *Form) sample(data any) (tensor.Tensor, error) {
	switch d := data.(type) {
	case *Tensor:
		if d != nil {
			samples, err := heldSamples(background, d)
			if err != nil {
				return tensor.Tensor{}, err
			}
			return samples[0], nil
		}
	case *Batch:
		return tensor.Tensor{}, &errs.Error{Kind: errs.Invalid, Want: "a Tensor", Got: "a Batch"}
	}
	return f.array(data)
}

// Broadcast returns a Batch with n samples, each equal to t. It does not wait.
func Broadcast(t *Tensor, n int) *Batch {
	b := &Batch{result{batch: true, n: n}}
	if n < 1 || n > mostSamples {
		b.err = badSize("dynamic.Broadcast", n)
		b.n = 0
		b.seen.Store(true)
		return b
	}
	b.choose(&t.result, make([]int, n))
	return b
}

// ReadFile returns the bytes of a file: the operator io.file.read.
func ReadFile(ctx context.Context, path string) *Tensor {
	return Invoke1[*Tensor](ctx, Call{Op: "io.file.read", Args: opargs.IoFileRead{}, Inputs: []Value{TensorOf(path)}})
}

// ReadFiles returns the bytes of files.
func ReadFiles(ctx context.Context, paths ...string) *Batch {
	return Invoke1[*Batch](ctx, Call{Op: "io.file.read", Args: opargs.IoFileRead{}, Inputs: []Value{BatchOf(paths)}})
}
