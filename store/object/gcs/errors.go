package gcs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/oauth2"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// lookedFor says where the search for credentials goes.
const lookedFor = "credentials are looked for in the file of GOOGLE_APPLICATION_CREDENTIALS, in the file that " +
	"\"gcloud auth application-default login\" writes, and in the metadata of the machine"

// request is what an error says about the request that failed.
type request struct {
	op, key string
	cond    object.Condition
	want    string
	noKey   bool // 404 says that the bucket is missing: no object had to be there
	sources bool // 404 says that a part is missing
}

// failure is the cause of an error: what the server answered, or why there is no answer. It keeps
// no error of the HTTP client, which may have the URL of the request.
type failure struct {
	status  int
	code    string
	message string  // masked
	is      []error // sentinels and errors of the context
}

// Error returns the answer on one line.
func (f *failure) Error() string {
	var parts []string
	if f.status != 0 {
		parts = append(parts, fmt.Sprint(f.status))
	}
	if f.code != "" {
		parts = append(parts, f.code)
	}
	if f.message != "" {
		parts = append(parts, fmt.Sprintf("%q", f.message))
	}
	return strings.Join(parts, " ")
}

// Unwrap returns the sentinels of package object that f is.
func (f *failure) Unwrap() []error { return f.is }

// bad is an error of kind that says what was wanted of key and what was found.
func (b *bucket) bad(kind errs.Kind, op, key, want, got string) *errs.Error {
	return &errs.Error{Kind: kind, Op: op, Subject: b.subject(key), Want: want, Got: got}
}

// broken is the error of an answer that ended early.
func (b *bucket) broken(ctx context.Context, op, key string, err error) error {
	return b.unanswered(ctx, request{op: op, key: key}, fmt.Errorf("the answer ended early: %w", err))
}

// ended is the error of a request whose context ended. The request may have been carried out.
func (b *bucket) ended(ctx context.Context, r request) error {
	f := &failure{message: "the context ended before the answer", is: []error{ctx.Err(), object.ErrUnknown}}
	return &errs.Error{Kind: errs.Canceled, Op: r.op, Subject: b.subject(r.key), Err: f}
}

// noToken is the error of credentials that give no token. The request was not sent, so that it can
// be sent again if the server of tokens could not be reached.
func (b *bucket) noToken(r request, err error) error {
	e := &errs.Error{Kind: errs.Permission, Op: r.op, Subject: b.subject(r.key), Want: "a token", Got: "none",
		Err: &failure{message: b.mask(withoutURL(err).Error())}, Remedy: b.remedy()}
	var unreachable net.Error
	var refused *oauth2.RetrieveError
	if errors.As(err, &unreachable) || errors.As(err, &refused) && refused.Response.StatusCode >= 500 {
		e.Kind = errs.IO
		e.Err = &failure{message: b.mask(withoutURL(err).Error()), is: []error{object.ErrThrottled}}
	}
	return e
}

// withoutURL takes the URL of a request out of an error of the HTTP client.
func withoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// unanswered is the error of a request without an answer. The request may have been carried out.
func (b *bucket) unanswered(ctx context.Context, r request, err error) error {
	if ctx.Err() != nil {
		return b.ended(ctx, r)
	}
	err = withoutURL(err)
	f := &failure{message: b.mask(err.Error())}
	e := &errs.Error{Kind: errs.IO, Op: r.op, Subject: b.subject(r.key), Err: f}
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	var dial *net.OpError
	switch {
	case errors.As(err, &untrusted), errors.As(err, &unknown):
		e.Kind, e.Want = errs.Invalid, "a certificate that this machine trusts"
		e.Remedy = "set SSL_CERT_FILE to the certificates of the server"
		return e
	case errors.As(err, &plain), strings.Contains(f.message, "gave HTTP response to HTTPS client"):
		e.Kind, e.Want, e.Remedy = errs.Invalid, "a server that speaks TLS", "write http:// in the endpoint"
		return e
	case errors.As(err, &dial) && dial.Op == "dial":
		e.Remedy = "check the endpoint " + b.base.Scheme + "://" + b.base.Host
	}
	f.is = []error{object.ErrUnknown}
	return e
}

// meaning is what a reason or status of the server means.
type meaning struct {
	kind errs.Kind
	is   error
}

