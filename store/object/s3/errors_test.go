package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/s3"
)

// Each answer has one meaning, whatever was asked.
func TestAnswersHaveOneMeaning(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		is     []error
		not    []error
	}{
		{412, "PreconditionFailed", []error{object.ErrCondition}, []error{object.ErrUnknown}},
		{409, "ConditionalRequestConflict", []error{object.ErrConflict, errs.Busy}, []error{object.ErrUnknown}},
		{409, "OperationAborted", []error{object.ErrConflict}, nil},
		{429, "TooManyRequests", []error{object.ErrThrottled, errs.Busy}, []error{object.ErrUnknown}},
		{503, "SlowDown", []error{object.ErrThrottled}, []error{object.ErrUnknown}},
		{503, "ServiceUnavailable", []error{object.ErrThrottled}, nil},
		{500, "InternalError", []error{object.ErrUnknown, errs.IO}, []error{object.ErrThrottled}},
		{502, "BadGateway", []error{object.ErrUnknown}, nil},
		{504, "GatewayTimeout", []error{object.ErrUnknown}, nil},
		{403, "AccessDenied", []error{errs.Permission}, []error{object.ErrUnknown, object.ErrCondition}},
		{403, "InvalidAccessKeyId", []error{errs.Permission}, nil},
		{403, "SignatureDoesNotMatch", []error{errs.Permission}, nil},
		{507, "InsufficientStorage", []error{errs.Exhausted}, nil},
		{501, "NotImplemented", []error{errs.Unsupported}, nil},
	} {
		t.Run(c.code, func(t *testing.T) {
			f := newFake(t)
			answer := refuse(c.status, c.code, "the message")
			b := f.open(t, answer)
			all := everything(b)
			maps.Copy(all, f.uploading(t, f.reopen(t), answer))
			for what, err := range all {
				if c.code == "NotImplemented" && what == "Delete tag" {
					continue // the probe cannot put its object
				}
				checkError(t, what, err)
				for _, is := range c.is {
					if !errors.Is(err, is) {
						t.Errorf("%s: want %v, got %v", what, is, err)
					}
				}
				for _, not := range c.not {
					if errors.Is(err, not) {
						t.Errorf("%s: want anything but %v, got %v", what, not, err)
					}
				}
			}
		})
	}
}

func (f *fake) reopen(t *testing.T) object.Bucket {
	t.Helper()
	f.answer.Store(nil)
	return f.open(t, nil)
}

func checkError(t *testing.T, what string, err error) {
	t.Helper()
	var e *errs.Error
	if !errors.As(err, &e) || e.Kind == errs.Other ||
		!strings.HasPrefix(e.Op, "s3.") || !strings.HasPrefix(e.Subject, "s3://bucket") {
		t.Errorf("%s: want an *errs.Error of package s3 with a kind and the bucket, got %#v", what, err)
	}
}

// A condition that does not hold says what was wanted.
func TestConditionsSayWhatWasWanted(t *testing.T) {
	f := newFake(t)
	b := f.open(t, refuse(412, "PreconditionFailed", "no"))
	ctx, p := context.Background(), []byte("x")
	_, err := b.Put(ctx, "k", p, 0, object.Condition{Absent: true})
	if !errors.Is(err, errs.Exists) {
		t.Error(err)
	}
	_, err = b.Put(ctx, "k", p, 0, object.Condition{Tag: someTag})
	if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), someTag) {
		t.Error(err)
	}
	// AWS says 404 if there is no object to compare with.
	f.set(refuse(404, "NoSuchKey", "no"))
	_, err = b.Put(ctx, "k", p, 0, object.Condition{Tag: someTag})
	if !errors.Is(err, object.ErrCondition) {
		t.Error(err)
	}
	if err := b.Get(ctx, "k", 0, "", p); !errors.Is(err, errs.NotFound) || errors.Is(err, object.ErrCondition) {
		t.Error(err)
	}
	if err := b.Delete(ctx, "k", object.Condition{}); err != nil {
		t.Error(err)
	}
}

