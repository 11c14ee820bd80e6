package azure

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/crc64nvme"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// client sends requests once.
type client struct {
	http       *http.Client
	credential credential
	base       *url.URL     // the blob service of the account
	drift      atomic.Int64 // the server's clock less the one of this machine
	noCRC64    atomic.Bool  // the server refused a CRC-64
}

// Limits of what the driver reads of an answer that is no object.
const (
	mostError = 64 << 10
	mostXML   = 64 << 20
)

// continueAbove is the size of bodies that are sent only when the server has seen the headers: it
// may refuse a condition at once.
const continueAbove = 2 << 20

// version is the version of the protocol.
const version = "2023-11-03"

// skew is the difference of clocks from which on the driver signs with the server's. Azure takes 15
// minutes.
const skew = 5 * time.Minute

// call is a request of the blob service.
type call struct {
	request
	method string
	query  url.Values
	header map[string]string // empty values are left out
	body   []byte
	scoped bool // it is about the container, or about a blob in it
}

// on is a call about one blob.
func on(method, op, key string) call {
	return call{request: request{op: op, key: key}, method: method, scoped: true}
}

// now is the time of the server by its last answer.
func (b *bucket) now() time.Time { return time.Now().Add(time.Duration(b.drift.Load())) }

func (b *bucket) skewed() bool { return time.Duration(b.drift.Load()).Abs() > skew }

// send sends a request and returns an answer with a status of 200 to 299, whose body the caller
// closes. All other answers become errors.
func (b *bucket) send(ctx context.Context, c call) (*http.Response, error) {
	r, err := b.make(ctx, c)
	if err != nil {
		return nil, err
	}
	answer, err := b.http.Do(r)
	if err != nil {
		return nil, b.unanswered(ctx, c.request, err)
	}
	if at := timeOf(answer.Header.Get("Date")); !at.IsZero() {
		b.drift.Store(int64(time.Until(at)))
	}
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return answer, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostError))
	if err != nil && ctx.Err() != nil {
		return nil, b.unanswered(ctx, c.request, err)
	}
	if answer.StatusCode == http.StatusUnauthorized {
		b.credential.refused()
	}
	return nil, b.explain(c.request, b.read(answer, text))
}

// make makes the request of a call.
func (b *bucket) make(ctx context.Context, c call) (*http.Request, error) {
	u := *b.base
	if c.scoped {
		at := u.EscapedPath() + "/" + b.container
		u.Path += "/" + b.container
		if c.key != "" {
			u.Path, at = u.Path+"/"+c.key, at+"/"+escaped(c.key)
		}
		u.RawPath = at
	} else if u.Path == "" {
		u.Path = "/"
	}
	u.RawQuery = strings.ReplaceAll(c.query.Encode(), "+", "%20")
	var body io.Reader
	if c.body != nil {
		body = bytes.NewReader(c.body)
	}
	r, err := http.NewRequestWithContext(ctx, c.method, u.String(), body)
	if err != nil {
		return nil, b.bad(errs.Invalid, c.op, c.key, "a request that can be made", b.mask(err.Error()))
	}
	r.URL = &u
	for name, value := range c.header {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	r.Header.Set("X-Ms-Version", version)
	if len(c.body) > continueAbove {
		r.Header.Set("Expect", "100-continue")
	}
	now := time.Now()
	if b.skewed() {
		now = b.now()
	}
	if err := b.credential.authorize(ctx, r, now); err != nil {
		if ctx.Err() != nil {
			return nil, b.ended(ctx, c.request)
		}
		e := b.bad(errs.Permission, c.op, c.key, "credentials", "none")
		e.Err, e.Remedy = &failure{message: b.mask(err.Error())}, b.remedy()
		return nil, e
	}
	return r, nil
}

// escaped writes a key as the path of a URL, letter by letter.
func escaped(key string) string {
	var s strings.Builder
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.~/", c) >= 0:
			s.WriteByte(c)
		default:
			fmt.Fprintf(&s, "%%%02X", c)
		}
	}
	return s.String()
}

// summed sends a request with the CRC-64 of its body, or with its MD5 if the server refuses that.
// It fails before it sends anything if the CRC-32C of the body is not sum.
func (b *bucket) summed(ctx context.Context, c call, sum uint32) (*http.Response, error) {
	if c.body == nil {
		c.body = []byte{} // a body is sent even if it is empty
	}
	crc64 := !b.noCRC64.Load()
	b.sum(&c, crc64)
	if got := crc32.Checksum(c.body, castagnoli); got != sum {
		e := b.bad(errs.Corrupt, c.op, c.key, fmt.Sprintf("bytes with the CRC-32C %08x", sum), fmt.Sprintf("%08x", got))
		e.Remedy = "the bytes changed in memory after their sum was taken, or the sum is of other bytes"
		return nil, e
	}
	answer, err := b.send(ctx, c)
	var f *failure
	if crc64 && errors.As(err, &f) && f.unknownHeader() {
		b.noCRC64.Store(true)
		b.sum(&c, false)
		return b.send(ctx, c)
	}
	return answer, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	headerCRC64 = "X-Ms-Content-Crc64"
	headerMD5   = "Content-Md5"
)

// sum puts the sum of the body into the headers. Azure takes one of two.
func (b *bucket) sum(c *call, crc64 bool) {
	delete(c.header, headerCRC64)
	delete(c.header, headerMD5)
	if crc64 {
		sum := binary.LittleEndian.AppendUint64(nil, crc64nvme.Checksum(c.body))
		c.header[headerCRC64] = base64.StdEncoding.EncodeToString(sum)
		return
	}
	sum := md5.Sum(c.body)
	c.header[headerMD5] = base64.StdEncoding.EncodeToString(sum[:])
}

// ask sends a request whose answer is XML, and parses it into v.
func (b *bucket) ask(ctx context.Context, c call, v any) (http.Header, error) {
	answer, err := b.send(ctx, c)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostXML))
	if err != nil {
		return nil, b.broken(ctx, c.op, c.key, err)
	}
	if err := xml.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), v); err != nil {
		f := b.read(answer, nil)
		f.message = "the answer does not parse: " + b.mask(err.Error())
		f.is = []error{object.ErrUnknown}
		return nil, &errs.Error{Kind: errs.IO, Op: c.op, Subject: b.subject(c.key), Err: f,
			Remedy: "see whether the endpoint is a blob service: " + mask(b.base.String(), nil)}
	}
	return answer.Header, nil
}

// finish reads the rest of an answer that has no contents, so that its connection is used again.
func finish(answer *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostError))
	_ = answer.Body.Close()
}

// conditional returns the headers of a condition.
func conditional(c object.Condition) map[string]string {
	h := map[string]string{"If-Match": c.Tag}
	if c.Absent {
		h["If-None-Match"] = "*"
	}
	return h
}

func timeOf(header string) time.Time {
	t, _ := http.ParseTime(header)
	return t
}
