package azure_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/crc64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/azure"
)

// lonely takes away all credentials and settings of the machine.
func lonely(t *testing.T) {
	t.Helper()
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "AZURE_") || strings.HasPrefix(name, "IDENTITY_") || strings.HasPrefix(name, "MSI_") {
			t.Setenv(name, "")
			os.Unsetenv(name)
		}
	}
}

func TestURLsAreChecked(t *testing.T) {
	lonely(t)
	for _, c := range []struct {
		url, text string
		kind      errs.Kind
	}{
		{"", "no scheme", errs.Invalid}, {"account/container", "no scheme", errs.Invalid}, {"s3://bucket/run", "got s3", errs.Invalid},
		{"az://", "no account", errs.Invalid}, {"az:///container", "no account", errs.Invalid}, {"az://account", "no container", errs.Invalid},
		{"az://account/", "no container", errs.Invalid}, {"az://account/C", "lower-case", errs.Invalid},
		{"az://account/ab", "3 to 63", errs.Invalid}, {"az://account/-abc", "3 to 63", errs.Invalid},
		{"az://account/a--b", "3 to 63", errs.Invalid}, {"az://account/$root", "3 to 63", errs.Invalid},
		{"az://account/" + strings.Repeat("c", 64), "3 to 63", errs.Invalid},
		{"az://account.blob.core.windows.net/container", "not of its host", errs.Invalid},
		{"az://container@account/x", "container in front", errs.Invalid},
		{"az://" + strings.Repeat("a", 30) + "/container", "24", errs.Invalid},
		{at + "?endpiont=x", `did you mean "endpoint"?`, errs.Invalid}, {at + "?anonymous=maybe", "anonymous=true", errs.Invalid},
		{at + "?endpoint=127.0.0.1:1", "endpoint", errs.Invalid}, {at + "?endpoint=ftp://host", "ftp://host", errs.Invalid},
		{at + "?endpoint=%zz", "do not parse", errs.Invalid}, {at + "?sig=x", "AZURE_STORAGE_SAS_TOKEN", errs.Invalid},
		{"abfss://container@account.dfs.core.windows.net/x", "az://account/container/… here", errs.Unsupported},
		{"wasb://container@account/x", "az://account/container/… here", errs.Unsupported},
		{"https://account.blob.core.windows.net/container", "az://account/container/… here", errs.Invalid},
	} {
		_, _, err := azure.Open(context.Background(), c.url, azure.Options{Key: accountKey})
		var e *errs.Error
		if !errors.As(err, &e) || e.Kind != c.kind || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: want %v with %q, got %v", c.url, c.kind, c.text, err)
		}
	}
	for _, o := range []azure.Options{{Key: accountKey, Endpoint: "nonsense"}, {Key: "!"}, {SAS: "sv=1"}} {
		if _, _, err := azure.Open(context.Background(), at, o); !errors.Is(err, errs.Invalid) {
			t.Error(err)
		}
	}
}

// The prefix is what the URL says, letter by letter.
func TestPrefixIsLiteral(t *testing.T) {
	f := newFake(t)
	for url, want := range map[string]string{
		at: "", at + "/": "", at + "/a/b": "a/b", at + "/a/b/": "a/b", at + "/sp ace/ü/%2F+": "sp ace/ü/%2F+", at + "/a?anonymous=false": "a",
	} {
		b, prefix, err := f.try(url, azure.Options{})
		if err != nil || prefix != want {
			t.Errorf("%s: %q, %v, want %q", url, prefix, err, want)
			continue
		}
		if b.Name() != at+"?endpoint="+f.URL {
			t.Errorf("the name is %q", b.Name())
		}
	}
}

