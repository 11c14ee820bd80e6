package azure

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// listed is a page of blobs and common beginnings.
type listed struct {
	XMLName    xml.Name `xml:"EnumerationResults"`
	NextMarker string
	Blobs      struct {
		Blob []struct {
			Name       named
			Properties struct {
				Created      rfcTime `xml:"Creation-Time"`
				Modified     rfcTime `xml:"Last-Modified"`
				Etag         string
				Size         int64 `xml:"Content-Length"`
				ResourceType string
			}
			Metadata struct { // a server may keep the case of its names, or not
				Aborted string `xml:"Bivouac_aborted"`
				Lower   string `xml:"bivouac_aborted"`
			}
		}
		BlobPrefix []struct{ Name named }
	}
}

// named is a name, which is in URL encoding if XML has no place for a letter of it.
type named struct {
	Encoded bool   `xml:"Encoded,attr"`
	Text    string `xml:",chardata"`
}

// rfcTime is a time as HTTP writes it. A time that does not parse is zero.
type rfcTime struct{ time.Time }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *rfcTime) UnmarshalText(text []byte) error {
	t.Time = web.TimeOf(string(text))
	return nil
}

const opList = "azure.List"

func (b *bucket) listCall(op, prefix string) web.Call {
	c := web.Call{Request: web.Request{Op: op, Key: prefix}, Method: http.MethodGet, Object: true}
	c.Query = url.Values{"restype": {"container"}, "comp": {"list"}}
	if prefix != "" {
		c.Query.Set("prefix", prefix)
	}
	return c
}

// look lists at most one key.
func (b *bucket) look(ctx context.Context) error {
	prefix := b.prefix
	if prefix != "" {
		prefix += "/"
	}
	c := b.listCall(opOpen, prefix)
	c.Query.Set("maxresults", "1")
	_, _, err := b.page(ctx, c)
	return err
}

// page sends a request for a page. The call keeps the prefix as its key, which is no blob.
func (b *bucket) page(ctx context.Context, c web.Call) (*listed, time.Time, error) {
	var out listed
	prefix := c.Key
	c.Key = ""
	header, err := b.ask(ctx, c, &out)
	if err != nil {
		return nil, time.Time{}, err
	}
	if out.NextMarker != "" && out.NextMarker == c.Query.Get("marker") {
		return nil, time.Time{}, &errs.Error{Kind: errs.Unsupported, Op: c.Op, Subject: b.Subject(prefix),
			Want: "the next page of a list", Got: "the same page", Remedy: "use a server that pages its lists"}
	}
	for i := range out.Blobs.Blob {
		if err := b.decode(c.Op, prefix, &out.Blobs.Blob[i].Name); err != nil {
			return nil, time.Time{}, err
		}
		if out.Blobs.Blob[i].Properties.ResourceType == "directory" {
			return nil, time.Time{}, b.hierarchical(c.Op)
		}
	}
	for i := range out.Blobs.BlobPrefix {
		if err := b.decode(c.Op, prefix, &out.Blobs.BlobPrefix[i].Name); err != nil {
			return nil, time.Time{}, err
		}
	}
	return &out, web.TimeOf(header.Get("Date")), nil
}

func (b *bucket) decode(op, prefix string, n *named) error {
	if n.Encoded {
		text, err := url.PathUnescape(n.Text)
		if err != nil {
			return b.Bad(errs.Corrupt, op, prefix, "names in URL encoding", fmt.Sprintf("%q", n.Text))
		}
		n.Text = text
	}
	if !strings.HasPrefix(n.Text, prefix) {
		return &errs.Error{Kind: errs.Unsupported, Op: op, Subject: b.Subject(prefix), Want: "keys with this prefix",
			Got: fmt.Sprintf("%q", n.Text), Remedy: "use a server that keeps to the prefix of a list"}
	}
	return nil
}

// List implements object.Bucket. It puts the keys of a page into the order of their bytes: servers
// that compare letters of UTF-16 have a few in another order.
func (b *bucket) List(ctx context.Context, prefix string, delimited bool) iter.Seq2[object.Attrs, error] {
	return func(yield func(object.Attrs, error) bool) {
		c := b.listCall(opList, prefix)
		if delimited {
			c.Query.Set("delimiter", "/")
		}
		last := ""
		for {
			page, at, err := b.page(ctx, c)
			if err != nil {
				yield(object.Attrs{}, err)
				return
			}
			all := make([]object.Attrs, 0, len(page.Blobs.Blob)+len(page.Blobs.BlobPrefix))
			for _, o := range page.Blobs.Blob {
				all = append(all, object.Attrs{Key: o.Name.Text, Size: o.Properties.Size, Tag: quoted(o.Properties.Etag),
					Modified: o.Properties.Modified.Time, Now: at})
			}
			for _, p := range page.Blobs.BlobPrefix {
				all = append(all, object.Attrs{Key: p.Name.Text, Now: at, Prefix: true})
			}
			slices.SortFunc(all, func(a, b object.Attrs) int { return cmp.Compare(a.Key, b.Key) })
			for _, a := range all {
				if a.Key <= last && last != "" {
					yield(object.Attrs{}, &errs.Error{Kind: errs.Unsupported, Op: opList, Subject: b.Subject(prefix),
						Want: "keys in ascending order", Got: fmt.Sprintf("%q after %q", a.Key, last),
						Remedy: "use a server that lists keys in the order of their bytes"})
					return
				}
				last = a.Key
				if !yield(a, nil) {
					return
				}
			}
			if page.NextMarker == "" {
				return
			}
			c.Query.Set("marker", page.NextMarker)
		}
	}
}

// quoted writes an ETag of a list as headers have it.
func quoted(tag string) string {
	if tag == "" || strings.HasPrefix(tag, `"`) || strings.HasPrefix(tag, "W/") {
		return tag
	}
	return `"` + tag + `"`
}
