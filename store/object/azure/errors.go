package azure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/xml"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// Codes of Azure that the driver branches on.
const (
	codeAuthentication = "AuthenticationFailed"
	codeNotAllowed     = "AuthorizationPermissionMismatch"
	codeNoContainer    = "ContainerNotFound"
	codeNoBlob         = "BlobNotFound"
	codeBlockList      = "InvalidBlockList"
	codeExists         = "BlobAlreadyExists"
	codeInvalidBlock   = "InvalidBlobOrBlock"
)

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
	is      []error
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

// unknownHeader reports whether the server does not take a header of the request.
func (f *failure) unknownHeader() bool {
	return f.code == "FeatureNotSupported" || f.code == "UnsupportedHeader" || f.status == http.StatusNotImplemented
}

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
func (b *bucket) read(answer *http.Response, text []byte) *failure {
	var said struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}
	h := answer.Header
	f := &failure{status: answer.StatusCode, code: h.Get("X-Ms-Error-Code"), id: b.mask(h.Get("X-Ms-Request-Id"))}
	if xml.Unmarshal([]byte(strings.TrimPrefix(string(text), "\ufeff")), &said) == nil {
		if f.code == "" {
			f.code = said.Code
		}
		// The second line and the third have the ID and the time of the request.
		message, _, _ := strings.Cut(said.Message, "\n")
		f.message = b.mask(message)
	}
	f.code = b.mask(f.code)
	if len(f.id) > 64 {
		f.id = ""
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
		e.Remedy = "set SSL_CERT_FILE to the certificates of the server"
		return e
	case errors.As(err, &plain), strings.Contains(f.message, "gave HTTP response to HTTPS client"):
		e.Kind, e.Want, e.Remedy = errs.Invalid, "a server that speaks TLS", "write http:// in the endpoint"
		return e
	case errors.As(err, &name) && name.IsNotFound:
		e.Remedy = "check the name of the account " + b.account + " and the endpoint"
	}
	f.is = []error{object.ErrUnknown}
	return e
}

// meaning is what a code or status of Azure means.
type meaning struct {
	kind errs.Kind
	is   error
}

// codes has the meaning of codes. A status alone does not tell: 409 and 412 mean many things.
var codes = map[string]meaning{
	codeExists:                           {errs.Exists, nil}, // a condition only if the request has one
	"ConditionNotMet":                    {errs.Mismatch, object.ErrCondition},
	"ServerBusy":                         {errs.Busy, object.ErrThrottled},
	"AccountBeingCreated":                {errs.Busy, object.ErrThrottled},
	"PendingCopyOperation":               {errs.Busy, object.ErrConflict},
	"OperationTimedOut":                  {errs.IO, object.ErrUnknown},
	"InternalError":                      {errs.IO, object.ErrUnknown},
	codeNoBlob:                           {errs.NotFound, nil},
	"ResourceNotFound":                   {errs.NotFound, nil},
	codeNoContainer:                      {errs.NotFound, object.ErrNoBucket},
	"ContainerBeingDeleted":              {errs.NotFound, object.ErrNoBucket},
	codeBlockList:                        {errs.NotFound, nil},
	"Md5Mismatch":                        {errs.Corrupt, nil},
	"Crc64Mismatch":                      {errs.Corrupt, nil},
	"InvalidRange":                       {errs.Corrupt, nil},
	codeAuthentication:                   {errs.Permission, nil},
	codeNotAllowed:                       {errs.Permission, nil},
	"AuthorizationFailure":               {errs.Permission, nil},
	"AuthorizationProtocolMismatch":      {errs.Permission, nil},
	"AuthorizationResourceTypeMismatch":  {errs.Permission, nil},
	"AuthorizationServiceMismatch":       {errs.Permission, nil},
	"AuthorizationSourceIPMismatch":      {errs.Permission, nil},
	"InsufficientAccountPermissions":     {errs.Permission, nil},
	"InvalidAuthenticationInfo":          {errs.Permission, nil},
	"KeyBasedAuthenticationNotPermitted": {errs.Permission, nil},
	"NoAuthenticationInformation":        {errs.Permission, nil},
	"PublicAccessNotPermitted":           {errs.Permission, nil},
	"AccountIsDisabled":                  {errs.Permission, nil},
	"ContainerDisabled":                  {errs.Permission, nil},
	"BlobImmutableDueToPolicy":           {errs.Permission, nil},
	"LeaseIdMissing":                     {errs.Busy, nil},
	"LeaseIdMismatchWithBlobOperation":   {errs.Busy, nil},
	"LeaseLost":                          {errs.Busy, nil},
	"LeaseNotPresentWithBlobOperation":   {errs.Busy, nil},
	"BlobBeingRehydrated":                {errs.Busy, nil},
	"BlobArchived":                       {errs.Unsupported, nil},
	"InvalidBlobType":                    {errs.Invalid, nil},
	"SnapshotsPresent":                   {errs.Invalid, nil},
	"FeatureNotSupported":                {errs.Unsupported, nil},
	"UnsupportedHeader":                  {errs.Unsupported, nil},
	"UnsupportedHttpVerb":                {errs.Unsupported, nil},
	"ResourceTypeMismatch":               {errs.Unsupported, nil},
	"BlockCountExceedsLimit":             {errs.Exhausted, nil},
	"RequestBodyTooLarge":                {errs.Invalid, nil},
	"AccountRequiresHttps":               {errs.Invalid, nil},
	"InvalidHeaderValue":                 {errs.Invalid, nil},
	"InvalidQueryParameterValue":         {errs.Invalid, nil},
	"OutOfRangeInput":                    {errs.Invalid, nil},
	codeInvalidBlock:                     {errs.Exists, nil},
	"UnauthorizedBlobOverwrite":          {errs.Permission, nil},
	"InvalidResourceName":                {errs.Invalid, nil},
}

