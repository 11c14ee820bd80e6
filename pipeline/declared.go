package pipeline

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// declared holds the options that declare the outputs.
type declared struct {
	dtypes  []tensor.DType
	ndims   []int
	layouts []string
}

func (o Options) declared() declared { return declared{o.OutputDType, o.OutputNDim, o.OutputLayout} }

// validate checks the declarations without a graph.
func (d declared) validate() error {
	for _, t := range d.dtypes {
		if t != tensor.Invalid && !t.Valid() {
			return invalid("OutputDType", "dtypes", fmt.Sprint(uint8(t)))
		}
	}
	for i, n := range d.ndims {
		if n < AnyNDim {
			return invalid("OutputNDim", "0 or more, or AnyNDim", fmt.Sprint(n))
		}
		if layout := at(d.layouts, i); layout != "" && n != AnyNDim && len(layout) != n {
			return invalid("OutputLayout", fmt.Sprintf("%d axes", n), layout)
		}
	}
	return nil
}

// count checks that there is one declaration for each of n outputs, or one for all.
func (d declared) count(n int) error {
	wrong := func(field string, k int) error {
		return invalid(field, fmt.Sprintf("one for each of %d outputs, or one for all", n), fmt.Sprint(k))
	}
	switch {
	case len(d.dtypes) > 1 && len(d.dtypes) != n:
		return wrong("OutputDType", len(d.dtypes))
	case len(d.ndims) > 1 && len(d.ndims) != n:
		return wrong("OutputNDim", len(d.ndims))
	case len(d.layouts) > 1 && len(d.layouts) != n:
		return wrong("OutputLayout", len(d.layouts))
	}
	return nil
}

// at returns the declaration of output i.
func at[T any](list []T, i int) (v T) {
	switch {
	case i < len(list):
		return list[i]
	case len(list) == 1:
		return list[0]
	}
	return v
}

// check compares output i with its declaration. A negative ndim means that the number of dimensions
// is not known.
func (d declared) check(i int, dtype tensor.DType, ndim int, layout string) error {
	differs := func(what string, want, got any) error {
		return &errs.Error{Kind: errs.Mismatch, Op: "pipeline", Subject: fmt.Sprintf("output %d, %s", i, what),
			Want: fmt.Sprintf("the declared %v", want), Got: fmt.Sprint(got)}
	}
	if want := at(d.dtypes, i); want.Valid() && dtype.Valid() && dtype != want {
		return differs("dtype", want, dtype)
	}
	if len(d.ndims) > 0 && ndim >= 0 {
		if want := at(d.ndims, i); want != AnyNDim && want != ndim {
			return differs("number of dimensions", want, ndim)
		}
	}
	if want := at(d.layouts, i); want != "" && ndim >= 0 && layout != want {
		return differs("layout", fmt.Sprintf("%q", want), fmt.Sprintf("%q", layout))
	}
	return nil
}

// checkSpecs compares what is known about the outputs with their declarations.
func (d declared) checkSpecs(outputs []tensor.Spec) error {
	if err := d.count(len(outputs)); err != nil {
		return err
	}
	for i, s := range outputs {
		ndim := len(s.Shape)
		if s.Shape == nil {
			ndim = -1
		}
		if err := d.check(i, s.DType, ndim, s.Layout); err != nil {
			return err
		}
	}
	return nil
}

// checkBatch compares a batch with the declarations.
func (d declared) checkBatch(outputs []*tensor.Batch) error {
	for i, b := range outputs {
		if err := d.check(i, b.DType, b.NDim, b.Layout); err != nil {
			return err
		}
	}
	return nil
}
