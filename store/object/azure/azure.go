// Package azure drives Azure Blob Storage, for store/object.
//
// It speaks HTTP by itself, signs requests with an account key by itself, and takes tokens of Entra
// ID from azidentity.
//
// # Credentials
//
// Open takes the first of these: Options, AZURE_STORAGE_CONNECTION_STRING, AZURE_STORAGE_KEY,
// AZURE_STORAGE_SAS_TOKEN, and the usual chain of azidentity: the environment (AZURE_CLIENT_ID, …),
// a workload identity, a managed identity, and the command az. Keys of another account than the one
// of the URL are not used. No error contains a key, a SAS, a token or a signature.
//
// # URLs
//
// The package registers the scheme az with store.Register, so that a program that imports it takes
// az://account/container/name wherever it takes a path. The parameters of Open may follow, and
// unsafe_single_writer=true: see object.Options.
//
// # Checksums
//
// Azure compares the CRC-64 (x-ms-content-crc64) or the MD5 (Content-MD5) of a request with the
// bytes that arrived, and keeps neither for a block. It knows no CRC-32C. So the driver computes
// the CRC-64 of the bytes, then compares their CRC-32C with the one of the caller, and sends the
// CRC-64. Bytes that change before the second sum differ from the first, and bytes that change
// later differ from the CRC-64. A server that refuses the CRC-64, as the emulator Azurite does,
// gets the MD5. Nothing compares a checksum of a whole upload in parts: its proof is the sums of
// its parts.
//
// # Conditions
//
// Put Blob and Put Block List send If-None-Match and If-Match, and Delete Blob sends If-Match.
//
// # Uploads in parts
//
// A part is a block of the blob that was not committed. Its ID has the ID of the upload and the
// time when the upload began. Azure drops such blocks when the blob is written, or after a week. It
// cannot drop the blocks of one upload: see upload.Abort.
package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// Options say how to reach a container. What the URL says wins over Options, and Options win over
// the environment.
type Options struct {
	// Endpoint is the URL of the blob service of the account, if that is not
	// https://account.blob.core.windows.net: "http://127.0.0.1:10000/devstoreaccount1".
	Endpoint string
	// Key is a key of the account, in base64.
	Key string
	// SAS is a shared access signature: "sv=…&sig=…".
	SAS string
	// Credential replaces the search for tokens of Entra ID.
	Credential azcore.TokenCredential
	// Anonymous sends requests without credentials, for public containers. So does anonymous=true in
	// the URL.
	Anonymous bool
	// HTTPClient replaces the HTTP client of the driver.
	HTTPClient *http.Client
}

const opOpen = "azure.Open"

// Open opens the container of a URL, and returns the prefix of keys that the URL names:
//
//	az://account/container/prefix?endpoint=http://127.0.0.1:10000/account
//
// The prefix is taken as it stands: %2F is three characters. It has no "/" at its ends. Open lists
// at most one key, so that wrong credentials and a missing container fail here. An account with a
// hierarchical namespace is refused: its directories are objects, and their lists have another
// order.
func Open(ctx context.Context, rawURL string, o Options) (object.Bucket, string, error) {
	t, err := parse(rawURL, o)
	if err != nil {
		return nil, "", err
	}
	b, err := t.open()
	if err != nil {
		return nil, "", err
	}
	err = b.look(ctx)
	var f *web.Failure
	if errors.As(err, &f) {
		switch {
		case f.Code == codeAuthentication && b.skewed():
			err = b.look(ctx) // the Date of the answer has corrected the clock
		case f.Code == codeNotAllowed:
			err = nil // these credentials may not list; they may read
		}
	}
	if err != nil {
		return nil, "", err
	}
	if err := b.checkFlat(ctx); err != nil {
		return nil, "", err
	}
	return b, t.prefix, nil
}

// target is a parsed URL with the options that it does not say.
type target struct {
	account, container, prefix string

	endpoint  string
	anonymous bool
	o         Options
}

const wantURL = "a URL az://account/container/prefix"

func parse(rawURL string, o Options) (*target, error) {
	t := &target{endpoint: o.Endpoint, anonymous: o.Anonymous, o: o}
	rest, ok := strings.CutPrefix(rawURL, "az://")
	if !ok {
		return nil, foreign(rawURL)
	}
	path, query, _ := strings.Cut(rest, "?")
	t.account, path, _ = strings.Cut(path, "/")
	t.container, t.prefix, _ = strings.Cut(path, "/")
	t.prefix = strings.Trim(t.prefix, "/")
	switch {
	case strings.Contains(t.account, "@") || strings.Contains(t.account, ":"):
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Want: wantURL,
			Got: "credentials or a container in front of the account", Remedy: "take them out of the URL; " + lookedFor}
	case t.account == "":
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Want: wantURL, Got: "no account"}
	case strings.Trim(t.account, "abcdefghijklmnopqrstuvwxyz0123456789") != "" || len(t.account) > 24:
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen,
			Want: "an account of at most 24 lower-case letters and digits", Got: mask(t.account, nil),
			Remedy: "write the name of the account, not of its host: az://account/container/prefix"}
	case t.container == "":
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: "az://" + t.account,
			Want: wantURL, Got: "no container"}
	case !isContainer(t.container):
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: "az://" + t.account,
			Want: `a container of 3 to 63 lower-case letters, digits and "-"`, Got: mask(t.container, nil)}
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, t.invalid("parameters like endpoint=https://host&anonymous=true", "parameters that do not parse")
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

