package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/s3"
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// lonely takes away all credentials and settings of the machine.
func lonely(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION",
		"AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CA_BUNDLE",
		"AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
	} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	none := filepath.Join(t.TempDir(), "none")
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

func TestURLsAreChecked(t *testing.T) {
	lonely(t)
	for _, c := range []struct{ url, text string }{
		{"", "s3://bucket/prefix"}, {"bucket/run", "no scheme"}, {"gs://bucket/run", "got gs"}, {"s3://", "no bucket"},
		{"s3:///run", "no bucket"}, {"s3://arn:aws:s3:eu-west-1:1:accesspoint/x", "alias"}, {"s3://buc ket", "letters"},
		{"s3://bucket?regoin=x", `did you mean "region"?`}, {"s3://bucket?path_style=maybe", "path_style=true"},
		{"s3://bucket?endpoint=127.0.0.1:1", "endpoint"}, {"s3://bucket?endpoint=ftp://host", "ftp://host"},
		{"s3://bucket?endpoint=http://", "an endpoint like"}, {"s3://bucket?region=%zz", "do not parse"},
		{"s3://" + strings.Repeat("b", 300), "bucket name"},
	} {
		_, _, err := s3.Open(context.Background(), c.url, s3.Options{})
		var e *errs.Error
		if !errors.As(err, &e) || e.Kind != errs.Invalid || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: want invalid with %q, got %v", c.url, c.text, err)
		}
	}
	_, _, err := s3.Open(context.Background(), "s3://bucket", s3.Options{Endpoint: "nonsense"})
	if !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	t.Setenv("AWS_ENDPOINT_URL", "nonsense")
	if _, _, err := s3.Open(context.Background(), "s3://bucket", s3.Options{}); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

// The prefix is what the URL says, letter by letter.
func TestPrefixIsLiteral(t *testing.T) {
	f := newFake(t)
	for url, want := range map[string]string{
		"s3://bucket": "", "s3://bucket/": "", "s3://bucket/a/b": "a/b", "s3://bucket/a/b/": "a/b",
		"s3://bucket/sp ace/ü/%2F+": "sp ace/ü/%2F+", "s3://bucket/a?region=eu-west-1": "a",
	} {
		b, prefix, err := f.try(url, s3.Options{})
		if err != nil || prefix != want {
			t.Errorf("%s: %q, %v, want %q", url, prefix, err, want)
			continue
		}
		if b.Name() != "s3://bucket?endpoint="+f.URL {
			t.Errorf("the name is %q", b.Name())
		}
	}
}

