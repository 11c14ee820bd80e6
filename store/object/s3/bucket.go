package s3

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// bucket implements object.Bucket.
type bucket struct {
	client
	bucket        string
	prefix        string // where the probe of conditional deletes lies
	name          string
	regionGuessed bool

	noFull atomic.Bool // the server refused checksums of whole objects

	mu      sync.Mutex // held while the probe asks
	deletes verdict
}

// Limits of S3.
const (
	minPart   = 5 << 20
	maxPart   = 5 << 30
	maxParts  = 10_000
	maxDelete = 1000
	maxKey    = 1024
)

// Limits implements object.Bucket with the limits of AWS, which other servers keep.
func (b *bucket) Limits() object.Limits {
	return object.Limits{MinPart: minPart, MaxPart: maxPart, MaxParts: maxParts, MaxDelete: maxDelete, MaxPut: maxPart}
}

// Name implements object.Bucket. It names the endpoint if that is not AWS.
func (b *bucket) Name() string { return b.name }

// check returns an error for a key or condition that no server takes.
func (b *bucket) check(op, key string, c object.Condition) error {
	e := &errs.Error{Kind: errs.Invalid, Op: op, Subject: b.subject(key)}
	switch {
	case key == "":
		e.Want, e.Got = "a key", "an empty one"
	case len(key) > maxKey:
		e.Subject = "s3://" + b.bucket
		e.Want, e.Got = fmt.Sprintf("a key of at most %d bytes", maxKey), fmt.Sprint(len(key), " bytes")
	case c.Absent && c.Tag != "":
		e.Want, e.Got = "one condition", "Absent and a Tag"
	default:
		return nil
	}
	return e
}

func (b *bucket) subject(key string) string { return "s3://" + b.bucket + "/" + key }

// Put implements object.Bucket.
func (b *bucket) Put(ctx context.Context, key string, p []byte, sum uint32, c object.Condition) (string, error) {
	const op = "s3.Put"
	if err := b.check(op, key, c); err != nil {
		return "", err
	}
	put := on(http.MethodPut, op, key)
	put.cond, put.header, put.body = c, conditional(c), whole(p)
	put.header["X-Amz-Checksum-Crc32c"], put.header["Content-Type"] = encoded(sum), octets
	answer, err := b.send(ctx, put)
	if err != nil {
		return "", err
	}
	finish(answer)
	return answer.Header.Get("ETag"), nil
}

const octets = "application/octet-stream"

// whole is a body that is sent even if it is empty.
func whole(p []byte) []byte {
	if p == nil {
		return []byte{}
	}
	return p
}

// Get implements object.Bucket. It reads the answer straight into the pieces.
func (b *bucket) Get(ctx context.Context, key string, off int64, tag string, into ...[]byte) error {
	const op = "s3.Get"
	n := object.Size(into)
	cond := object.Condition{Tag: tag}
	if err := b.check(op, key, cond); err != nil {
		return err
	}
	if off < 0 {
		return b.bad(errs.Invalid, op, key, "an offset of at least 0", fmt.Sprint(off))
	}
	if n == 0 {
		return b.getNothing(ctx, key, off, tag)
	}
	get := on(http.MethodGet, op, key)
	get.cond, get.want = cond, fmt.Sprintf("%d bytes from offset %d", n, off)
	get.header = map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", off, off+n-1), "If-Match": tag}
	answer, err := b.send(ctx, get)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := b.checkRange(op, key, off, n, answer); err != nil {
		return err
	}
	if err := object.Fill(answer.Body, into); err != nil {
		return b.broken(ctx, op, key, err)
	}
	return nil
}

// getNothing describes the object, as a request for no bytes has no range.
func (b *bucket) getNothing(ctx context.Context, key string, off int64, tag string) error {
	const op = "s3.Get"
	a, err := b.Head(ctx, key)
	switch {
	case err != nil:
		return err
	case tag != "" && a.Tag != tag:
		e := b.bad(errs.Mismatch, op, key, "the tag "+tag, a.Tag)
		e.Err = object.ErrCondition
		return e
	case off > a.Size:
		return b.bad(errs.Corrupt, op, key, fmt.Sprint("at least ", off, " bytes"), fmt.Sprint(a.Size))
	}
	return nil
}

// checkRange returns an error unless the answer has the n bytes from off.
func (b *bucket) checkRange(op, key string, off, n int64, answer *http.Response) error {
	e := &errs.Error{Op: op, Subject: b.subject(key), Want: fmt.Sprintf("%d bytes from offset %d", n, off)}
	from := int64(0)
	if r := answer.Header.Get("Content-Range"); r != "" {
		if _, err := fmt.Sscanf(r, "bytes %d-", &from); err != nil {
			e.Kind, e.Got = errs.Unsupported, "an answer whose Content-Range does not parse"
			return e
		}
	} else if size := answer.ContentLength; off > 0 || size > n {
		e.Kind, e.Got = errs.Unsupported, fmt.Sprintf("the whole object of %d bytes", size)
		e.Remedy = "the server ignores ranges: use another server"
		return e
	}
	if got := answer.ContentLength; from != off || got >= 0 && got != n {
		e.Kind, e.Got = errs.Corrupt, fmt.Sprintf("%d bytes from offset %d", got, from)
		return e
	}
	return nil
}

// Read implements object.Bucket.
func (b *bucket) Read(ctx context.Context, key string, limit int64) ([]byte, object.Attrs, error) {
	const op = "s3.Read"
	if err := b.check(op, key, object.Condition{}); err != nil {
		return nil, object.Attrs{}, err
	}
	answer, err := b.send(ctx, on(http.MethodGet, op, key))
	if err != nil {
		return nil, object.Attrs{}, err
	}
	defer answer.Body.Close()
	a := attrs(key, answer)
	exhausted := b.bad(errs.Exhausted, op, key, fmt.Sprint("at most ", limit, " bytes"), "")
	if a.Size > limit {
		exhausted.Got = fmt.Sprint(a.Size)
		return nil, a, exhausted
	}
	if a.Size < 0 {
		p, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
		switch {
		case err != nil:
			return nil, a, b.broken(ctx, op, key, err)
		case int64(len(p)) > limit:
			exhausted.Got = "more"
			return nil, a, exhausted
		}
		a.Size = int64(len(p))
		return p, a, nil
	}
	p := make([]byte, a.Size)
	if _, err := io.ReadFull(answer.Body, p); err != nil {
		return nil, a, b.broken(ctx, op, key, err)
	}
	return p, a, nil
}

// Head implements object.Bucket.
func (b *bucket) Head(ctx context.Context, key string) (object.Attrs, error) {
	const op = "s3.Head"
	if err := b.check(op, key, object.Condition{}); err != nil {
		return object.Attrs{}, err
	}
	answer, err := b.send(ctx, on(http.MethodHead, op, key))
	if err != nil {
		return object.Attrs{}, err
	}
	finish(answer)
	return attrs(key, answer), nil
}

// attrs describes the object of an answer.
func attrs(key string, answer *http.Response) object.Attrs {
	h := answer.Header
	return object.Attrs{Key: key, Size: answer.ContentLength, Tag: h.Get("ETag"),
		Modified: timeOf(h.Get("Last-Modified")), Now: timeOf(h.Get("Date"))}
}
