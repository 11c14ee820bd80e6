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
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// client sends requests once.
type client struct {
	web.Objects
	credential credential
	base       *url.URL     // the blob service of the account
	drift      atomic.Int64 // the server's clock less the one of this machine
	noCRC64    atomic.Bool  // the server refused a CRC-64
}

// version is the version of the protocol.
const version = "2023-11-03"

// skew is the difference of clocks from which on the driver signs with the server's. Azure takes 15
// minutes.
const skew = 5 * time.Minute

// now is the time of the server by its last answer.
func (b *bucket) now() time.Time { return time.Now().Add(time.Duration(b.drift.Load())) }

func (b *bucket) skewed() bool { return time.Duration(b.drift.Load()).Abs() > skew }

// send sends a request and returns an answer with a status of 200 to 299, whose body the caller
// closes. All other answers become errors.
func (b *bucket) send(ctx context.Context, c web.Call) (*http.Response, error) {
	r, err := b.make(ctx, c)
	if err != nil {
		return nil, err
	}
	answer, text, refused, err := b.Do(ctx, c.Request, r)
	if err != nil {
		return nil, err
	}
	if at := web.TimeOf(answer.Header.Get("Date")); !at.IsZero() {
		b.drift.Store(int64(time.Until(at)))
	}
	if !refused {
		return answer, nil
	}
	if answer.StatusCode == http.StatusUnauthorized {
		b.credential.refused()
	}
	return nil, b.explain(c.Request, b.read(answer, text))
}

// make makes the request of a call.
func (b *bucket) make(ctx context.Context, c web.Call) (*http.Request, error) {
	u := *b.base
	if c.Object {
		at := u.EscapedPath() + "/" + b.container
		u.Path += "/" + b.container
		if c.Key != "" {
			u.Path, at = u.Path+"/"+c.Key, at+"/"+escaped(c.Key)
		}
		u.RawPath = at
	} else if u.Path == "" {
		u.Path = "/"
	}
	u.RawQuery = strings.ReplaceAll(c.Query.Encode(), "+", "%20")
	var body io.Reader
	if c.Body != nil {
		body = bytes.NewReader(c.Body)
	}
	r, err := http.NewRequestWithContext(ctx, c.Method, u.String(), body)
	if err != nil {
		return nil, b.Bad(errs.Invalid, c.Op, c.Key, "a request that can be made", b.Mask(err.Error()))
	}
	r.URL = &u
	c.Set(r)
	r.Header.Set("X-Ms-Version", version)
	now := time.Now()
	if b.skewed() {
		now = b.now()
	}
	if err := b.credential.authorize(ctx, r, now); err != nil {
		if ctx.Err() != nil {
			return nil, b.Ended(ctx, c.Request)
		}
		e := b.Bad(errs.Permission, c.Op, c.Key, "credentials", "none")
		e.Err, e.Remedy = &web.Failure{Message: b.Mask(err.Error())}, b.remedy()
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
func (b *bucket) summed(ctx context.Context, c web.Call, sum uint32) (*http.Response, error) {
	if c.Body == nil {
		c.Body = []byte{} // a body is sent even if it is empty
	}
	crc64 := !b.noCRC64.Load()
	b.sum(&c, crc64)
	if got := crc32.Checksum(c.Body, castagnoli); got != sum {
		e := b.Bad(errs.Corrupt, c.Op, c.Key, fmt.Sprintf("bytes with the CRC-32C %08x", sum), fmt.Sprintf("%08x", got))
		e.Remedy = "the bytes changed in memory after their sum was taken, or the sum is of other bytes"
		return nil, e
	}
	answer, err := b.Send(ctx, c)
	var f *web.Failure
	if crc64 && errors.As(err, &f) && unknownHeader(f) {
		b.noCRC64.Store(true)
		b.sum(&c, false)
		return b.Send(ctx, c)
	}
	return answer, err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	headerCRC64 = "X-Ms-Content-Crc64"
	headerMD5   = "Content-Md5"
)

// sum puts the sum of the body into the headers. Azure takes one of two.
func (b *bucket) sum(c *web.Call, crc64 bool) {
	delete(c.Header, headerCRC64)
	delete(c.Header, headerMD5)
	if crc64 {
		sum := binary.LittleEndian.AppendUint64(nil, crc64nvme.Checksum(c.Body))
		c.Header[headerCRC64] = base64.StdEncoding.EncodeToString(sum)
		return
	}
	sum := md5.Sum(c.Body)
	c.Header[headerMD5] = base64.StdEncoding.EncodeToString(sum[:])
}

// ask sends a request whose answer is XML, and parses it into v.
func (b *bucket) ask(ctx context.Context, c web.Call, v any) (http.Header, error) {
	answer, err := b.Send(ctx, c)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, web.MostDocument))
	if err != nil {
		return nil, b.Broken(ctx, c.Op, c.Key, err)
	}
	if err := xml.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), v); err != nil {
		f := b.read(answer, nil)
		f.Message = "the answer does not parse: " + b.Mask(err.Error())
		f.Is = []error{object.ErrUnknown}
		return nil, &errs.Error{Kind: errs.IO, Op: c.Op, Subject: b.Subject(c.Key), Err: f,
			Remedy: "see whether the endpoint is a blob service: " + mask(b.base.String(), nil)}
	}
	return answer.Header, nil
}
