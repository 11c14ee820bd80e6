package gcs_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/gcs"
)

func sumOf(text string) uint32 {
	return crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
}

func checkError(t *testing.T, what string, err error) {
	t.Helper()
	var e *errs.Error
	if !errors.As(err, &e) || e.Kind == errs.Other ||
		!strings.HasPrefix(e.Op, "gcs.") || !strings.HasPrefix(e.Subject, "gs://bucket") {
		t.Errorf("%s: want an *errs.Error of package gcs with a kind and the bucket, got %#v", what, err)
	}
}

// Each answer has one meaning, whatever was asked.
func TestAnswersHaveOneMeaning(t *testing.T) {
	for _, c := range []struct {
		status int
		reason string
		is     []error
		not    []error
	}{
		{409, "conflict", []error{object.ErrConflict, errs.Busy}, []error{object.ErrUnknown}},
		{429, "rateLimitExceeded", []error{object.ErrThrottled, errs.Busy}, []error{object.ErrUnknown}},
		{403, "userRateLimitExceeded", []error{object.ErrThrottled}, []error{errs.Permission}},
		{503, "backendError2", []error{object.ErrThrottled}, nil},
		{503, "backendError", []error{object.ErrUnknown}, nil},
		{500, "internalError", []error{object.ErrUnknown, errs.IO}, []error{object.ErrThrottled}},
		{502, "", []error{object.ErrUnknown}, nil},
		{504, "gatewayTimeout", []error{object.ErrUnknown}, nil},
		{408, "uploadBrokenConnection", []error{object.ErrUnknown}, nil},
		{401, "authError", []error{errs.Permission}, []error{object.ErrUnknown, object.ErrCondition}},
		{403, "forbidden", []error{errs.Permission}, []error{object.ErrUnknown, object.ErrThrottled}},
		{403, "quotaExceeded", []error{errs.Exhausted}, nil},
		{400, "invalid", []error{errs.Invalid}, []error{object.ErrUnknown}},
		{302, "found", []error{errs.Invalid}, []error{object.ErrUnknown}},
		{501, "notImplemented", []error{errs.Unsupported}, nil},
		{507, "", []error{errs.Exhausted}, nil},
	} {
		t.Run(fmt.Sprint(c.status, c.reason), func(t *testing.T) {
			f := newFake(t)
			answer := refuse(c.status, c.reason, "the message")
			all := everything(f.open(t, answer))
			maps.Copy(all, f.uploading(t, answer))
			for what, err := range all {
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

// A condition that does not hold says what was wanted. A request without a condition cannot fail
// because of one.
func TestConditionsSayWhatWasWanted(t *testing.T) {
	f := newFake(t)
	b := f.open(t, refuse(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold."))
	ctx, p := context.Background(), []byte("x")
	_, err := b.Put(ctx, "k", p, 0, object.Condition{Absent: true})
	if !errors.Is(err, errs.Exists) || !errors.Is(err, object.ErrCondition) {
		t.Error(err)
	}
	_, err = b.Put(ctx, "k", p, 0, object.Condition{Tag: someTag})
	if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), someTag) {
		t.Error(err)
	}
	_, err = b.Put(ctx, "k", p, 0, object.Condition{})
	if !errors.Is(err, errs.Permission) || errors.Is(err, object.ErrCondition) {
		t.Errorf("a rule of the organization: %v", err)
	}
	f.set(refuse(404, "notFound", "No such object: bucket/k"))
	if err := b.Get(ctx, "k", 0, someTag, p); !errors.Is(err, object.ErrCondition) {
		t.Error(err)
	}
	if _, err := b.Put(ctx, "k", p, 0, object.Condition{Tag: someTag}); !errors.Is(err, object.ErrCondition) {
		t.Error(err)
	}
	if err := b.Get(ctx, "k", 0, "", p); !errors.Is(err, errs.NotFound) || errors.Is(err, object.ErrCondition) ||
		errors.Is(err, object.ErrNoBucket) {
		t.Error(err)
	}
	if err := b.Delete(ctx, "k", object.Condition{}); err != nil {
		t.Error(err)
	}
	if err := b.Delete(ctx, "k", object.Condition{Tag: someTag}); !errors.Is(err, object.ErrCondition) {
		t.Error(err)
	}
	// A tag that is no generation is no generation of the server either. 0 would mean absence.
	var asked []string
	f.set(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("ifGenerationMatch"))
		refuse(412, "conditionNotMet", "no")(w, r)
	})
	for _, tag := range []string{`"quoted"`, "0", "-1", "007", "9e9", "99999999999999999999"} {
		if err := b.Delete(ctx, "k", object.Condition{Tag: tag}); !errors.Is(err, object.ErrCondition) {
			t.Errorf("the tag %s: %v", tag, err)
		}
	}
	for _, a := range asked {
		if a != "9223372036854775807" {
			t.Errorf("the server was asked for the generation %s", a)
		}
	}
}

// A missing bucket is told from a missing object by the text, as the reason is the same.
func TestMissingBuckets(t *testing.T) {
	f := newFake(t)
	for what, answer := range map[string]http.HandlerFunc{
		"of GCS":         refuse(404, "notFound", "The specified bucket does not exist."),
		"of an emulator": refuse(404, "", `{"error": {"errors": [{"message": "Bucket bucket does not exist."}]}}`),
		"in XML": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			say(w, `<?xml version='1.0'?><Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist.</Message></Error>`)
		},
	} {
		for method, err := range everything(f.open(t, answer)) {
			if !errors.Is(err, object.ErrNoBucket) || !errors.Is(err, errs.NotFound) ||
				!strings.Contains(err.Error(), "gs://bucket: ") || !strings.Contains(err.Error(), "make the bucket") {
				t.Errorf("%s: %s: %v", what, method, err)
			}
		}
		if _, _, err := f.try("gs://bucket", gcs.Options{}); !errors.Is(err, object.ErrNoBucket) {
			t.Errorf("%s: Open: %v", what, err)
		}
	}
	// A key may be called like a bucket.
	b := f.open(t, refuse(404, "notFound", "No such object: bucket/my-bucket does not exist"))
	if _, err := b.Head(context.Background(), "my-bucket does not exist"); errors.Is(err, object.ErrNoBucket) {
		t.Error(err)
	}
}

// Errors name the remedy: the credentials, the certificate, the endpoint.
func TestErrorsNameTheRemedy(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		kind   errs.Kind
		texts  []string
	}{
		{"credentials", refuse(401, "authError", "Invalid Credentials"), errs.Permission,
			[]string{"come from Options.Credentials", "GOOGLE_APPLICATION_CREDENTIALS", `401 authError "Invalid Credentials"`}},
		{"a server of S3", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			say(w, `<Error><Code>NoSuchBucket</Code></Error>`)
		}, errs.NotFound, []string{"check its name and the endpoint"}},
		{"a web page", func(w http.ResponseWriter, _ *http.Request) { say(w, "<html>welcome</html>") }, errs.IO,
			[]string{"text/html", "is a server of the JSON API"}},
		{"other JSON", func(w http.ResponseWriter, _ *http.Request) { say(w, `{"status": "ok"}`) }, errs.IO,
			[]string{"want an answer with a storage#objects"}},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, errs.IO, []string{"JSON API"}},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://login.example.org/?token="+accessToken, http.StatusFound)
		}, errs.Invalid, []string{"a way to another server", "check the endpoint"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			f.set(c.answer)
			_, _, err := f.try("gs://bucket/run", gcs.Options{})
			checkError(t, "Open", err)
			if !errors.Is(err, c.kind) {
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
			say(w, "<<<neither XML nor JSON")
		},
	} {
		all := everything(f.open(t, answer))
		maps.Copy(all, f.uploading(t, answer))
		for what, err := range all {
			checkError(t, name+": "+what, err)
			if !errors.Is(err, object.ErrUnknown) || !errors.Is(err, errs.IO) {
				t.Errorf("%s: %s: want an unknown outcome, got %v", name, what, err)
			}
		}
	}
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
	if !errors.Is(err, object.ErrUnknown) || !errors.Is(err, errs.IO) ||
		!strings.Contains(err.Error(), "check the endpoint "+f.URL) {
		t.Errorf("nobody listens: %v", err)
	}
}

