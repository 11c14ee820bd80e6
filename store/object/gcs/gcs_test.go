package gcs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/gcs"
	"github.com/bivouac-ml/bivouac/store/object/gcs/gcstest"
)

func TestURLsAreChecked(t *testing.T) {
	lonely(t)
	for _, c := range []struct{ url, text string }{
		{"", "gs://bucket/prefix"}, {"bucket/run", "no scheme"}, {"s3://bucket/run", "got s3"}, {"gs://", "no bucket"},
		{"gs:///run", "no bucket"}, {"gs://buc ket", "letters"}, {"gs://Bucket", "lowercase"}, {"gs://a@b", "credentials in front"},
		{"gs://bucket?endpiont=x", `did you mean "endpoint"?`}, {"gs://bucket?anonymous=maybe", "anonymous=true"},
		{"gs://bucket?endpoint=127.0.0.1:1", "endpoint"}, {"gs://bucket?endpoint=ftp://host", "ftp://host"},
		{"gs://bucket?endpoint=http://", "the endpoint like"}, {"gs://bucket?endpoint=%zz", "do not parse"},
		{"gs://bucket?endpoint=http://host&anonymous=false", "https://"}, {"gs://" + strings.Repeat("b", 300), "bucket name"},
	} {
		_, _, err := gcs.Open(context.Background(), c.url, gcs.Options{})
		var e *errs.Error
		if !errors.As(err, &e) || e.Kind != errs.Invalid || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: want invalid with %q, got %v", c.url, c.text, err)
		}
	}
	t.Setenv("STORAGE_EMULATOR_HOST", "http://user:word@host")
	_, _, err := gcs.Open(context.Background(), "gs://bucket", gcs.Options{})
	if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "STORAGE_EMULATOR_HOST") ||
		strings.Contains(err.Error(), "word") {
		t.Error(err)
	}
}

// The prefix is what the URL says, letter by letter.
func TestPrefixIsLiteral(t *testing.T) {
	f := newFake(t)
	for url, want := range map[string]string{
		"gs://bucket": "", "gs://bucket/": "", "gs://bucket/a/b": "a/b", "gs://bucket/a/b/": "a/b",
		"gs://bucket/sp ace/ü/%2F+": "sp ace/ü/%2F+", "gs://bucket/a?user_project=p": "a",
	} {
		b, prefix, err := f.try(url, gcs.Options{})
		if err != nil || prefix != want {
			t.Errorf("%s: %q, %v, want %q", url, prefix, err, want)
			continue
		}
		if b.Name() != "gs://bucket?endpoint="+f.URL {
			t.Errorf("the name is %q", b.Name())
		}
	}
}

// STORAGE_EMULATOR_HOST names a server as other tools read it, and gets no credentials.
func TestEmulators(t *testing.T) {
	lonely(t)
	f := newFake(t)
	var got []string
	f.set(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("X-Goog-User-Project"))
		say(w, emptyList)
	})
	host := strings.TrimPrefix(f.URL, "http://")
	for _, value := range []string{host, f.URL, f.URL + "/", f.URL + "/storage/v1/"} {
		t.Setenv("STORAGE_EMULATOR_HOST", value)
		if _, _, err := gcs.Open(context.Background(), "gs://bucket", gcs.Options{}); err != nil {
			t.Errorf("%s: %v", value, err)
		}
	}
	t.Setenv("STORAGE_EMULATOR_HOST", "127.0.0.1:1")
	url := "gs://bucket?user_project=p&endpoint=" + f.URL
	if _, _, err := gcs.Open(context.Background(), url, gcs.Options{}); err != nil {
		t.Errorf("the URL wins: %v", err)
	}
	path := "/storage/v1/b/bucket/o "
	if want := []string{path, path, path, path, path + "p"}; !slices.Equal(got, want) {
		t.Errorf("the server was asked for %q, want %q", got, want)
	}
}

// The store of a URL takes the parameters of the driver and of the store.
func TestStoreOfAURL(t *testing.T) {
	lonely(t)
	url := gcstest.Start(t).Bucket(t, "bucket")
	for _, more := range []string{"", "&unsafe_single_writer=true", "&unsafe_single_writer=0&user_project=p",
		"&unsafe_single_writer"} {
		st, name, err := store.FromURL(t.Context(), store.JoinURL(url+more, "team/run"))
		if err != nil || name != "team/run" {
			t.Fatalf("%s: %q, %v", more, name, err)
		}
		if _, err := st.Stat(t.Context(), name); !errors.Is(err, errs.NotFound) {
			t.Errorf("%s: %v", more, err)
		}
	}
	for _, more := range []string{"&unsafe_single_writer=maybe", "&anonymous=maybe", "&region=x"} {
		if _, _, err := store.FromURL(t.Context(), url+more); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", more, err)
		}
	}
}

