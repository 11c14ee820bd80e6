package gcs_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/gcs"
)

// cloud is a client for which storage.googleapis.com is in memory. It keeps the last header with a
// token that was sent there. What goes to this machine goes there.
type cloud struct{ authorization, host string }

func (c *cloud) client() *http.Client {
	return &http.Client{Transport: trip(func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.URL.Host, "127.0.0.1:") {
			return http.DefaultTransport.RoundTrip(r)
		}
		c.authorization, c.host = r.Header.Get("Authorization"), r.URL.Scheme+"://"+r.URL.Host
		return answering(r, 200, emptyList), nil
	})}
}

func (c *cloud) open(ctx context.Context, url string) error {
	c.authorization, c.host = "", ""
	_, _, err := gcs.Open(ctx, url, gcs.Options{HTTPClient: c.client()})
	return err
}

// credentialsFile writes a file and returns its name.
func credentialsFile(t *testing.T, v any) string {
	t.Helper()
	b, ok := v.([]byte)
	if !ok {
		var err error
		if b, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// tokens is a server of tokens. It gives one for each request that is as the test wants it.
func tokens(t *testing.T, want ...string) *fake {
	t.Helper()
	f := newFake(t)
	f.set(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.HasSuffix(r.URL.Path, "/project-id") { // of the metadata
			return
		}
		asked := r.URL.Path + " " + string(body) + " " + r.Header.Get("Metadata-Flavor")
		for _, text := range want {
			if !strings.Contains(asked, text) {
				t.Errorf("the server of tokens was asked for %q, want %q in it", asked, text)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Metadata-Flavor", "Google")
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","expires_in":3600,`+
			`"issued_token_type":"urn:ietf:params:oauth:token-type:access_token"}`, accessToken)
	})
	return f
}

func user(tokenURL string) map[string]any {
	return map[string]any{"type": "authorized_user", "client_id": "id", "client_secret": clientSecret,
		"refresh_token": refreshToken, "token_uri": tokenURL}
}

// The search goes as in all tools of Google, and the token is sent to Google by TLS only.
func TestUsualChain(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	for _, c := range []struct {
		name string
		set  func(t *testing.T)
	}{
		{"user", func(t *testing.T) {
			f := tokens(t, "grant_type=refresh_token", "refresh_token=1%2F%2F0fake")
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", credentialsFile(t, user(f.URL)))
		}},
		{"service account", func(t *testing.T) {
			f := tokens(t, "jwt-bearer", "assertion=")
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", credentialsFile(t, map[string]any{"type": "service_account",
				"client_email": "a@example.org", "private_key_id": "k", "private_key": key, "token_uri": f.URL}))
		}},
		{"workload identity federation", func(t *testing.T) {
			f := tokens(t, "subject_token=of-the-pod", "audience=")
			subject := credentialsFile(t, []byte("of-the-pod"))
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", credentialsFile(t, map[string]any{"type": "external_account",
				"audience":           "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
				"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": f.URL,
				"credential_source": map[string]any{"file": subject}}))
		}},
		{"gcloud", func(t *testing.T) {
			f := tokens(t, "grant_type=refresh_token")
			dir := filepath.Join(os.Getenv("HOME"), ".config", "gcloud")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(credentialsFile(t, user(f.URL)), filepath.Join(dir, "application_default_credentials.json")); err != nil {
				t.Fatal(err)
			}
		}},
		{"metadata", func(t *testing.T) {
			f := tokens(t, "/computeMetadata/v1/instance/service-accounts/default/token", "Google")
			t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(f.URL, "http://"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lonely(t)
			c.set(t)
			at, ctx := &cloud{}, context.Background()
			if err := at.open(ctx, "gs://bucket/run"); err != nil {
				t.Fatal(err)
			}
			if at.authorization != "Bearer "+accessToken || at.host != "https://storage.googleapis.com" {
				t.Errorf("%q was sent to %s", at.authorization, at.host)
			}
			// A caller may go without credentials, and no other server gets them unasked.
			for url, want := range map[string]string{
				"gs://bucket?anonymous=true":                                             "",
				"gs://bucket?endpoint=https://example.org":                               "",
				"gs://bucket?endpoint=https://storage.googleapis.com.example.org":        "",
				"gs://bucket?endpoint=http://storage.googleapis.com":                     "",
				"gs://bucket?endpoint=https://example.org&anonymous=false":               "Bearer " + accessToken,
				"gs://bucket?endpoint=https://storage-x.p.googleapis.com":                "Bearer " + accessToken,
				"gs://bucket?endpoint=https://storage.us-east1.rep.googleapis.com/":      "Bearer " + accessToken,
				"gs://bucket?endpoint=https://storage.googleapis.com&user_project=payer": "Bearer " + accessToken,
			} {
				if err := at.open(ctx, url); err != nil || at.authorization != want {
					t.Errorf("%s: sent %q, %v, want %q", url, at.authorization, err, want)
				}
			}
		})
	}
}