// The environment says what neither the URL nor Options say. Keys of another account are not used.
func TestCredentialsAreFound(t *testing.T) {
	f := newFake(t)
	var got *http.Request
	f.set(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("comp") == "list" {
			got = r
		}
		_, _ = io.WriteString(w, emptyList)
	})
	const connection = "AZURE_STORAGE_CONNECTION_STRING=DefaultEndpointsProtocol=https;"
	for _, c := range []struct {
		name string
		env  string
		text string // of the header Authorization
		sig  string
	}{
		{"key", "AZURE_STORAGE_KEY=a2V5", "SharedKey account:", ""},
		{"key of the account", "AZURE_STORAGE_KEY=a2V5 AZURE_STORAGE_ACCOUNT=account", "SharedKey account:", ""},
		{"SAS", "AZURE_STORAGE_SAS_TOKEN=?sv=1&sig=ab%2Bc%3D", "", "ab+c="},
		{"key before SAS", "AZURE_STORAGE_SAS_TOKEN=sig=x AZURE_STORAGE_KEY=a2V5", "SharedKey account:", ""},
		{"connection string first", connection + "AccountName=account;SharedAccessSignature=sig=first AZURE_STORAGE_KEY=a2V5", "", "first"},
		{"connection string of another", connection + "AccountName=other;AccountKey=eA== AZURE_STORAGE_SAS_TOKEN=sig=mine", "", "mine"},
		{"connection string with a key", connection + "AccountName=account;AccountKey=a2V5;", "SharedKey account:", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, e := range strings.Fields(c.env) {
				name, value, _ := strings.Cut(e, "=")
				t.Setenv(name, value)
			}
			got = nil
			if _, _, err := azure.Open(context.Background(), at+"?endpoint="+f.URL, azure.Options{}); err != nil {
				t.Fatal(err)
			}
			if auth := got.Header.Get("Authorization"); !strings.HasPrefix(auth, c.text) || c.text == "" && auth != "" {
				t.Errorf("Authorization is %q", auth)
			}
			if sig := got.URL.Query().Get("sig"); sig != c.sig {
				t.Errorf("the signature is %q", sig)
			}
		})
	}
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "BlobEndpoint="+f.URL+";AccountName=account;AccountKey=a2V5")
	b, _, err := azure.Open(context.Background(), at, azure.Options{})
	if err != nil || b.Name() != at+"?endpoint="+f.URL {
		t.Errorf("an endpoint of the connection string: %v", err)
	}
	_, _, err = azure.Open(context.Background(), at+"?anonymous=true", azure.Options{})
	if err != nil || got.Header.Get("Authorization") != "" {
		t.Errorf("anonymous: %v", err)
	}
	// A token is not sent where everybody can read it.
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "")
	t.Setenv("AZURE_STORAGE_ACCOUNT", "other")
	t.Setenv("AZURE_STORAGE_KEY", "a2V5")
	_, _, err = azure.Open(context.Background(), at+"?endpoint="+f.URL, azure.Options{})
	if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "https://") {
		t.Errorf("a token without TLS: %v", err)
	}
}

// The host is the one of the account, in the cloud that the connection string names.
func TestHosts(t *testing.T) {
	lonely(t)
	var asked string
	note := trip(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("comp") == "list" {
			asked = r.URL.Scheme + "://" + r.URL.Host + r.URL.EscapedPath()
		}
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(emptyList)), Request: r}, nil
	})
	o := azure.Options{Key: accountKey, HTTPClient: &http.Client{Transport: note}}
	check := func(url, want string) {
		t.Helper()
		if _, _, err := azure.Open(context.Background(), url, o); err != nil || asked != want {
			t.Errorf("%s: asked %s, %v, want %s", url, asked, err, want)
		}
	}
	check(at+"/a", "https://account.blob.core.windows.net/container")
	check(at+"?endpoint=https://host/base/", "https://host/base/container")
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "AccountName=account;AccountKey=a2V5;EndpointSuffix=core.chinacloudapi.cn")
	check(at, "https://account.blob.core.chinacloudapi.cn/container")
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "UseDevelopmentStorage=true")
	check("az://devstoreaccount1/container", "http://127.0.0.1:10000/devstoreaccount1/container")
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type tokens struct{ n int }

func (t *tokens) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	t.n++
	if len(o.Scopes) != 1 || o.Scopes[0] != "https://storage.azure.com/.default" {
		return azcore.AccessToken{}, fmt.Errorf("the scopes are %q", o.Scopes)
	}
	return azcore.AccessToken{Token: fmt.Sprint("token", t.n), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// A token is kept until it ends or the server refuses it.
func TestTokensAreKept(t *testing.T) {
	lonely(t)
	good, seen := "token1", ""
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen = r.Header.Get("Authorization"); seen != "Bearer "+good {
			refuse(401, "InvalidAuthenticationInfo", "the token "+seen+" has ended")(w, r)
			return
		}
		_, _ = io.WriteString(w, emptyList)
	}))
	defer server.Close()
	source := &tokens{}
	o := azure.Options{Credential: source, HTTPClient: server.Client()}
	b, _, err := azure.Open(context.Background(), at+"?endpoint="+server.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	list := func() (err error) {
		for _, err = range b.List(context.Background(), "", false) {
		}
		return err
	}
	if err := list(); err != nil || source.n != 1 {
		t.Errorf("%d tokens, %v", source.n, err)
	}
	good = "token2"
	err = list()
	if !errors.Is(err, errs.Permission) || strings.Contains(err.Error(), "token1") ||
		!strings.Contains(err.Error(), "Options.Credential") {
		t.Errorf("a token that ended: %v", err)
	}
	if err := list(); err != nil || source.n != 2 || seen != "Bearer token2" {
		t.Errorf("%d tokens, %s, %v", source.n, seen, err)
	}
}