// The environment and the shared config file say what neither the URL nor Options say.
func TestUsualChain(t *testing.T) {
	lonely(t)
	f := newFake(t)
	var got *http.Request
	f.set(func(w http.ResponseWriter, r *http.Request) {
		got = r
		_, _ = io.WriteString(w, emptyList)
	})
	open := func(url string) {
		t.Helper()
		got = nil
		if _, _, err := s3.Open(context.Background(), url, s3.Options{}); err != nil {
			t.Fatal(err)
		}
		if got == nil {
			t.Fatal("the server was not asked")
		}
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", f.URL)
	if _, _, err := s3.Open(context.Background(), "s3://bucket", s3.Options{}); !errors.Is(err, errs.Permission) ||
		!strings.Contains(err.Error(), "want credentials, got none") {
		t.Fatalf("no credentials: %v", err)
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("[profile train]\nregion = eu-north-1\naws_access_key_id = AKIAOFTHEPROFILE00\n"+
		"aws_secret_access_key = s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", file)
	t.Setenv("AWS_PROFILE", "train")
	open("s3://bucket/run")
	auth := got.Header.Get("Authorization")
	if !strings.Contains(auth, "Credential=AKIAOFTHEPROFILE00/") || !strings.Contains(auth, "/eu-north-1/s3/") ||
		got.URL.Path != "/bucket" {
		t.Errorf("%s of %s", auth, got.URL)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAOFTHEENVIRONMENT")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
	open("s3://bucket/run?region=sa-east-1")
	auth = got.Header.Get("Authorization")
	if !strings.Contains(auth, "Credential=AKIAOFTHEENVIRONMENT/") || !strings.Contains(auth, "/sa-east-1/s3/") {
		t.Error(auth)
	}
	open("s3://bucket/run?anonymous=true")
	if auth = got.Header.Get("Authorization"); auth != "" {
		t.Errorf("an anonymous request has %q", auth)
	}
	t.Setenv("AWS_PROFILE", "nobody")
	_, _, err := s3.Open(context.Background(), "s3://bucket", s3.Options{})
	if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "AWS_PROFILE") {
		t.Errorf("a profile that is not there: %v", err)
	}
}

// Virtual-hosted style puts the bucket into the host.
func TestPathStyle(t *testing.T) {
	lonely(t)
	f := newFake(t)
	var host, path string
	f.set(func(w http.ResponseWriter, r *http.Request) {
		host, path = r.Host, r.URL.Path
		_, _ = io.WriteString(w, emptyList)
	})
	if _, _, err := f.try("s3://bucket", s3.Options{}); err != nil || path != "/bucket" {
		t.Errorf("%s%s, %v", host, path, err)
	}
	port := f.URL[strings.LastIndex(f.URL, ":"):]
	if _, _, err := f.try("s3://bucket?path_style=false&endpoint=http://localhost"+port, s3.Options{}); err == nil {
		if !strings.HasPrefix(host, "bucket.localhost") || path != "/" {
			t.Errorf("%s%s", host, path)
		}
	} else if !errors.Is(err, object.ErrUnknown) { // a machine need not resolve names below localhost
		t.Error(err)
	}
}

// If nothing names the region, Open takes the one that the server names.
func TestRegionIsFound(t *testing.T) {
	lonely(t)
	f := newFake(t)
	asked := 0
	f.set(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if !strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/s3/") {
			refuse(400, "AuthorizationHeaderMalformed", "the region is wrong; expecting 'eu-central-1'")(w, r)
			return
		}
		_, _ = io.WriteString(w, emptyList)
	})
	if _, _, err := f.try("s3://bucket", s3.Options{}); err != nil || asked != 2 {
		t.Errorf("asked %d times, %v", asked, err)
	}
	if _, _, err := f.try("s3://bucket", s3.Options{Region: "us-west-2"}); !errors.Is(err, errs.Invalid) {
		t.Errorf("a region that is wrong: %v", err)
	}
}

// Credentials that may read but not list open a bucket.
func TestListingMayBeDenied(t *testing.T) {
	f := newFake(t)
	f.set(refuse(403, "AccessDenied", "no list"))
	if _, _, err := f.try("s3://bucket", s3.Options{}); err != nil {
		t.Error(err)
	}
}

// The driver does not retry: the store does.
func TestNothingIsRetried(t *testing.T) {
	for _, status := range []int{500, 503, 429, 408} {
		f := newFake(t)
		asked := 0
		b := f.open(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			refuse(status, "", "")(w, r)
		})
		_, err := b.Put(context.Background(), "k", []byte("x"), 0, object.Condition{})
		if err == nil || asked != 1 {
			t.Errorf("%d: asked %d times, %v", status, asked, err)
		}
	}
}

