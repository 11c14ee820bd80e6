package web

import (
	"context"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
)

// UnsafeSingleWriter is the parameter of a URL that sets object.Options.UnsafeSingleWriter.
const UnsafeSingleWriter = "unsafe_single_writer"

// Register makes the URLs of a scheme name stores. open opens the bucket of a URL without the
// parameters of the store.
func Register(scheme, op string, open func(ctx context.Context, url string) (object.Bucket, error)) {
	store.Register(scheme, func(ctx context.Context, root string) (store.Store, error) {
		rest, o, err := storeOptions(op, root)
		if err != nil {
			return nil, err
		}
		b, err := open(ctx, rest)
		if err != nil {
			return nil, err
		}
		return object.New(b, "", o), nil
	})
}

// storeOptions takes the parameters of the store from a URL.
func storeOptions(op, root string) (rest string, o object.Options, err error) {
	rest, query, _ := strings.Cut(root, "?")
	var others []string
	for _, p := range strings.Split(query, "&") {
		name, value, _ := strings.Cut(p, "=")
		if name != UnsafeSingleWriter {
			if p != "" {
				others = append(others, p)
			}
			continue
		}
		var known bool
		if o.UnsafeSingleWriter, known = Truth(value); !known {
			return "", o, &errs.Error{Kind: errs.Invalid, Op: op, Subject: rest,
				Want: name + "=true or " + name + "=false", Got: "another value"}
		}
	}
	if len(others) > 0 {
		rest += "?" + strings.Join(others, "&")
	}
	return rest, o, nil
}

// Truth is the value of a parameter that is true or false. A parameter without a value is true.
func Truth(value string) (truth, known bool) {
	truth = slices.Contains([]string{"true", "1", ""}, value)
	return truth, truth || value == "false" || value == "0"
}
