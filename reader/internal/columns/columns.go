// Package columns has what readers of data sets with columns share.
package columns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Choose returns the places of the columns that an argument names, or of all if it is not given.
// Fails with errs.Invalid for a name that the data set lacks.
func Choose(c *op.Config, argument string, names []string) ([]int, error) {
	var list []int
	if !c.Given(argument) {
		for i := range names {
			list = append(list, i)
		}
		return list, nil
	}
	wanted := op.Get[[]string](c, argument)
	if len(wanted) == 0 {
		return nil, c.Invalid(argument, "at least one column", "none", "")
	}
	for _, name := range wanted {
		at := slices.Index(names, name)
		if at < 0 {
			return nil, c.Invalid(argument, "columns of the data set: "+strings.Join(names, ", "),
				fmt.Sprintf("%q", name), errs.DidYouMean(name, names))
		}
		if slices.Contains(list, at) {
			return nil, c.Invalid(argument, "each column once", fmt.Sprintf("%q twice", name), "")
		}
		list = append(list, at)
	}
	return list, nil
}

// Params returns the arguments of readers of files with columns.
func Params(paths string) []op.Parameter {
	return []op.Parameter{
		{Name: "paths", Type: op.Strings, Required: true, Tuning: true, Doc: paths},
		{Name: "columns", Type: op.Strings,
			Doc: "Names of the columns, an output each; by default all, in the order of the first file."},
		{Name: "nulls", Type: op.Float,
			Doc: "Number that stands for null in numbers; null strings and lists become empty. By default a null is an error of its sample."},
		loaderargs.CacheBytes,
	}
}

// Same returns the place of a column in another file of the data set, which must have it with the
// same type.
func Same(reader, path, name string, names []string, spec func(i int) tensor.Spec, want tensor.Spec) (int, error) {
	at := slices.Index(names, name)
	text := func(s tensor.Spec) string { return s.DType.String() + s.Shape.String() }
	if at < 0 {
		return 0, &errs.Error{Kind: errs.Mismatch, Op: reader, Subject: path,
			Want: fmt.Sprintf("column %q, as in the first file", name),
			Got: "columns " + strings.Join(names,
				", "), Remedy: "name the columns that all files have in the argument columns"}
	}
	if got := spec(at); got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return 0, &errs.Error{Kind: errs.Mismatch, Op: reader, Subject: path,
			Want: fmt.Sprintf("column %q of %s, as in the first file", name, text(want)),
			Got:  text(got)}
	}
	return at, nil
}
