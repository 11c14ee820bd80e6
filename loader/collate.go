package loader

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// DefaultCollate makes a batch of samples as torch's default_collate does:
//
//	numbers, bool       a tensor of one axis, of their own type
//	[]number, [n]number a tensor with a row for each sample
//	tensor.Tensor       stacked along a new first axis; shapes and types must agree
//	string, []byte      a slice of them
//	map[K]V             a map with each key of the first sample, collated
//	struct              each field collated: into the field of that name if B is a
//	                    struct, else into a map[string]any of its exported fields
//	other slices        transposed: element i collates element i of all samples
//	pointer, any        what is in it
//
// B is tensor.Tensor, a slice, map or struct of what is collated, or any. The
// error is of kind errs.Mismatch where samples disagree, errs.Invalid where there
// is no rule, and names the path within the sample.
func DefaultCollate[S, B any](samples []S) (B, error) {
	var batch B
	if len(samples) == 0 {
		return batch, &errs.Error{Kind: errs.Invalid, Op: "loader.DefaultCollate", Want: "a sample", Got: "none"}
	}
	column := make([]reflect.Value, len(samples))
	for i := range samples {
		column[i] = reflect.ValueOf(&samples[i]).Elem()
	}
	v, err := collateColumn("", column, reflect.TypeFor[B]())
	if err != nil {
		return batch, err
	}
	reflect.ValueOf(&batch).Elem().Set(v)
	return batch, nil
}

var tensorType = reflect.TypeFor[tensor.Tensor]()

// collatorOf returns what makes batches: what the user gave, or the default.
func collatorOf[S, B any](custom func([]S) (B, error), batched bool) (func([]S) (B, error), error) {
	switch {
	case custom != nil:
		return custom, nil
	case batched:
		if f, ok := direct[S, B](); ok {
			return f, nil
		}
		return DefaultCollate[S, B], nil
	}
	to := reflect.TypeFor[B]()
	if from := reflect.TypeFor[S](); from != to && to.Kind() != reflect.Interface {
		return nil, invalid("Collate", fmt.Sprintf("a function that makes %v of %v, where samples are not batched", to, from),
			nil)
	}
	return func(samples []S) (batch B, err error) {
		b, ok := any(samples[0]).(B)
		if !ok && any(samples[0]) != nil {
			return b, &errs.Error{Kind: errs.Mismatch, Op: "loader.Collate", Want: fmt.Sprint(to),
				Got: fmt.Sprintf("%T", samples[0])}
		}
		return b, nil
	}, nil
}

// direct returns a collator without reflection for samples that are numbers.
func direct[S, B any]() (f func([]S) (B, error), ok bool) {
	for _, rule := range []any{
		numbers[int], numbers[int64], numbers[int32], numbers[uint8], numbers[float32], numbers[float64],
		anyNumbers[int], anyNumbers[int64], anyNumbers[int32], anyNumbers[uint8], anyNumbers[float32], anyNumbers[float64],
	} {
		if f, ok := rule.(func([]S) (B, error)); ok {
			return f, true
		}
	}
	return nil, false
}

func numbers[T tensor.Element](samples []T) (tensor.Tensor, error) {
	return tensor.FromSlice(slices.Clone(samples)), nil
}

func anyNumbers[T tensor.Element](samples []T) (any, error) { return numbers(samples) }

// collateColumn collates what all samples have at path into a value of type to.
func collateColumn(path string, column []reflect.Value, to reflect.Type) (reflect.Value, error) {
	column, err := concrete(path, column)
	if err != nil {
		return reflect.Value{}, err
	}
	from := column[0].Type()
	if from == tensorType {
		return stack(path, column, to)
	}
	if d, ok := tensor.FromReflect(from); ok {
		return collateNumbers(path, column, d, nil, to)
	}
	switch from.Kind() {
	case reflect.String:
		return gather(path, column, to)
	case reflect.Slice, reflect.Array:
		elem := from.Elem()
		if elem.Kind() == reflect.Uint8 && from.Kind() == reflect.Slice && to != tensorType {
			return gather(path, column, to)
		}
		if err := equalLengths(path, column); err != nil {
			return reflect.Value{}, err
		}
		if d, ok := tensor.FromReflect(elem); ok {
			return collateNumbers(path, column, d, tensor.Shape{column[0].Len()}, to)
		}
		return transpose(path, column, to)
	case reflect.Map:
		return collateMap(path, column, to)
	case reflect.Struct:
		return collateStruct(path, column, to)
	}
	return reflect.Value{}, noRule(path, from.String())
}

// concrete looks into interfaces and pointers; what it returns is of one type.
func concrete(path string, column []reflect.Value) ([]reflect.Value, error) {
	own := false
	for i, v := range column {
		for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return nil, noRule(path, "nil")
			}
			if !own {
				column, own = slices.Clone(column), true
			}
			v = v.Elem()
			column[i] = v
		}
		if first := column[0].Type(); v.Type() != first {
			return nil, disagree(path, i, first.String(), v.Type().String())
		}
	}
	return column, nil
}

// fit returns a value as type to, which is its own or an interface that it has.
func fit(path string, v reflect.Value, to reflect.Type) (reflect.Value, error) {
	if !v.Type().AssignableTo(to) {
		return v, &errs.Error{Kind: errs.Invalid, Op: "loader.Collate", Subject: named(path),
			Want: "a batch of " + v.Type().String(), Got: "one of " + to.String()}
	}
	return v, nil
}

// element returns the type for the elements of a container of type to: to's own element type if to
// is of that kind, else any.
func element(to reflect.Type, kind reflect.Kind) reflect.Type {
	if to.Kind() == kind {
		return to.Elem()
	}
	return reflect.TypeFor[any]()
}

func named(path string) string {
	if path == "" {
		return "sample"
	}
	return "sample" + path
}

func noRule(path, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "loader.Collate", Subject: named(path), Got: got,
		Want: "numbers, tensors, strings, bytes, maps, structs or slices of them", Remedy: "give Options.Collate"}
}

func disagree(path string, sample int, want, got string) error {
	return &errs.Error{Kind: errs.Mismatch, Op: "loader.Collate",
		Subject: fmt.Sprintf("%s of sample %d in the batch", named(path), sample), Want: want + ", as in the first", Got: got}
}
