package azure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/azure"
)

// Each answer has one meaning, whatever was asked. Statuses 409 and 412 are conditions only with
// the codes that say so.
func TestAnswersHaveOneMeaning(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		is     []error
		not    []error
	}{
		{412, "ConditionNotMet", []error{object.ErrCondition}, []error{object.ErrUnknown}},
		{412, "LeaseIdMissing", []error{errs.Busy}, []error{object.ErrCondition, object.ErrConflict}},
		{409, "LeaseIdMismatchWithBlobOperation", []error{errs.Busy}, []error{object.ErrCondition, object.ErrConflict}},
		{409, "PendingCopyOperation", []error{object.ErrConflict, errs.Busy}, []error{object.ErrCondition}},
		{409, "BlobImmutableDueToPolicy", []error{errs.Permission}, []error{object.ErrCondition, object.ErrConflict}},
		{409, "InvalidBlobType", []error{errs.Invalid}, []error{object.ErrCondition, object.ErrConflict}},
		{409, "SomethingNew", []error{errs.Invalid}, []error{object.ErrCondition, object.ErrConflict, object.ErrUnknown}},
		{409, "ContainerBeingDeleted", []error{errs.NotFound, object.ErrNoBucket}, []error{object.ErrCondition}},
		{429, "", []error{object.ErrThrottled, errs.Busy}, []error{object.ErrUnknown}},
		{503, "ServerBusy", []error{object.ErrThrottled, errs.Busy}, []error{object.ErrUnknown}},
		{500, "InternalError", []error{object.ErrUnknown, errs.IO}, []error{object.ErrThrottled}},
		{500, "OperationTimedOut", []error{object.ErrUnknown, errs.IO}, []error{object.ErrThrottled}},
		{502, "", []error{object.ErrUnknown}, nil},
		{504, "", []error{object.ErrUnknown}, nil},
		{403, "AuthenticationFailed", []error{errs.Permission}, []error{object.ErrUnknown, object.ErrCondition}},
		{403, "AuthorizationPermissionMismatch", []error{errs.Permission}, nil},
		{401, "InvalidAuthenticationInfo", []error{errs.Permission}, nil},
		{400, "Md5Mismatch", []error{errs.Corrupt}, []error{object.ErrUnknown}},
		{400, "Crc64Mismatch", []error{errs.Corrupt}, nil},
		{400, "InvalidHeaderValue", []error{errs.Invalid}, []error{object.ErrUnknown}},
		{404, "ContainerNotFound", []error{errs.NotFound, object.ErrNoBucket}, []error{object.ErrCondition}},
		{301, "", []error{errs.Invalid}, []error{object.ErrUnknown}},
	} {
		t.Run(fmt.Sprint(c.status, c.code), func(t *testing.T) {
			f := newFake(t)
			answer := refuse(c.status, c.code, "the message")
			all := everything(f.open(t, answer))
			maps.Copy(all, f.uploading(t, f.open(t, nil), answer))
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

func checkError(t *testing.T, what string, err error) {
	t.Helper()
	var e *errs.Error
	if !errors.As(err, &e) || e.Kind == errs.Other ||
		!strings.HasPrefix(e.Op, "azure.") || !strings.HasPrefix(e.Subject, at) {
		t.Errorf("%s: want an *errs.Error of package azure with a kind and the container, got %#v", what, err)
	}
}

// A condition that does not hold says what was wanted.
func TestConditionsSayWhatWasWanted(t *testing.T) {
	f := newFake(t)
	b := f.open(t, refuse(409, "BlobAlreadyExists", "no"))
	ctx := context.Background()
	put := func(c object.Condition) error {
		_, err := b.Put(ctx, "k", contents, sumOfContents, c)
		return err
	}
	if err := put(object.Condition{Absent: true}); !errors.Is(err, errs.Exists) || !errors.Is(err, object.ErrCondition) {
		t.Error(err)
	}
	// Without the condition, the same answer is no condition that does not hold.
	if err := put(object.Condition{}); !errors.Is(err, errs.Exists) || errors.Is(err, object.ErrCondition) {
		t.Error(err)
	}
	f.set(refuse(412, "ConditionNotMet", "no"))
	err := put(object.Condition{Tag: someTag})
	if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), someTag) {
		t.Error(err)
	}
	// Answers without a code.
	f.set(refuse(412, "", "no"))
	if err := put(object.Condition{Tag: someTag}); !errors.Is(err, object.ErrCondition) {
		t.Error(err)
	}
	if err := put(object.Condition{}); errors.Is(err, object.ErrCondition) || !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	f.set(refuse(409, "", "no"))
	err = put(object.Condition{Absent: true})
	if errors.Is(err, object.ErrCondition) || !errors.Is(err, object.ErrConflict) {
		t.Error(err)
	}
	f.set(refuse(404, "BlobNotFound", "no"))
	if err := put(object.Condition{Tag: someTag}); !errors.Is(err, object.ErrCondition) {
		t.Error(err)
	}
	err = b.Get(ctx, "k", 0, "", make([]byte, 1))
	if !errors.Is(err, errs.NotFound) || errors.Is(err, object.ErrCondition) {
		t.Error(err)
	}
	if err := b.Delete(ctx, "k", object.Condition{}); err != nil {
		t.Error(err)
	}
}

// Errors name the remedy: the container, the clock, the credentials, the endpoint.
func TestErrorsNameTheRemedy(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		kind   errs.Kind
		texts  []string
	}{
		{"no container", refuse(404, "ContainerNotFound", "gone"), errs.NotFound, []string{at + ":", "make the container"}},
		{"credentials", refuse(403, "AuthenticationFailed", "wrong signature"), errs.Permission,
			[]string{"AZURE_STORAGE_KEY", "come from Options.Key", "403 AuthenticationFailed", "wrong signature", "REQUEST1"}},
		{"no keys allowed", refuse(403, "KeyBasedAuthenticationNotPermitted", "no keys"), errs.Permission, []string{"azidentity"}},
		{"skew", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(-3*time.Hour).UTC().Format(http.TimeFormat))
			refuse(403, "AuthenticationFailed", "too old")(w, r)
		}, errs.Invalid, []string{"3h0m", "set the clock"}},
		{"a redirection", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "https://elsewhere/?sig=abc")
			w.WriteHeader(302)
		}, errs.Invalid, []string{"a redirection", "check the endpoint"}},
		{"another server", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html><body>welcome</body></html>")
		}, errs.IO, []string{"does not parse", "see whether the endpoint is a blob service"}},
		{"no XML", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }, errs.IO, []string{"does not parse"}},
		{"https is a must", refuse(400, "AccountRequiresHttps", "no"), errs.Invalid, []string{"write https://"}},
		{"a hierarchical namespace", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Ms-Is-Hns-Enabled", "true")
			_, _ = io.WriteString(w, emptyList)
		}, errs.Unsupported, []string{"hierarchical namespace", "flat"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t)
			f.set(c.answer)
			_, _, err := f.try(at+"/run", azure.Options{})
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
			_, _ = io.WriteString(w, "<<<not XML")
		},
	} {
		all := everything(f.open(t, answer))
		maps.Copy(all, f.uploading(t, f.open(t, nil), answer))
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
	_, err := b.Put(ctx, "k", contents, sumOfContents, object.Condition{})
	for _, is := range []error{errs.Canceled, object.ErrUnknown, context.DeadlineExceeded} {
		if !errors.Is(err, is) {
			t.Errorf("a time that ran out: want %v, got %v", is, err)
		}
	}
	if err := b.DeleteAll(ctx, []string{"k"}); !errors.Is(err, errs.Canceled) {
		t.Errorf("DeleteAll after the time: %v", err)
	}
	f.Listener.Close()
	f.CloseClientConnections()
	_, err = b.Put(context.Background(), "k", contents, sumOfContents, object.Condition{})
	if !errors.Is(err, object.ErrUnknown) || !errors.Is(err, errs.IO) {
		t.Errorf("nobody listens: %v", err)
	}
}

