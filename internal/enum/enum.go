// Package enum converts between the values of enumerations and their names.
package enum

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Value is a value of an enumeration: an index into its names.
type Value interface{ ~int | ~uint8 }

// Name returns the name of v. For a value without a name it returns other, where %d stands for its
// number.
func Name[V Value](v V, names []string, other string) string {
	if i := int(v); i >= 0 && i < len(names) {
		return names[i]
	}
	return strings.ReplaceAll(other, "%d", strconv.Itoa(int(v)))
}

// Parse returns the value with the given name. The empty name has no value. The error is of kind
// errs.Invalid, with op and want.
func Parse[V Value](name string, names []string, op, want string) (V, error) {
	if i := slices.Index(names, name); i >= 0 && name != "" {
		return V(i), nil
	}
	return 0, &errs.Error{Kind: errs.Invalid, Op: op, Want: want, Got: strconv.Quote(name)}
}