// statuses has the meaning of answers without a code that the driver knows.
var statuses = map[int]meaning{
	401: {errs.Permission, nil},
	403: {errs.Permission, nil},
	404: {errs.NotFound, nil},
	405: {errs.Unsupported, nil},
	408: {errs.IO, object.ErrUnknown},
	416: {errs.Corrupt, nil},
	429: {errs.Busy, object.ErrThrottled},
	501: {errs.Unsupported, nil},
	503: {errs.Busy, object.ErrThrottled},
	507: {errs.Exhausted, nil},
}

func meaningOf(r request, f *failure) meaning {
	m, known := codes[f.code]
	switch {
	case f.code == codeExists && r.cond.Absent:
		return meaning{errs.Exists, object.ErrCondition}
	case known:
		return m
	case f.code == "" && f.status == 412 && (r.cond.Absent || r.cond.Tag != ""):
		return meaning{errs.Mismatch, object.ErrCondition}
	case f.code == "" && f.status == 409:
		return meaning{errs.Busy, object.ErrConflict}
	case f.code == "InvalidOperation" && strings.Contains(f.message, "contentMD5"): // Azurite
		return meaning{errs.Corrupt, nil}
	}
	if m, ok := statuses[f.status]; ok {
		return m
	}
	if f.status >= 300 && f.status < 500 {
		return meaning{errs.Invalid, nil}
	}
	return meaning{errs.IO, object.ErrUnknown} // 5xx, and answers that do not parse
}

// explain makes the error of an answer.
func (b *bucket) explain(r request, f *failure) *errs.Error {
	m := meaningOf(r, f)
	e := &errs.Error{Kind: m.kind, Op: r.op, Subject: b.subject(r.key), Err: f}
	if m.is != nil {
		f.is = []error{m.is}
	}
	drift := time.Duration(b.drift.Load())
	switch {
	case m.is == object.ErrNoBucket:
		e.Subject, e.Remedy = b.subject(""), "make the container, or check its name and the endpoint"
	case m.is == object.ErrCondition && r.cond.Absent:
		e.Kind, e.Want, e.Got = errs.Exists, "no object", "one"
	case m.is == object.ErrCondition:
		e.Want, e.Got = "the tag "+r.cond.Tag, "another"
	case f.code == "BlockCountExceedsLimit":
		e.Want, e.Got = "at most 100,000 parts that were not completed", "more"
		e.Remedy = "write the object in one request, or wait a week"
	case m.kind == errs.NotFound && r.cond.Tag != "" && f.code != codeBlockList:
		e.Kind, e.Want, e.Got, f.is = errs.Mismatch, "the tag "+r.cond.Tag, "no object", []error{object.ErrCondition}
	case f.code == codeAuthentication && drift.Abs() > skew:
		e.Kind, e.Want = errs.Invalid, "a request that is not older than the server allows"
		e.Got = fmt.Sprintf("a clock that differs from the server's by %v", drift.Abs().Round(time.Second))
		e.Remedy = "set the clock of this machine"
	case m.kind == errs.Permission, b.credential == anonymous{} && f.code == "ResourceNotFound":
		e.Remedy = b.remedy() // Azure says to callers without credentials that a private container is not there
	case f.code == "AccountRequiresHttps":
		e.Remedy = "write https:// in the endpoint"
	case f.code == codeInvalidBlock:
		e.Want, e.Got = "blocks with IDs of 64 letters, or none", "blocks of another program"
		e.Remedy = "delete the object first; unfinished blocks of another program vanish after a week"
	case strings.HasPrefix(f.code, "Lease"):
		e.Want, e.Got, e.Remedy = "an object without a lease", "one that a program has leased", "release or break its lease"
	case f.status == 416 || f.code == "InvalidRange":
		e.Want, e.Got = r.want, "an object that is shorter"
	case f.status >= 300 && f.status < 400:
		e.Want, e.Got = "an answer of the blob service", "a redirection"
		e.Remedy = "check the endpoint: " + mask(b.base.String(), nil)
	}
	return e
}

// remedy says which credentials were found, or where they are looked for.
func (b *bucket) remedy() string {
	return "the credentials come from " + mask(b.credential.from(), nil) + "; " + lookedFor
}