// Credentials that may read but not list open a container.
func TestListingMayBeDenied(t *testing.T) {
	f := newFake(t)
	f.set(refuse(403, "AuthorizationPermissionMismatch", "no list"))
	if _, _, err := f.try(at, azure.Options{}); err != nil {
		t.Error(err)
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
		at, err := http.ParseTime(r.Header.Get("X-Ms-Date"))
		if err != nil || at.Sub(server).Abs() > 15*time.Minute {
			refuse(403, "AuthenticationFailed", "too old")(w, r)
			return
		}
		_, _ = io.WriteString(w, emptyList)
	})
	if _, _, err := f.try(at, azure.Options{}); err != nil || asked != 3 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

// azureTable is the polynomial of the CRC-64 of Azure.
var azureTable = crc64.MakeTable(0x9a6c9329ac4bc9b5)

// Each body has its CRC-64 in little-endian bytes, or its MD5 if the server knows no CRC-64. A body
// whose CRC-32C is another one is not sent.
func TestBodiesHaveSums(t *testing.T) {
	f := newFake(t)
	var bodies []string
	knows := true
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sum, md5 := r.Header.Get("X-Ms-Content-Crc64"), r.Header.Get("Content-Md5")
		if sum != "" && !knows {
			refuse(500, "FeatureNotSupported", "x-ms-content-crc64 is not supported")(w, r)
			return
		}
		if sum != "" {
			want := binary.LittleEndian.AppendUint64(nil, crc64.Checksum(body, azureTable))
			if sum != base64.StdEncoding.EncodeToString(want) || md5 != "" {
				t.Errorf("the CRC-64 is %s, the MD5 is %s", sum, md5)
			}
		} else if string(body) == "contents" && md5 != "mL99jBV4Two9YyBEQeHiqg==" {
			t.Errorf("the MD5 of %q is %s", body, md5)
		}
		bodies = append(bodies, string(body))
		w.Header().Set("ETag", someTag)
		w.WriteHeader(http.StatusCreated)
	}
	b := f.open(t, answer)
	ctx := context.Background()
	send := func() {
		t.Helper()
		bodies = nil
		if _, err := b.Put(ctx, "k", contents, sumOfContents, object.Condition{}); err != nil {
			t.Error(err)
		}
		if _, err := b.Put(ctx, "k", nil, 0, object.Condition{}); err != nil {
			t.Error(err)
		}
		u, err := b.Begin(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		if err := u.Part(ctx, 1, contents, sumOfContents); err != nil {
			t.Error(err)
		}
		if _, err := u.Complete(ctx, 1, 0, object.Condition{}); err != nil {
			t.Error(err)
		}
		if len(bodies) != 4 || bodies[0] != "contents" || bodies[2] != "contents" ||
			!strings.Contains(bodies[3], "<Latest>") {
			t.Errorf("the server has %q", bodies)
		}
		for _, err := range []error{u.Part(ctx, 1, contents, 1), func() error {
			_, err := b.Put(ctx, "k", contents, 1, object.Condition{})
			return err
		}()} {
			if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "1367e198") {
				t.Errorf("a wrong sum: %v", err)
			}
		}
		if len(bodies) != 4 {
			t.Errorf("a body with a wrong sum was sent")
		}
	}
	send()
	knows = false
	send()
	f.set(answer) // and from now on the MD5 at once
	asked := 0
	f.set(func(w http.ResponseWriter, r *http.Request) { asked++; answer(w, r) })
	if _, err := b.Put(ctx, "k", contents, sumOfContents, object.Condition{}); err != nil || asked != 1 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

