package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// client signs requests and sends them once.
type client struct {
	web.Objects
	signer      *v4.Signer
	credentials *watched
	anonymous   bool
	unsigned    bool // no body is signed
	region      string
	base        *url.URL // the endpoint; with the bucket as its host, or else as the beginning of the path
	skew        atomic.Int64
}

const unsignedBody = "UNSIGNED-PAYLOAD"

// send sends a request and returns an answer with a status of 200 to 299, whose body the caller
// closes. All other answers become errors.
func (b *bucket) send(ctx context.Context, c web.Call) (*http.Response, error) {
	r, err := b.sign(ctx, c)
	if err != nil {
		return nil, err
	}
	answer, text, refused, err := b.Do(ctx, c.Request, r)
	if err != nil || !refused {
		return answer, err
	}
	f := b.read(answer)
	var said answered
	if err := xml.Unmarshal(text, &said); err == nil {
		b.said(f, said)
	}
	return nil, b.explain(c.Request, f)
}

// sign makes the request of a call, with the signature of its headers and, without TLS, of its
// body.
func (b *bucket) sign(ctx context.Context, c web.Call) (*http.Request, error) {
	u := *b.base
	if c.Object {
		u.Path, u.RawPath = u.Path+"/"+c.Key, u.EscapedPath()+"/"+httpbinding.EscapePath(c.Key, false)
	}
	if u.Path == "" {
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
	if b.anonymous {
		return r, nil
	}
	hash := unsignedBody
	if u.Scheme == "http" && !b.unsigned {
		h := sha256.Sum256(c.Body)
		hash = hex.EncodeToString(h[:])
	}
	r.Header.Set("X-Amz-Content-Sha256", hash)
	keys, err := b.credentials.Retrieve(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, b.Ended(ctx, c.Request)
		}
		e := b.Bad(errs.Permission, c.Op, c.Key, "credentials", "none")
		e.Err, e.Remedy = &web.Failure{Message: b.Mask(err.Error())}, lookedFor
		return nil, e
	}
	err = b.signer.SignHTTP(ctx, keys, r, hash, "s3", b.region, time.Now().Add(time.Duration(b.skew.Load())))
	if err != nil {
		return nil, b.Bad(errs.Invalid, c.Op, c.Key, "a request that can be signed", b.Mask(err.Error()))
	}
	return r, nil
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
	// A long request may answer 200 before its outcome is known; then the body has the error.
	var said answered
	if err := xml.Unmarshal(text, &said); err == nil && said.XMLName.Local == "Error" {
		f := b.read(answer)
		b.said(f, said)
		return nil, b.explain(c.Request, f)
	}
	if err := xml.Unmarshal(text, v); err != nil {
		f := b.read(answer)
		f.Message = "the answer does not parse: " + b.Mask(err.Error())
		f.Is = []error{object.ErrUnknown}
		return nil, &errs.Error{Kind: errs.IO, Op: c.Op, Subject: b.Subject(c.Key), Err: f}
	}
	return answer.Header, nil
}

// answered is an error of S3 in XML.
type answered struct {
	XMLName xml.Name
	Code    string
	Message string
	Region  string
}

// said takes over what an error of S3 says.
func (b *bucket) said(f *web.Failure, a answered) {
	f.Code, f.Message = b.Mask(a.Code), b.Mask(a.Message)
	if isRegion(a.Region) && a.Region != b.region {
		f.Region = a.Region
	}
}