// A server that ignores the tag of a delete is found out before it deletes anything.
func TestIgnoredDeleteConditionIsFoundOut(t *testing.T) {
	f := newFake(t)
	objects := map[string]bool{"/bucket/k": true}
	b := f.open(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPut:
			_, _ = io.Copy(io.Discard, r.Body)
			objects[r.URL.Path] = true
			w.Header().Set("ETag", someTag)
		case http.MethodDelete:
			delete(objects, r.URL.Path)
			w.WriteHeader(204)
		}
	})
	for range 2 {
		if err := b.Delete(context.Background(), "k", object.Condition{Tag: someTag}); !errors.Is(err, errs.Unsupported) {
			t.Fatal(err)
		}
	}
	if len(objects) != 1 || !objects["/bucket/k"] {
		t.Errorf("the server has %v", objects)
	}
	// A server that refuses all conditional deletes is no better.
	g := newFake(t)
	b = g.open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete && r.Header.Get("If-Match") != "" {
			refuse(412, "PreconditionFailed", "always")(w, r)
			return
		}
		w.Header().Set("ETag", someTag)
	})
	if err := b.Delete(context.Background(), "k", object.Condition{Tag: someTag}); !errors.Is(err, errs.Unsupported) {
		t.Error(err)
	}
	// A probe that fails is tried again.
	h := newFake(t)
	down := true
	b = h.open(t, func(w http.ResponseWriter, r *http.Request) {
		switch tag := r.Header.Get("If-Match"); {
		case down:
			refuse(503, "SlowDown", "later")(w, r)
		case r.Method == http.MethodPut:
			w.Header().Set("ETag", someTag)
		case tag != "" && tag != someTag:
			refuse(412, "PreconditionFailed", "another tag")(w, r)
		default:
			w.WriteHeader(204)
		}
	})
	if err := b.Delete(context.Background(), "k", object.Condition{Tag: someTag}); !errors.Is(err, object.ErrThrottled) {
		t.Error(err)
	}
	down = false
	if err := b.Delete(context.Background(), "k", object.Condition{Tag: someTag}); err != nil {
		t.Error(err)
	}
}

// What a server sends is checked before it is used.
func TestOddAnswersAreRefused(t *testing.T) {
	f := newFake(t)
	ctx := context.Background()
	b := f.open(t, nil)
	get := func(status int, contentRange, body string) error {
		f.set(func(w http.ResponseWriter, _ *http.Request) {
			if contentRange != "" {
				w.Header().Set("Content-Range", contentRange)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
		return b.Get(ctx, "k", 2, "", make([]byte, 4))
	}
	for _, c := range []struct {
		what string
		err  error
		kind errs.Kind
	}{
		{"the whole object", get(200, "", "0123456789"), errs.Unsupported},
		{"another range", get(206, "bytes 0-3/10", "0123"), errs.Corrupt},
		{"fewer bytes", get(206, "bytes 2-3/4", "23"), errs.Corrupt},
		{"more bytes", get(206, "bytes 2-9/10", "23456789"), errs.Corrupt},
		{"a range that does not parse", get(206, "lines 2-5", "2345"), errs.Unsupported},
		{"a range that is asked for", get(206, "bytes 2-5/10", "2345"), errs.Other},
	} {
		if errs.KindOf(c.err) != c.kind {
			t.Errorf("%s: want %v, got %v", c.what, c.kind, c.err)
		}
	}
	f.set(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
	})
	if _, _, err := b.Read(ctx, "k", 1000); !errors.Is(err, object.ErrUnknown) {
		t.Errorf("an answer that ends early: %v", err)
	}
	f.set(func(w http.ResponseWriter, _ *http.Request) { // no Content-Length, no end
		for range 1000 {
			if _, err := w.Write(make([]byte, 1000)); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	})
	if _, _, err := b.Read(ctx, "k", 5000); !errors.Is(err, errs.Exhausted) {
		t.Errorf("an answer without an end: %v", err)
	}
	f.set(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, "chunked")
	})
	if p, a, err := b.Read(ctx, "k", 7); err != nil || string(p) != "chunked" || a.Size != 7 {
		t.Errorf("an answer without a length: %q, %+v, %v", p, a, err)
	}
	for what, page := range map[string]string{
		"out of order":      `<Contents><Key>k2</Key></Contents><Contents><Key>k1</Key></Contents>`,
		"twice":             `<Contents><Key>k2</Key></Contents><Contents><Key>k2</Key></Contents>`,
		"another prefix":    `<Contents><Key>elsewhere</Key></Contents>`,
		"bad encoding":      `<EncodingType>url</EncodingType><Contents><Key>k%zz</Key></Contents>`,
		"no next page":      `<IsTruncated>true</IsTruncated><Contents><Key>k2</Key></Contents>`,
		"the same page":     `<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>`,
		"the end is missed": `<Contents><Key>k2</Key>`,
	} {
		asked := 0
		f.set(func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked > 10 {
				t.Fatalf("%s: the list does not end", what)
			}
			_, _ = fmt.Fprintf(w, "<ListBucketResult>%s</ListBucketResult>", page)
		})
		var err error
		for _, err = range b.List(ctx, "k", false) {
		}
		checkError(t, what, err)
	}
	// The status of an answer to Complete says nothing: the server keeps the connection alive with it.
	all := f.uploading(t, b, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `<?xml version="1.0"?><Error><Code>PreconditionFailed</Code><Message>late</Message></Error>`)
	})
	if err := all["Complete absent"]; !errors.Is(err, object.ErrCondition) || !errors.Is(err, errs.Exists) {
		t.Errorf("an error with status 200: %v", err)
	}
	f.set(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `<DeleteResult><Error><Key>k</Key><Code>NoSuchKey</Code></Error>`+
			`<Error><Key>l</Key><Code>AccessDenied</Code></Error>`+
			`<Error><Key>m</Key><Code>AccessDenied</Code></Error></DeleteResult>`)
	})
	if err := b.DeleteAll(ctx, []string{"k", "l", "m"}); !errors.Is(err, errs.Permission) ||
		!strings.Contains(err.Error(), "bucket/l: ") ||
		!strings.Contains(err.Error(), "1 more") {
		t.Errorf("some keys are left: %v", err)
	}
}

