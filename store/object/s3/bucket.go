package s3

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// bucket implements object.Bucket.
type bucket struct {
	client        *s3.Client
	bucket        string
	prefix        string // where the probe of conditional deletes lies
	name          string
	endpoint      string
	region        string
	regionGuessed bool
	credentials   *watched

	mu      sync.Mutex
	deletes verdict
	noFull  bool // the server refused FULL_OBJECT checksums
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

// encoded is a CRC-32C as S3 writes it.
func encoded(sum uint32) *string {
	return aws.String(base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum)))
}

// headers returns If-Match and If-None-Match of c.
func headers(c object.Condition) (match, noneMatch *string) {
	if c.Tag != "" {
		match = aws.String(c.Tag)
	}
	if c.Absent {
		noneMatch = aws.String("*")
	}
	return match, noneMatch
}

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
	match, noneMatch := headers(c)
	out, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.bucket, Key: &key, Body: bytes.NewReader(p), ContentLength: aws.Int64(int64(len(p))),
		ChecksumCRC32C: encoded(sum), IfMatch: match, IfNoneMatch: noneMatch,
	})
	if err != nil {
		return "", b.fail(ctx, request{op: op, key: key, cond: c}, err)
	}
	return aws.ToString(out.ETag), nil
}

// Get implements object.Bucket. It reads the answer straight into p.
func (b *bucket) Get(ctx context.Context, key string, p []byte, off int64, tag string) error {
	const op = "s3.Get"
	cond := object.Condition{Tag: tag}
	if err := b.check(op, key, cond); err != nil {
		return err
	}
	if off < 0 {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: b.subject(key), Want: "an offset of at least 0", Got: fmt.Sprint(off)}
	}
	if len(p) == 0 {
		return b.getNothing(ctx, key, off, tag)
	}
	match, _ := headers(cond)
	want := fmt.Sprintf("bytes=%d-%d", off, off+int64(len(p))-1)
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: &key, Range: &want, IfMatch: match})
	if err != nil {
		return b.fail(ctx, request{op: op, key: key, cond: cond, want: fmt.Sprintf("%d bytes from offset %d", len(p), off)}, err)
	}
	defer out.Body.Close()
	if err := b.checkRange(op, key, off, int64(len(p)), out); err != nil {
		return err
	}
	if _, err := io.ReadFull(out.Body, p); err != nil {
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
		return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: b.subject(key), Want: "tag " + tag, Got: a.Tag, Err: object.ErrCondition}
	case off > a.Size:
		return &errs.Error{Kind: errs.Corrupt, Op: op, Subject: b.subject(key),
			Want: fmt.Sprint("at least ", off, " bytes"), Got: fmt.Sprint(a.Size)}
	}
	return nil
}

// checkRange returns an error unless the answer has the n bytes from off.
func (b *bucket) checkRange(op, key string, off, n int64, out *s3.GetObjectOutput) error {
	e := &errs.Error{Op: op, Subject: b.subject(key), Want: fmt.Sprintf("%d bytes from offset %d", n, off)}
	from := int64(0)
	if r := aws.ToString(out.ContentRange); r != "" {
		if _, err := fmt.Sscanf(r, "bytes %d-", &from); err != nil {
			e.Kind, e.Got = errs.Unsupported, "an answer whose Content-Range does not parse"
			return e
		}
	} else if size := aws.ToInt64(out.ContentLength); off > 0 || size > n {
		e.Kind, e.Got = errs.Unsupported, fmt.Sprintf("the whole object of %d bytes", size)
		e.Remedy = "the server ignores ranges: use another server"
		return e
	}
	if got := out.ContentLength; from != off || got != nil && *got >= 0 && *got != n {
		e.Kind, e.Got = errs.Corrupt, fmt.Sprintf("%d bytes from offset %d", aws.ToInt64(got), from)
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
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: &key})
	if err != nil {
		return nil, object.Attrs{}, b.fail(ctx, request{op: op, key: key}, err)
	}
	defer out.Body.Close()
	a := attrs(key, out.ContentLength, out.ETag, out.LastModified, out.ResultMetadata)
	exhausted := &errs.Error{Kind: errs.Exhausted, Op: op, Subject: b.subject(key), Want: fmt.Sprint("at most ", limit, " bytes")}
	if a.Size > limit {
		exhausted.Got = fmt.Sprint(a.Size)
		return nil, a, exhausted
	}
	if out.ContentLength == nil || a.Size < 0 {
		p, err := io.ReadAll(io.LimitReader(out.Body, limit+1))
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
	if _, err := io.ReadFull(out.Body, p); err != nil {
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
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.bucket, Key: &key})
	if err != nil {
		return object.Attrs{}, b.fail(ctx, request{op: op, key: key}, err)
	}
	return attrs(key, out.ContentLength, out.ETag, out.LastModified, out.ResultMetadata), nil
}

