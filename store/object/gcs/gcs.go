// Package gcs drives buckets of Google Cloud Storage, for store/object.
//
// It speaks HTTP by itself, and takes the search for credentials from golang.org/x/oauth2. The
// client cloud.google.com/go/storage would add gRPC and OpenTelemetry to the command.
//
// # Credentials
//
// Open looks for the application default credentials as all tools of Google do: in the file of
// GOOGLE_APPLICATION_CREDENTIALS (a service account, a user, or workload identity federation), in
// the file that "gcloud auth application-default login" writes, and in the metadata of the machine.
// No error contains a token, a key or a secret. No token is sent without TLS, unless the caller
// hands it over in Options.
//
// # URLs
//
// The package registers the scheme gs with store.Register, so that a program that imports it takes
// gs://bucket/name wherever it takes a path. The parameters of Open may follow, and
// unsafe_single_writer=true: see object.Options.
//
// # Conditions
//
// The tag of an object is its generation. All requests that change something are of the JSON API,
// where ifGenerationMatch=0 says that the key must be absent, and ifGenerationMatch=N that the
// object must be of generation N. Deletes and reads have the same condition.
//
// # Uploads in parts
//
// Three ways lead to a large object. The multipart uploads of the XML API cannot be completed on a
// condition. A resumable upload has a condition, but its bytes come one after the other. The driver
// takes the third: each part is an object of its own below .bivouac-uploads/, and Complete composes
// them, 32 at a time and in several levels if need be. Only the last request makes the key: it has
// the condition, and names the generations of what it composes. Then the parts are removed. A part
// that is sent again gets a new name, so that a late request replaces nothing.
//
// List does not show what is below .bivouac-uploads/, and no other request takes such keys. Uploads
// finds the parts there that nobody completed.
//
// # Checksums
//
// Each Put and each part carries its CRC-32C, and the server compares it. Complete computes the
// CRC-32C of the whole object from the parts, and compares it before it asks for anything. It
// compares what the server says of each object that it composed as well.
package gcs

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/oauth2"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// Options say how to reach a bucket. What the URL says wins over Options, and Options win over the
// environment.
type Options struct {
	// Endpoint is the URL of a server: an emulator such as "http://127.0.0.1:9000", or a private
	// endpoint of Google. The environment variable STORAGE_EMULATOR_HOST says it too. A server other
	// than Google gets no credentials, unless Credentials has some or the URL says anonymous=false.
	Endpoint string
	// Credentials replaces the usual search for credentials.
	Credentials oauth2.TokenSource
	// Anonymous sends no credentials: for public buckets. So does anonymous=true in the URL.
	Anonymous bool
	// UserProject is the project that pays for requests, if the bucket wants the requester to pay.
	UserProject string
	// HTTPClient replaces the HTTP client of the driver.
	HTTPClient *http.Client
}

const (
	googleEndpoint = "https://storage.googleapis.com"
	opOpen         = "gcs.Open"
	scheme         = "gs://"
	like           = "a URL gs://bucket/prefix"
)

// Open opens the bucket of a URL, and returns the prefix of keys that the URL names:
//
//	gs://bucket/prefix?endpoint=http://127.0.0.1:9000
//
// The prefix is taken as it stands: %2F is three characters. It has no "/" at its ends. Open lists
// at most one key, so that wrong credentials, a missing bucket and a wrong endpoint fail here.
func Open(ctx context.Context, rawURL string, o Options) (object.Bucket, string, error) {
	t, err := parse(rawURL, o)
	if err != nil {
		return nil, "", err
	}
	b, err := t.open(ctx)
	if err != nil {
		return nil, "", err
	}
	err = b.look(ctx, t.prefix)
	var f *web.Failure
	if errors.As(err, &f) && errors.Is(err, errs.Permission) &&
		(f.Status == http.StatusForbidden || f.Status == http.StatusUnauthorized && t.anonymous) {
		err = nil // this caller may not list, but may read
	}
	if err != nil {
		return nil, "", err
	}
	return b, t.prefix, nil
}

// target is a parsed URL with the options that it does not say.
type target struct {
	bucket, prefix string
	anonymous      bool
	anonymousSaid  bool
	o              Options
}

const bucketLetters = "abcdefghijklmnopqrstuvwxyz0123456789.-_"