// isContainer reports whether Azure takes name for a container. The container $root has no path of
// its own, and is not taken.
func isContainer(name string) bool {
	return len(name) >= 3 && len(name) <= 63 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" &&
		name[0] != '-' && name[len(name)-1] != '-' && !strings.Contains(name, "--")
}

// foreign is the error of a URL of another scheme. Azure has several that mean the same.
func foreign(rawURL string) error {
	scheme, _, _ := strings.Cut(rawURL, "://")
	if scheme == rawURL || len(scheme) > 16 {
		scheme = "no scheme"
	}
	e := &errs.Error{Kind: errs.Invalid, Op: opOpen, Want: wantURL, Got: scheme}
	switch strings.ToLower(scheme) {
	case "abfs", "abfss", "wasb", "wasbs", "adl":
		e.Kind = errs.Unsupported
		e.Remedy = scheme + "://container@account.… is az://account/container/… here"
	case "https", "http":
		e.Remedy = "https://account.blob.core.windows.net/container/… is az://account/container/… here"
	}
	return e
}

func (t *target) subject() string { return "az://" + t.account + "/" + t.container }

func (t *target) invalid(want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: t.subject(), Want: want, Got: got}
}

func (t *target) set(name, value string) error {
	parameters := []string{"endpoint", "anonymous", web.UnsafeSingleWriter}
	truth := value == "true" || value == "1" || value == ""
	switch name {
	case "endpoint":
		t.endpoint = value
	case "anonymous":
		if !truth && value != "false" && value != "0" {
			return t.invalid(name+"=true or "+name+"=false", "another value")
		}
		t.anonymous = truth
	case "sig", "se", "sv", "sp", "sr", "st", "srt", "ss", "skoid":
		e := &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: t.subject(),
			Got:    "a shared access signature in the URL",
			Remedy: "set AZURE_STORAGE_SAS_TOKEN: a URL is printed and logged"}
		return e
	default:
		e := &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: t.subject(),
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
// an endpoint with a password or a signature.
func (t *target) checkEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	want := "an endpoint like http://127.0.0.1:10000/" + t.account
	switch {
	case err != nil:
		return t.invalid(want, "an endpoint that does not parse")
	case u.User != nil:
		return t.invalid(want, "an endpoint with credentials")
	case u.RawQuery != "", u.Fragment != "":
		return t.invalid(want, "an endpoint with parameters")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return t.invalid(want, mask(endpoint, nil))
	}
	return nil
}

// open makes the client. It sends no request.
func (t *target) open() (*bucket, error) {
	found, err := t.search()
	if err != nil {
		return nil, err
	}
	b := &bucket{account: t.account, container: t.container, prefix: t.prefix, name: t.subject()}
	b.credential = found.credential
	endpoint := t.endpoint
	if endpoint == "" && found.endpoint != "" {
		if err := t.checkEndpoint(found.endpoint); err != nil {
			return nil, err
		}
		endpoint = found.endpoint
	}
	if endpoint == "" {
		endpoint = "https://" + t.account + ".blob." + found.suffix
	} else {
		b.name += "?endpoint=" + endpoint
	}
	u, err := url.Parse(strings.TrimRight(endpoint, "/"))
	if err != nil {
		return nil, t.invalid("an endpoint that parses", "another")
	}
	if _, ok := b.credential.(*bearer); ok && u.Scheme != "https" {
		return nil, &errs.Error{Kind: errs.Invalid, Op: opOpen, Subject: t.subject(),
			Want: "an https:// endpoint: a token that is read on the way opens the account", Got: endpoint,
			Remedy: "give a key or a SAS for an http:// endpoint; " + lookedFor}
	}
	b.base = u
	b.Objects = web.Objects{Driver: "azure", Check: b.check, Send: b.send, Server: web.Server{
		Subject: b.subject, Mask: b.mask, Certificates: "SSL_CERT_FILE", HTTP: web.Client(t.o.HTTPClient),
		Unreached: "check the name of the account " + b.account + " and the endpoint"}}
	return b, nil
}

// checkFlat returns an error if the account has a hierarchical namespace. An answer that does not
// say it is no error: the question needs rights of its own.
func (b *bucket) checkFlat(ctx context.Context) error {
	q := url.Values{"restype": {"account"}, "comp": {"properties"}}
	answer, err := b.Send(ctx, web.Call{Request: web.Request{Op: opOpen}, Method: http.MethodGet, Query: q})
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return nil
	}
	web.Finish(answer)
	if answer.Header.Get("X-Ms-Is-Hns-Enabled") == "true" {
		return b.hierarchical(opOpen)
	}
	return nil
}

func (b *bucket) hierarchical(op string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: op, Subject: fmt.Sprintf("az://%s/%s", b.account, b.container),
		Want: "an account with a flat namespace", Got: "one with a hierarchical namespace (Data Lake Storage)",
		Remedy: "its directories are objects: use an account whose hierarchical namespace is off"}
}
