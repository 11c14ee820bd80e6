package gcs

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// scope is what a token allows: to read and to write objects.
const scope = "https://www.googleapis.com/auth/devstorage.read_write"

// credentialsFile is the environment variable that names a file with credentials.
const credentialsFile = "GOOGLE_APPLICATION_CREDENTIALS"

// tokenTimeout ends a request for a token.
const tokenTimeout = 30 * time.Second

// watched remembers the tokens that under returned, so that errors never show them.
type watched struct {
	under oauth2.TokenSource // nil: no credentials are sent
	from  string
	seen  web.Seen
}

// find looks for the application default credentials.
func (w *watched) find(ctx context.Context, own *http.Client) error {
	asks := &http.Client{Timeout: tokenTimeout}
	if own != nil {
		asks.Transport = own.Transport
	}
	// The source of tokens outlives the call of Open, and so does its context.
	forever := context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, asks)
	found, err := within(ctx, func() (*google.Credentials, error) {
		return google.FindDefaultCredentials(forever, scope)
	})
	if err != nil {
		return err
	}
	w.under = found.TokenSource
	switch {
	case os.Getenv(credentialsFile) != "":
		w.from = "the file " + os.Getenv(credentialsFile)
	case found.JSON != nil:
		w.from = "the application default credentials of gcloud"
	default:
		w.from = "the metadata of the machine"
	}
	return nil
}

// within calls f, which takes no context, and does not wait for it any longer than ctx lasts.
func within[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		v, err := f()
		done <- outcome{v, err}
	}()
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// token returns a token, or "" if no credentials are sent.
func (w *watched) token(ctx context.Context) (string, error) {
	if w.under == nil {
		return "", nil
	}
	t, err := within(ctx, w.under.Token)
	if err != nil {
		return "", err
	}
	w.seen.Add(t.AccessToken, t.RefreshToken)
	return t.AccessToken, nil
}

// mask takes secrets out of a text of the server or of the library.
func (b *bucket) mask(text string) string { return mask(text, b.tokens.seen.All()) }

// rules find what looks like a secret of Google.
var rules = []web.Rule{
	// access tokens, refresh tokens, API keys, secrets of clients, signed tokens and private keys
	{Match: regexp.MustCompile(`\bya29\.[\w.~+/-]+=*|\b1//[\w-]{10,}|\bAIza[\w-]{30,}|\bGOCSPX-[\w-]+|` +
		`\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?|(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`),
		With: web.Hidden},
	// parameters, members and headers that hold a secret, with their values
	{Match: regexp.MustCompile(`(?i)\b(authorization|access_?token|refresh_?token|id_?token|subject_?token|` +
		`client_?secret|private_?key(?:_?id)?|assertion|x-goog-signature|x-goog-credential|signature|upload_?id|password)` +
		`(["']?\s*[=:]\s*)(?:Bearer\s+)?["']?[^\s,&"'<>]+`), With: "${1}${2}" + web.Hidden},
	// a token in a header
	{Match: regexp.MustCompile(`(?i)\bbearer\s+[\w.~+/=-]{8,}`), With: "Bearer " + web.Hidden},
}

func mask(text string, secrets []string) string { return web.Mask(text, secrets, rules) }