func parse(rawURL string, o Options) (*target, error) {
	t := &target{o: o, anonymous: o.Anonymous, anonymousSaid: o.Anonymous}
	rest, ok := strings.CutPrefix(rawURL, scheme)
	if !ok {
		found, _, _ := strings.Cut(rawURL, "://")
		if found == rawURL || len(found) > 16 {
			found = "no scheme"
		}
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Want: like, Got: found}
	}
	path, query, _ := strings.Cut(rest, "?")
	t.bucket, t.prefix, _ = strings.Cut(path, "/")
	t.prefix = strings.Trim(t.prefix, "/")
	bad := strings.Trim(t.bucket, bucketLetters) != "" || len(t.bucket) > 222 || mask(t.bucket, nil) != t.bucket
	switch {
	case bad && strings.Contains(path, "@"):
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Want: like,
			Got: "credentials in front of the bucket", Remedy: "take them out of the URL; " + lookedFor}
	case t.bucket == "":
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Want: like, Got: "no bucket"}
	case bad:
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen,
			Want: "a bucket name of lowercase letters, digits, \".\", \"-\" and \"_\"", Got: mask(t.bucket, nil)}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, t.invalid("parameters like endpoint=http://127.0.0.1:9000", "parameters that do not parse")
	}
	for name, v := range values {
		if err := t.set(name, v[len(v)-1]); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *target) invalid(want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: scheme + t.bucket, Want: want, Got: got}
}

func (t *target) set(name, value string) error {
	parameters := []string{"endpoint", "anonymous", "user_project", web.UnsafeSingleWriter}
	switch name {
	case "endpoint":
		t.o.Endpoint = value
	case "user_project":
		t.o.UserProject = value
	case "anonymous":
		var known bool
		if t.anonymous, known = web.Truth(value); !known {
			return t.invalid("anonymous=true or anonymous=false", "another value")
		}
		t.anonymousSaid = true
	default:
		e := &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: scheme + t.bucket,
			Want: "the parameters " + strings.Join(parameters, ", "), Got: "another parameter",
			Remedy: errs.DidYouMean(name, parameters)}
		if len(name) <= 40 && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz_-") == "" {
			e.Got = mask(name, nil)
		}
		return e
	}
	return nil
}

// endpoint returns the URL of the server. The error does not repeat a URL with a password.
func (t *target) endpoint() (*url.URL, error) {
	given, from := t.o.Endpoint, "the endpoint"
	if given == "" {
		if given, from = os.Getenv("STORAGE_EMULATOR_HOST"), "STORAGE_EMULATOR_HOST"; given == "" {
			given = googleEndpoint
		} else if !strings.Contains(given, "://") {
			given = "http://" + given
		}
	}
	u, err := url.Parse(strings.TrimSuffix(strings.TrimRight(given, "/"), "/storage/v1"))
	want := from + " like http://127.0.0.1:9000"
	switch {
	case err != nil:
		return nil, t.invalid(want, "a URL that does not parse")
	case u.User != nil:
		return nil, t.invalid(want, "a URL with credentials")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.RawQuery != "", u.Fragment != "":
		return nil, t.invalid(want, mask(given, nil))
	}
	u.RawPath = ""
	return u, nil
}

// ofGoogle reports whether a host is one of Google, or a private endpoint that leads there.
func ofGoogle(u *url.URL) bool {
	return u.Scheme == "https" && (u.Hostname() == "googleapis.com" || strings.HasSuffix(u.Hostname(), ".googleapis.com"))
}

// open makes the client. It sends no request to the bucket.
func (t *target) open(ctx context.Context) (*bucket, error) {
	base, err := t.endpoint()
	if err != nil {
		return nil, err
	}
	b := &bucket{bucket: t.bucket, name: scheme + t.bucket}
	b.base, b.userProject = base, t.o.UserProject
	if base.String() != googleEndpoint {
		b.name += "?endpoint=" + base.String()
	}
	b.Server = web.Server{Subject: b.subject, Mask: b.mask, Certificates: "SSL_CERT_FILE",
		HTTP: web.Client(t.o.HTTPClient), Unreached: "check the endpoint " + base.Scheme + "://" + base.Host}
	b.tokens = &watched{}
	switch {
	case t.anonymous:
	case t.o.Credentials != nil:
		b.tokens.under, b.tokens.from = oauth2.ReuseTokenSource(nil, t.o.Credentials), "Options.Credentials"
	case ofGoogle(base), t.anonymousSaid && base.Scheme == "https":
		if err := b.tokens.find(ctx, t.o.HTTPClient); err != nil {
			return nil, t.nobody(ctx, b, err)
		}
	case t.anonymousSaid:
		return nil, t.invalid("an https:// endpoint with anonymous=false",
			"an http:// endpoint, where all could read the token")
	}
	return b, nil
}

// nobody is the error of a search for credentials that found none.
func (t *target) nobody(ctx context.Context, b *bucket, err error) error {
	if ctx.Err() != nil {
		return b.Ended(ctx, web.Request{Op: opOpen})
	}
	got := "none"
	if file := os.Getenv(credentialsFile); file != "" {
		got = "none in the file " + file
	}
	return &errs.Error{Kind: errs.Permission, Op: opOpen, Subject: scheme + t.bucket, Want: "credentials", Got: got,
		Err: &web.Failure{Message: b.Mask(err.Error())}, Remedy: lookedFor + "; anonymous=true reads public buckets"}
}
