package reader

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Fields is a sample as named tensors, in the order in which its reader has them. A value whose
// DType is tensor.Invalid is missing from the sample.
//
// Names belong to the data set and must not be changed. Values belong to the Fields. Another call
// of Data.Read with the same Fields reuses their memory.
type Fields struct {
	Names  []string
	Values []tensor.Tensor

	memory [][]byte // of the values that a Data read; a value may lie elsewhere
	data   *Data    // that read the sample, or nil
	id     int64
}

// Get returns a value. ok is false if there is no field of that name or the sample lacks it.
func (f *Fields) Get(name string) (v tensor.Tensor, ok bool) {
	for i, n := range f.Names {
		if n == name && i < len(f.Values) {
			return f.Values[i], f.Values[i].DType.Valid()
		}
	}
	return tensor.Tensor{}, false
}

// Value returns a value. The error is of kind errs.NotFound if there is no field of that name or
// the sample lacks it. It names the sample.
func (f *Fields) Value(name string) (tensor.Tensor, error) {
	v, ok := f.Get(name)
	if !ok {
		return v, f.missing("reader.Fields", name)
	}
	return v, nil
}

// With returns the sample with one more field, or with another value for a field.
func (f Fields) With(name string, v tensor.Tensor) Fields {
	i := slices.Index(f.Names, name)
	f.memory = nil
	if i < 0 {
		f.Names, f.Values = append(slices.Clip(f.Names), name), append(slices.Clip(f.Values), v)
		return f
	}
	f.Values = slices.Clone(f.Values)
	f.Values[i] = v
	return f
}

// Only returns the sample with some of its values, given by their places, under other names.
func (f Fields) Only(names []string, places []int) Fields {
	values := make([]tensor.Tensor, len(places))
	for i, p := range places {
		values[i] = f.Values[p]
	}
	f.Names, f.Values, f.memory = names, values, nil
	return f
}

// Origin says where the sample comes from, for messages: its reader, its id, and its place in the
// data set. It is empty for Fields that no Data read.
func (f *Fields) Origin() string {
	if f.data == nil {
		return ""
	}
	return fmt.Sprintf("%s, sample %d, %s", f.data.Info().Format, f.id, f.data.Describe(f.id))
}

// missing returns the error for a field that the sample does not have.
func (f *Fields) missing(op, name string) error {
	e := &errs.Error{Kind: errs.NotFound, Op: op, Subject: f.subject(name), Want: "a field of that name",
		Got: fmt.Sprintf("the fields %q", f.Names), Remedy: errs.DidYouMean(name, f.Names)}
	if slices.Contains(f.Names, name) {
		e.Want, e.Got, e.Remedy = "a value", "none in this sample", ""
	}
	return e
}

// subject names a field of the sample, for errors.
func (f *Fields) subject(name string) string {
	if from := f.Origin(); from != "" {
		return from + ", field " + name
	}
	return "field " + name
}
