package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// Request is what an error says about the request that failed.
type Request struct {
	Op, Key string
	Cond    object.Condition
	Want    string // of a read: the range
}

// Failure is the cause of an error: what the server answered, or why there is no answer.
type Failure struct {
	Status  int
	Code    string
	Message string // masked
	ID      string // of the request, for the people who run the server
	Region  string // of the bucket, if the server says that it is another one
	Date    time.Time
	Is      []error // sentinels of package object, and errors of the context
}

// Error returns the answer on one line.
func (f *Failure) Error() string {
	var parts []string
	if f.Status != 0 {
		parts = append(parts, fmt.Sprint(f.Status))
	}
	if f.Code != "" {
		parts = append(parts, f.Code)
	}
	if f.Message != "" {
		parts = append(parts, fmt.Sprintf("%q", f.Message))
	}
	if f.ID != "" {
		parts = append(parts, "request "+f.ID)
	}
	return strings.Join(parts, " ")
}

// Unwrap returns what the failure is.
func (f *Failure) Unwrap() []error { return f.Is }

// Bad is an error of kind that says what was wanted of key and what was found.
func (s *Server) Bad(kind errs.Kind, op, key, want, got string) *errs.Error {
	return &errs.Error{Kind: kind, Op: op, Subject: s.Subject(key), Want: want, Got: got}
}

// Broken is the error of an answer that ended early.
func (s *Server) Broken(ctx context.Context, op, key string, err error) error {
	return s.Unanswered(ctx, Request{Op: op, Key: key}, fmt.Errorf("the answer ended early: %w", err))
}

// Ended is the error of a request whose context ended. The request may have been carried out.
func (s *Server) Ended(ctx context.Context, r Request) error {
	f := &Failure{Message: "the context ended before the answer", Is: []error{ctx.Err(), object.ErrUnknown}}
	return &errs.Error{Kind: errs.Canceled, Op: r.Op, Subject: s.Subject(r.Key), Err: f}
}

// WithoutURL takes the URL of a request out of an error of the HTTP client.
func WithoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Unanswered is the error of a request without an answer. The request may have been carried out.
func (s *Server) Unanswered(ctx context.Context, r Request, err error) error {
	if ctx.Err() != nil {
		return s.Ended(ctx, r)
	}
	err = WithoutURL(err)
	f := &Failure{Message: s.Mask(err.Error())}
	e := &errs.Error{Kind: errs.IO, Op: r.Op, Subject: s.Subject(r.Key), Err: f}
	var untrusted *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	var dial *net.OpError
	switch {
	case errors.As(err, &untrusted), errors.As(err, &unknown):
		e.Kind, e.Want = errs.Invalid, "a certificate that this machine trusts"
		e.Remedy = "set " + s.Certificates + " to the certificates of the server"
		return e
	case errors.As(err, &plain), strings.Contains(f.Message, "gave HTTP response to HTTPS client"):
		e.Kind, e.Want, e.Remedy = errs.Invalid, "a server that speaks TLS", "write http:// in the endpoint"
		return e
	case errors.As(err, &dial) && dial.Op == "dial":
		e.Remedy = s.Unreached
	}
	f.Is = []error{object.ErrUnknown}
	return e
}

// Meaning is what a code or status of a server means.
type Meaning struct {
	Kind errs.Kind
	Is   error
}

// What servers mean.
var (
	Condition = Meaning{Kind: errs.Mismatch, Is: object.ErrCondition}
	Conflict  = Meaning{Kind: errs.Busy, Is: object.ErrConflict}
	Throttled = Meaning{Kind: errs.Busy, Is: object.ErrThrottled}
	Unknown   = Meaning{Kind: errs.IO, Is: object.ErrUnknown}
	NoBucket  = Meaning{Kind: errs.NotFound, Is: object.ErrNoBucket}
)

// Plain is a meaning without a sentinel.
func Plain(kind errs.Kind) Meaning { return Meaning{Kind: kind} }

// statuses has the meaning of answers without a code that the driver knows.
var statuses = map[int]Meaning{
	401: Plain(errs.Permission),
	403: Plain(errs.Permission),
	404: Plain(errs.NotFound),
	405: Plain(errs.Unsupported),
	407: Plain(errs.Permission),
	408: Unknown,
	409: Conflict,
	412: Condition,
	416: Plain(errs.Corrupt),
	429: Throttled,
	501: Plain(errs.Unsupported),
	503: Throttled,
	507: Plain(errs.Exhausted),
}

// MeaningOf is the meaning of the code of f, or else the meaning of its status.
func MeaningOf(codes map[string]Meaning, f *Failure) Meaning {
	if m, ok := codes[f.Code]; ok {
		return m
	}
	if m, ok := statuses[f.Status]; ok {
		return m
	}
	if f.Status >= 300 && f.Status < 500 {
		return Plain(errs.Invalid)
	}
	return Unknown // 5xx, and answers that do not parse
}

// Refused is the error of an answer with a meaning. The driver adds what its server says besides.
func (s *Server) Refused(r Request, f *Failure, m Meaning) *errs.Error {
	e := &errs.Error{Kind: m.Kind, Op: r.Op, Subject: s.Subject(r.Key), Err: f}
	if m.Is != nil {
		f.Is = []error{m.Is}
	}
	switch {
	case m.Is == object.ErrNoBucket:
		e.Subject, e.Remedy = s.Subject(""), "make the bucket, or check its name and the endpoint"
	case m.Is == object.ErrCondition && r.Cond.Absent:
		e.Kind, e.Want, e.Got = errs.Exists, "no object", "one"
	case m.Is == object.ErrCondition:
		e.Want, e.Got = "the tag "+r.Cond.Tag, "another"
	case f.Status == 416:
		s.Short(e, r)
	}
	return e
}

// Short says of the error of a read that the object ends before the range does.
func (s *Server) Short(e *errs.Error, r Request) { e.Want, e.Got = r.Want, "an object that is shorter" }

// Replaced says of the error of a request with a tag that no object is there.
func (s *Server) Replaced(e *errs.Error, f *Failure, r Request) {
	e.Kind, e.Want, e.Got = errs.Mismatch, "the tag "+r.Cond.Tag, "no object"
	f.Is = []error{object.ErrCondition}
}