// reasons are the answers whose status alone does not say what they mean.
var reasons = map[string]meaning{
	"rateLimitExceeded":     {errs.Busy, object.ErrThrottled},
	"userRateLimitExceeded": {errs.Busy, object.ErrThrottled},
	"quotaExceeded":         {errs.Exhausted, nil},
	"backendError":          {errs.IO, object.ErrUnknown},
	"internalError":         {errs.IO, object.ErrUnknown},
	"NoSuchBucket":          {errs.NotFound, object.ErrNoBucket},
}

var statuses = map[int]meaning{
	401: {errs.Permission, nil},
	403: {errs.Permission, nil},
	404: {errs.NotFound, nil},
	405: {errs.Unsupported, nil},
	407: {errs.Permission, nil},
	408: {errs.IO, object.ErrUnknown},
	409: {errs.Busy, object.ErrConflict},
	412: {errs.Mismatch, object.ErrCondition},
	416: {errs.Corrupt, nil},
	429: {errs.Busy, object.ErrThrottled},
	501: {errs.Unsupported, nil},
	503: {errs.Busy, object.ErrThrottled},
	507: {errs.Exhausted, nil},
}

func meaningOf(f *failure) meaning {
	if m, ok := reasons[f.code]; ok {
		return m
	}
	if m, ok := statuses[f.status]; ok {
		return m
	}
	if f.status >= 300 && f.status < 500 {
		return meaning{errs.Invalid, nil}
	}
	return meaning{errs.IO, object.ErrUnknown} // 5xx, and answers that do not parse
}

var (
	// ofBucket finds a missing bucket, which has the same reason as a missing object.
	ofBucket = regexp.MustCompile(`(?i)(?:^|": ")(?:the specified )?bucket(?: [a-z0-9._-]+)? does not exist`)
	// ofSum finds a checksum that differs, which has the same reason as other bad requests.
	ofSum = regexp.MustCompile(`(?i)\bcrc32c\b`)
)

// explain makes the error of an answer.
func (b *bucket) explain(r request, f *failure) *errs.Error {
	m := meaningOf(f)
	switch {
	case f.status == 404 && (r.noKey && r.cond.Tag == "" || ofBucket.MatchString(f.message)):
		m = meaning{errs.NotFound, object.ErrNoBucket}
	case (f.status == 400 || f.status == 412) && ofSum.MatchString(f.message):
		m = meaning{errs.Corrupt, nil}
	case f.status == 412 && r.cond == object.Condition{}:
		m = meaning{errs.Permission, nil} // a rule of the organization
	}
	e := &errs.Error{Kind: m.kind, Op: r.op, Subject: b.subject(r.key), Err: f}
	if m.is != nil {
		f.is = []error{m.is}
	}
	switch {
	case m.is == object.ErrNoBucket:
		e.Subject, e.Remedy = scheme+b.bucket, "make the bucket, or check its name and the endpoint"
	case m.is == object.ErrCondition && r.cond.Absent:
		e.Kind, e.Want, e.Got = errs.Exists, "no object", "one"
	case m.is == object.ErrCondition:
		e.Want, e.Got = "the tag "+r.cond.Tag, "another"
	case f.status == 404 && r.sources:
		e.Want, e.Got = "the parts of the upload", "at least one missing"
		e.Remedy = "the upload was aborted, or its parts were removed: upload the object again"
	case f.status == 404 && r.cond.Tag != "":
		e.Kind, e.Want, e.Got, f.is = errs.Mismatch, "the tag "+r.cond.Tag, "no object", []error{object.ErrCondition}
	case f.status == 412:
		e.Remedy = "a rule of the bucket or the organization forbids the request"
	case f.status == 401 && b.tokens.under == nil:
		e.Remedy = "no credentials were sent: the bucket is not public, or the endpoint wants some (anonymous=false)"
	case m.kind == errs.Permission:
		e.Remedy = b.remedy()
	case f.status == 416:
		e.Want, e.Got = r.want, "an object that is shorter"
	case f.status >= 300 && f.status < 400:
		e.Want, e.Got = "an answer", "a way to another server"
		e.Remedy = "check the endpoint " + b.base.Scheme + "://" + b.base.Host
	}
	return e
}

// remedy says which credentials were found, or where they are looked for.
func (b *bucket) remedy() string {
	if from := b.tokens.from; from != "" {
		return "the credentials come from " + from + ": give them the role roles/storage.objectUser, to read " +
			"roles/storage.objectViewer; " + lookedFor
	}
	return "no credentials were sent; " + lookedFor
}
