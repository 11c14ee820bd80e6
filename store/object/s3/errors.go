package s3

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
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

// read takes from an answer what errors say.
func (b *bucket) read(answer *http.Response) *web.Failure {
	h := answer.Header
	f := &web.Failure{Status: answer.StatusCode, ID: b.Mask(h.Get("X-Amz-Request-Id")), Date: web.TimeOf(h.Get("Date"))}
	if len(f.ID) > 64 {
		f.ID = ""
	}
	if region := h.Get("X-Amz-Bucket-Region"); region != b.region && isRegion(region) {
		f.Region = region
	}
	return f
}

// codes has the meaning of codes, which a status alone does not tell.
var codes = map[string]web.Meaning{
	"PreconditionFailed":                 web.Condition,
	"ConditionalRequestConflict":         web.Conflict,
	"OperationAborted":                   web.Conflict,
	"SlowDown":                           web.Throttled,
	"SlowDownRead":                       web.Throttled,
	"SlowDownWrite":                      web.Throttled,
	"ServiceUnavailable":                 web.Throttled,
	"Throttling":                         web.Throttled,
	"ThrottlingException":                web.Throttled,
	"RequestLimitExceeded":               web.Throttled,
	"TooManyRequests":                    web.Throttled,
	"TemporaryRedirect":                  web.Throttled,
	"InternalError":                      web.Unknown,
	"RequestTimeout":                     web.Unknown,
	"IncompleteBody":                     web.Unknown,
	codeNoKey:                            web.Plain(errs.NotFound),
	codeNoBucket:                         web.NoBucket,
	codeNoUpload:                         web.Plain(errs.NotFound),
	"NotFound":                           web.Plain(errs.NotFound),
	"BadDigest":                          web.Plain(errs.Corrupt),
	"XAmzContentSHA256Mismatch":          web.Plain(errs.Corrupt),
	"XAmzContentChecksumMismatch":        web.Plain(errs.Corrupt),
	codeNoRange:                          web.Plain(errs.Corrupt),
	codeSkew:                             web.Plain(errs.Invalid),
	codeDenied:                           web.Plain(errs.Permission),
	"InvalidAccessKeyId":                 web.Plain(errs.Permission),
	"SignatureDoesNotMatch":              web.Plain(errs.Permission),
	"ExpiredToken":                       web.Plain(errs.Permission),
	"ExpiredTokenException":              web.Plain(errs.Permission),
	"InvalidToken":                       web.Plain(errs.Permission),
	"InvalidClientTokenId":               web.Plain(errs.Permission),
	"TokenRefreshRequired":               web.Plain(errs.Permission),
	"NotImplemented":                     web.Plain(errs.Unsupported),
	"MethodNotAllowed":                   web.Plain(errs.Unsupported),
	"ObjectParentIsFile":                 web.Plain(errs.Exists),
	"ExistingObjectIsDirectory":          web.Plain(errs.Exists),
	"QuotaExceeded":                      web.Plain(errs.Exhausted),
	"AuthorizationHeaderMalformed":       web.Plain(errs.Invalid),
	"PermanentRedirect":                  web.Plain(errs.Invalid),
	"IllegalLocationConstraintException": web.Plain(errs.Invalid),
}

// expecting finds the region that the server wants, in the message of AuthorizationHeaderMalformed.
var expecting = regexp.MustCompile(`expecting '([a-z0-9-]+)'`)

func isRegion(s string) bool {
	return s != "" && len(s) <= 32 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// explain makes the error of an answer.
func (b *bucket) explain(r web.Request, f *web.Failure) *errs.Error {
	m := web.MeaningOf(codes, f)
	e := b.Refused(r, f, m)
	if found := expecting.FindStringSubmatch(f.Message); found != nil && found[1] != b.region {
		f.Region = found[1]
	}
	switch {
	case f.Region != "" && (f.Status == 301 || f.Status == 400 || f.Status == 307):
		e.Kind, e.Subject, f.Is = errs.Invalid, "s3://"+b.bucket, nil
		e.Want, e.Got, e.Remedy = "the region "+f.Region, b.region, "give region="+f.Region
	case f.Code == codeSkew:
		e.Want, e.Remedy = "a request that is not older than the server allows", "set the clock of this machine"
		if !f.Date.IsZero() {
			b.skew.Store(int64(time.Until(f.Date)))
			skew := time.Until(f.Date).Abs().Round(time.Second)
			e.Got = fmt.Sprintf("a clock that differs from the server's by %v", skew)
		}
	case m.Kind == errs.NotFound && r.Cond.Tag != "" && f.Code != codeNoUpload:
		b.Replaced(e, f, r)
	case m.Kind == errs.Permission:
		e.Remedy = b.remedy()
	case m.Kind == errs.Exists:
		e.Remedy = "this server keeps objects as files: a key cannot be the beginning of another one with a / after it"
	case f.Code == codeNoRange:
		b.Short(e, r)
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
