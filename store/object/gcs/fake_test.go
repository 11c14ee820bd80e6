package gcs_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/oauth2"

	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/gcs"
)

const (
	accessToken  = "ya29.fake-token_of.the-tests0123456789"
	plainToken   = "opaque+token/of/workload/identity=="
	refreshToken = "1//0fake-refresh-token-of-the-tests"
	clientSecret = "GOCSPX-fakeSecretOfTheTests"
	someTag      = "1700000000000001"
	emptyList    = `{"kind":"storage#objects"}`
)

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// lonely takes away all credentials and settings of the machine.
func lonely(t *testing.T) {
	t.Helper()
	for _, name := range []string{"GOOGLE_APPLICATION_CREDENTIALS", "STORAGE_EMULATOR_HOST", "CLOUDSDK_CONFIG",
		"GCE_METADATA_HOST", "GOOGLE_CLOUD_UNIVERSE_DOMAIN", "HTTPS_PROXY", "HTTP_PROXY"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("GCE_METADATA_HOST", "127.0.0.1:1") // nobody listens there
	t.Setenv("HOME", filepath.Join(t.TempDir(), "nobody"))
}

// fake is a server that answers as the test says, once it is open.
type fake struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc]
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := f.answer.Load(); h != nil {
			(*h)(w, r)
			return
		}
		say(w, emptyList)
	}))
	f.Config.ErrorLog = quiet()
	f.Start()
	t.Cleanup(f.Close)
	return f
}

func say(w io.Writer, text string) { _, _ = io.WriteString(w, text) }

func (f *fake) set(h http.HandlerFunc) { f.answer.Store(&h) }

// open opens a bucket of the fake, whose answers are as set from then on.
func (f *fake) open(t *testing.T, h http.HandlerFunc) object.Bucket {
	t.Helper()
	f.answer.Store(nil)
	b, _, err := f.try("gs://bucket/run", gcs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if h != nil {
		f.set(h)
	}
	return b
}

func (f *fake) try(url string, o gcs.Options) (object.Bucket, string, error) {
	o.Endpoint = f.URL
	if o.Credentials == nil {
		o.Credentials = oauth2.StaticTokenSource(&oauth2.Token{AccessToken: accessToken})
	}
	return gcs.Open(context.Background(), url, o)
}

// refuse answers with an error of the JSON API.
func refuse(status int, reason, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"error":{"code":%d,"message":%q,"errors":[{"message":%q,"domain":"global","reason":%q}]}}`,
			status, message, message, reason)
	}
}

// everything calls all methods that send a request, and returns their errors.
func everything(b object.Bucket) map[string]error {
	ctx, out := context.Background(), map[string]error{}
	p := []byte("contents")
	_, out["Put"] = b.Put(ctx, "k", p, 0, object.Condition{})
	_, out["Put absent"] = b.Put(ctx, "k", p, 0, object.Condition{Absent: true})
	_, out["Put tag"] = b.Put(ctx, "k", p, 0, object.Condition{Tag: someTag})
	out["Get"] = b.Get(ctx, "k", 0, "", p)
	out["Get tag"] = b.Get(ctx, "k", 0, someTag, p)
	out["Get nothing"] = b.Get(ctx, "k", 0, "")
	_, _, out["Read"] = b.Read(ctx, "k", 100)
	_, out["Head"] = b.Head(ctx, "k")
	for _, err := range b.List(ctx, "k", true) {
		out["List"] = err
	}
	for _, err := range b.Uploads(ctx, "k") {
		out["Uploads"] = err
	}
	out["Delete"] = b.Delete(ctx, "k", object.Condition{})
	out["Delete tag"] = b.Delete(ctx, "k", object.Condition{Tag: someTag})
	out["DeleteAll"] = b.DeleteAll(ctx, []string{"k", "l"})
	return out
}

// uploading returns the errors of an upload whose first part was put before h answers.
func (f *fake) uploading(t *testing.T, h http.HandlerFunc) map[string]error {
	t.Helper()
	b, ctx := f.open(t, putsAll), context.Background()
	u, err := b.Begin(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Part(ctx, 1, []byte("one"), sumOf("one")); err != nil {
		t.Fatal(err)
	}
	f.set(h)
	out := map[string]error{}
	out["Part"] = u.Part(ctx, 2, []byte("two"), sumOf("two"))
	_, out["Complete"] = u.Complete(ctx, 1, sumOf("one"), object.Condition{})
	_, out["Complete absent"] = u.Complete(ctx, 1, sumOf("one"), object.Condition{Absent: true})
	_, out["Complete tag"] = u.Complete(ctx, 1, sumOf("one"), object.Condition{Tag: someTag})
	out["Abort"] = u.Abort(ctx)
	return out
}

// putsAll answers to an upload as if it had been put.
func putsAll(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, said, _ := strings.Cut(string(body), `"name":"`)
	name, _, _ := strings.Cut(said, `"`)
	_, _ = fmt.Fprintf(w, `{"kind":"storage#object","name":%q,"generation":%q,"size":"3"}`, name, someTag)
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answering(r *http.Request, status int, text string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(text)), Request: r, ContentLength: int64(len(text))}
}

func compressed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	say(w, text)
	_ = w.Close()
	return b.Bytes()
}
