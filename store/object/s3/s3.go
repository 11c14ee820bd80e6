// Package s3 drives object stores that speak the S3 protocol, for store/object.
//
// It speaks HTTP by itself, and takes the search for credentials and the signatures from
// aws-sdk-go-v2: this adds 5.5 MB and 14 modules to the command. The client service/s3 adds 11 MB
// and moves bytes no faster; minio-go v7.4.1 adds 3 MB, but has no conditional delete, and knows no
// roles and no SSO of the shared config file.
//
// # Credentials
//
// Open looks for credentials as all tools of AWS do: in the environment (AWS_ACCESS_KEY_ID, …), in
// the shared config and credentials files (AWS_PROFILE), in a web identity token, in the container
// and in the metadata of the machine. No error contains a key, a secret, a token or a signature.
//
// # URLs
//
// The package registers the scheme s3 with store.Register, so that a program that imports it takes
// s3://bucket/name wherever it takes a path. The parameters of Open may follow, and
// unsafe_single_writer=true: see object.Options.
//
// # Checksums
//
// Each Put and each part carries its CRC-32C, and the server compares it. An upload in parts asks
// for a checksum of the whole object (FULL_OBJECT), which the server computes from the checksums of
// the parts, and compares with the CRC-32C of Complete. If the server has no such checksums, it
// compares parts only.
//
// # Conditions
//
// Put and Complete send If-None-Match and If-Match. Before the first conditional delete, the driver
// asks the server to delete an object of its own under a wrong tag. If the server deletes it,
// conditional deletes fail with errs.Unsupported from then on.
package s3

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go/logging"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// Options say how to reach a bucket. What the URL says wins over Options, and Options win over the
// environment and the shared config file.
type Options struct {
	// Endpoint is the URL of a server other than AWS: "http://127.0.0.1:7070". The environment
	// variables AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL say it too.
	Endpoint string
	// Region is the region of the bucket. If nothing names a region, Open asks the server.
	Region string
	// PathStyle puts the bucket into the path of requests, not into the host name. Servers other than
	// AWS get path style unless the URL says path_style=false.
	PathStyle bool
	// Credentials replaces the usual search for credentials. aws.AnonymousCredentials reads public
	// buckets; so does anonymous=true in the URL.
	Credentials aws.CredentialsProvider
	// UnsignedBody sends bodies without their SHA-256 to an http:// endpoint, which takes less time: a
	// body still has its CRC-32C. So does unsigned_body=true in the URL. With TLS no body is signed.
	UnsignedBody bool
	// HTTPClient replaces the HTTP client of the driver. AWS_CA_BUNDLE has no effect on it.
	HTTPClient *http.Client
}

// anyRegion is the region of requests to servers that have no regions, and of the first request to
// AWS if nothing names a region. AWS answers it with the right region.
const anyRegion = "us-east-1"

// Open opens the bucket of a URL, and returns the prefix of keys that the URL names:
//
//	s3://bucket/prefix?region=eu-west-1&endpoint=http://127.0.0.1:7070&path_style=true
//
// The prefix is taken as it stands: %2F is three characters. It has no "/" at its ends. Open lists
// at most one key, so that wrong credentials, a missing bucket and a wrong region fail here.
func Open(ctx context.Context, rawURL string, o Options) (object.Bucket, string, error) {
	t, err := parse(rawURL, o)
	if err != nil {
		return nil, "", err
	}
	b, err := t.open(ctx)
	if err != nil {
		return nil, "", err
	}
	err = b.look(ctx)
	var e *web.Failure
	if errors.As(err, &e) {
		switch {
		case e.Region != "" && t.region == "" && b.regionGuessed:
			t.region = e.Region
			if b, err = t.open(ctx); err == nil {
				err = b.look(ctx)
			}
		case e.Code == codeSkew:
			err = b.look(ctx) // the Date of the answer has corrected the clock
		case e.Code == codeDenied:
			err = nil // these credentials may not list; they may read
		}
	}
	if err != nil {
		return nil, "", err
	}
	return b, t.prefix, nil
}

// target is a parsed URL with the options that it does not say.
type target struct {
	bucket, prefix   string
	region, endpoint string
	pathStyle        bool
	virtualHost      bool
	anonymous        bool
	unsigned         bool
	o                Options
}

const opOpen = "s3.Open"

