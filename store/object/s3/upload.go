package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
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
	full := !b.noFull.Load()
	u, err := b.begin(ctx, op, key, full)
	var f *web.Failure
	if err == nil || !full || !errors.As(err, &f) || f.Status != 400 && f.Status != 501 {
		return u, err
	}
	if f.Region != "" || errors.Is(err, errs.Permission) {
		return nil, err
	}
	u, again := b.begin(ctx, op, key, false)
	if again != nil {
		return nil, err
	}
	b.noFull.Store(true)
	return u, nil
}

const (
	wholeObject = "FULL_OBJECT"
	ofParts     = "COMPOSITE"
)

// begin starts an upload that has a checksum of the whole object, if full.
func (b *bucket) begin(ctx context.Context, op, key string, full bool) (object.Upload, error) {
	begin := web.On(http.MethodPost, op, key)
	begin.Query = url.Values{"uploads": {""}}
	begin.Header = map[string]string{"Content-Type": web.Octets, "X-Amz-Checksum-Algorithm": "CRC32C"}
	if full {
		begin.Header["X-Amz-Checksum-Type"] = wholeObject
	}
	var out struct{ UploadId string }
	header, err := b.ask(ctx, begin, &out)
	if err != nil {
		return nil, err
	}
	if out.UploadId == "" {
		return nil, b.Bad(errs.Unsupported, op, key, "an upload with an ID", "none")
	}
	return &upload{b: b, key: key, id: out.UploadId, parts: map[int]part{},
		full: full && header.Get("X-Amz-Checksum-Type") != ofParts}, nil
}

// Part implements object.Upload.
func (u *upload) Part(ctx context.Context, n int, p []byte, sum uint32) error {
	const op = "s3.Part"
	if n < 1 || n > maxParts {
		return u.b.Bad(errs.Invalid, op, u.key, fmt.Sprintf("a part from 1 to %d", maxParts), fmt.Sprint(n))
	}
	put := web.On(http.MethodPut, op, u.key)
	put.Query = url.Values{"partNumber": {strconv.Itoa(n)}, "uploadId": {u.id}}
	put.Header, put.Body = map[string]string{"X-Amz-Checksum-Crc32c": web.CRC(sum)}, whole(p)
	answer, err := u.b.Send(ctx, put)
	if err != nil {
		return err
	}
	web.Finish(answer)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.parts[n] = part{tag: answer.Header.Get("ETag"), sum: sum, size: int64(len(p))}
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
	body, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUpload"`
		Part    []completed
	}{Part: all})
	if err != nil {
		return "", &errs.Error{Kind: errs.Invalid, Op: op, Subject: u.b.Subject(u.key), Err: err}
	}
	complete := web.On(http.MethodPost, op, u.key)
	complete.Cond, complete.Query, complete.Body = c, url.Values{"uploadId": {u.id}}, body
	h := web.Conditional(c)
	complete.Header = h
	h["Content-Type"] = "application/xml"
	if u.full {
		h["X-Amz-Checksum-Crc32c"], h["X-Amz-Checksum-Type"] = web.CRC(sum), wholeObject
		h["X-Amz-Mp-Object-Size"] = strconv.FormatInt(size, 10)
	}
	var out struct{ ETag string }
	_, err = u.b.ask(ctx, complete, &out)
	return out.ETag, err
}

// completed is a part in the request to complete an upload.
type completed struct {
	PartNumber     int
	ETag           string
	ChecksumCRC32C string
}

// list returns the parts 1 to n and the bytes that they have.
func (u *upload) list(op string, n int) ([]completed, int64, error) {
	if n < 1 || n > maxParts {
		return nil, 0, u.b.Bad(errs.Invalid, op, u.key, fmt.Sprintf("from 1 to %d parts", maxParts), fmt.Sprint(n))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	all, size := make([]completed, n), int64(0)
	for i := range all {
		p, ok := u.parts[i+1]
		if !ok {
			want, got := fmt.Sprintf("the parts 1 to %d", n), fmt.Sprintf("no part %d", i+1)
			return nil, 0, u.b.Bad(errs.Sequence, op, u.key, want, got)
		}
		all[i] = completed{PartNumber: i + 1, ETag: p.tag, ChecksumCRC32C: web.CRC(p.sum)}
		size += p.size
	}
	return all, size, nil
}

// Abort implements object.Upload.
func (u *upload) Abort(ctx context.Context) error { return u.b.abort(ctx, u.key, u.id) }

// abort drops an upload. An upload that is gone is no error.
func (b *bucket) abort(ctx context.Context, key, id string) error {
	abort := web.On(http.MethodDelete, "s3.Abort", key)
	abort.Query = url.Values{"uploadId": {id}}
	answer, err := b.Send(ctx, abort)
	switch {
	case err == nil:
		web.Finish(answer)
	case web.CodeOf(err) == codeNoUpload:
		return nil
	}
	return err
}
