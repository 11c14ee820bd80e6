package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// upload implements object.Upload.
type upload struct {
	b    *bucket
	key  string
	id   string
	full bool // the server has a checksum of the whole object

	mu    sync.Mutex
	parts map[int]part
}

type part struct {
	tag  string
	sum  uint32
	size int64
}

// Begin implements object.Bucket.
func (b *bucket) Begin(ctx context.Context, key string) (object.Upload, error) {
	const op = "s3.Begin"
	if err := b.check(op, key, object.Condition{}); err != nil {
		return nil, err
	}
	in := &s3.CreateMultipartUploadInput{Bucket: &b.bucket, Key: &key, ChecksumAlgorithm: types.ChecksumAlgorithmCrc32c}
	b.mu.Lock()
	full := !b.noFull
	b.mu.Unlock()
	if full {
		in.ChecksumType = types.ChecksumTypeFullObject
	}
	out, err := b.client.CreateMultipartUpload(ctx, in)
	if err != nil {
		err = b.fail(ctx, request{op: op, key: key}, err)
		var f *failure
		if !full || !errors.As(err, &f) || f.status != 400 && f.status != 501 || f.region != "" || errors.Is(err, errs.Permission) {
			return nil, err
		}
		in.ChecksumType = ""
		var again error
		if out, again = b.client.CreateMultipartUpload(ctx, in); again != nil {
			return nil, err
		}
		b.mu.Lock()
		b.noFull = true
		b.mu.Unlock()
	}
	return &upload{b: b, key: key, id: aws.ToString(out.UploadId), parts: map[int]part{},
		full: in.ChecksumType != "" && out.ChecksumType != types.ChecksumTypeComposite}, nil
}

// Part implements object.Upload.
func (u *upload) Part(ctx context.Context, n int, p []byte, sum uint32) error {
	const op = "s3.Part"
	if n < 1 || n > maxParts {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: u.b.subject(u.key),
			Want: fmt.Sprintf("a part from 1 to %d", maxParts), Got: fmt.Sprint(n)}
	}
	out, err := u.b.client.UploadPart(ctx, &s3.UploadPartInput{
		Bucket: &u.b.bucket, Key: &u.key, UploadId: &u.id, PartNumber: aws.Int32(int32(n)),
		Body: bytes.NewReader(p), ContentLength: aws.Int64(int64(len(p))), ChecksumCRC32C: encoded(sum),
	})
	if err != nil {
		return u.b.fail(ctx, request{op: op, key: u.key}, err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.parts[n] = part{tag: aws.ToString(out.ETag), sum: sum, size: int64(len(p))}
	return nil
}

// Complete implements object.Upload.
func (u *upload) Complete(ctx context.Context, n int, sum uint32, c object.Condition) (string, error) {
	const op = "s3.Complete"
	if err := u.b.check(op, u.key, c); err != nil {
		return "", err
	}
	all, size, err := u.list(op, n)
	if err != nil {
		return "", err
	}
	match, noneMatch := headers(c)
	in := &s3.CompleteMultipartUploadInput{
		Bucket: &u.b.bucket, Key: &u.key, UploadId: &u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: all},
		IfMatch: match, IfNoneMatch: noneMatch,
	}
	if u.full {
		in.ChecksumCRC32C, in.ChecksumType, in.MpuObjectSize = encoded(sum), types.ChecksumTypeFullObject, &size
	}
	out, err := u.b.client.CompleteMultipartUpload(ctx, in)
	if err != nil {
		return "", u.b.fail(ctx, request{op: op, key: u.key, cond: c}, err)
	}
	return aws.ToString(out.ETag), nil
}

// list returns the parts 1 to n and the bytes that they have.
func (u *upload) list(op string, n int) ([]types.CompletedPart, int64, error) {
	e := &errs.Error{Op: op, Subject: u.b.subject(u.key), Want: fmt.Sprintf("from 1 to %d parts", maxParts), Got: fmt.Sprint(n)}
	if n < 1 || n > maxParts {
		e.Kind = errs.Invalid
		return nil, 0, e
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	all, size := make([]types.CompletedPart, n), int64(0)
	for i := range all {
		p, ok := u.parts[i+1]
		if !ok {
			e.Kind, e.Want, e.Got = errs.Sequence, fmt.Sprintf("the parts 1 to %d", n), fmt.Sprintf("no part %d", i+1)
			return nil, 0, e
		}
		all[i] = types.CompletedPart{PartNumber: aws.Int32(int32(i + 1)), ETag: aws.String(p.tag), ChecksumCRC32C: encoded(p.sum)}
		size += p.size
	}
	return all, size, nil
}

// Abort implements object.Upload.
func (u *upload) Abort(ctx context.Context) error { return u.b.abort(ctx, u.key, u.id) }

// abort drops an upload. An upload that is gone is no error.
func (b *bucket) abort(ctx context.Context, key, id string) error {
	_, err := b.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &b.bucket, Key: &key, UploadId: &id})
	if err == nil {
		return nil
	}
	err = b.fail(ctx, request{op: "s3.Abort", key: key}, err)
	var f *failure
	if errors.As(err, &f) && f.code == codeNoUpload {
		return nil
	}
	return err
}

// Uploads implements object.Bucket.
func (b *bucket) Uploads(ctx context.Context, prefix string) iter.Seq2[object.Unfinished, error] {
	const op = "s3.Uploads"
	return func(yield func(object.Unfinished, error) bool) {
		in := &s3.ListMultipartUploadsInput{Bucket: &b.bucket, Prefix: &prefix, EncodingType: types.EncodingTypeUrl}
		for {
			out, err := b.client.ListMultipartUploads(ctx, in)
			if err != nil {
				yield(object.Unfinished{}, b.fail(ctx, request{op: op, key: prefix}, err))
				return
			}
			for _, m := range out.Uploads {
				key, id := aws.ToString(m.Key), aws.ToString(m.UploadId)
				if out.EncodingType == types.EncodingTypeUrl {
					if key, err = url.QueryUnescape(key); err != nil {
						yield(object.Unfinished{}, &errs.Error{Kind: errs.Corrupt, Op: op, Subject: b.subject(prefix),
							Want: "keys in URL encoding", Got: fmt.Sprintf("%q", aws.ToString(m.Key))})
						return
					}
				}
				found := object.Unfinished{Key: key, Started: aws.ToTime(m.Initiated),
					Abort: func(ctx context.Context) error { return b.abort(ctx, key, id) }}
				if !yield(found, nil) {
					return
				}
			}
			if !aws.ToBool(out.IsTruncated) {
				return
			}
			if aws.ToString(out.NextKeyMarker) == "" || len(out.Uploads) == 0 {
				yield(object.Unfinished{}, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: b.subject(prefix),
					Want: "the next page of uploads", Got: "an answer that is cut off and does not say where to go on"})
				return
			}
			in.KeyMarker, in.UploadIdMarker = out.NextKeyMarker, out.NextUploadIdMarker
			if out.EncodingType == types.EncodingTypeUrl {
				marker, err := url.QueryUnescape(aws.ToString(out.NextKeyMarker))
				if err != nil {
					yield(object.Unfinished{}, &errs.Error{Kind: errs.Corrupt, Op: op, Subject: b.subject(prefix),
						Want: "a marker in URL encoding", Got: fmt.Sprintf("%q", aws.ToString(out.NextKeyMarker))})
					return
				}
				in.KeyMarker = &marker
			}
		}
	}
}