// Credentials that may read but not list open a bucket; those that may only read cannot write.
func TestCredentialsThatDoNotSuffice(t *testing.T) {
	f := newFake(t)
	f.set(refuse(403, "forbidden", "caller does not have storage.objects.list access"))
	if _, _, err := f.try("gs://bucket", gcs.Options{}); err != nil {
		t.Error(err)
	}
	s := gcstest.Start(t)
	url := s.Bucket(t, "bucket")
	s.Grant("writer", true)
	s.Grant("reader", false)
	as := func(token string) (object.Bucket, error) {
		o := gcs.Options{}
		if token != "" {
			o.Credentials = oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})
		}
		b, _, err := gcs.Open(context.Background(), url, o)
		return b, err
	}
	ctx, p := context.Background(), []byte("x")
	writer, err := as("writer")
	if err != nil {
		t.Fatal(err)
	}
	tag, err := writer.Put(ctx, "k", p, sumOf("x"), object.Condition{Absent: true})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := as("reader")
	if err != nil {
		t.Fatal(err)
	}
	if b, a, err := reader.Read(ctx, "k", 10); err != nil || string(b) != "x" || a.Tag != tag {
		t.Errorf("%q, %+v, %v", b, a, err)
	}
	for what, err := range map[string]error{
		"Put":       func() error { _, err := reader.Put(ctx, "k", p, sumOf("x"), object.Condition{}); return err }(),
		"Delete":    reader.Delete(ctx, "k", object.Condition{Tag: tag}),
		"DeleteAll": reader.DeleteAll(ctx, []string{"k"}),
	} {
		if !errors.Is(err, errs.Permission) || !strings.Contains(err.Error(), "roles/storage.objectUser") {
			t.Errorf("%s of a reader: %v", what, err)
		}
	}
	if _, err := as("expired"); !errors.Is(err, errs.Permission) || !strings.Contains(err.Error(), "Invalid Credentials") {
		t.Errorf("an expired token: %v", err)
	}
	anonymous, _, err := gcs.Open(ctx, url, gcs.Options{Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := anonymous.Read(ctx, "k", 10); !errors.Is(err, errs.Permission) {
		t.Errorf("an object that is not public: %v", err)
	}
	if _, err := as(""); !errors.Is(err, errs.Permission) || !strings.Contains(err.Error(), "no credentials were sent") {
		t.Errorf("no token: %v", err)
	}
}

// An object of more parts than one request composes is made in levels. Nothing is left of them.
func TestUploadsOfManyParts(t *testing.T) {
	s := gcstest.Start(t)
	b, _, err := gcs.Open(context.Background(), s.Bucket(t, "bucket"), gcs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, n := range []int{1, 31, 32, 33, 64, 1023, 1025, 1057} {
		u, err := b.Begin(ctx, "dir/k")
		if err != nil {
			t.Fatal(err)
		}
		var whole []byte
		for i := range n {
			p := []byte(fmt.Sprintf("part %d of %d;", i+1, n))
			if i%7 == 3 {
				p = nil // a part may be empty
			}
			whole = append(whole, p...)
			if err := u.Part(ctx, i+1, p, sumOf(string(p))); err != nil {
				t.Fatal(err)
			}
		}
		// A Complete that fails leaves the parts for another one.
		_, err = u.Complete(ctx, n, sumOf(string(whole)), object.Condition{Tag: someTag})
		if !errors.Is(err, object.ErrCondition) {
			t.Fatal(err)
		}
		if _, err := u.Complete(ctx, n, sumOf(string(whole))^1, object.Condition{}); !errors.Is(err, errs.Corrupt) {
			t.Fatal(err)
		}
		if _, err := u.Complete(ctx, n, sumOf(string(whole)), object.Condition{}); err != nil {
			t.Fatal(err)
		}
		got, _, err := b.Read(ctx, "dir/k", 1<<20)
		if err != nil || !bytes.Equal(got, whole) {
			t.Errorf("%d parts: %d bytes differ from the %d of the parts: %v", n, len(got), len(whole), err)
		}
		if left := s.Keys("bucket"); left != 1 {
			t.Errorf("%d parts: the bucket has %d objects, want 1", n, left)
		}
	}
}

// The parts of an upload are no objects for the caller, wherever a list begins.
func TestPartsAreHidden(t *testing.T) {
	s := gcstest.Start(t)
	b, _, err := gcs.Open(context.Background(), s.Bucket(t, "bucket"), gcs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	u, err := b.Begin(ctx, "dir/k")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Part(ctx, 1, []byte("p"), sumOf("p")); err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"", ".", ".bivouac-uploads", ".bivouac-uploads/", ".bivouac-uploads/dir/k/"} {
		for _, delimited := range []bool{false, true} {
			for a, err := range b.List(ctx, prefix, delimited) {
				t.Errorf("the list of %q has %q, %v", prefix, a.Key, err)
			}
		}
	}
	hidden := ".bivouac-uploads/dir/k"
	_, err = b.Put(ctx, hidden, nil, 0, object.Condition{})
	_, headErr := b.Head(ctx, hidden)
	for what, err := range map[string]error{"Put": err, "Head": headErr,
		"Delete":    b.Delete(ctx, hidden, object.Condition{}),
		"DeleteAll": b.DeleteAll(ctx, []string{hidden}), "Get": b.Get(ctx, hidden, 0, "")} {
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("%s of a part: %v", what, err)
		}
	}
	// The prefix of Uploads is one of keys, not of the names of parts.
	for prefix, want := range map[string]int{"": 1, "dir": 1, "dir/k": 1, "dir/k/": 0, "k": 0, "dir/kk": 0} {
		n := 0
		for u, err := range b.Uploads(ctx, prefix) {
			if err != nil || u.Key != "dir/k" || u.Started.IsZero() {
				t.Errorf("%+v, %v", u, err)
			}
			n++
		}
		if n != want {
			t.Errorf("%d uploads below %q, want %d", n, prefix, want)
		}
	}
	long, err := b.Begin(ctx, strings.Repeat("k", 1000))
	if !errors.Is(err, errs.Invalid) {
		t.Errorf("a key without room for the names of parts: %v, %v", long, err)
	}
}

// What a process leaves that is killed in the middle of an upload is found by CleanStaging: the
// parts of a transaction without a lease.
func TestCleanStagingFindsParts(t *testing.T) {
	s := gcstest.Start(t)
	b, _, err := gcs.Open(t.Context(), s.Bucket(t, "bucket"), gcs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	left := func(key string) {
		t.Helper()
		u, err := b.Begin(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 40 {
			if err := u.Part(t.Context(), n+1, []byte("p"), sumOf("p")); err != nil {
				t.Fatal(err)
			}
		}
	}
	left("run/.bivouac.objects/data/5.orbax-checkpoint-tmp-0123456789abcdef/objects/large")
	left("other/.bivouac.objects/data/5.orbax-checkpoint-tmp-0123456789abcdef/objects/large")
	if _, err := b.Put(t.Context(), "run/note", nil, 0, object.Condition{}); err != nil {
		t.Fatal(err)
	}
	if n := s.Keys("bucket"); n != 81 {
		t.Fatalf("%d objects, want 80 parts and a note", n)
	}
	st := object.New(b, "", object.Options{})
	if _, err := st.CleanStaging(t.Context(), "run", nil); err != nil {
		t.Fatal(err)
	}
	for u, err := range b.Uploads(t.Context(), "run/") {
		t.Errorf("%s is left, %v", u.Key, err)
	}
	others := 0
	for _, err := range b.Uploads(t.Context(), "other/") {
		if err != nil {
			t.Fatal(err)
		}
		others++
	}
	if others != 1 {
		t.Errorf("%d uploads of another run, want 1", others)
	}
}

// Read describes the bytes that it returns, also where the answer does not say when they were put.
func TestReadDescribesWhatItReturns(t *testing.T) {
	f := newFake(t)
	changes, asked := 2, 0
	b := f.open(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Date", "Sat, 28 Nov 2026 10:00:05 GMT")
		generation := fmt.Sprint(100 + asked/2)
		if !strings.HasPrefix(r.URL.Path, "/storage/") {
			w.Header().Set("X-Goog-Generation", generation)
			_, _ = fmt.Fprint(w, "bytes of ", generation)
			return
		}
		if changes > 0 {
			changes--
			refuse(412, "conditionNotMet", "no")(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, `{"name":"k","generation":%q,"size":"12","timeCreated":"2026-11-28T10:00:00.5Z"}`,
			r.URL.Query().Get("ifGenerationMatch"))
	})
	p, a, err := b.Read(context.Background(), "k", 100)
	if err != nil || string(p) != "bytes of "+a.Tag || asked != 6 || a.Now.Sub(a.Modified).Seconds() != 4.5 {
		t.Errorf("%q, %+v, %v after %d requests", p, a, err, asked)
	}
	changes = 1000
	_, _, err = b.Read(context.Background(), "k", 100)
	if !errors.Is(err, object.ErrConflict) || !errors.Is(err, errs.Busy) {
		t.Errorf("an object that never stays the same: %v", err)
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
			say(w, body)
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
	read := func(limit int64, answer http.HandlerFunc) ([]byte, error) {
		f.set(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Goog-Generation", "7")
			w.Header().Set("Last-Modified", "Sat, 28 Nov 2026 10:00:00 GMT")
			answer(w, r)
		})
		p, _, err := b.Read(ctx, "k", limit)
		return p, err
	}
	if _, err := read(1000, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		say(w, "half")
	}); !errors.Is(err, object.ErrUnknown) {
		t.Errorf("an answer that ends early: %v", err)
	}
	if _, err := read(5000, func(w http.ResponseWriter, _ *http.Request) { // no Content-Length, no end
		for range 1000 {
			if _, err := w.Write(make([]byte, 1000)); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}); !errors.Is(err, errs.Exhausted) {
		t.Errorf("an answer without an end: %v", err)
	}
	if p, err := read(7, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		say(w, "chunked")
	}); err != nil || string(p) != "chunked" {
		t.Errorf("an answer without a length: %q, %v", p, err)
	}
	if _, err := read(7, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Del("X-Goog-Generation")
	}); !errors.Is(err, object.ErrUnknown) {
		t.Errorf("an answer without a generation: %v", err)
	}
	for what, page := range map[string]string{
		"out of order":      `"items":[{"name":"k2","generation":"1"},{"name":"k1","generation":"1"}]`,
		"twice":             `"items":[{"name":"k2","generation":"1"},{"name":"k2","generation":"1"}]`,
		"another prefix":    `"items":[{"name":"elsewhere","generation":"1"}]`,
		"no generation":     `"items":[{"name":"k2","size":"1"}]`,
		"a negative size":   `"items":[{"name":"k2","generation":"1","size":"-1"}]`,
		"a size of letters": `"items":[{"name":"k2","generation":"1","size":"many"}]`,
		"the same page":     `"nextPageToken":"again"`,
		"the end is missed": `"items":[{"name":"k2"`,
		"other types":       `"items":"k2"`,
	} {
		asked := 0
		f.set(func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked > 10 {
				t.Fatalf("%s: the list does not end", what)
			}
			_, _ = fmt.Fprintf(w, `{"kind":"storage#objects",%s}`, page)
		})
		var err error
		for _, err = range b.List(ctx, "k", false) {
		}
		checkError(t, what, err)
	}
	for what, answer := range map[string]string{
		"another object": `{"name":"other","generation":"7","size":"1"}`, "no generation": `{"name":"k","size":"1"}`,
		"generation 0": `{"name":"k","generation":"0","size":"1"}`, "nothing": ``, "half": `{"name":"k","gener`, "a list": `[]`,
	} {
		f.set(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			say(w, answer)
		})
		if _, err := b.Head(ctx, "k"); !errors.Is(err, object.ErrUnknown) {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := b.Put(ctx, "k", []byte("1"), sumOf("1"), object.Condition{}); !errors.Is(err, object.ErrUnknown) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// A server that keeps other bytes than it was sent.
	for _, answer := range []string{
		`{"name":"k","generation":"7","size":"2"}`, `{"name":"k","generation":"7","size":"1","crc32c":"AAAAAA=="}`,
	} {
		f.set(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			say(w, answer)
		})
		if _, err := b.Put(ctx, "k", []byte("1"), sumOf("1"), object.Condition{}); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

// A composition that is not what was asked for is removed under its generation.
func TestWrongCompositionsAreRemoved(t *testing.T) {
	f := newFake(t)
	removed := ""
	b := f.open(t, putsAll)
	ctx := context.Background()
	u, err := b.Begin(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Part(ctx, 1, []byte("one"), sumOf("one")); err != nil {
		t.Fatal(err)
	}
	f.set(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			removed = r.URL.Path + "?" + r.URL.RawQuery
			return
		}
		say(w, `{"name":"k","generation":"77","size":"3","crc32c":"AAAAAA=="}`)
	})
	_, err = u.Complete(ctx, 1, sumOf("one"), object.Condition{})
	if !errors.Is(err, errs.Corrupt) || removed != "/storage/v1/b/bucket/o/k?ifGenerationMatch=77" {
		t.Errorf("%v; removed %s", err, removed)
	}
}

// Objects of other programs that are kept compressed are read as they are kept, and an error in
// compressed text is read too.
func TestCompressedAnswers(t *testing.T) {
	f := newFake(t)
	var encodings []string
	b := f.open(t, func(w http.ResponseWriter, r *http.Request) {
		encodings = append(encodings, r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(404)
		_, _ = w.Write(compressed(`{"error":{"message":"The specified bucket does not exist."}}`))
	})
	ctx := context.Background()
	_, _, err := b.Read(ctx, "k", 10)
	if !errors.Is(err, object.ErrNoBucket) || b.Get(ctx, "k", 0, "", make([]byte, 1)) == nil {
		t.Error(err)
	}
	if !slices.Equal(encodings, []string{"gzip", "gzip"}) {
		t.Errorf("the encodings are %q", encodings)
	}
}
