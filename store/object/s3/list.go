package s3

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// listed is a page of keys.
type listed struct {
	EncodingType          string
	IsTruncated           bool
	NextContinuationToken string
	Contents              []struct {
		Key          string
		Size         int64
		ETag         string
		LastModified time.Time
	}
	CommonPrefixes []struct{ Prefix string }
}

const (
	urlEncoding = "url" // XML has no place for all letters that a key may have
	opList      = "s3.List"
)

// look lists at most one key.
func (b *bucket) look(ctx context.Context) error {
	q := url.Values{"list-type": {"2"}, "max-keys": {"1"}}
	if b.prefix != "" {
		q.Set("prefix", b.prefix+"/")
	}
	_, err := b.ask(ctx, web.Call{Request: web.Request{Op: opOpen}, Method: http.MethodGet, Query: q}, &listed{})
	return err
}

// List implements object.Bucket.
func (b *bucket) List(ctx context.Context, prefix string, delimited bool) iter.Seq2[object.Attrs, error] {
	return func(yield func(object.Attrs, error) bool) {
		q := url.Values{"list-type": {"2"}, "prefix": {prefix}, "encoding-type": {urlEncoding}}
		if delimited {
			q.Set("delimiter", "/")
		}
		last := ""
		for {
			page, next, err := b.page(ctx, prefix, q)
			if err != nil {
				yield(object.Attrs{}, err)
				return
			}
			for _, a := range page {
				if a.Key <= last && last != "" || !strings.HasPrefix(a.Key, prefix) {
					yield(object.Attrs{}, &errs.Error{Kind: errs.Unsupported, Op: opList, Subject: b.Subject(prefix),
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
			q.Set("continuation-token", next)
		}
	}
}

// page returns the keys and the common beginnings of a page, in one order, and the token of the
// next page. A page may be empty and lead on.
func (b *bucket) page(ctx context.Context, prefix string, q url.Values) (page []object.Attrs, next string, err error) {
	var out listed
	c := web.Call{Request: web.Request{Op: opList, Key: prefix}, Method: http.MethodGet, Query: q}
	header, err := b.ask(ctx, c, &out)
	if err != nil {
		return nil, "", err
	}
	if out.IsTruncated {
		if next = out.NextContinuationToken; next == "" || next == q.Get("continuation-token") {
			return nil, "", b.cutOff(opList, prefix)
		}
	}
	at := web.TimeOf(header.Get("Date"))
	page = make([]object.Attrs, 0, len(out.Contents)+len(out.CommonPrefixes))
	for _, o := range out.Contents {
		page = append(page, object.Attrs{Key: o.Key, Size: o.Size, Tag: o.ETag, Modified: o.LastModified, Now: at})
	}
	for _, p := range out.CommonPrefixes {
		page = append(page, object.Attrs{Key: p.Prefix, Now: at, Prefix: true})
	}
	if out.EncodingType == urlEncoding {
		for i := range page {
			if page[i].Key, err = b.decoded(opList, prefix, page[i].Key); err != nil {
				return nil, "", err
			}
		}
	}
	return merged(page, len(out.Contents)), next, nil
}

// merged brings the keys, which are the first n, and the common beginnings into one order. It
// leaves each of the two in the order that the server gave it.
func merged(page []object.Attrs, n int) []object.Attrs {
	keys, beginnings := page[:n], page[n:]
	if len(keys) == 0 || len(beginnings) == 0 {
		return page
	}
	out := make([]object.Attrs, 0, len(page))
	for len(keys) > 0 && len(beginnings) > 0 {
		from := &keys
		if beginnings[0].Key < keys[0].Key {
			from = &beginnings
		}
		out = append(out, (*from)[0])
		*from = (*from)[1:]
	}
	return append(append(out, keys...), beginnings...)
}

func (b *bucket) decoded(op, prefix, key string) (string, error) {
	out, err := url.QueryUnescape(key)
	if err != nil {
		return "", b.Bad(errs.Corrupt, op, prefix, "keys in URL encoding", fmt.Sprintf("%q", key))
	}
	return out, nil
}

func (b *bucket) cutOff(op, prefix string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: op, Subject: b.Subject(prefix), Want: "the next page of a list",
		Got: "an answer that is cut off and does not say where to go on", Remedy: "use a server that pages its lists"}
}

// uploads is a page of unfinished uploads.
type uploads struct {
	EncodingType                      string
	IsTruncated                       bool
	NextKeyMarker, NextUploadIdMarker string
	Upload                            []struct {
		Key       string
		UploadId  string
		Initiated time.Time
	}
}

// Uploads implements object.Bucket.
func (b *bucket) Uploads(ctx context.Context, prefix string) iter.Seq2[object.Unfinished, error] {
	const op = "s3.Uploads"
	return func(yield func(object.Unfinished, error) bool) {
		q := url.Values{"uploads": {""}, "prefix": {prefix}, "encoding-type": {urlEncoding}}
		fail := func(err error) { yield(object.Unfinished{}, err) }
		for {
			var out uploads
			c := web.Call{Request: web.Request{Op: op, Key: prefix}, Method: http.MethodGet, Query: q}
			if _, err := b.ask(ctx, c, &out); err != nil {
				fail(err)
				return
			}
			for _, u := range out.Upload {
				key, id := u.Key, u.UploadId
				if out.EncodingType == urlEncoding {
					var err error
					if key, err = b.decoded(op, prefix, key); err != nil {
						fail(err)
						return
					}
				}
				abort := func(ctx context.Context) error { return b.abort(ctx, key, id) }
				if !yield(object.Unfinished{Key: key, Started: u.Initiated, Abort: abort}, nil) {
					return
				}
			}
			if !out.IsTruncated {
				return
			}
			marker := out.NextKeyMarker
			if out.EncodingType == urlEncoding {
				var err error
				if marker, err = b.decoded(op, prefix, marker); err != nil {
					fail(err)
					return
				}
			}
			if marker == "" || marker == q.Get("key-marker") && out.NextUploadIdMarker == q.Get("upload-id-marker") {
				fail(b.cutOff(op, prefix))
				return
			}
			q.Set("key-marker", marker)
			q.Set("upload-id-marker", out.NextUploadIdMarker)
		}
	}
}
