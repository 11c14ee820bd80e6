package s3

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
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
	e := &errs.Error{Kind: errs.Invalid, Op: op, Subject: b.Subject(key)}
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

func (b *bucket) subject(key string) string {
	if key == "" {
		return "s3://" + b.bucket
	}
	return "s3://" + b.bucket + "/" + key
}

// Put implements object.Bucket.
func (b *bucket) Put(ctx context.Context, key string, p []byte, sum uint32, c object.Condition) (string, error) {
	const op = "s3.Put"
	if err := b.check(op, key, c); err != nil {
		return "", err
	}
	put := web.On(http.MethodPut, op, key)
	put.Cond, put.Header, put.Body = c, web.Conditional(c), whole(p)
	put.Header["X-Amz-Checksum-Crc32c"], put.Header["Content-Type"] = web.CRC(sum), web.Octets
	answer, err := b.Send(ctx, put)
	if err != nil {
		return "", err
	}
	web.Finish(answer)
	return answer.Header.Get("ETag"), nil
}

// whole is a body that is sent even if it is empty.
func whole(p []byte) []byte {
	if p == nil {
		return []byte{}
	}
	return p
}