// A server without checksums of whole objects gets uploads without them.
func TestServersWithoutWholeSums(t *testing.T) {
	f := newFake(t)
	var begun []string
	var complete string
	b := f.open(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("ETag", someTag)
		switch {
		case r.Method == http.MethodPost && strings.Contains(r.URL.RawQuery, "uploads"):
			kind := r.Header.Get("X-Amz-Checksum-Type")
			begun = append(begun, kind)
			if kind != "" {
				refuse(400, "InvalidArgument", "x-amz-checksum-type")(w, r)
				return
			}
			_, _ = io.WriteString(w, `<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>`)
		case r.Method == http.MethodPost:
			complete = string(body) + r.Header.Get("X-Amz-Checksum-Crc32c")
			_, _ = io.WriteString(w, `<CompleteMultipartUploadResult><ETag>`+someTag+`</ETag></CompleteMultipartUploadResult>`)
		}
	})
	ctx := context.Background()
	for range 2 {
		u, err := b.Begin(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if err := u.Part(ctx, 1, []byte("one"), 0x01020304); err != nil {
			t.Fatal(err)
		}
		if _, err := u.Complete(ctx, 1, 0x0a0b0c0d, object.Condition{}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(complete, "CgsMDQ==") || !strings.Contains(complete, "AQIDBA==") {
			t.Errorf("Complete sent %s", complete)
		}
	}
	if got := strings.Join(begun, ","); got != "FULL_OBJECT,," {
		t.Errorf("Begin asked for %q", got)
	}
}

// A request to AWS goes to the host of its region. A name that the certificate does not cover goes
// into the path.
func TestEndpointsOfAWS(t *testing.T) {
	lonely(t)
	var asked string
	o := s3.Options{Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, "")}
	o.HTTPClient = &http.Client{
		Transport: trip(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.Scheme + "://" + r.URL.Host + r.URL.EscapedPath()
			if hash := r.Header.Get("X-Amz-Content-Sha256"); hash != "UNSIGNED-PAYLOAD" {
				t.Errorf("with TLS, the hash of the body is %s", hash)
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(emptyList)), Request: r}, nil
		}),
	}
	check := func(url, want string) {
		t.Helper()
		if _, _, err := s3.Open(context.Background(), url, o); err != nil || asked != want {
			t.Errorf("%s: asked %s, %v, want %s", url, asked, err, want)
		}
	}
	check("s3://bucket/a", "https://bucket.s3.us-east-1.amazonaws.com/")
	check("s3://bucket?region=cn-north-1", "https://bucket.s3.cn-north-1.amazonaws.com.cn/")
	check("s3://bucket?region=eu-west-1&path_style=true", "https://s3.eu-west-1.amazonaws.com/bucket")
	check("s3://dotted.name?region=eu-west-1", "https://s3.eu-west-1.amazonaws.com/dotted.name")
	check("s3://bucket?endpoint=https://bucket.vpce-1.s3.eu-west-1.vpce.amazonaws.com/",
		"https://bucket.bucket.vpce-1.s3.eu-west-1.vpce.amazonaws.com/")
	t.Setenv("AWS_USE_FIPS_ENDPOINT", "true")
	t.Setenv("AWS_USE_DUALSTACK_ENDPOINT", "true")
	check("s3://bucket?region=us-gov-west-1", "https://bucket.s3-fips.dualstack.us-gov-west-1.amazonaws.com/")
	t.Setenv("AWS_ENDPOINT_URL", "https://general")
	check("s3://bucket", "https://general/bucket")
	t.Setenv("AWS_ENDPOINT_URL_S3", "https://special/base/")
	check("s3://bucket", "https://special/base/bucket")
	t.Setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
	check("s3://bucket?region=eu-west-1&endpoint=https://told", "https://told/bucket")
	t.Setenv("AWS_USE_FIPS_ENDPOINT", "false")
	t.Setenv("AWS_USE_DUALSTACK_ENDPOINT", "false")
	check("s3://bucket?region=eu-west-1", "https://bucket.s3.eu-west-1.amazonaws.com/")
	if _, _, err := s3.Open(context.Background(), "s3://fast--use1-az4--x-s3", o); !errors.Is(err, errs.Unsupported) {
		t.Errorf("a directory bucket: %v", err)
	}
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A body is signed without TLS, unless the caller wants it otherwise.
func TestBodiesAreSigned(t *testing.T) {
	f := newFake(t)
	for url, want := range map[string]string{
		"s3://bucket":                    "d1b2a59fbea7e20077af9f91b27e95e865061b270be03ff539ab3b73587882e8", // of "contents"
		"s3://bucket?unsigned_body=true": "UNSIGNED-PAYLOAD",
	} {
		f.answer.Store(nil)
		b, _, err := f.try(url, s3.Options{})
		if err != nil {
			t.Fatal(err)
		}
		f.set(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if got := r.Header.Get("X-Amz-Content-Sha256"); got != want {
				t.Errorf("%s: the hash of the body is %s, want %s", url, got, want)
			}
		})
		if _, err := b.Put(context.Background(), "k", []byte("contents"), 0, object.Condition{}); err != nil {
			t.Error(err)
		}
	}
}