// A server without TLS, or with a certificate that nobody knows, is not tried again.
func TestTLSErrorsAreInvalid(t *testing.T) {
	f := newFake(t)
	_, _, err := f.try(at+"?endpoint="+strings.Replace(f.URL, "http:", "https:", 1), azure.Options{})
	if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "http://") || errors.Is(err, object.ErrUnknown) {
		t.Errorf("plain HTTP: %v", err)
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = f.Config.ErrorLog
	secure.StartTLS()
	defer secure.Close()
	_, _, err = f.try(at+"?endpoint="+secure.URL, azure.Options{})
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
		_, err := b.Put(context.Background(), "k", contents, sumOfContents, object.Condition{})
		if err == nil || asked != 1 {
			t.Errorf("%d: asked %d times, %v", status, asked, err)
		}
	}
}

type failing struct{ text string }

func (f failing) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, errors.New(f.text)
}

// No text of any error, nor of its causes, has a key, a SAS, a token or a signature, even if the
// server sends them back.
func TestNoErrorShowsSecrets(t *testing.T) {
	var mu sync.Mutex
	const sas = "c2lnbmF0dXJlIG9mIHRoZSBTQVM="
	const sasText = "sv=2022-11-02&sp=rl&se=2030-01-01&sig=c2lnbmF0dXJlIG9mIHRoZSBTQVM%3D"
	secrets := map[string]bool{accountKey: true, sas: true, "c2lnbmF0dXJlIG9mIHRoZSBTQVM%3D": true}
	signature := regexp.MustCompile(`SharedKey account:(\S+)`)
	echo := func(status int, code, mine string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			auth := r.Header.Get("Authorization")
			if m := signature.FindStringSubmatch(auth); m != nil {
				mu.Lock()
				secrets[m[1]] = true
				mu.Unlock()
				w.Header().Set("X-Ms-Request-Id", m[1])
			}
			w.Header().Set("Location", "http://"+account+":"+accountKey+"@host/?"+sasText)
			w.Header().Set("X-Ms-Error-Code", code)
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>%s; AccountKey=%s; ?%s; %s, %s</Message>`+
				`<AuthenticationErrorDetail>%s</AuthenticationErrorDetail></Error>`, code, auth, mine,
				strings.ReplaceAll(r.URL.RawQuery, "&", "&amp;"), mine, url.QueryEscape(mine), auth)
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
	for mine, o := range map[string]azure.Options{accountKey: {Key: accountKey}, sas: {SAS: "?" + sasText}} {
		for _, c := range []struct {
			status int
			code   string
		}{
			{301, "X"}, {307, "X"}, {400, "Md5Mismatch"}, {400, mine}, {401, "InvalidAuthenticationInfo"}, {403, "AuthenticationFailed"},
			{403, "AuthorizationPermissionMismatch"}, {404, "BlobNotFound"}, {404, "ContainerNotFound"}, {409, "BlobAlreadyExists"},
			{409, "LeaseIdMissing"}, {412, "ConditionNotMet"}, {416, "InvalidRange"}, {429, "X"}, {500, "InternalError"}, {501, "X"},
			{503, "ServerBusy"}, {400, "InvalidBlockList"}, {400, "InvalidBlobOrBlock"}, {599, "X"},
		} {
			f := newFake(t)
			b, _, err := f.try(at, o)
			if err != nil {
				t.Fatal(err)
			}
			answer := echo(c.status, c.code, mine)
			f.set(answer)
			all := everything(b)
			maps.Copy(all, f.uploading(t, b, answer))
			_, _, all["Open"] = f.try(at, o)
			for what, err := range all {
				check(fmt.Sprint(c.status, " ", c.code, ": ", what), err)
			}
		}
	}
	if seen < 600 {
		t.Errorf("only %d errors were looked at", seen)
	}
	// The search for a token fails with a text of another service.
	secrets["topsecret"] = true
	_, _, err := azure.Open(context.Background(), at, azure.Options{Endpoint: "https://localhost:1",
		Credential: failing{"POST https://login/?client_secret=topsecret: Bearer topsecret, password: topsecret"}})
	if !errors.Is(err, errs.Permission) || !strings.Contains(err.Error(), "AZURE_CLIENT_ID") {
		t.Error(err)
	}
	check("token", err)
	for _, bad := range []string{
		"az://account:" + accountKey + "@host/container", at + "?endpoint=http://x:" + accountKey + "@host",
		at + "?" + sasText, at + "?" + accountKey, at + "?endpoint=" + accountKey + "%zz", at + "?endpoint=http://host?" + sasText,
		"http://x:" + accountKey + "@host/container", at + "?anonymous=" + accountKey,
	} {
		_, _, err := azure.Open(context.Background(), bad, azure.Options{})
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("a bad URL: %v", err)
		}
		check("URL", err)
	}
	for name, value := range map[string]string{
		"AZURE_STORAGE_CONNECTION_STRING": "AccountName=account;" + accountKey + ";topsecret",
		"AZURE_STORAGE_KEY":               "topsecret!", "AZURE_STORAGE_SAS_TOKEN": "topsecret",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			_, _, err := azure.Open(context.Background(), at, azure.Options{})
			if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
			check(name, err)
		})
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
