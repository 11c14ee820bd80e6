package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// Codes of S3 that the driver branches on.
const (
	codeSkew     = "RequestTimeTooSkewed"
	codeDenied   = "AccessDenied"
	codeNoKey    = "NoSuchKey"
	codeNoBucket = "NoSuchBucket"
	codeNoUpload = "NoSuchUpload"
	codeNoRange  = "InvalidRange"
)

// lookedFor says where the search for credentials goes.
const lookedFor = "credentials are looked for in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, " +
	"in the profile AWS_PROFILE of ~/.aws/config and ~/.aws/credentials, in AWS_WEB_IDENTITY_TOKEN_FILE, " +
	"in the container and in the metadata of the machine"

// request is what an error says about the request that failed.
type request struct {
	op, key string
	cond    object.Condition
	want    string
}

// failure is the cause of an error: what the server answered, or why there is no answer. It keeps
// no error of the HTTP client, which may have the URL of the request.
type failure struct {
	status  int
	code    string
	message string // masked
	id      string // of the request, for the people who run the server
	region  string // the right one, if the answer says it
	date    time.Time
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
	if f.id != "" {
		parts = append(parts, "request "+f.id)
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

// read takes from an answer what errors say.
func (b *bucket) read(answer *http.Response) *failure {
	h := answer.Header
	f := &failure{status: answer.StatusCode, id: b.mask(h.Get("X-Amz-Request-Id")), date: timeOf(h.Get("Date"))}
	if len(f.id) > 64 {
		f.id = ""
	}
	if region := h.Get("X-Amz-Bucket-Region"); region != b.region && isRegion(region) {
		f.region = region
	}
	return f
}

// unanswered is the error of a request without an answer. The request may have been carried out.
func (b *bucket) unanswered(ctx context.Context, r request, err error) error {
	if ctx.Err() != nil {
		return b.ended(ctx, r)
	}
	var at *url.Error // its text has the URL of the request
	if errors.As(err, &at) {
		err = at.Err
	}
	f := &failure{message: b.mask(err.Error())}
	e := &errs.Error{Kind: errs.IO, Op: r.op, Subject: b.subject(r.key), Err: f}
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	var name *net.DNSError
	switch {
	case errors.As(err, &untrusted), errors.As(err, &unknown):
		e.Kind, e.Want = errs.Invalid, "a certificate that this machine trusts"
		e.Remedy = "set AWS_CA_BUNDLE to the certificates of the server"
		return e
	case errors.As(err, &plain), strings.Contains(f.message, "gave HTTP response to HTTPS client"):
		e.Kind, e.Want, e.Remedy = errs.Invalid, "a server that speaks TLS", "write http:// in the endpoint"
		return e
	case errors.As(err, &name) && name.IsNotFound:
		e.Remedy = "check the endpoint and the region " + b.region
	}
	f.is = []error{object.ErrUnknown}
	return e
}

// meaning is what a code or status of S3 means.
type meaning struct {
	kind errs.Kind
	is   error
}

var codes = map[string]meaning{
	"PreconditionFailed":         {errs.Mismatch, object.ErrCondition},
	"ConditionalRequestConflict": {errs.Busy, object.ErrConflict},
	"OperationAborted":           {errs.Busy, object.ErrConflict},
	"SlowDown":                   {errs.Busy, object.ErrThrottled},
	"SlowDownRead":               {errs.Busy, object.ErrThrottled},
	"SlowDownWrite":              {errs.Busy, object.ErrThrottled},
	"ServiceUnavailable":         {errs.Busy, object.ErrThrottled},
	"Throttling":                 {errs.Busy, object.ErrThrottled},
	"ThrottlingException":        {errs.Busy, object.ErrThrottled},
	"RequestLimitExceeded":       {errs.Busy, object.ErrThrottled},
	"TooManyRequests":            {errs.Busy, object.ErrThrottled},
	"TemporaryRedirect":          {errs.Busy, object.ErrThrottled},
	"InternalError":              {errs.IO, object.ErrUnknown},
	"RequestTimeout":             {errs.IO, object.ErrUnknown},
	"IncompleteBody":             {errs.IO, object.ErrUnknown},
	codeNoKey:                    {errs.NotFound, nil},
	codeNoBucket:                 {errs.NotFound, object.ErrNoBucket},
	codeNoUpload:                 {errs.NotFound, nil},
	"NotFound":                   {errs.NotFound, nil},
	"BadDigest":                  {errs.Corrupt, nil},
	"XAmzContentSHA256Mismatch":  {errs.Corrupt, nil},
	"XAmzContentChecksumMismatch": {
		errs.Corrupt, nil},
	codeNoRange:                          {errs.Corrupt, nil},
	codeSkew:                             {errs.Invalid, nil},
	codeDenied:                           {errs.Permission, nil},
	"InvalidAccessKeyId":                 {errs.Permission, nil},
	"SignatureDoesNotMatch":              {errs.Permission, nil},
	"ExpiredToken":                       {errs.Permission, nil},
	"ExpiredTokenException":              {errs.Permission, nil},
	"InvalidToken":                       {errs.Permission, nil},
	"InvalidClientTokenId":               {errs.Permission, nil},
	"TokenRefreshRequired":               {errs.Permission, nil},
	"NotImplemented":                     {errs.Unsupported, nil},
	"MethodNotAllowed":                   {errs.Unsupported, nil},
	"ObjectParentIsFile":                 {errs.Exists, nil},
	"ExistingObjectIsDirectory":          {errs.Exists, nil},
	"QuotaExceeded":                      {errs.Exhausted, nil},
	"AuthorizationHeaderMalformed":       {errs.Invalid, nil},
	"PermanentRedirect":                  {errs.Invalid, nil},
	"IllegalLocationConstraintException": {errs.Invalid, nil},
}

var statuses = map[int]meaning{
	401: {errs.Permission, nil},
	403: {errs.Permission, nil},
	404: {errs.NotFound, nil},
	405: {errs.Unsupported, nil},
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
	if m, ok := codes[f.code]; ok {
		return m
	}
	if m, ok := statuses[f.status]; ok {
		return m
	}
	if f.status >= 400 && f.status < 500 || f.status >= 300 && f.status < 400 {
		return meaning{errs.Invalid, nil}
	}
	return meaning{errs.IO, object.ErrUnknown} // 5xx, and answers that do not parse
}

// expecting finds the region that the server wants, in the message of AuthorizationHeaderMalformed.
var expecting = regexp.MustCompile(`expecting '([a-z0-9-]+)'`)

func isRegion(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// explain makes the error of an answer.
func (b *bucket) explain(r request, f *failure) *errs.Error {
	m := meaningOf(f)
	e := &errs.Error{Kind: m.kind, Op: r.op, Subject: b.subject(r.key), Err: f}
	if m.is != nil {
		f.is = []error{m.is}
	}
	if found := expecting.FindStringSubmatch(f.message); found != nil && found[1] != b.region {
		f.region = found[1]
	}
	switch {
	case f.region != "" && (f.status == 301 || f.status == 400 || f.status == 307):
		e.Kind, e.Subject, f.is = errs.Invalid, "s3://"+b.bucket, nil
		e.Want, e.Got, e.Remedy = "the region "+f.region, b.region, "give region="+f.region
	case f.code == codeNoBucket:
		e.Subject, e.Remedy = "s3://"+b.bucket, "make the bucket, or check its name and the endpoint"
	case f.code == codeSkew:
		e.Want, e.Remedy = "a request that is not older than the server allows", "set the clock of this machine"
		if !f.date.IsZero() {
			b.skew.Store(int64(time.Until(f.date)))
			skew := time.Until(f.date).Abs().Round(time.Second)
			e.Got = fmt.Sprintf("a clock that differs from the server's by %v", skew)
		}
	case m.is == object.ErrCondition && r.cond.Absent:
		e.Kind, e.Want, e.Got = errs.Exists, "no object", "one"
	case m.is == object.ErrCondition:
		e.Want, e.Got = "the tag "+r.cond.Tag, "another"
	case m.kind == errs.NotFound && r.cond.Tag != "" && f.code != codeNoUpload:
		e.Kind, e.Want, e.Got, f.is = errs.Mismatch, "the tag "+r.cond.Tag, "no object", []error{object.ErrCondition}
	case m.kind == errs.Permission:
		e.Remedy = b.remedy()
	case m.kind == errs.Exists:
		e.Remedy = "this server keeps objects as files: a key cannot be the beginning of another one with a / after it"
	case f.status == 416 || f.code == codeNoRange:
		e.Want, e.Got = r.want, "an object that is shorter"
	}
	return e
}

// remedy says which credentials were found, or where they are looked for.
func (b *bucket) remedy() string {
	if from := b.credentials.source(); from != "" {
		return "the credentials come from " + from + "; " + lookedFor
	}
	return lookedFor
}