func parse(rawURL string, o Options) (*target, error) {
	t := &target{region: o.Region, endpoint: o.Endpoint, pathStyle: o.PathStyle, unsigned: o.UnsignedBody, o: o}
	rest, ok := strings.CutPrefix(rawURL, "s3://")
	if !ok {
		scheme, _, _ := strings.Cut(rawURL, "://")
		if scheme == rawURL || len(scheme) > 16 {
			scheme = "no scheme"
		}
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Want: "a URL s3://bucket/prefix", Got: scheme}
	}
	path, query, _ := strings.Cut(rest, "?")
	t.bucket, t.prefix, _ = strings.Cut(path, "/")
	t.prefix = strings.Trim(t.prefix, "/")
	bad := strings.Trim(t.bucket, bucketLetters) != "" || len(t.bucket) > 255
	switch {
	case bad && strings.Contains(path, "@"):
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Want: "a URL s3://bucket/prefix",
			Got: "credentials in front of the bucket", Remedy: "take them out of the URL; " + lookedFor}
	case t.bucket == "":
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Want: "a URL s3://bucket/prefix", Got: "no bucket"}
	case strings.HasSuffix(t.bucket, "--x-s3"):
		return nil, &errs.Error{Kind: errs.Unsupported, Op: opOpen, Subject: "s3://" + t.bucket,
			Want: "a general purpose bucket", Got: "a directory bucket", Remedy: "its lists have no order"}
	case bad:
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen,
			Want: "a bucket name of letters, digits, \".\", \"-\" and \"_\"", Got: mask(t.bucket, nil),
			Remedy: "name an access point by its alias, not by its ARN"}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, t.invalid("parameters like region=eu-west-1&path_style=true", "parameters that do not parse")
	}
	for name, v := range values {
		if err := t.set(name, v[len(v)-1]); err != nil {
			return nil, err
		}
	}
	if t.endpoint != "" {
		if err := t.checkEndpoint(t.endpoint); err != nil {
			return nil, err
		}
	}
	return t, nil
}

const bucketLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

func (t *target) invalid(want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: "s3://" + t.bucket, Want: want, Got: got}
}

func (t *target) set(name, value string) error {
	parameters := []string{"region", "endpoint", "path_style", "anonymous", "unsigned_body", web.UnsafeSingleWriter}
	switch name {
	case "region":
		t.region = value
	case "endpoint":
		t.endpoint = value
	case "path_style", "anonymous", "unsigned_body":
		truth, known := web.Truth(value)
		if !known {
			return t.invalid(name+"=true or "+name+"=false", "another value")
		}
		switch name {
		case "anonymous":
			t.anonymous = truth
		case "unsigned_body":
			t.unsigned = truth
		default:
			t.pathStyle, t.virtualHost = truth, !truth
		}
	default:
		e := &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: "s3://" + t.bucket,
			Want: "the parameters " + strings.Join(parameters, ", "), Got: "another parameter",
			Remedy: errs.DidYouMean(name, parameters)}
		if len(name) <= 40 && strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz_-") == "" {
			e.Got = name
		}
		return e
	}
	return nil
}

// checkEndpoint returns an error unless endpoint is the URL of a server. The error does not repeat
// an endpoint with a password.
func (t *target) checkEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	want := "an endpoint like http://127.0.0.1:7070"
	switch {
	case err != nil:
		return t.invalid(want, "an endpoint that does not parse")
	case u.User != nil:
		return t.invalid(want, "an endpoint with credentials")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.RawQuery != "", u.Fragment != "":
		return t.invalid(want, endpoint)
	}
	return nil
}

// open makes the client. It sends no request to the bucket.
func (t *target) open(ctx context.Context) (*bucket, error) {
	var client aws.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(web.Tune)
	if t.o.HTTPClient != nil {
		client = web.Client(t.o.HTTPClient)
	}
	cfg, err := configuration(ctx, client, t.region)
	if err != nil {
		return nil, t.misconfigured(err)
	}
	b := &bucket{bucket: t.bucket, prefix: t.prefix, name: "s3://" + t.bucket, regionGuessed: cfg.Region == ""}
	b.region = cfg.Region
	if b.region == "" {
		b.region = anyRegion
	}
	b.credentials = &watched{under: cfg.Credentials}
	b.Objects = web.Objects{Driver: "s3", Check: b.check, Send: b.send, Server: web.Server{
		Subject: b.subject, Mask: b.mask, Certificates: "AWS_CA_BUNDLE", HTTP: cfg.HTTPClient,
		Unreached: "check the endpoint and the region " + b.region}}
	if t.o.Credentials != nil {
		b.credentials.under = aws.NewCredentialsCache(t.o.Credentials)
	}
	b.unsigned = t.unsigned
	b.anonymous = t.anonymous || aws.IsCredentialsProvider(t.o.Credentials, aws.AnonymousCredentials{})
	b.signer = v4.NewSigner(func(so *v4.SignerOptions) {
		so.DisableURIPathEscaping = true // S3 escapes a key once
		so.Logger = logging.Nop{}
	})
	return b, t.locate(ctx, cfg, b)
}

// locate says where the bucket is.
func (t *target) locate(ctx context.Context, cfg aws.Config, b *bucket) error {
	said, err := settingsOf(ctx, cfg)
	if err != nil {
		return t.misconfigured(err)
	}
	if t.endpoint != "" {
		said.endpoint = t.endpoint
	}
	pathStyle := t.pathStyle
	if said.endpoint == "" {
		said.endpoint = awsEndpoint(b.region, said.dualStack, said.fips)
	} else {
		if err := t.checkEndpoint(said.endpoint); err != nil {
			return err
		}
		pathStyle = !t.virtualHost && (pathStyle || !strings.Contains(said.endpoint, ".amazonaws."))
		b.name += "?endpoint=" + said.endpoint
	}
	b.base, err = t.place(said.endpoint, pathStyle)
	return err
}

func (t *target) misconfigured(err error) error {
	return &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: "s3://" + t.bucket,
		Want: "a configuration that the SDK reads", Err: errors.New(mask(err.Error(), nil)),
		Remedy: "see AWS_PROFILE, AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE"}
}