// Errors name the remedy: the bucket, the region, the clock, the credentials.
func TestErrorsNameTheRemedy(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		kind   errs.Kind
		texts  []string
	}{
		{"no bucket", refuse(404, "NoSuchBucket", "gone"), errs.NotFound, []string{"s3://bucket:", "make the bucket"}},
		{"credentials", refuse(403, "InvalidAccessKeyId", "unknown key"), errs.Permission,
			[]string{"AWS_ACCESS_KEY_ID", "AWS_PROFILE", "come from StaticCredentials", "403 InvalidAccessKeyId", "REQUEST1"}},
		{"expired", refuse(400, "ExpiredToken", "too old"), errs.Permission, []string{"AWS_PROFILE"}},
		{"region in the message", refuse(400, "AuthorizationHeaderMalformed", "the region 'eu-south-9' is wrong; expecting 'eu-west-1'"),
			errs.Invalid, []string{"want the region eu-west-1, got eu-south-9", "region=eu-west-1"}},
		{"region in a header", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Amz-Bucket-Region", "ap-east-1")
			refuse(301, "PermanentRedirect", "elsewhere")(w, r)
		}, errs.Invalid, []string{"want the region ap-east-1", "region=ap-east-1"}},
		{"skew", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(-3*time.Hour).UTC().Format(http.TimeFormat))
			refuse(403, "RequestTimeTooSkewed", "too far")(w, r)
		}, errs.Invalid, []string{"3h0m", "set the clock"}},
		{"a file in the way", refuse(409, "ObjectParentIsFile", "no"), errs.Exists, []string{"keeps objects as files"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			f.set(c.answer)
			_, _, err := f.try("s3://bucket/run?region=eu-south-9", s3.Options{})
			checkError(t, "Open", err)
			if !errors.Is(err, c.kind) || errors.Is(err, object.ErrUnknown) {
				t.Errorf("want %v, got %v", c.kind, err)
			}
			for _, text := range c.texts {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("want %q in %v", text, err)
				}
			}
		})
	}
}

// A server that answers nothing may have carried the request out.
func TestLostRepliesAreUnknown(t *testing.T) {
	f := newFake(t)
	hang := make(chan struct{})
	defer close(hang)
	for name, answer := range map[string]http.HandlerFunc{
		"reset": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		},
		"garbage": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(500)
			_, _ = io.WriteString(w, "<<<not XML")
		},
	} {
		f.answer.Store(nil)
		b := f.open(t, answer)
		all := everything(b)
		maps.Copy(all, f.uploading(t, f.reopen(t), answer))
		for what, err := range all {
			checkError(t, name+": "+what, err)
			if !errors.Is(err, object.ErrUnknown) || !errors.Is(err, errs.IO) {
				t.Errorf("%s: %s: want an unknown outcome, got %v", name, what, err)
			}
		}
	}
	f.answer.Store(nil)
	b := f.open(t, func(http.ResponseWriter, *http.Request) { <-hang })
	ctx, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	_, err := b.Put(ctx, "k", []byte("x"), 0, object.Condition{})
	for _, is := range []error{errs.Canceled, object.ErrUnknown, context.DeadlineExceeded} {
		if !errors.Is(err, is) {
			t.Errorf("a time that ran out: want %v, got %v", is, err)
		}
	}
	f.Listener.Close()
	f.CloseClientConnections()
	_, err = b.Put(context.Background(), "k", []byte("x"), 0, object.Condition{})
	if !errors.Is(err, object.ErrUnknown) || !errors.Is(err, errs.IO) {
		t.Errorf("nobody listens: %v", err)
	}
}

// A server without TLS, or with a certificate that nobody knows, is not tried again.
func TestTLSErrorsAreInvalid(t *testing.T) {
	f := newFake(t)
	_, _, err := f.try("s3://bucket?endpoint="+strings.Replace(f.URL, "http:", "https:", 1), s3.Options{})
	if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "http://") || errors.Is(err, object.ErrUnknown) {
		t.Errorf("plain HTTP: %v", err)
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet()
	secure.StartTLS()
	defer secure.Close()
	_, _, err = f.try("s3://bucket?endpoint="+secure.URL, s3.Options{})
	if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "AWS_CA_BUNDLE") ||
		errors.Is(err, object.ErrUnknown) {
		t.Errorf("an unknown certificate: %v", err)
	}
}

