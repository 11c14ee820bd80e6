package azure

import (
	"context"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
)

func init() { store.Register("az", openStore) }

// unsafeSingleWriter is the parameter of a URL that sets object.Options.UnsafeSingleWriter.
const unsafeSingleWriter = "unsafe_single_writer"

// openStore opens the store of a whole container.
func openStore(ctx context.Context, root string) (store.Store, error) {
	rest, o, err := storeOptions(root)
	if err != nil {
		return nil, err
	}
	b, _, err := Open(ctx, rest, Options{})
	if err != nil {
		return nil, err
	}
	return object.New(b, "", o), nil
}

// storeOptions takes the parameters of the store from the URL of a container. The rest is for Open.
func storeOptions(root string) (rest string, o object.Options, err error) {
	rest, query, _ := strings.Cut(root, "?")
	var others []string
	for _, p := range strings.Split(query, "&") {
		name, value, _ := strings.Cut(p, "=")
		switch {
		case p == "":
		case name != unsafeSingleWriter:
			others = append(others, p)
		case value == "true" || value == "1" || value == "":
			o.UnsafeSingleWriter = true
		case value == "false" || value == "0":
			o.UnsafeSingleWriter = false
		default:
			return "", o, &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: rest,
				Want: name + "=true or " + name + "=false", Got: "another value"}
		}
	}
	if len(others) > 0 {
		rest += "?" + strings.Join(others, "&")
	}
	return rest, o, nil
}
