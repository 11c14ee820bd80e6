package gcs

import (
	"errors"
	"net"
	"regexp"

	"golang.org/x/oauth2"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// lookedFor says where the search for credentials goes.
const lookedFor = "credentials are looked for in the file of GOOGLE_APPLICATION_CREDENTIALS, in the file that " +
	"\"gcloud auth application-default login\" writes, and in the metadata of the machine"

// request is what an error says about the request that failed.
type request struct {
	web.Request
	noKey   bool // 404 says that the bucket is missing: no object had to be there
	sources bool // 404 says that a part is missing
}

func about(op, key string, c object.Condition) request {
	return request{Request: web.Request{Op: op, Key: key, Cond: c}}
}

// noToken is the error of credentials that give no token. The request was not sent, so that it can
// be sent again if the server of tokens could not be reached.
func (b *bucket) noToken(r request, err error) error {
	e := &errs.Error{Kind: errs.Permission, Op: r.Op, Subject: b.Subject(r.Key), Want: "a token", Got: "none",
		Err: &web.Failure{Message: b.Mask(web.WithoutURL(err).Error())}, Remedy: b.remedy()}
	var unreachable net.Error
	var refused *oauth2.RetrieveError
	if errors.As(err, &unreachable) || errors.As(err, &refused) && refused.Response.StatusCode >= 500 {
		e.Kind = errs.IO
		e.Err = &web.Failure{Message: b.Mask(web.WithoutURL(err).Error()), Is: []error{object.ErrThrottled}}
	}
	return e
}

// reasons are the answers whose status alone does not say what they mean.
var reasons = map[string]web.Meaning{
	"rateLimitExceeded":     web.Throttled,
	"userRateLimitExceeded": web.Throttled,
	"quotaExceeded":         web.Plain(errs.Exhausted),
	"backendError":          web.Unknown,
	"internalError":         web.Unknown,
	"NoSuchBucket":          web.NoBucket,
}

var (
	// ofBucket finds a missing bucket, which has the same reason as a missing object.
	ofBucket = regexp.MustCompile(`(?i)(?:^|": ")(?:the specified )?bucket(?: [a-z0-9._-]+)? does not exist`)
	// ofSum finds a checksum that differs, which has the same reason as other bad requests.
	ofSum = regexp.MustCompile(`(?i)\bcrc32c\b`)
)

// explain makes the error of an answer.
func (b *bucket) explain(r request, f *web.Failure) *errs.Error {
	m := web.MeaningOf(reasons, f)
	switch {
	case f.Status == 404 && (r.noKey && r.Cond.Tag == "" || ofBucket.MatchString(f.Message)):
		m = web.NoBucket
	case (f.Status == 400 || f.Status == 412) && ofSum.MatchString(f.Message):
		m = web.Plain(errs.Corrupt)
	case f.Status == 412 && r.Cond == object.Condition{}:
		m = web.Plain(errs.Permission) // a rule of the organization
	}
	e := b.Refused(r.Request, f, m)
	switch {
	case m.Is == object.ErrNoBucket, m.Is == object.ErrCondition: // Refused has said all
	case f.Status == 404 && r.sources:
		e.Want, e.Got = "the parts of the upload", "at least one missing"
		e.Remedy = "the upload was aborted, or its parts were removed: upload the object again"
	case f.Status == 404 && r.Cond.Tag != "":
		b.Replaced(e, f, r.Request)
	case f.Status == 412:
		e.Remedy = "a rule of the bucket or the organization forbids the request"
	case f.Status == 401 && b.tokens.under == nil:
		e.Remedy = "no credentials were sent: the bucket is not public, or the endpoint wants some (anonymous=false)"
	case m.Kind == errs.Permission:
		e.Remedy = b.remedy()
	case f.Status >= 300 && f.Status < 400:
		e.Want, e.Got = "an answer", "a way to another server"
		e.Remedy = b.Unreached
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
