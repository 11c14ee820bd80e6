package gcs

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// client sends requests once.
type client struct {
	web.Server
	tokens      *watched
	base        *url.URL
	userProject string
}

// Beginnings of the paths of the JSON API.
const (
	pathJSON   = "/storage/v1/b/"
	pathUpload = "/upload/storage/v1/b/"
)

// call is a request.
type call struct {
	request
	method      string
	path        []string // its elements after the beginning, not escaped
	root        string   // the beginning of the path
	query       url.Values
	header      map[string]string // empty values are left out
	contentType string
	body        [][]byte // its pieces; nil: none
}

// on is a call of the JSON API about one object.
func on(method, op, key string, c object.Condition) call {
	return call{request: about(op, key, c), method: method, root: pathJSON,
		path: []string{"o", key}, query: conditional(c)}
}

// send sends a request and returns an answer with a status of 200 to 299, whose body the caller
// closes. All other answers become errors.
func (b *bucket) send(ctx context.Context, c call) (*http.Response, error) {
	r, err := b.build(ctx, c)
	if err != nil {
		return nil, err
	}
	answer, text, refused, err := b.Do(ctx, c.Request, r)
	if err != nil || !refused {
		return answer, err
	}
	return nil, b.explain(c.request, b.said(answer, text))
}

// build makes the request of a call, with a token.
func (b *bucket) build(ctx context.Context, c call) (*http.Request, error) {
	u := *b.base
	plain, escaped := u.Path+c.root+b.bucket, u.EscapedPath()+c.root+url.PathEscape(b.bucket)
	for _, element := range c.path {
		plain, escaped = plain+"/"+element, escaped+"/"+url.PathEscape(element)
	}
	u.Path, u.RawPath, u.RawQuery = plain, escaped, c.query.Encode()
	r, err := http.NewRequestWithContext(ctx, c.method, u.String(), nil)
	if err != nil {
		return nil, b.Bad(errs.Invalid, c.Op, c.Key, "a request that can be made", b.Mask(err.Error()))
	}
	r.URL = &u
	if c.body != nil {
		r.GetBody = func() (io.ReadCloser, error) { return pieces(c.body), nil }
		r.Body = pieces(c.body)
		for _, p := range c.body {
			r.ContentLength += int64(len(p))
		}
		r.Header.Set("Content-Type", c.contentType)
	}
	for name, value := range c.header {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	r.Header.Set("User-Agent", "bivouac")
	if b.userProject != "" {
		r.Header.Set("X-Goog-User-Project", b.userProject)
	}
	token, err := b.tokens.token(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, b.Ended(ctx, c.Request)
		}
		return nil, b.noToken(c.request, err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r, nil
}

// pieces reads some pieces, one after the other.
func pieces(all [][]byte) io.ReadCloser {
	readers := make([]io.Reader, len(all))
	for i, p := range all {
		readers[i] = bytes.NewReader(p)
	}
	return io.NopCloser(io.MultiReader(readers...))
}

// ask sends a request whose answer is JSON of some kind, and parses it into v.
func (b *bucket) ask(ctx context.Context, c call, kind string, v any) (http.Header, error) {
	answer, err := b.send(ctx, c)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, web.MostDocument))
	if err != nil {
		return nil, b.Broken(ctx, c.Op, c.Key, err)
	}
	var is struct{ Kind string }
	if json.Unmarshal(text, &is) != nil || is.Kind != kind || json.Unmarshal(text, v) != nil {
		return nil, b.garbage(c.request, answer, kind)
	}
	return answer.Header, nil
}

// garbage is the error of an answer that is not what the API promises. The request may have been
// carried out.
func (b *bucket) garbage(r request, answer *http.Response, want string) error {
	f := b.said(answer, nil)
	f.Is = []error{object.ErrUnknown}
	return &errs.Error{Kind: errs.IO, Op: r.Op, Subject: b.Subject(r.Key), Err: f, Want: "an answer with a " + want,
		Got:    "something else of the type " + strconv.Quote(b.Mask(answer.Header.Get("Content-Type"))),
		Remedy: "check that " + b.base.Scheme + "://" + b.base.Host + " is a server of the JSON API of Google Cloud Storage"}
}

// said takes from an answer what errors say: in JSON, or in XML where the XML API answers.
func (b *bucket) said(answer *http.Response, text []byte) *web.Failure {
	if answer.Header.Get("Content-Encoding") == stored {
		if r, err := gzip.NewReader(bytes.NewReader(text)); err == nil {
			text, _ = io.ReadAll(io.LimitReader(r, web.MostError))
		}
	}
	f := &web.Failure{Status: answer.StatusCode}
	var inJSON struct {
		Error struct {
			Message string
			Errors  []struct{ Reason, Message string }
		}
	}
	var inXML struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
	}
	switch {
	case json.Unmarshal(text, &inJSON) == nil && inJSON.Error.Message != "":
		f.Message = b.Mask(inJSON.Error.Message)
		if all := inJSON.Error.Errors; len(all) > 0 {
			f.Code = b.Mask(all[0].Reason)
		}
	case xml.Unmarshal(text, &inXML) == nil:
		f.Code, f.Message = b.Mask(inXML.Code), b.Mask(inXML.Message)
	case strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain"):
		f.Message = b.Mask(string(text))
	}
	return f
}

// stored is the encoding that a reader must take, so that the server does not decompress objects
// that are kept compressed.
const stored = "gzip"

// never is a generation that no object has.
const never = math.MaxInt64

// conditional returns the parameters of a condition.
func conditional(c object.Condition) url.Values {
	q := url.Values{}
	switch {
	case c.Absent:
		q.Set("ifGenerationMatch", "0")
	case c.Tag == "":
	case isGeneration(c.Tag):
		q.Set("ifGenerationMatch", c.Tag)
	default: // no object has a tag like this
		q.Set("ifGenerationMatch", fmt.Sprint(int64(never)))
	}
	return q
}

// isGeneration reports whether a tag may be the generation of an object. 0 would mean that the
// key is absent.
func isGeneration(tag string) bool {
	n, err := strconv.ParseInt(tag, 10, 64)
	return err == nil && n > 0 && tag == strconv.FormatInt(n, 10)
}