// The sums are the ones that Azure itself answered to a Put Blob of these bytes.
func TestSumsAreThoseOfAzure(t *testing.T) {
	f := newFake(t)
	var sum string
	b := f.open(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sum = r.Header.Get("X-Ms-Content-Crc64")
		w.WriteHeader(http.StatusCreated)
	})
	for text, want := range map[string]string{"HelloWorld": "8R2aIe9T07E=", "Hello World": "YeJLfssylmU="} {
		castagnoli := crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
		_, err := b.Put(context.Background(), "k", []byte(text), castagnoli, object.Condition{})
		if err != nil || sum != want {
			t.Errorf("%s has the CRC-64 %s, %v, want %s", text, sum, err, want)
		}
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
	for _, c := range []struct {
		what, page string
		kind       errs.Kind
	}{
		{"twice", `<Blobs><Blob><Name>k2</Name></Blob><Blob><Name>k2</Name></Blob></Blobs>`, errs.Unsupported},
		{"another prefix", `<Blobs><Blob><Name>elsewhere</Name></Blob></Blobs>`, errs.Unsupported},
		{"another common beginning", `<Blobs><BlobPrefix><Name>elsewhere/</Name></BlobPrefix></Blobs>`, errs.Unsupported},
		{"bad encoding", `<Blobs><Blob><Name Encoded="true">k%zz</Name></Blob></Blobs>`, errs.Corrupt},
		{"the same page", `<Blobs/><NextMarker>again</NextMarker>`, errs.Unsupported},
		{"keys that repeat", `<Blobs><Blob><Name>k1</Name></Blob></Blobs><NextMarker>other</NextMarker>`, errs.Unsupported},
		{"a directory", `<Blobs><Blob><Name>k1</Name><Properties><ResourceType>directory</ResourceType></Properties></Blob></Blobs>`, errs.Unsupported},
		{"the end is missed", `<Blobs><Blob><Name>k2</Name>`, errs.IO},
		{"no size", `<Blobs><Blob><Name>k1</Name><Properties><Content-Length>many</Content-Length></Properties></Blob></Blobs>`, errs.IO},
	} {
		asked := 0
		f.set(func(w http.ResponseWriter, _ *http.Request) {
			if asked++; asked > 10 {
				t.Fatalf("%s: the list does not end", c.what)
			}
			_, _ = fmt.Fprintf(w, "<EnumerationResults>%s</EnumerationResults>", c.page)
		})
		var err error
		for _, err = range b.List(ctx, "k", false) {
		}
		checkError(t, c.what, err)
		if errs.KindOf(err) != c.kind {
			t.Errorf("%s: want %v, got %v", c.what, c.kind, err)
		}
	}
	// Names in URL encoding, and letters that UTF-16 puts into another order.
	f.set(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<EnumerationResults><Blobs><Blob><Name>k𐀀</Name></Blob><Blob><Name>k～</Name></Blob>`+
			`<Blob><Name Encoded="true">k%EF%BF%BF+a</Name></Blob></Blobs></EnumerationResults>`)
	})
	var keys []string
	for a, err := range b.List(ctx, "k", false) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, a.Key)
	}
	if fmt.Sprintf("%q", keys) != fmt.Sprintf("%q", []string{"k～", "k\uffff+a", "k𐀀"}) {
		t.Errorf("the list has %q", keys)
	}
}

// Keys that would be other keys on the server are refused.
func TestOddKeysAreRefused(t *testing.T) {
	f := newFake(t)
	b := f.open(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was asked") })
	for _, key := range []string{".", "..", "a/../b", "a/.", `a\b`, "bad\xff", strings.Repeat("é", 1025)} {
		if _, err := b.Head(context.Background(), key); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", key, err)
		}
		if err := b.DeleteAll(context.Background(), []string{"good", key}); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", key, err)
		}
	}
}

// DeleteAll says which key is left, and a missing container is an error.
func TestDeleteAllNamesAKeyThatIsLeft(t *testing.T) {
	f := newFake(t)
	b := f.open(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/bad"):
			refuse(403, "AuthorizationPermissionMismatch", "no")(w, r)
		case strings.HasSuffix(r.URL.Path, "/gone"):
			refuse(404, "BlobNotFound", "no")(w, r)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	ctx := context.Background()
	if err := b.DeleteAll(ctx, []string{"a", "gone", "c"}); err != nil {
		t.Error(err)
	}
	err := b.DeleteAll(ctx, []string{"a", "bad", "c"})
	if !errors.Is(err, errs.Permission) || !strings.Contains(err.Error(), "container/bad: ") {
		t.Error(err)
	}
	f.set(refuse(404, "ContainerNotFound", "no"))
	if err := b.DeleteAll(ctx, []string{"a"}); !errors.Is(err, object.ErrNoBucket) {
		t.Error(err)
	}
}