// A server without TLS, or with a certificate that nobody knows, is not tried again.
func TestTLSErrorsAreInvalid(t *testing.T) {
	f := newFake(t)
	_, _, err := f.try("gs://bucket?endpoint="+strings.Replace(f.URL, "http:", "https:", 1), gcs.Options{})
	if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "http://") || errors.Is(err, object.ErrUnknown) {
		t.Errorf("plain HTTP: %v", err)
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet()
	secure.StartTLS()
	defer secure.Close()
	_, _, err = f.try("gs://bucket?endpoint="+secure.URL, gcs.Options{})
	if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "SSL_CERT_FILE") ||
		errors.Is(err, object.ErrUnknown) {
		t.Errorf("an unknown certificate: %v", err)
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

// No text of any error, nor of its causes, has a token or a secret, even if the server sends them
// back.
func TestNoErrorShowsSecrets(t *testing.T) {
	lonely(t)
	secrets := []string{accessToken, plainToken, refreshToken, clientSecret, "MIIEfakePrivateKey",
		"eyJhbGciOi.eyJpc3MiOi.c2ln"}
	seen := 0
	check := func(what string, err error) {
		t.Helper()
		if err == nil {
			return
		}
		seen++
		for _, text := range texts(err) {
			for _, s := range secrets {
				if strings.Contains(text, s) {
					t.Errorf("%s: %q is in %q", what, s, text)
				}
			}
		}
	}
	for _, token := range []string{accessToken, plainToken} {
		o := gcs.Options{Credentials: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token, RefreshToken: refreshToken})}
		for _, c := range []struct {
			status int
			reason string
		}{
			{302, "found"}, {400, "invalid"}, {400, token}, {401, "authError"}, {403, "forbidden"}, {404, "notFound"}, {409, "conflict"},
			{412, "conditionNotMet"}, {416, "range"}, {429, "rateLimitExceeded"}, {500, ""}, {503, ""}, {200, ""},
		} {
			f := newFake(t)
			b, _, err := f.try("gs://bucket", o)
			if err != nil {
				t.Fatal(err)
			}
			f.set(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Location", "http://"+token+":x@host/?access_token="+token)
				w.Header().Set("X-Guploader-Uploadid", r.Header.Get("Authorization"))
				w.Header().Set("Content-Type", "text/"+token)
				refuse(c.status, c.reason, fmt.Sprintf(`%s; {"client_secret": %q, "refresh_token": %q, "private_key": `+
					`"-----BEGIN PRIVATE KEY-----\nMIIEfakePrivateKey\n-----END PRIVATE KEY-----"} %s`, r.Header.Get("Authorization"),
					clientSecret, refreshToken, secrets[5]))(w, r)
			})
			for what, err := range everything(b) {
				check(fmt.Sprint(c.status, " ", c.reason, ": ", what), err)
			}
			_, _, err = f.try("gs://bucket", o)
			check("Open", err)
		}
	}
	if seen < 200 {
		t.Errorf("only %d errors were looked at", seen)
	}
	// The search for a token fails with a text of another service.
	f := newFake(t)
	_, _, err := f.try("gs://bucket", gcs.Options{Credentials: failing{}})
	if !errors.Is(err, errs.Permission) || !strings.Contains(err.Error(), "want a token, got none") {
		t.Error(err)
	}
	check("credentials", err)
	for _, url := range []string{
		"gs://" + clientSecret + ":" + accessToken + "@bucket/run", "gs://bucket?endpoint=http://" + accessToken + ":x@host",
		"gs://bucket?secret=" + clientSecret, "gs://bucket?" + clientSecret, "gs://bucket?endpoint=" + accessToken + "%zz",
		"http://" + accessToken + ":x@bucket", "gs://bucket?anonymous=" + accessToken, "gs://bucket?endpoint=" + accessToken,
		"gs://" + accessToken,
	} {
		_, _, err := gcs.Open(context.Background(), url, gcs.Options{})
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("a bad URL: %v", err)
		}
		check("URL", err)
	}
}

type failing struct{}

func (failing) Token() (*oauth2.Token, error) {
	return nil, fmt.Errorf("POST https://oauth2/token?refresh_token=%s&client_secret=%s: refused",
		refreshToken, clientSecret)
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