func attrs(key string, size *int64, tag *string, modified *time.Time, m middleware.Metadata) object.Attrs {
	return object.Attrs{Key: key, Size: aws.ToInt64(size), Tag: aws.ToString(tag), Modified: aws.ToTime(modified), Now: now(m)}
}

// now is the Date of an answer.
func now(m middleware.Metadata) time.Time {
	t, _ := awsmiddleware.GetServerTime(m)
	return t
}

// look lists at most one key.
func (b *bucket) look(ctx context.Context) error {
	in := &s3.ListObjectsV2Input{Bucket: &b.bucket, MaxKeys: aws.Int32(1)}
	if b.prefix != "" {
		in.Prefix = aws.String(b.prefix + "/")
	}
	if _, err := b.client.ListObjectsV2(ctx, in); err != nil {
		return b.fail(ctx, request{op: opOpen}, err)
	}
	return nil
}

// List implements object.Bucket.
func (b *bucket) List(ctx context.Context, prefix string, delimited bool) iter.Seq2[object.Attrs, error] {
	const op = "s3.List"
	return func(yield func(object.Attrs, error) bool) {
		in := &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: &prefix, EncodingType: types.EncodingTypeUrl}
		if delimited {
			in.Delimiter = aws.String("/")
		}
		last := ""
		for {
			out, err := b.client.ListObjectsV2(ctx, in)
			if err != nil {
				yield(object.Attrs{}, b.fail(ctx, request{op: op, key: prefix}, err))
				return
			}
			page, err := b.page(out)
			if err != nil {
				yield(object.Attrs{}, err)
				return
			}
			for _, a := range page {
				if a.Key <= last && last != "" || !strings.HasPrefix(a.Key, prefix) {
					yield(object.Attrs{}, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: b.subject(prefix),
						Want: "keys with this prefix in ascending order", Got: fmt.Sprintf("%q after %q", a.Key, last),
						Remedy: "use a server, or a kind of bucket, that lists keys in the order of their bytes"})
					return
				}
				last = a.Key
				if !yield(a, nil) {
					return
				}
			}
			if !aws.ToBool(out.IsTruncated) {
				return
			}
			next := aws.ToString(out.NextContinuationToken) // a page may be empty, but it leads on
			if next == "" || next == aws.ToString(in.ContinuationToken) {
				yield(object.Attrs{}, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: b.subject(prefix),
					Want: "the next page of keys", Got: "an answer that is cut off and does not say where to go on"})
				return
			}
			in.ContinuationToken = out.NextContinuationToken
		}
	}
}

// page returns the keys and the common beginnings of a page, in one order.
func (b *bucket) page(out *s3.ListObjectsV2Output) ([]object.Attrs, error) {
	at := now(out.ResultMetadata)
	decode := func(s *string) (string, error) {
		key := aws.ToString(s)
		if out.EncodingType != types.EncodingTypeUrl {
			return key, nil
		}
		key, err := url.QueryUnescape(key)
		if err != nil {
			return "", &errs.Error{Kind: errs.Corrupt, Op: "s3.List", Subject: b.subject(aws.ToString(out.Prefix)),
				Want: "keys in URL encoding", Got: fmt.Sprintf("%q", aws.ToString(s))}
		}
		return key, nil
	}
	page := make([]object.Attrs, 0, len(out.Contents)+len(out.CommonPrefixes))
	keys, beginnings := out.Contents, out.CommonPrefixes
	for len(keys)+len(beginnings) > 0 {
		var key, beginning string
		var err error
		if len(keys) > 0 {
			if key, err = decode(keys[0].Key); err != nil {
				return nil, err
			}
		}
		if len(beginnings) > 0 {
			if beginning, err = decode(beginnings[0].Prefix); err != nil {
				return nil, err
			}
		}
		if len(beginnings) == 0 || len(keys) > 0 && key <= beginning {
			o := keys[0]
			page = append(page, object.Attrs{Key: key, Size: aws.ToInt64(o.Size), Tag: aws.ToString(o.ETag),
				Modified: aws.ToTime(o.LastModified), Now: at})
			keys = keys[1:]
			continue
		}
		page = append(page, object.Attrs{Key: beginning, Now: at, Prefix: true})
		beginnings = beginnings[1:]
	}
	return page, nil
}
