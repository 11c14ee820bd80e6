package azure

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// bucket implements object.Bucket.
type bucket struct {
	client
	account   string
	container string
	prefix    string // which Open looks at
	name      string
}

// Limits of Azure. It has no limit of small parts; smaller ones than this make no sense.
const (
	minPart   = 64 << 10
	maxPart   = 4000 << 20
	maxParts  = 50_000
	maxPut    = 5000 << 20
	maxDelete = 256
	maxKey    = 1024 // letters of UTF-16
)

// Limits implements object.Bucket.
func (b *bucket) Limits() object.Limits {
	return object.Limits{MinPart: minPart, MaxPart: maxPart, MaxParts: maxParts, MaxDelete: maxDelete, MaxPut: maxPut}
}

// Name implements object.Bucket. It names the endpoint if that is not the one of the public cloud.
func (b *bucket) Name() string { return b.name }

// check returns an error for a key or condition that Azure does not take.
func (b *bucket) check(op, key string, c object.Condition) error {
	e := &errs.Error{Kind: errs.Invalid, Op: op, Subject: b.Subject(key)}
	dots := func(s string) bool { return s == "." || s == ".." }
	switch {
	case key == "":
		e.Want, e.Got = "a key", "an empty one"
	case len(key) > maxKey && len(utf16.Encode([]rune(key))) > maxKey:
		e.Subject = b.Subject("")
		e.Want, e.Got = fmt.Sprintf("a key of at most %d letters", maxKey), fmt.Sprint(len(key), " bytes")
	case !utf8.ValidString(key):
		e.Subject = b.Subject("")
		e.Want, e.Got = "a key in UTF-8", fmt.Sprintf("%q", key)
	case strings.Contains(key, ".") && slices.ContainsFunc(strings.Split(key, "/"), dots):
		e.Want, e.Got = `a key without the elements "." and ".."`, "one with such an element"
	case strings.Contains(key, `\`):
		e.Want, e.Got = `a key without "\", which Azure takes for "/"`, "one with it"
	case c.Absent && c.Tag != "":
		e.Want, e.Got = "one condition", "Absent and a Tag"
	default:
		return nil
	}
	return e
}

func (b *bucket) subject(key string) string {
	s := "az://" + b.account + "/" + b.container
	if key != "" {
		s += "/" + key
	}
	return s
}

const (
	headerType = "X-Ms-Blob-Type"
	blockBlob  = "BlockBlob"
)

// Put implements object.Bucket.
func (b *bucket) Put(ctx context.Context, key string, p []byte, sum uint32, c object.Condition) (string, error) {
	const op = "azure.Put"
	if err := b.check(op, key, c); err != nil {
		return "", err
	}
	put := web.On(http.MethodPut, op, key)
	put.Cond, put.Header, put.Body = c, web.Conditional(c), p
	put.Header[headerType], put.Header["Content-Type"] = blockBlob, web.Octets
	answer, err := b.summed(ctx, put, sum)
	if err != nil {
		return "", err
	}
	web.Finish(answer)
	return answer.Header.Get("ETag"), nil
}

// head returns the headers of a blob.
func (b *bucket) head(ctx context.Context, op, key string) (*http.Response, error) {
	if err := b.check(op, key, object.Condition{}); err != nil {
		return nil, err
	}
	answer, err := b.Send(ctx, web.On(http.MethodHead, op, key))
	if err != nil {
		return nil, err
	}
	web.Finish(answer)
	return answer, nil
}