// No text of any error, nor of its causes, has a key, a secret, a token or a signature, even if the
// server sends them back.
func TestNoErrorShowsSecrets(t *testing.T) {
	var mu sync.Mutex
	secrets := map[string]bool{accessKey: true, secretKey: true, token: true}
	signature := regexp.MustCompile(`Signature=([0-9a-f]{64})`)
	echo := func(status int, code string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			auth := r.Header.Get("Authorization")
			if m := signature.FindStringSubmatch(auth); m != nil {
				mu.Lock()
				secrets[m[1]] = true
				mu.Unlock()
				w.Header().Set("X-Amz-Request-Id", m[1])
			}
			w.Header().Set("X-Amz-Id-2", auth)
			w.Header().Set("Location", "http://"+accessKey+":x@host/?X-Amz-Signature=abc")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code>`+
				`<Message>%s %s; secret_access_key: %s; %s; %s</Message>`+
				`<AWSAccessKeyId>%s</AWSAccessKeyId><StringToSign>%s</StringToSign></Error>`,
				code, auth, r.Header.Get("X-Amz-Security-Token"), secretKey, accessKey, token, accessKey, auth)
		}
	}
	seen := 0
	check := func(what string, err error) {
		if err == nil {
			return
		}
		seen++
		for _, text := range texts(err) {
			mu.Lock()
			for s := range secrets {
				if strings.Contains(text, s) {
					t.Errorf("%s: %q is in %q", what, s, text)
				}
			}
			mu.Unlock()
		}
	}
	for _, c := range []struct {
		status int
		code   string
	}{
		{301, "PermanentRedirect"}, {307, "TemporaryRedirect"}, {400, "BadDigest"}, {400, "ExpiredToken"}, {400, secretKey},
		{400, "AuthorizationHeaderMalformed"}, {403, "SignatureDoesNotMatch"}, {403, "AccessDenied"}, {403, "RequestTimeTooSkewed"},
		{404, "NoSuchKey"}, {404, "NoSuchBucket"}, {404, "NoSuchUpload"}, {409, "OperationAborted"}, {412, "PreconditionFailed"},
		{416, "InvalidRange"}, {429, "SlowDown"}, {500, "InternalError"}, {501, "NotImplemented"}, {503, "SlowDown"}, {599, ""},
	} {
		f := newFake(t)
		answer := echo(c.status, c.code)
		b := f.open(t, answer)
		all := everything(b)
		maps.Copy(all, f.uploading(t, f.reopen(t), answer))
		_, _, all["Open"] = f.try("s3://bucket", s3.Options{})
		for what, err := range all {
			check(fmt.Sprint(c.status, " ", c.code, ": ", what), err)
		}
	}
	if seen < 300 {
		t.Errorf("only %d errors were looked at", seen)
	}
	// The search for credentials fails with a text of another service.
	f := newFake(t)
	failing := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		text := "POST https://sts/?X-Amz-Credential=%s&X-Amz-Signature=abc: secretAccessKey=%s"
		return aws.Credentials{}, fmt.Errorf(text, accessKey, secretKey)
	})
	_, _, err := f.try("s3://bucket", s3.Options{Credentials: failing})
	if !errors.Is(err, errs.Permission) || !strings.Contains(err.Error(), "AWS_PROFILE") {
		t.Error(err)
	}
	check("credentials", err)
	for _, url := range []string{
		"s3://" + accessKey + ":" + secretKey + "@bucket/run", "s3://bucket?endpoint=http://" + accessKey + ":" + secretKey + "@host",
		"s3://bucket?secret=" + secretKey, "s3://bucket?" + secretKey, "s3://bucket?endpoint=" + secretKey + "%zz",
		"http://" + accessKey + ":" + secretKey + "@bucket", "s3://bucket?path_style=" + secretKey,
	} {
		_, _, err := s3.Open(context.Background(), url, s3.Options{})
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("a bad URL: %v", err)
		}
		check("URL", err)
	}
}

// texts returns what prints of err and of all its causes can show.
func texts(err error) []string {
	out := []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if cause := e.Unwrap(); cause != nil {
			out = append(out, texts(cause)...)
		}
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			out = append(out, texts(cause)...)
		}
	}
	return out
}
