package azure

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
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

// unknownHeader reports whether the server does not take a header of the request.
func unknownHeader(f *web.Failure) bool {
	return f.Code == "FeatureNotSupported" || f.Code == "UnsupportedHeader" || f.Status == http.StatusNotImplemented
}

// read takes from an answer what errors say.
func (b *bucket) read(answer *http.Response, text []byte) *web.Failure {
	var said struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}
	h := answer.Header
	f := &web.Failure{Status: answer.StatusCode, Code: h.Get("X-Ms-Error-Code"), ID: b.Mask(h.Get("X-Ms-Request-Id"))}
	if xml.Unmarshal([]byte(strings.TrimPrefix(string(text), "\ufeff")), &said) == nil {
		if f.Code == "" {
			f.Code = said.Code
		}
		// The second line and the third have the ID and the time of the request.
		message, _, _ := strings.Cut(said.Message, "\n")
		f.Message = b.Mask(message)
	}
	f.Code = b.Mask(f.Code)
	if len(f.ID) > 64 {
		f.ID = ""
	}
	return f
}

// codes has the meaning of codes. A status alone does not tell: 409 and 412 mean many things.
var codes = map[string]web.Meaning{
	codeExists:                           web.Plain(errs.Exists), // a condition only if the request has one
	"ConditionNotMet":                    web.Condition,
	"ServerBusy":                         web.Throttled,
	"AccountBeingCreated":                web.Throttled,
	"PendingCopyOperation":               web.Conflict,
	"OperationTimedOut":                  web.Unknown,
	"InternalError":                      web.Unknown,
	codeNoBlob:                           web.Plain(errs.NotFound),
	"ResourceNotFound":                   web.Plain(errs.NotFound),
	codeNoContainer:                      web.NoBucket,
	"ContainerBeingDeleted":              web.NoBucket,
	codeBlockList:                        web.Plain(errs.NotFound),
	"Md5Mismatch":                        web.Plain(errs.Corrupt),
	"Crc64Mismatch":                      web.Plain(errs.Corrupt),
	"InvalidRange":                       web.Plain(errs.Corrupt),
	codeAuthentication:                   web.Plain(errs.Permission),
	codeNotAllowed:                       web.Plain(errs.Permission),
	"AuthorizationFailure":               web.Plain(errs.Permission),
	"AuthorizationProtocolMismatch":      web.Plain(errs.Permission),
	"AuthorizationResourceTypeMismatch":  web.Plain(errs.Permission),
	"AuthorizationServiceMismatch":       web.Plain(errs.Permission),
	"AuthorizationSourceIPMismatch":      web.Plain(errs.Permission),
	"InsufficientAccountPermissions":     web.Plain(errs.Permission),
	"InvalidAuthenticationInfo":          web.Plain(errs.Permission),
	"KeyBasedAuthenticationNotPermitted": web.Plain(errs.Permission),
	"NoAuthenticationInformation":        web.Plain(errs.Permission),
	"PublicAccessNotPermitted":           web.Plain(errs.Permission),
	"AccountIsDisabled":                  web.Plain(errs.Permission),
	"ContainerDisabled":                  web.Plain(errs.Permission),
	"BlobImmutableDueToPolicy":           web.Plain(errs.Permission),
	"LeaseIdMissing":                     web.Plain(errs.Busy),
	"LeaseIdMismatchWithBlobOperation":   web.Plain(errs.Busy),
	"LeaseLost":                          web.Plain(errs.Busy),
	"LeaseNotPresentWithBlobOperation":   web.Plain(errs.Busy),
	"BlobBeingRehydrated":                web.Plain(errs.Busy),
	"BlobArchived":                       web.Plain(errs.Unsupported),
	"InvalidBlobType":                    web.Plain(errs.Invalid),
	"SnapshotsPresent":                   web.Plain(errs.Invalid),
	"FeatureNotSupported":                web.Plain(errs.Unsupported),
	"UnsupportedHeader":                  web.Plain(errs.Unsupported),
	"UnsupportedHttpVerb":                web.Plain(errs.Unsupported),
	"ResourceTypeMismatch":               web.Plain(errs.Unsupported),
	"BlockCountExceedsLimit":             web.Plain(errs.Exhausted),
	"RequestBodyTooLarge":                web.Plain(errs.Invalid),
	"AccountRequiresHttps":               web.Plain(errs.Invalid),
	"InvalidHeaderValue":                 web.Plain(errs.Invalid),
	"InvalidQueryParameterValue":         web.Plain(errs.Invalid),
	"OutOfRangeInput":                    web.Plain(errs.Invalid),
	codeInvalidBlock:                     web.Plain(errs.Exists),
	"UnauthorizedBlobOverwrite":          web.Plain(errs.Permission),
	"InvalidResourceName":                web.Plain(errs.Invalid),
}

func meaningOf(r web.Request, f *web.Failure) web.Meaning {
	_, known := codes[f.Code]
	conditional := r.Cond.Absent || r.Cond.Tag != ""
	switch {
	case f.Code == codeExists && r.Cond.Absent:
		return web.Condition
	case known:
	case f.Code == "InvalidOperation" && strings.Contains(f.Message, "contentMD5"): // Azurite
		return web.Plain(errs.Corrupt)
	case f.Status == http.StatusConflict && f.Code != "",
		f.Status == http.StatusPreconditionFailed && (f.Code != "" || !conditional):
		return web.Plain(errs.Invalid)
	}
	return web.MeaningOf(codes, f)
}

// explain makes the error of an answer.
func (b *bucket) explain(r web.Request, f *web.Failure) *errs.Error {
	m := meaningOf(r, f)
	e := b.Refused(r, f, m)
	drift := time.Duration(b.drift.Load())
	switch {
	case m.Is == object.ErrNoBucket:
		e.Remedy = "make the container, or check its name and the endpoint"
	case f.Code == "BlockCountExceedsLimit":
		e.Want, e.Got = "at most 100,000 parts that were not completed", "more"
		e.Remedy = "write the object in one request, or wait a week"
	case m.Kind == errs.NotFound && r.Cond.Tag != "" && f.Code != codeBlockList:
		b.Replaced(e, f, r)
	case f.Code == codeAuthentication && drift.Abs() > skew:
		e.Kind, e.Want = errs.Invalid, "a request that is not older than the server allows"
		e.Got = fmt.Sprintf("a clock that differs from the server's by %v", drift.Abs().Round(time.Second))
		e.Remedy = "set the clock of this machine"
	case m.Kind == errs.Permission, b.credential == anonymous{} && f.Code == "ResourceNotFound":
		e.Remedy = b.remedy() // Azure says to callers without credentials that a private container is not there
	case f.Code == "AccountRequiresHttps":
		e.Remedy = "write https:// in the endpoint"
	case f.Code == codeInvalidBlock:
		e.Want, e.Got = "blocks with IDs of 64 letters, or none", "blocks of another program"
		e.Remedy = "delete the object first; unfinished blocks of another program vanish after a week"
	case strings.HasPrefix(f.Code, "Lease"):
		e.Want, e.Got, e.Remedy = "an object without a lease", "one that a program has leased", "release or break its lease"
	case f.Code == "InvalidRange":
		b.Short(e, r)
	case f.Status >= 300 && f.Status < 400:
		e.Want, e.Got = "an answer of the blob service", "a redirection"
		e.Remedy = "check the endpoint: " + mask(b.base.String(), nil)
	}
	return e
}

// remedy says which credentials were found, or where they are looked for.
func (b *bucket) remedy() string {
	return "the credentials come from " + mask(b.credential.from(), nil) + "; " + lookedFor
}
