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
	b.mu.Lock()
	full := !b.noFull
	b.mu.Unlock()
	u, err := b.begin(ctx, op, key, full)
	var f *failure
	if err == nil || !full || !errors.As(err, &f) || f.region != "" || f.status != 400 && f.status != 501 || errors.Is(err, errs.Permission) {
		return u, err
	}
	u, again := b.begin(ctx, op, key, false)
	if again != nil {
		return nil, err
	}
	b.mu.Lock()
	b.noFull = true
	b.mu.Unlock()
	return u, nil
}

const (
	wholeObject = "FULL_OBJECT"
	ofParts     = "COMPOSITE"
)

// begin starts an upload that has a checksum of the whole object, if full.
func (b *bucket) begin(ctx context.Context, op, key string, full bool) (object.Upload, error) {
	h := map[string]string{"Content-Type": octets, "X-Amz-Checksum-Algorithm": "CRC32C"}
	if full {
		h["X-Amz-Checksum-Type"] = wholeObject
	}
	var out struct{ UploadId string }
	header, err := b.ask(ctx, call{request: request{op: op, key: key}, method: http.MethodPost, hasKey: true,
		query: url.Values{"uploads": {""}}, header: h}, &out)
	if err != nil {
		return nil, err
	}
	if out.UploadId == "" {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: b.subject(key), Want: "an upload with an ID", Got: "none"}
	}
	return &upload{b: b, key: key, id: out.UploadId, parts: map[int]part{},
		full: full && header.Get("X-Amz-Checksum-Type") != ofParts}, nil
}

// Part implements object.Upload.
func (u *upload) Part(ctx context.Context, n int, p []byte, sum uint32) error {
	const op = "s3.Part"
	if n < 1 || n > maxParts {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: u.b.subject(u.key),
			Want: fmt.Sprintf("a part from 1 to %d", maxParts), Got: fmt.Sprint(n)}
	}
	answer, err := u.b.send(ctx, call{request: request{op: op, key: u.key}, method: http.MethodPut, hasKey: true,
		query:  url.Values{"partNumber": {strconv.Itoa(n)}, "uploadId": {u.id}},
		header: map[string]string{"X-Amz-Checksum-Crc32c": encoded(sum)}, body: whole(p)})
	if err != nil {
		return err
	}
	finish(answer)
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
		return "", &errs.Error{Kind: errs.Invalid, Op: op, Subject: u.b.subject(u.key), Err: err}
	}
	h := conditional(c)
	h["Content-Type"] = "application/xml"
	if u.full {
		h["X-Amz-Checksum-Crc32c"], h["X-Amz-Checksum-Type"], h["X-Amz-Mp-Object-Size"] = encoded(sum), wholeObject, strconv.FormatInt(size, 10)
	}
	var out struct{ ETag string }
	_, err = u.b.ask(ctx, call{request: request{op: op, key: u.key, cond: c}, method: http.MethodPost, hasKey: true,
		query: url.Values{"uploadId": {u.id}}, header: h, body: body}, &out)
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
	e := &errs.Error{Op: op, Subject: u.b.subject(u.key), Want: fmt.Sprintf("from 1 to %d parts", maxParts), Got: fmt.Sprint(n)}
	if n < 1 || n > maxParts {
		e.Kind = errs.Invalid
		return nil, 0, e
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	all, size := make([]completed, n), int64(0)
	for i := range all {
		p, ok := u.parts[i+1]
		if !ok {
			e.Kind, e.Want, e.Got = errs.Sequence, fmt.Sprintf("the parts 1 to %d", n), fmt.Sprintf("no part %d", i+1)
			return nil, 0, e
		}
		all[i] = completed{PartNumber: i + 1, ETag: p.tag, ChecksumCRC32C: encoded(p.sum)}
		size += p.size
	}
	return all, size, nil
}

// Abort implements object.Upload.
func (u *upload) Abort(ctx context.Context) error { return u.b.abort(ctx, u.key, u.id) }

// abort drops an upload. An upload that is gone is no error.
func (b *bucket) abort(ctx context.Context, key, id string) error {
	answer, err := b.send(ctx, call{request: request{op: "s3.Abort", key: key}, method: http.MethodDelete, hasKey: true,
		query: url.Values{"uploadId": {id}}})
	var f *failure
	switch {
	case err == nil:
		finish(answer)
	case errors.As(err, &f) && f.code == codeNoUpload:
		return nil
	}
	return err
}
