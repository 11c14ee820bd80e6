package azure_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/azure"
)

const (
	accountKey = "c2VjcmV0IGtleSBvZiB0aGUgdGVzdHMsIHdoaWNoIG5vIGVycm9yIG1heSBzaG93IQ==" // in base64
	someTag    = `"0x8D0000000000001"`
	account    = "account"
	at         = "az://account/container"
	emptyList  = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs /><NextMarker /></EnumerationResults>`
)

// fake is a server whose answers a test sets.
type fake struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc]
}

func newFake(t *testing.T) *fake {
	t.Helper()
	lonely(t)
	f := &fake{}
	f.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := f.answer.Load(); h != nil {
			(*h)(w, r)
			return
		}
		_, _ = io.WriteString(w, emptyList)
	}))
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.Start()
	t.Cleanup(f.Close)
	return f
}

func (f *fake) set(h http.HandlerFunc) { f.answer.Store(&h) }

// open opens a container, and then sets the answers.
func (f *fake) open(t *testing.T, h http.HandlerFunc) object.Bucket {
	t.Helper()
	f.answer.Store(nil)
	b, _, err := f.try(at, azure.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if h != nil {
		f.set(h)
	}
	return b
}

func (f *fake) try(url string, o azure.Options) (object.Bucket, string, error) {
	if o.Endpoint == "" {
		o.Endpoint = f.URL
	}
	if o.Key == "" && o.SAS == "" && o.Credential == nil {
		o.Key = accountKey
	}
	return azure.Open(context.Background(), url, o)
}

// refuse answers with an error of Azure.
func refuse(status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Ms-Request-Id", "REQUEST1")
		if code != "" {
			w.Header().Set("X-Ms-Error-Code", code)
		}
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			_, _ = fmt.Fprintf(w, "\ufeff"+`<?xml version="1.0" encoding="utf-8"?><Error><Code>%s</Code><Message>%s`+
				"\nRequestId:REQUEST1\nTime:now</Message></Error>", code, message)
		}
	}
}

var contents = []byte("contents")

const sumOfContents = 0x1367e198

// everything calls all methods that send a request, and returns their errors.
func everything(b object.Bucket) map[string]error {
	ctx, out := context.Background(), map[string]error{}
	p := make([]byte, len(contents))
	_, out["Put"] = b.Put(ctx, "k", contents, sumOfContents, object.Condition{})
	_, out["Put absent"] = b.Put(ctx, "k", contents, sumOfContents, object.Condition{Absent: true})
	_, out["Put tag"] = b.Put(ctx, "k", contents, sumOfContents, object.Condition{Tag: someTag})
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

// uploading returns the errors of an upload that was begun before h answers.
func (f *fake) uploading(t *testing.T, b object.Bucket, h http.HandlerFunc) map[string]error {
	t.Helper()
	f.set(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusCreated)
	})
	ctx := context.Background()
	u, err := b.Begin(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Part(ctx, 1, contents, sumOfContents); err != nil {
		t.Fatal(err)
	}
	f.set(h)
	out := map[string]error{}
	out["Part"] = u.Part(ctx, 2, contents, sumOfContents)
	_, out["Complete"] = u.Complete(ctx, 1, 0, object.Condition{})
	_, out["Complete absent"] = u.Complete(ctx, 1, 0, object.Condition{Absent: true})
	_, out["Complete tag"] = u.Complete(ctx, 1, 0, object.Condition{Tag: someTag})
	out["Abort"] = u.Abort(ctx)
	return out
}
