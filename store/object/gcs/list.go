package gcs

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// listed is a page of keys.
type listed struct {
	NextPageToken string
	Items         []resource
	Prefixes      []string
}

const (
	kindList   = "storage#objects"
	listFields = "kind,nextPageToken,prefixes,items(" + fields + ")"
	opList     = "gcs.List"
)

// lister is a call that lists keys.
func lister(op, prefix string, delimited bool) call {
	c := call{request: request{Request: web.Request{Op: op, Key: prefix}, noKey: true}, method: http.MethodGet}
	c.root, c.path = pathJSON, []string{"o"}
	c.query = url.Values{"fields": {listFields}}
	if prefix != "" {
		c.query.Set("prefix", prefix)
	}
	if delimited {
		c.query.Set("delimiter", "/")
	}
	return c
}

// look lists at most one key.
func (b *bucket) look(ctx context.Context, prefix string) error {
	if prefix != "" {
		prefix += "/"
	}
	c := lister(opOpen, prefix, false)
	c.query.Set("maxResults", "1")
	_, err := b.ask(ctx, c, kindList, &listed{})
	return err
}

// List implements object.Bucket. It leaves out the parts of unfinished uploads.
func (b *bucket) List(ctx context.Context, prefix string, delimited bool) iter.Seq2[object.Attrs, error] {
	return func(yield func(object.Attrs, error) bool) {
		for a, err := range b.list(ctx, opList, prefix, delimited) {
			if err == nil && strings.HasPrefix(a.Key, partsRoot) {
				continue
			}
			if !yield(a, err) {
				return
			}
		}
	}
}

// list yields all keys, with the parts of unfinished uploads. It ends with the first error.
func (b *bucket) list(ctx context.Context, op, prefix string, delimited bool) iter.Seq2[object.Attrs, error] {
	return func(yield func(object.Attrs, error) bool) {
		c := lister(op, prefix, delimited)
		last := ""
		for {
			page, next, err := b.page(ctx, c)
			if err != nil {
				yield(object.Attrs{}, err)
				return
			}
			for _, a := range page {
				if a.Key <= last && last != "" || !strings.HasPrefix(a.Key, prefix) {
					yield(object.Attrs{}, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: b.Subject(prefix),
						Want: "keys with this prefix in ascending order", Got: fmt.Sprintf("%q after %q", a.Key, last),
						Remedy: "use a server that lists keys in the order of their bytes"})
					return
				}
				last = a.Key
				if !yield(a, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			c.query.Set("pageToken", next)
		}
	}
}

// page returns the keys and the common beginnings of a page, in one order, and the token of the
// next page. A page may be empty and lead on.
func (b *bucket) page(ctx context.Context, c call) (page []object.Attrs, next string, err error) {
	var out listed
	header, err := b.ask(ctx, c, kindList, &out)
	if err != nil {
		return nil, "", err
	}
	if next = out.NextPageToken; next != "" && next == c.query.Get("pageToken") {
		return nil, "", &errs.Error{Kind: errs.Unsupported, Op: c.Op, Subject: b.Subject(c.Key),
			Want: "the next page of a list", Got: "the same page again", Remedy: "use a server that pages its lists"}
	}
	now := web.TimeOf(header.Get("Date"))
	beginnings := out.Prefixes
	for _, o := range out.Items {
		a, ok := o.attrs(now)
		if !ok {
			return nil, "", b.Bad(errs.Corrupt, c.Op, c.Key, "objects with a size and a generation",
				fmt.Sprintf("%q with the size %q and the generation %q", o.Name, o.Size, o.Generation))
		}
		for len(beginnings) > 0 && beginnings[0] < a.Key {
			page = append(page, object.Attrs{Key: beginnings[0], Now: now, Prefix: true})
			beginnings = beginnings[1:]
		}
		page = append(page, a)
	}
	for _, p := range beginnings {
		page = append(page, object.Attrs{Key: p, Now: now, Prefix: true})
	}
	return page, next, nil
}
