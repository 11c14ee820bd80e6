package azure_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/azure"
	"github.com/bivouac-ml/bivouac/store/object/azure/azuretest"
	"github.com/bivouac-ml/bivouac/store/object/buckettest"
)

// The driver keeps the laws of object.Bucket on Azurite.
func TestLaws(t *testing.T) {
	lonely(t)
	server := azuretest.Start(t)
	url := server.Container(t, "laws")
	b, _, err := azure.Open(context.Background(), url, azure.Options{Key: server.Key})
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	buckettest.Run(t, buckettest.Server{
		Open:              func(*testing.T) (object.Bucket, string) { return b, fmt.Sprintf("law-%02d/", n.Add(1)) },
		ConditionalDelete: true, NoBackslash: true,
	})
}

// Credentials that are wrong, over, or for reading only are named by where they come from.
func TestCredentialsThatDoNotSuffice(t *testing.T) {
	lonely(t)
	server := azuretest.Start(t)
	url := server.Container(t, "closed")
	ctx := context.Background()
	const nobody = "sv=2022-11-02&ss=b&srt=sco&sp=rl&se=2090-01-01T00:00:00Z&sig=bm8="
	open := func(url string, o azure.Options) error {
		_, _, err := azure.Open(ctx, url, o)
		return err
	}
	for _, c := range []struct {
		name string
		err  error
		kind errs.Kind
		text string
	}{
		{"a wrong key", open(url, azure.Options{Key: accountKey}), errs.Permission, "come from Options.Key"},
		{"a SAS that ended", open(url, azure.Options{SAS: server.SAS("rl", -time.Hour)}), errs.Permission, "a SAS that ended at "},
		{"a SAS of nobody", open(url, azure.Options{SAS: nobody}), errs.Permission, "Options.SAS"},
		{"nothing", open(url, azure.Options{Anonymous: true}), errs.Permission, "anonymous=true"},
		{"no container", open(strings.Replace(url, "/closed", "/missing", 1), azure.Options{Key: server.Key}), errs.NotFound, "make the container"},
		{"another account", open(strings.Replace(url, "az://trainaccount", "az://other", 1), azure.Options{Key: server.Key}), errs.Permission, ""},
	} {
		if errs.KindOf(c.err) != c.kind || !strings.Contains(c.err.Error(), c.text) {
			t.Errorf("%s: want %v with %q, got %v", c.name, c.kind, c.text, c.err)
		}
	}
	b, _, err := azure.Open(ctx, url, azure.Options{SAS: server.SAS("rl", time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.Put(ctx, "k", contents, sumOfContents, object.Condition{})
	if !errors.Is(err, errs.Permission) || !strings.Contains(err.Error(), "a SAS with the permissions rl") {
		t.Errorf("a put with a SAS for reading: %v", err)
	}
	if _, err := b.Head(ctx, "k"); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
}

// A body that is damaged on its way is refused, in a put and in a part.
func TestDamageOnTheWayIsFound(t *testing.T) {
	lonely(t)
	server := azuretest.Start(t)
	url := server.Container(t, "noisy")
	ctx := context.Background()
	flip := trip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPut && r.Body != nil {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(bytes.Replace(b, []byte("contents"), []byte("cantents"), 1)))
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	b, _, err := azure.Open(ctx, url, azure.Options{Key: server.Key, HTTPClient: &http.Client{Transport: flip}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = b.Put(ctx, "k", contents, sumOfContents, object.Condition{}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a put: %v", err)
	}
	u, err := b.Begin(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Part(ctx, 1, contents, sumOfContents); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a part: %v", err)
	}
	if _, err := b.Head(ctx, "k"); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
}

// container is a container of Azurite, with a way around the driver.
type container struct {
	object.Bucket
	t      *testing.T
	server *azuretest.Server
	name   string
}

func newContainer(t *testing.T, name string) *container {
	t.Helper()
	lonely(t)
	server := azuretest.Start(t)
	b, _, err := azure.Open(t.Context(), server.Container(t, name), azure.Options{Key: server.Key})
	if err != nil {
		t.Fatal(err)
	}
	return &container{b, t, server, name}
}

// raw sends a request that another program might send.
func (c *container) raw(method, key, query, body string, header ...string) {
	c.t.Helper()
	url := c.server.Endpoint + "/" + c.name + "/" + key + "?" + query + "&" + c.server.SAS("rwdlac", time.Hour)
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("X-Ms-Version", "2022-11-02")
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = []string{header[i+1]}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		text, _ := io.ReadAll(answer.Body)
		c.t.Fatalf("%s %s: %s: %s", method, key, answer.Status, text)
	}
}

func (c *container) put(key, text string) string {
	c.t.Helper()
	sum := crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
	tag, err := c.Put(c.t.Context(), key, []byte(text), sum, object.Condition{})
	if err != nil {
		c.t.Fatal(err)
	}
	return tag
}

// begun returns an upload with one part.
func (c *container) begun(key string) object.Upload {
	c.t.Helper()
	u, err := c.Begin(c.t.Context(), key)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := u.Part(c.t.Context(), 1, contents, sumOfContents); err != nil {
		c.t.Fatal(err)
	}
	return u
}

func (c *container) open(prefix string) (all []object.Unfinished) {
	c.t.Helper()
	for u, err := range c.Uploads(c.t.Context(), prefix) {
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, u)
	}
	return all
}

func (c *container) keys() (all []string) {
	c.t.Helper()
	for a, err := range c.List(c.t.Context(), "", false) {
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, a.Key)
	}
	return all
}

// Abort touches no object, no other upload and nothing of other programs.
func TestAbortTouchesNothingElse(t *testing.T) {
	c, ctx := newContainer(t, "aborts"), t.Context()
	// An object is there: it stays as it is, with its tag.
	tag := c.put("there", "old")
	u := c.begun("there")
	if err := u.Abort(ctx); err != nil {
		t.Fatal(err)
	}
	if a, err := c.Head(ctx, "there"); err != nil || a.Tag != tag || a.Size != 3 {
		t.Errorf("%+v, %v", a, err)
	}
	if n := len(c.open("there")); n != 0 {
		t.Errorf("%d uploads of an object after an Abort", n)
	}
	if _, err := u.Complete(ctx, 1, sumOfContents, object.Condition{}); !errors.Is(err, errs.NotFound) {
		t.Errorf("Complete after Abort: %v", err)
	}
	if err := u.Part(ctx, 1, contents, sumOfContents); !errors.Is(err, errs.NotFound) {
		t.Errorf("Part after Abort: %v", err)
	}
	// Another upload goes on: it can be completed.
	one, two := c.begun("two"), c.begun("two")
	if err := one.Abort(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(c.open("two")); n != 1 {
		t.Errorf("%d uploads, want the other one", n)
	}
	if _, err := two.Complete(ctx, 1, sumOfContents, object.Condition{Absent: true}); err != nil {
		t.Error(err)
	}
	// Another program has blocks: they stay, and are no upload of ours.
	block := strings.Repeat("QUFB", 16)
	c.raw(http.MethodPut, "foreign", "comp=block&blockid="+block, "theirs")
	if n := len(c.open("foreign")); n != 0 {
		t.Errorf("%d uploads of another program", n)
	}
	if err := c.begun("foreign").Abort(ctx); err != nil {
		t.Fatal(err)
	}
	c.raw(http.MethodPut, "foreign", "comp=blocklist", "<BlockList><Latest>"+block+"</Latest></BlockList>")
	if b, _, err := c.Read(ctx, "foreign", 100); err != nil || string(b) != "theirs" {
		t.Errorf("%q, %v", b, err)
	}
	// An upload without a part, and one of a key that was written since.
	u, err := c.Begin(ctx, "empty")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Abort(ctx); err != nil {
		t.Error(err)
	}
	u = c.begun("written")
	c.raw(http.MethodPut, "written", "x=1", "new", "X-Ms-Blob-Type", "BlockBlob")
	if err := u.Abort(ctx); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(c.keys()); got != "[foreign there two written]" {
		t.Errorf("the container has %s", got)
	}
}

// An Abort that ended between its requests left an empty object. It is found, and removed.
func TestAbortThatWasCutOff(t *testing.T) {
	c, ctx := newContainer(t, "cut"), t.Context()
	for _, name := range []string{"x-ms-meta-bivouac_aborted", "X-Ms-Meta-Bivouac_aborted"} {
		c.raw(http.MethodPut, "data/half", "x=1", "", "X-Ms-Blob-Type", "BlockBlob", name, "SOMEUPLOAD")
		all := c.open("data/")
		if len(all) != 1 || all[0].Key != "data/half" || all[0].Started.IsZero() {
			t.Fatalf("the uploads are %+v", all)
		}
		for range 2 {
			if err := all[0].Abort(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if keys := c.keys(); len(keys) != 0 {
			t.Errorf("the container has %q", keys)
		}
	}
	// An object that is empty for other reasons stays, and so does one that was put in its place.
	c.put("data/empty", "")
	if err := c.begun("data/empty").Abort(ctx); err != nil {
		t.Error(err)
	}
	c.raw(http.MethodPut, "data/half", "x=1", "", "X-Ms-Blob-Type", "BlockBlob", "X-Ms-Meta-Bivouac_aborted", "ID")
	all := c.open("data/half")
	c.put("data/half", "new")
	if err := all[0].Abort(ctx); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(c.keys()); got != "[data/empty data/half]" {
		t.Errorf("the container has %s", got)
	}
}

// A Complete whose reply was lost can be sent again. If another writer was first, its condition
// does not hold; without a condition the parts are gone.
func TestCompleteAfterAnotherWriter(t *testing.T) {
	c, ctx := newContainer(t, "again"), t.Context()
	u := c.begun("k")
	for range 2 {
		if _, err := u.Complete(ctx, 1, sumOfContents, object.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	if b, _, err := c.Read(ctx, "k", 100); err != nil || string(b) != "contents" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := u.Complete(ctx, 1, sumOfContents, object.Condition{Absent: true}); !errors.Is(err, object.ErrCondition) {
		t.Errorf("sent again with Absent: %v", err)
	}
	tag := c.put("l", "old")
	one, two := c.begun("l"), c.begun("l")
	if _, err := two.Complete(ctx, 1, sumOfContents, object.Condition{Tag: tag}); err != nil {
		t.Fatal(err)
	}
	for _, cond := range []object.Condition{{Tag: tag}, {Absent: true}} {
		if _, err := one.Complete(ctx, 1, sumOfContents, cond); !errors.Is(err, object.ErrCondition) {
			t.Errorf("%+v: %v", cond, err)
		}
	}
	_, err := one.Complete(ctx, 1, sumOfContents, object.Condition{})
	if !errors.Is(err, errs.NotFound) || errors.Is(err, object.ErrCondition) ||
		!strings.Contains(err.Error(), "begin again") {
		t.Errorf("without a condition: %v", err)
	}
	if err := one.Part(ctx, 1, nil, 0); !errors.Is(err, errs.Invalid) {
		t.Errorf("an empty part: %v", err)
	}
	// All blocks of a key have IDs of the same length.
	c.raw(http.MethodPut, "theirs", "comp=block&blockid=QUFB", "theirs")
	v, err := c.Begin(ctx, "theirs")
	if err != nil {
		t.Fatal(err)
	}
	err = v.Part(ctx, 1, contents, sumOfContents)
	if !errors.Is(err, errs.Exists) || !strings.Contains(err.Error(), "delete the object first") {
		t.Error(err)
	}
}
