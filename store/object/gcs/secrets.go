package gcs

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
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

	mu   sync.Mutex
	seen []string
}

// rememberedSecrets limits the memory of tokens, which change once an hour.
const rememberedSecrets = 24

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
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range []string{t.AccessToken, t.RefreshToken} {
		if s != "" && !slices.Contains(w.seen, s) {
			w.seen = append(w.seen, s)
		}
	}
	if n := len(w.seen) - rememberedSecrets; n > 0 {
		w.seen = slices.Delete(w.seen, 0, n)
	}
	return t.AccessToken, nil
}

func (w *watched) secrets() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// mask takes secrets out of a text of the server or of the library.
func (b *bucket) mask(text string) string { return mask(text, b.tokens.secrets()) }

var (
	// shaped matches what has the form of a secret of Google: access tokens, refresh tokens, API keys,
	// secrets of clients, signed tokens and private keys.
	shaped = regexp.MustCompile(`\bya29\.[\w.~+/-]+=*|\b1//[\w-]{10,}|\bAIza[\w-]{30,}|\bGOCSPX-[\w-]+|` +
		`\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?|(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`)
	// named matches parameters, members and headers that hold a secret, with their values.
	named = regexp.MustCompile(`(?i)\b(authorization|access_?token|refresh_?token|id_?token|subject_?token|` +
		`client_?secret|private_?key(?:_?id)?|assertion|x-goog-signature|x-goog-credential|signature|upload_?id|password)` +
		`(["']?\s*[=:]\s*)(?:Bearer\s+)?["']?[^\s,&"'<>]+`)
	// bearer matches a token in a header.
	bearer = regexp.MustCompile(`(?i)\bbearer\s+[\w.~+/=-]{8,}`)
	// userinfo matches the name and password of a URL.
	userinfo = regexp.MustCompile(`://[^/@\s]+@`)
)

const hidden = "[hidden]"

// mask hides the secrets, and what looks like one, and cuts the text to a readable length.
func mask(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, hidden)
	}
	text = shaped.ReplaceAllString(text, hidden)
	text = named.ReplaceAllString(text, "${1}${2}"+hidden)
	text = bearer.ReplaceAllString(text, "Bearer "+hidden)
	text = userinfo.ReplaceAllString(text, "://"+hidden+"@")
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 600 {
		text = strings.ToValidUTF8(text[:600], "") + "…"
	}
	return text
}