// Credentials that are missing, damaged, refused or late are an error with the remedy and without a
// secret.
func TestCredentialsThatFail(t *testing.T) {
	refused := func(t *testing.T, status int) string {
		f := newFake(t)
		f.set(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"error":"invalid_grant","error_description":"expired or revoked: %s %s"}`,
				refreshToken, clientSecret)
			_, _ = w.Write(body)
		})
		return f.URL
	}
	for _, c := range []struct {
		name  string
		file  func(t *testing.T) string
		is    error
		texts []string
	}{
		{"no file", func(t *testing.T) string { return filepath.Join(t.TempDir(), "none.json") }, errs.Permission,
			[]string{"none.json", "want credentials, got none in the file"}},
		{"garbage", func(t *testing.T) string { return credentialsFile(t, []byte("no JSON")) }, errs.Permission, []string{"credentials.json"}},
		{"an unknown type", func(t *testing.T) string { return credentialsFile(t, map[string]string{"type": "x"}) }, errs.Permission, nil},
		{"a damaged key", func(t *testing.T) string {
			return credentialsFile(t, map[string]string{"type": "service_account", "client_email": "a", "private_key": "MIIEfakePrivateKey"})
		}, errs.Permission, []string{"want a token, got none"}},
		{"refused", func(t *testing.T) string { return credentialsFile(t, user(refused(t, 400))) }, errs.Permission,
			[]string{"invalid_grant", "the credentials come from the file"}},
		{"a server that fails", func(t *testing.T) string { return credentialsFile(t, user(refused(t, 503))) }, object.ErrThrottled, nil},
		{"nobody listens", func(t *testing.T) string { return credentialsFile(t, user("http://127.0.0.1:1/token")) }, object.ErrThrottled,
			[]string{"connection refused"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lonely(t)
			t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", c.file(t))
			err := (&cloud{}).open(context.Background(), "gs://bucket")
			checkError(t, c.name, err)
			if !errors.Is(err, c.is) || errors.Is(err, object.ErrUnknown) ||
				!strings.Contains(err.Error(), "GOOGLE_APPLICATION_CREDENTIALS") {
				t.Errorf("want %v, got %v", c.is, err)
			}
			for _, text := range c.texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("want %q in %v", text, err)
				}
			}
			for _, text := range texts(err) {
				for _, secret := range []string{refreshToken, clientSecret, "1%2F%2F0fake", "MIIEfakePrivateKey"} {
					if strings.Contains(text, secret) {
						t.Errorf("%q is in %q", secret, text)
					}
				}
			}
		})
	}
	t.Run("late", func(t *testing.T) {
		lonely(t)
		hang := make(chan struct{})
		f := newFake(t)
		defer close(hang)
		t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", credentialsFile(t, user(f.URL)))
		ctx, stop := context.WithCancel(context.Background())
		f.set(func(http.ResponseWriter, *http.Request) { stop(); <-hang })
		if err := (&cloud{}).open(ctx, "gs://bucket"); !errors.Is(err, errs.Canceled) || !errors.Is(err, context.Canceled) {
			t.Errorf("a token that is late: %v", err)
		}
	})
	t.Run("none", func(t *testing.T) {
		lonely(t)
		err := (&cloud{}).open(context.Background(), "gs://bucket")
		if err == nil || !strings.Contains(err.Error(), "the metadata of the machine") {
			t.Errorf("no credentials: %v", err)
		}
	})
}
