package s3_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/s3"
)

const (
	accessKey = "AKIAFAKEFAKEFAKEFAKE"
	secretKey = "fake/secret+of/the+tests/0123456789abcdef"
	token     = "fake//session+token/of/the/tests=="
	someTag   = `"0123456789abcdef0123456789abcdef"`
)

const emptyList = `<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>`

// fake is a server that answers as the test says, once it is open.
type fake struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc]
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := f.answer.Load(); h != nil {
			(*h)(w, r)
			return
		}
		_, _ = io.WriteString(w, emptyList)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) set(h http.HandlerFunc) { f.answer.Store(&h) }

// open opens a bucket of the fake, whose answers are as set from then on.
func (f *fake) open(t *testing.T, h http.HandlerFunc) object.Bucket {
	t.Helper()
	b, _, err := f.try("s3://bucket/run", s3.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.set(h)
	return b
}

func (f *fake) try(url string, o s3.Options) (object.Bucket, string, error) {
	o.Endpoint = f.URL
	if o.Credentials == nil {
		o.Credentials = credentials.NewStaticCredentialsProvider(accessKey, secretKey, token)
	}
	return s3.Open(context.Background(), url, o)
}

// refuse answers with an error of S3.
func refuse(status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Amz-Request-Id", "REQUEST1")
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, message)
		}
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
	_, out["Begin"] = b.Begin(ctx, "k")
	return out
}

// uploading returns the errors of an upload that was begun before h answers.
func (f *fake) uploading(t *testing.T, b object.Bucket, h http.HandlerFunc) map[string]error {
	t.Helper()
	f.set(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("ETag", someTag)
		if strings.Contains(r.URL.RawQuery, "uploads") {
			_, _ = io.WriteString(w, `<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>`)
		}
	})
	ctx := context.Background()
	u, err := b.Begin(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Part(ctx, 1, []byte("one"), 0); err != nil {
		t.Fatal(err)
	}
	f.set(h)
	out := map[string]error{}
	out["Part"] = u.Part(ctx, 2, []byte("two"), 0)
	_, out["Complete"] = u.Complete(ctx, 1, 0, object.Condition{})
	_, out["Complete absent"] = u.Complete(ctx, 1, 0, object.Condition{Absent: true})
	out["Abort"] = u.Abort(ctx)
	return out
}
