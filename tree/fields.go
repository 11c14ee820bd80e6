package tree

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// field is one field of a struct as the tree sees it.
type field struct {
	name      string
	index     []int // the argument of reflect's FieldByIndex
	omitEmpty bool
	array     bool // the field is a slice of slices with the option array
}

// structFields lists the fields of t in order. The fields of an embedded struct take its place. The
// error names a field with a malformed tag, or two fields with the same name.
func structFields(t reflect.Type) ([]field, error) {
	var fields []field
	if err := collect(t, nil, &fields); err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		if seen[f.name] {
			return nil, &errs.Error{Kind: errs.Invalid, Subject: t.String(),
				Want: "one field per name", Got: strconv.Quote(f.name) + " twice", Remedy: "give one of them a bivouac tag"}
		}
		seen[f.name] = true
	}
	return fields, nil
}

func collect(t reflect.Type, prefix []int, out *[]field) error {
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, tagged := sf.Tag.Lookup("bivouac")
		if tag == "-" {
			continue
		}
		at := append(prefix[:len(prefix):len(prefix)], i)
		if sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct && sf.Type != tensorType {
			if err := collect(sf.Type, at, out); err != nil {
				return err
			}
			continue
		}
		if !sf.IsExported() {
			if tagged {
				return &errs.Error{Kind: errs.Invalid, Subject: t.String() + "." + sf.Name,
					Want: "an exported field", Got: "a tag on an unexported field"}
			}
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		f := field{name: name, index: at}
		if name == "" {
			f.name = sf.Name
		}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "":
				if options != "" {
					return wrongOption(t, sf, options)
				}
			case "omitempty":
				f.omitEmpty = true
			case "array":
				if _, _, _, f.array = rectangle(sf.Type); !f.array {
					return &errs.Error{Kind: errs.Invalid, Subject: t.String() + "." + sf.Name,
						Want: "a slice of slices of numbers, such as [][]float32, for the option array", Got: sf.Type.String()}
				}
			default:
				return wrongOption(t, sf, options)
			}
		}
		*out = append(*out, f)
	}
	return nil
}

func wrongOption(t reflect.Type, f reflect.StructField, options string) error {
	return &errs.Error{Kind: errs.Invalid, Subject: t.String() + "." + f.Name,
		Want: "only the options omitempty and array", Got: strconv.Quote(options)}
}