// Open sets its clock by the server's, if the server minds.
func TestClockIsCorrected(t *testing.T) {
	f := newFake(t)
	server := time.Now().Add(-7 * time.Hour)
	asked := 0
	f.set(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Date", server.UTC().Format(http.TimeFormat))
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if err != nil || at.Sub(server).Abs() > 15*time.Minute {
			refuse(403, "RequestTimeTooSkewed", "too far")(w, r)
			return
		}
		_, _ = io.WriteString(w, emptyList)
	})
	if _, _, err := f.try("s3://bucket", s3.Options{}); err != nil || asked != 2 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

// Keys that XML cannot have are deleted one by one.
func TestKeysOutsideXMLAreDeleted(t *testing.T) {
	f := newFake(t)
	var asked []string
	b := f.open(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost {
			asked = append(asked, strings.Join(regexp.MustCompile(`<Key>[^<]*</Key>`).FindAllString(string(body), -1), ""))
			_, _ = io.WriteString(w, `<DeleteResult></DeleteResult>`)
			return
		}
		asked = append(asked, r.Method+" "+r.URL.EscapedPath())
		w.WriteHeader(204)
	})
	if err := b.DeleteAll(context.Background(), []string{"a\x01b", "tab\t&", "bad\xff", "plain"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"DELETE /bucket/a%01b", "DELETE /bucket/bad%FF", "<Key>tab&#x9;&amp;</Key><Key>plain</Key>"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}
