package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// client signs requests and sends them once.
type client struct {
	http        aws.HTTPClient
	signer      *v4.Signer
	credentials *watched
	anonymous   bool
	unsigned    bool // no body is signed
	region      string
	base        *url.URL // the endpoint; with the bucket as its host, or else as the beginning of the path
	skew        atomic.Int64
}

// Limits of what the driver reads of an answer that is no object.
const (
	mostError = 64 << 10
	mostXML   = 32 << 20
)

// continueAbove is the size of bodies that are sent only when the server has seen the headers: it
// may refuse a condition at once.
const continueAbove = 2 << 20

const unsignedBody = "UNSIGNED-PAYLOAD"

// call is a request of S3.
type call struct {
	request
	method string
	query  url.Values
	header map[string]string // empty values are left out
	body   []byte
	hasKey bool
}

// on is a call about one object.
func on(method, op, key string) call {
	return call{request: request{op: op, key: key}, method: method, hasKey: true}
}

// send sends a request and returns an answer with a status of 200 to 299, whose body the caller
// closes. All other answers become errors.
func (b *bucket) send(ctx context.Context, c call) (*http.Response, error) {
	r, err := b.sign(ctx, c)
	if err != nil {
		return nil, err
	}
	answer, err := b.http.Do(r)
	if err != nil {
		return nil, b.unanswered(ctx, c.request, err)
	}
	if answer.StatusCode >= 200 && answer.StatusCode < 300 {
		return answer, nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostError))
	if err != nil && ctx.Err() != nil {
		return nil, b.unanswered(ctx, c.request, err)
	}
	f := b.read(answer)
	var said answered
	if err := xml.Unmarshal(text, &said); err == nil {
		b.said(f, said)
	}
	return nil, b.explain(c.request, f)
}

// sign makes the request of a call, with the signature of its headers and, without TLS, of its
// body.
func (b *bucket) sign(ctx context.Context, c call) (*http.Request, error) {
	u := *b.base
	if c.hasKey {
		u.Path, u.RawPath = u.Path+"/"+c.key, u.EscapedPath()+"/"+httpbinding.EscapePath(c.key, false)
	}
	if u.Path == "" {
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
	if len(c.body) > continueAbove {
		r.Header.Set("Expect", "100-continue")
	}
	if b.anonymous {
		return r, nil
	}
	hash := unsignedBody
	if u.Scheme == "http" && !b.unsigned {
		h := sha256.Sum256(c.body)
		hash = hex.EncodeToString(h[:])
	}
	r.Header.Set("X-Amz-Content-Sha256", hash)
	keys, err := b.credentials.Retrieve(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, b.ended(ctx, c.request)
		}
		e := b.bad(errs.Permission, c.op, c.key, "credentials", "none")
		e.Err, e.Remedy = &failure{message: b.mask(err.Error())}, lookedFor
		return nil, e
	}
	err = b.signer.SignHTTP(ctx, keys, r, hash, "s3", b.region, time.Now().Add(time.Duration(b.skew.Load())))
	if err != nil {
		return nil, b.bad(errs.Invalid, c.op, c.key, "a request that can be signed", b.mask(err.Error()))
	}
	return r, nil
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
	// A long request may answer 200 before its outcome is known; then the body has the error.
	var said answered
	if err := xml.Unmarshal(text, &said); err == nil && said.XMLName.Local == "Error" {
		f := b.read(answer)
		b.said(f, said)
		return nil, b.explain(c.request, f)
	}
	if err := xml.Unmarshal(text, v); err != nil {
		f := b.read(answer)
		f.message = "the answer does not parse: " + b.mask(err.Error())
		f.is = []error{object.ErrUnknown}
		return nil, &errs.Error{Kind: errs.IO, Op: c.op, Subject: b.subject(c.key), Err: f}
	}
	return answer.Header, nil
}

// finish reads the rest of an answer that has no contents, so that its connection is used again.
func finish(answer *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, mostError))
	_ = answer.Body.Close()
}

// answered is an error of S3 in XML.
type answered struct {
	XMLName xml.Name
	Code    string
	Message string
	Region  string
}

// said takes over what an error of S3 says.
func (b *bucket) said(f *failure, a answered) {
	f.code, f.message = b.mask(a.Code), b.mask(a.Message)
	if isRegion(a.Region) && a.Region != b.region {
		f.region = a.Region
	}
}

// encoded is a CRC-32C as S3 writes it.
func encoded(sum uint32) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
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
